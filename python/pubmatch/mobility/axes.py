"""Filters as boxes and events as points for the native index that relates and matches filters.

A filter becomes the smallest box that holds it (its hull). For most filters hull and filter are the same:
those are *plain*, and what the index says of them is exact. For the others (several boxes, ranges of
strings, integers from 2^53 on) the index gives candidates, and the filter itself decides.

As everywhere in pubmatch a missing value lies at minus infinity, below the least value. Strings have no
place in an order here: each one that a filter asks for by equality gets a number of its own, all others
share one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pubmatch import Boolean, Category, Filter, Integer, Number, Schema
from pubmatch.errors import FilterError, PubmatchError, SchemaError
from pubmatch.filters import Side, boxes
from pubmatch.timestamps import to_datetime, to_micros

__all__ = ["Axes", "Hull"]

_ABSENT = -math.inf
_LOWEST = -float(np.finfo(np.float64).max)
_EXACT = 1 << 53  # integers below are their own doubles
_ELSEWHERE = -1.0  # a string that no filter asks for

Hull = tuple[NDArray[np.float64], NDArray[np.float64], bool]  # lower, upper, plain


class Axes:
    """One axis per attribute of a schema.

    Examples
    --------
    >>> import pubmatch as pm
    >>> axes = Axes(pm.Schema(price=pm.Number(), symbol=pm.Category()))
    >>> lower, upper, plain = axes.hull(pm.parse("price BETWEEN 1 AND 2 AND symbol = 'IBM'"))
    >>> lower.tolist(), upper.tolist(), plain
    ([1.0, 0.0], [2.0, 0.0], True)
    >>> axes.point({"price": 1.5, "symbol": "IBM"}).tolist()
    [[1.5, 0.0]]
    """

    __slots__ = ("_kinds", "_labels", "schema")

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._kinds = [(name, schema[name]) for name in schema.names]
        self._labels: dict[tuple[str, str], float] = {}

    def hull(self, filter: Filter) -> Hull:
        """The smallest box around a filter, and whether it is the filter itself.

        Raises
        ------
        FilterError
            The filter does not fit the schema, or no event satisfies it.
        """
        parts = boxes(filter, self.schema)
        if not parts:
            raise FilterError(f"no event satisfies {filter}")
        plain = len(parts) == 1
        lower, upper = np.empty(len(self._kinds)), np.empty(len(self._kinds))
        for dimension, (name, kind) in enumerate(self._kinds):
            sides = [part.get(name) for part in parts]
            found = [self._bounds(side, name, kind) for side in sides]
            if isinstance(kind, Category) and len(set(sides)) > 1:
                found = [(bounds[0] if bounds[0] == _ABSENT else _LOWEST, math.inf, True) for bounds in found]
            lower[dimension] = min(low for low, _, _ in found)
            upper[dimension] = max(high for _, high, _ in found)
            plain = plain and all(exact for _, _, exact in found)
        return lower, upper, plain

    def point(self, event: Mapping[str, Any]) -> NDArray[np.float64]:
        """An event as one row of positions.

        Raises
        ------
        SchemaError
            A value is not of its attribute's type, or lies outside the domain.
        """
        return np.array([[self._position(event.get(name), name, kind) for name, kind in self._kinds]])

    def _bounds(self, side: Side | None, name: str, kind: Any) -> tuple[float, float, bool]:
        if side is None:
            return _ABSENT, math.inf, True
        if not side.values:
            return _ABSENT, _ABSENT, True
        least = _ABSENT if side.absent else _LOWEST
        if isinstance(kind, Category):
            if side.lower is None and side.upper is None:
                return least, math.inf, True
            if side.lower == side.upper and not side.absent:
                label = self._labels.setdefault((name, str(side.lower)), float(len(self._labels)))
                return label, label, True
            return least, math.inf, False
        low, high, exact = least, math.inf, True
        if side.lower is not None:
            low = max(_outwards(side.lower, -math.inf), least)
            low = math.nextafter(low, math.inf) if side.lower_open else low
            exact = _is_exact(side.lower, kind)
        if side.upper is not None:
            high = _outwards(side.upper, math.inf)
            high = math.nextafter(high, -math.inf) if side.upper_open else high
            exact = exact and _is_exact(side.upper, kind)
        return low, high, exact

    def _position(self, value: Any, name: str, kind: Any) -> float:
        try:
            if value is None or value != value:
                return _ABSENT
            if isinstance(kind, Category):
                if not isinstance(value, str):
                    raise TypeError
                position = self._labels.get((name, value), _ELSEWHERE)
                outside = kind.domain is not None and value not in kind.domain
            else:
                value = _number(value, kind)
                position = max(float(value), _LOWEST)
                outside = kind.domain is not None and not kind.domain[0] <= value <= kind.domain[1]
        except (TypeError, ValueError, OverflowError, PubmatchError):
            raise SchemaError(f"attribute {name!r} takes {kind.noun}, got {value!r}") from None
        if outside:
            raise SchemaError(f"attribute {name!r} lies outside its domain, got {value!r}")
        return position


def _outwards(bound: Any, direction: float) -> float:
    """The double at a bound, or the next one in the direction."""
    place = float(bound)
    if isinstance(bound, int) and int(place) != bound and (place < bound) != (direction < 0):
        return math.nextafter(place, direction)
    return place


def _is_exact(bound: Any, kind: Any) -> bool:
    return isinstance(kind, Number | Boolean) or abs(bound) < _EXACT


def _number(value: Any, kind: Any) -> float | int:
    """The value in its attribute's own type; what does not fit is a TypeError or ValueError."""
    if isinstance(kind, Boolean):
        if not isinstance(value, bool | np.bool_):
            raise TypeError
        return bool(value)
    if isinstance(kind, Number | Integer):
        if isinstance(value, bool | np.bool_) or not isinstance(
            value, int | float | np.integer | np.floating
        ):
            raise TypeError
        number = float(value) if isinstance(kind, Number) else int(value)
        if number != value or (isinstance(number, int) and not -(2**63) <= number < 2**63):
            raise ValueError
        return number
    return to_micros(to_datetime(value))
