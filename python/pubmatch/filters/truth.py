"""Three-valued truth: a comparison with a missing value is neither true nor false, but None.

Comparisons follow what DuckDB does with the literal: beside a float everything is a float64, otherwise
numbers compare by their exact value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from pubmatch.errors import ArgumentError, ArgumentTypeError, SchemaError
from pubmatch.filters.constants import Constant, sql_text
from pubmatch.timestamps import parse_timestamp, to_datetime

__all__ = ["OPERATORS", "Truth", "all_of", "any_of", "compare", "event_value", "negation"]

Truth: TypeAlias = bool | None

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}

_moment = lru_cache(maxsize=1024)(parse_timestamp)


def negation(truth: Truth) -> Truth:
    """NOT.

    Examples
    --------
    >>> negation(True), negation(None)
    (False, None)
    """
    return None if truth is None else not truth


def all_of(truths: Iterable[Truth]) -> Truth:
    """AND: false if any is, else None if any is.

    Examples
    --------
    >>> all_of([True, None]), all_of([None, False])
    (None, False)
    """
    result: Truth = True
    for truth in truths:
        if truth is False:
            return False
        if truth is None:
            result = None
    return result


def any_of(truths: Iterable[Truth]) -> Truth:
    """OR: true if any is, else None if any is.

    Examples
    --------
    >>> any_of([False, None]), any_of([None, True])
    (None, True)
    """
    result: Truth = False
    for truth in truths:
        if truth is True:
            return True
        if truth is None:
            result = None
    return result


def event_value(event: Mapping[str, Any], name: str) -> Constant:
    """The value of attribute `name`, None if it is missing: not there, None, NaN, NaT or NA.

    Examples
    --------
    >>> event_value({"x": float("nan")}, "x") is None
    True
    """
    if not isinstance(event, Mapping):
        raise ArgumentTypeError(f"an event must be a dict of attribute values, got {type(event).__name__}")
    value = event.get(name)
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, date | np.datetime64):
        if isinstance(value, np.datetime64) and np.isnat(value):
            return None
        try:
            return to_datetime(value)
        except ArgumentError as error:
            raise SchemaError(f"attribute {name!r} of the event: {error}") from None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float | Decimal):
        return None if value != value else value
    if isinstance(value, bool | int | str):
        return value
    raise SchemaError(
        f"attribute {name!r} of the event has the value {value!r}, which no attribute type takes"
    )


def compare(value: Constant, symbol: str, other: Constant, name: str) -> Truth:
    """The truth of `value symbol other` for an event's value and a filter's constant.

    Examples
    --------
    >>> compare(0.1, "=", Decimal("0.1"), "x"), compare(None, "<>", 3, "x")
    (True, None)
    """
    if value is None or other is None:
        return None
    left, right = _alike(value, other, name)
    return OPERATORS[symbol](left, right)


def _alike(value: Any, other: Any, name: str) -> tuple[Any, Any]:
    kinds = {type(value), type(other)}
    if len(kinds) == 1:
        return value, other
    if kinds <= {int, float, Decimal}:
        if float not in kinds:
            return value, other
        try:
            return float(value), float(other)
        except OverflowError:
            return value, other  # Python compares a float with an int of any size
    if isinstance(value, datetime) and isinstance(other, str):
        try:
            return value, _moment(other)
        except ArgumentError as error:
            raise SchemaError(f"attribute {name!r} of the event is a time: {error}") from None
    if isinstance(value, str) and isinstance(other, datetime):
        try:
            return _moment(value), other
        except ArgumentError as error:
            raise SchemaError(f"attribute {name!r} of the event: {error}") from None
    raise SchemaError(
        f"attribute {name!r} of the event is {value!r}, which cannot be compared with {sql_text(other)}"
    )
