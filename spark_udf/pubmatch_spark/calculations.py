"""What is calculated over the events of a subscription, and over which windows of time."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pubmatch.errors import ArgumentError, ArgumentTypeError
from pubmatch.keys import checked_key
from pubmatch.schema import Integer, Number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pubmatch.keys import Key
    from pubmatch.schema import Schema
    from pubmatch_spark.publish import IndexRef

__all__ = [
    "KINDS",
    "Calculation",
    "carried_by",
    "checked_calculations",
    "default_calculations",
    "length_us",
]

KINDS = ("count", "sum", "mean", "min", "max")

_LENGTH = re.compile(r"\s*(\d+)\s*([a-z]+?)s?\s*", re.IGNORECASE)
_UNITS_US = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_LONGEST_US = 10**17


@dataclass(frozen=True, slots=True)
class Calculation:
    """One calculation over the events that a subscription matches in a window.

    Parameters
    ----------
    kind : {"count", "sum", "mean", "min", "max"}
        What is calculated. Missing values do not count; where all are missing the result is null.
    column : str, optional
        Over which numeric column of the events, an attribute or not; a count of events needs none.
    of : iterable of keys, optional
        The subscriptions that carry the calculation; by default all.

    Examples
    --------
    >>> Calculation("mean", "price")
    Calculation(kind='mean', column='price', of=None)
    >>> Calculation("median", "price")
    Traceback (most recent call last):
    pubmatch.errors.ArgumentError: a calculation is one of count, sum, mean, min, max, got 'median'
    """

    kind: str
    column: str | None = None
    of: tuple[Key, ...] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ArgumentError(f"a calculation is one of {', '.join(KINDS)}, got {self.kind!r}")
        if self.column is not None and not isinstance(self.column, str):
            raise ArgumentTypeError(f"column must be the name of a column, got {self.column!r}")
        if self.column is None and self.kind != "count":
            raise ArgumentError(f"a {self.kind} needs a column")
        if self.of is not None:
            if isinstance(self.of, str | bytes | int):
                raise ArgumentTypeError(f"of must be a list of keys, got {self.of!r}")
            object.__setattr__(self, "of", tuple(checked_key(key) for key in self.of))


def default_calculations(schema: Schema) -> dict[str, Calculation]:
    """The number of events, and sum, mean, min and max of every numeric attribute.

    Examples
    --------
    >>> from pubmatch.schema import Category, Number, Schema
    >>> list(default_calculations(Schema(price=Number(), symbol=Category())))
    ['count', 'sum_price', 'mean_price', 'min_price', 'max_price']
    """
    numeric = [name for name in schema.names if isinstance(schema[name], Number | Integer)]
    found = {"count": Calculation("count")}
    for name in numeric:
        for kind in KINDS[1:]:
            found[f"{kind}_{name}"] = Calculation(kind, name)
    return found


def checked_calculations(calculations: Any, taken: tuple[str, ...]) -> dict[str, Calculation]:
    """A mapping from names of result columns to calculations."""
    if not hasattr(calculations, "items"):
        raise ArgumentTypeError(
            f"calculations must be a dict of names and Calculations, got {type(calculations).__name__}"
        )
    given: Mapping[Any, Any] = calculations
    if not given:
        raise ArgumentError("calculations must not be empty")
    for name, calculation in given.items():
        if not isinstance(name, str) or not isinstance(calculation, Calculation):
            raise ArgumentTypeError(
                f"calculations must be a dict of names and Calculations, got {name!r}: {calculation!r}"
            )
        if name in taken:
            raise ArgumentError(f"a calculation must not be called {name!r}, a column every result has")
    return dict(given)


def carried_by(ref: IndexRef, calculations: dict[str, Calculation]) -> dict[str, Calculation]:
    """The calculations, if the keys in `of` have the type of the version's keys.

    A version without subscriptions has keys of no type; nothing carries a calculation then.
    """
    if not ref.subscriptions:
        return {name: one if one.of is None else replace(one, of=()) for name, one in calculations.items()}
    expected, noun = (int, "integers") if ref.key_type == "int64" else (str, "strings")
    for name, calculation in calculations.items():
        for key in calculation.of or ():
            if not isinstance(key, expected):
                raise ArgumentTypeError(
                    f"calculation {name!r}: of has the key {key!r}, but in results the keys of version "
                    f"{ref.version} are {noun}"
                )
    return calculations


def length_us(length: str | datetime.timedelta, argument: str) -> int:
    """A length of time in microseconds.

    Examples
    --------
    >>> length_us("10 minutes", "window")
    600000000
    >>> length_us("1 month", "window")
    Traceback (most recent call last):
    pubmatch.errors.ArgumentError: window must be a length of fixed size such as '10 minutes', got '1 month'
    """
    if isinstance(length, datetime.timedelta):
        found = length // datetime.timedelta(microseconds=1)
    elif isinstance(length, str):
        parts = _LENGTH.fullmatch(length)
        unit = _UNITS_US.get(parts.group(2).lower()) if parts else None
        if parts is None or unit is None:
            raise ArgumentError(
                f"{argument} must be a length of fixed size such as '10 minutes', got {length!r}"
            )
        found = int(parts.group(1)) * unit
    else:
        raise ArgumentTypeError(f"{argument} must be text or a timedelta, got {length!r}")
    if not 0 <= found <= _LONGEST_US:
        raise ArgumentError(f"{argument} must be from 0 to {_LONGEST_US} microseconds, got {length!r}")
    return found
