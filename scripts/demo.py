"""The pipeline on real events: a year of flights against 100,000 filters, on Spark, Parquet in and out."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import pubmatch as pm
import pubmatch_spark as ps
from pubmatch_bench.flights import SCHEMA, flight_events, flight_filters
from pubmatch_spark.own_session import own_session

FILTERS = 100_000
BUSIEST = 6
FOLDER = Path(__file__).parent.parent / "build" / "demo"
# Filters compare times with texts such as '2013-07-01', which mean UTC.
CONF = {"spark.sql.session.timeZone": "UTC", "spark.driver.memory": "2g"}


class Told:
    """What a step of the demonstration adds to its line."""

    text = ""


@contextmanager
def step(name: str) -> Iterator[Told]:
    """Print a line when a step is done: its name, how long it took, what it says."""
    told = Told()
    if sys.stdout.isatty():
        print(f"{name:<26} …", end="\r", flush=True)
    began = time.perf_counter()
    yield told
    print(f"{name:<26} {time.perf_counter() - began:6.1f} s   {told.text}", flush=True)


def write_inputs() -> int:
    """Write the flights and the filters, as any other system might; the number of flights."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    flights = flight_events()
    pq.write_table(flights, FOLDER / "flights.parquet")
    pq.write_table(flight_filters(FILTERS), FOLDER / "filters.parquet")
    return len(flights)


def published() -> ps.IndexRef:
    """Subscribe all filters and publish them as version 1."""
    matcher = pm.Matcher(SCHEMA)
    matcher.subscribe_many(pq.read_table(FOLDER / "filters.parquet"))
    return ps.publish(matcher, FOLDER / "alerts", version=1)


def busiest(counts: pa.Table) -> list[tuple[str, str, int]]:
    """The subscriptions that most flights satisfy: key, filter, number of flights."""
    filters = pq.read_table(FOLDER / "filters.parquet")
    first = counts.sort_by([("count", "descending"), ("subscription", "ascending")]).slice(0, BUSIEST)
    text_of = dict(zip(filters["key"].to_pylist(), filters["filter"].to_pylist(), strict=True))
    return [(row["subscription"], text_of[row["subscription"]], row["count"]) for row in first.to_pylist()]


def show(rows: list[tuple[str, str, int]], counted: list[int]) -> None:
    """A table of the busiest subscriptions, with what Spark SQL counts for the same filter."""
    print(f"\n{'subscription':<13} {'flights':>8} {'Spark SQL':>10}  filter")
    for (key, text, flights), again in zip(rows, counted, strict=True):
        print(f"{key:<13} {flights:>8,} {again:>10,}  {text}")


def main() -> int:
    """Run the pipeline; the exit code is 1 if Spark SQL counts other flights than were matched."""
    with step("write flights and filters") as told:
        flights_count = write_inputs()
        told.text = f"{flights_count:,} flights, {FILTERS:,} filters, Parquet"
    with step("subscribe and publish") as told:
        ref = published()
        told.text = f"{ref.nbytes / 1e6:.0f} MB that executors map"
    with ExitStack() as stack:
        with step("start Spark") as told:
            spark = stack.enter_context(own_session(None, **CONF))
            told.text = f"{spark.version}, {spark.sparkContext.master}"
        cores = spark.sparkContext.defaultParallelism
        flights = spark.read.parquet(str(FOLDER / "flights.parquet"))
        with step("match") as told:
            began = time.perf_counter()
            pairs = ps.match(flights.repartition(4 * cores), ref)
            pairs.write.parquet(str(FOLDER / "matches"))
            rate = flights_count / (time.perf_counter() - began)
            told.text = f"{rate:,.0f} flights a second on {cores} cores, Parquet read and written"
        with step("count") as told:
            pairs = spark.read.parquet(str(FOLDER / "matches"))
            counts = pairs.groupBy("subscription").count().toArrow()
            rows = busiest(counts)
            told.text = f"{sum(counts['count'].to_pylist()):,} matches of {len(counts):,} filters"
        with step("check with Spark SQL") as told:
            counted = [flights.where(text).count() for _, text, _ in rows]
            equal = [flights for _, _, flights in rows] == counted
            told.text = "the same flights" if equal else "OTHER FLIGHTS"
    show(rows, counted)
    print(f"\nAll files are in {FOLDER}.")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
