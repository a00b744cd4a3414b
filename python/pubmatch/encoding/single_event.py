"""One event as a point, without columns: what a program that matches event by event needs to be quick.

Only plain Python values of the attributes' own types are taken. Everything else, and every value that is to
be refused, is left to the columns, which know what to say about it.
"""

from __future__ import annotations

from bisect import bisect_left
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from pubmatch.encoding.axes import ABSENT, LOWEST
from pubmatch.errors import PubmatchError
from pubmatch.schema import Boolean, Category, Integer, Number
from pubmatch.timestamps import to_micros

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from pubmatch.encoding.labels import Labels
    from pubmatch.schema import Schema

    Place = Callable[[Any, Labels | None], float | None]

__all__ = ["SingleEvent"]

_EXACT = 1 << 53


class SingleEvent:
    """Turns dicts into points, for one schema.

    Examples
    --------
    >>> from pubmatch.schema import Number, Schema
    >>> single = SingleEvent(Schema(price=Number(), volume=Number()))
    >>> single.point({"price": 5.0}, {})
    array([[  5., -inf]])
    >>> single.point({"price": "five"}, {}) is None
    True
    """

    __slots__ = ("_places", "_width")

    def __init__(self, schema: Schema) -> None:
        self._places = [(name, _place_of(schema[name])) for name in schema.names]
        self._width = max(len(schema), 1)

    def point(self, event: Mapping[str, Any], labels: Mapping[str, Labels]) -> NDArray[np.float64] | None:
        """The event as one row; None if it is for the columns."""
        row = [ABSENT] * self._width
        for dimension, (name, place) in enumerate(self._places):
            value = event.get(name)
            if value is not None:
                found = place(value, labels.get(name))
                if found is None:
                    return None
                row[dimension] = found
        return np.array([row])


def _place_of(kind: Any) -> Place:
    """What finds a value's place on the axis of an attribute type."""
    if isinstance(kind, Category):
        return _string if kind.domain is None else _listed(kind.domain)
    if isinstance(kind, Boolean):
        return _boolean
    least, most = kind.domain or (-np.inf, np.inf)
    if isinstance(kind, Number):
        return lambda value, _: _number(value, least, most)
    if isinstance(kind, Integer):
        return lambda value, _: _integer(value, least, most)
    return lambda value, _: _moment(value, least, most)


def _number(value: Any, least: float, most: float) -> float | None:
    if type(value) is int and -_EXACT <= value <= _EXACT:
        value = float(value)
    if type(value) is not float:
        return None
    if least <= value <= most:
        return value if value >= LOWEST else LOWEST
    return None if value == value else ABSENT


def _integer(value: Any, least: float, most: float) -> float | None:
    if type(value) is int and -_EXACT <= value <= _EXACT and least <= value <= most:
        return float(value)
    return None


def _moment(value: Any, least: float, most: float) -> float | None:
    if type(value) is not datetime:
        return None
    try:
        return _integer(to_micros(value), least, most)
    except PubmatchError:
        return None


def _boolean(value: Any, labels: Labels | None) -> float | None:
    return float(value) if type(value) is bool else None


def _string(value: Any, labels: Labels | None) -> float | None:
    return None if type(value) is not str or labels is None else float(labels.position(value))


def _listed(domain: tuple[str, ...]) -> Place:
    def place(value: Any, labels: Labels | None) -> float | None:
        if type(value) is not str:
            return None
        number = bisect_left(domain, value)
        return _string(value, labels) if number < len(domain) and domain[number] == value else None

    return place
