"""Sides of filters as bounds on the axes; the counterpart of `points`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pubmatch.encoding.axes import (
    ABSENT,
    LARGEST_BOUND,
    LOWEST,
    encode_integer,
    lower_number,
    upper_number,
)
from pubmatch.errors import FilterError
from pubmatch.filters.constants import sql_text
from pubmatch.filters.predicates import constants_of
from pubmatch.schema import Boolean, Category, Number
from pubmatch.shown import shown_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from pubmatch.encoding.labels import Labels
    from pubmatch.filters.expressions import Filter
    from pubmatch.filters.sides import Side
    from pubmatch.schema import Schema

    Box = Mapping[str, Side]

__all__ = ["bounds_of", "check_boxes", "encode_boxes", "strings_in", "unconstrained"]

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


def unconstrained(rows: int, schema: Schema) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bounds of `rows` boxes that every event satisfies, to be narrowed."""
    shape = (rows, max(len(schema), 1))
    return np.full(shape, -math.inf), np.full(shape, math.inf)


def encode_boxes(
    boxes: Sequence[Box], schema: Schema, labels: Mapping[str, Labels]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The bounds of `boxes`, whose strings all have labels and which passed `check_boxes`.

    Examples
    --------
    >>> from pubmatch.filters.sides import Side
    >>> from pubmatch.schema import Number, Schema
    >>> encode_boxes([{"x": Side(lower=1.0, upper=2.0)}], Schema(x=Number(), y=Number()), {})
    (array([[  1., -inf]]), array([[ 2., inf]]))
    """
    lower, upper = unconstrained(len(boxes), schema)
    dimension_of = {name: dimension for dimension, name in enumerate(schema.names)}
    for row, box in enumerate(boxes):
        for name, side in box.items():
            dimension = dimension_of[name]
            lower[row, dimension], upper[row, dimension] = bounds_of(side, schema[name], labels.get(name))
    return lower, upper


def strings_in(boxes: Iterable[Box], schema: Schema) -> dict[str, set[str]]:
    """The strings that need labels, by attribute."""
    found: dict[str, set[str]] = {}
    for box in boxes:
        for name, side in box.items():
            if isinstance(schema[name], Category):
                strings = [bound for bound in (side.lower, side.upper) if isinstance(bound, str)]
                if strings:
                    found.setdefault(name, set()).update(strings)
    return found


def check_boxes(boxes: Iterable[Box], schema: Schema, filter: Filter) -> None:
    """Refuse a filter with bounds that the axis of integers and times cannot tell from their neighbours."""
    for box in boxes:
        for name, side in box.items():
            if isinstance(schema[name], Number | Boolean | Category):
                continue
            for bound, free in ((side.lower, _INT64_MIN), (side.upper, _INT64_MAX)):
                if bound is not None and abs(bound) > LARGEST_BOUND and bound != free:  # type: ignore[arg-type]
                    raise FilterError(
                        f"{name!r} is compared with {_written(bound, filter, name)}, but integers are only "
                        f"compared exactly up to {LARGEST_BOUND} in size: {shown_text(str(filter))}"
                    )


def _written(bound: Any, filter: Filter, name: str) -> str:
    """The number in a filter that made a bound of it, which may be the next one."""
    numbers: list[Any] = [number for number in constants_of(filter, name) if number is not None]
    return sql_text(min(numbers, key=lambda number: abs(number - bound)))


def bounds_of(side: Side, kind: Any, labels: Labels | None) -> tuple[float, float]:
    """Least and greatest position of a side.

    Examples
    --------
    >>> from pubmatch.filters.sides import Side
    >>> from pubmatch.schema import Integer
    >>> bounds_of(Side(lower=3), Integer(), None)
    (3.0, inf)
    """
    if not side.values:
        return ABSENT, ABSENT
    low, high = ABSENT if side.absent else LOWEST, math.inf
    if isinstance(kind, Number):
        if side.lower is not None:
            low = lower_number(side.lower, side.lower_open)  # type: ignore[arg-type]
        if side.upper is not None:
            high = upper_number(side.upper, side.upper_open)  # type: ignore[arg-type]
    elif isinstance(kind, Category):
        # Between two labels there is always an integer: an open bound starts there.
        if side.lower is not None:
            low = labels.lower(side.lower, side.lower_open)  # type: ignore[union-attr, arg-type]
        if side.upper is not None:
            high = labels.upper(side.upper, side.upper_open)  # type: ignore[union-attr, arg-type]
    else:
        if side.lower is not None and side.lower != _INT64_MIN:
            low = encode_integer(int(side.lower))
        if side.upper is not None and side.upper != _INT64_MAX:
            high = encode_integer(int(side.upper))
    return low, high
