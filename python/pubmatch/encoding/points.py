"""Columns of events as points: one row per event, one position per attribute of the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pubmatch.encoding.axes import encode_integers, finish_points
from pubmatch.errors import SchemaError
from pubmatch.schema import Boolean, Category, Integer, Number, Timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from pubmatch.encoding.columns import Column
    from pubmatch.encoding.events import EventColumns
    from pubmatch.encoding.labels import Labels
    from pubmatch.schema import Schema

    Refuse = Callable[[NDArray[np.bool_], Column, str, str], None]

__all__ = ["checked_values", "encode_points", "has_values", "row_error"]

# The kinds of columns the attributes take, and how that is told.
_TAKES: dict[type, tuple[str, str]] = {
    Number: ("float", "a Number takes floats and integers"),
    Integer: ("integer", "an Integer takes integers and whole floats"),
    Category: ("string", "a Category takes strings"),
    Boolean: ("boolean", "a Boolean takes booleans"),
    Timestamp: ("timestamp", "a Timestamp takes timestamps and dates"),
}


def encode_points(events: EventColumns, schema: Schema, labels: Mapping[str, Labels]) -> NDArray[np.float64]:
    """The events as (n, dims) points; attributes without a column are absent.

    Parameters
    ----------
    events : EventColumns
        What `event_columns` made of the caller's table.
    schema : Schema
        The attributes, in the order of the dimensions.
    labels : mapping
        The labels of each Category attribute.
    """
    points = np.full((events.rows, max(len(schema), 1)), np.nan)
    for dimension, name in enumerate(schema.names):
        column = events.columns.get(name)
        if column is None or not has_values(column, schema[name]):
            continue
        axis = points[:, dimension]
        axis[:] = _positions(column, schema[name], name, labels)
        if column.missing is not None:
            axis[column.missing] = np.nan
    finish_points(points)
    return points


def has_values(column: Column, kind: Any) -> bool:
    """Whether there is anything in a column; one of NaN alone is a column of strings without any, too.

    Examples
    --------
    >>> from pubmatch.encoding.columns import column_of
    >>> has_values(column_of([float("nan")], "symbol"), Category())
    False
    """
    if column.kind != "float" or isinstance(kind, Number | Integer):
        return column.kind != "empty"
    return not column.is_missing().all()


def refuse(wrong: NDArray[np.bool_], column: Column, name: str, rule: str) -> None:
    """Raise for the first row that is wrong."""
    if wrong.any():
        raise row_error(int(np.argmax(wrong)), column, name, rule)


def row_error(row: int, column: Column, name: str, rule: str) -> SchemaError:
    """The error of a row whose value is wrong."""
    value = column.values[row] if column.words is None else repr(column.words[column.values[row]])
    return SchemaError(f"column {name!r} {rule} at row {row} ({value})")


def checked_values(column: Column, kind: Any, name: str, refuse: Refuse = refuse) -> NDArray[Any]:
    """The values of a column that fits the attribute, in the attribute's own type.

    float64 for a Number, int64 for an Integer or a Timestamp (microseconds), places in `column.words` for a
    Category. Where a value is missing there is anything, in a Number NaN. `refuse` is told which rows are
    wrong, and raises, or notes them and goes on.

    Raises
    ------
    SchemaError
        The column has the wrong type, or a value that is not exact or outside the domain.
    """
    values: NDArray[Any] | None = None
    if isinstance(kind, Number) and column.kind in ("float", "integer"):
        values = column.values if column.kind == "float" else _exact_floats(column, name, refuse)
    elif isinstance(kind, Integer) and column.kind in ("float", "integer"):
        values = _integers(column, name, refuse)
    elif column.kind == _TAKES[type(kind)][0]:
        values = column.values
    if values is None:
        raise SchemaError(f"column {name!r} is {column.type_name}: {_TAKES[type(kind)][1]}")
    if kind.domain is not None:
        _check_domain(column, values, kind, name, refuse)
    return values


def _positions(column: Column, kind: Any, name: str, labels: Mapping[str, Labels]) -> NDArray[Any]:
    """The position of each value, NaN where a float column has none."""
    values = checked_values(column, kind, name)
    if isinstance(kind, Category):
        words = labels[name].positions(column.words or ())
        return words[values] if len(words) else np.zeros(len(values))
    if isinstance(kind, Number | Boolean):
        return values
    positions = encode_integers(values)
    if column.kind == "float":
        positions[np.isnan(column.values)] = np.nan
    return positions


def _integers(column: Column, name: str, refuse: Refuse) -> NDArray[np.int64]:
    """An integer column, or a float column of whole numbers below 2^53, as int64; 0 where a float is NaN."""
    values = column.values
    if column.kind == "integer":
        if values.dtype == np.uint64:
            outside = ~column.is_missing() & (values > np.uint64(2**63 - 1))
            refuse(outside, column, name, "does not fit int64")
        return values.astype(np.int64, copy=False)
    given = np.where(column.is_missing(), 0.0, values)
    outside = (given >= 2.0**63) | (given < -(2.0**63))
    refuse((np.floor(given) != given) & ~outside, column, name, "is no whole number")
    refuse(outside, column, name, "does not fit int64")
    # From here on neighbours share a float, so that it does not tell which of them was meant.
    unsure = (np.abs(given) >= 2.0**53) & ~outside
    refuse(unsure, column, name, "has an integer beyond 2^53 as a float, which may have been rounded,")
    return np.where(outside, 0.0, given).astype(np.int64)


def _exact_floats(column: Column, name: str, refuse: Refuse) -> NDArray[np.float64]:
    """An integer column as float64, if no value changes."""
    values = column.values
    floats = values.astype(np.float64)
    wrong = ~column.is_missing() & (np.abs(floats) >= 2.0**53)
    for row in np.flatnonzero(wrong).tolist():
        wrong[row] = int(floats[row]) != int(values[row])
    refuse(wrong, column, name, "is not exact in float64")
    return floats


def _check_domain(column: Column, values: NDArray[Any], kind: Any, name: str, refuse: Refuse) -> None:
    present = ~column.is_missing()
    if isinstance(kind, Category):
        allowed = frozenset(kind.domain or ())
        strange = np.array([word not in allowed for word in column.words or ()], np.bool_)
        if strange.any():
            refuse(strange[values] & present, column, name, "lies outside the domain")
        return
    low, high = kind.domain
    wrong = ((values < low) | (values > high)) & present
    refuse(wrong, column, name, f"lies outside the domain {low} to {high}")
