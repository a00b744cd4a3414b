"""Axes: how the values of each attribute type are ordered, and which value follows which."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import Any, Protocol

from pubmatch.attributes import INTEGER_LIMITS, AttributeType, Boolean, Category, Number
from pubmatch.filters.regions import BOTTOM, FIRST, TOP, Cut
from pubmatch.filters.sides import Side

__all__ = ["Axis", "axis_of", "side"]


class Axis(Protocol):
    """An ordered set of values in which each has a next one."""

    def before(self, value: Any) -> Cut:
        """The cut in front of the first value that is at least `value`."""

    def after(self, value: Any) -> Cut:
        """The cut in front of the first value greater than `value`."""

    def lower(self, value: Any) -> tuple[Any, bool]:
        """`value` as a lower limit, and whether it is open."""

    def upper(self, value: Any) -> tuple[Any, bool]:
        """The upper limit of all below `value`, and whether it is open."""


class _Floats:
    """float64 with both infinities; of two ways to write a limit the shorter one is taken."""

    def __init__(self, domain: tuple[float, float] | None) -> None:
        self._low, self._high = domain or (-math.inf, math.inf)

    def before(self, value: float) -> Cut:
        if value <= self._low:
            return FIRST
        return (2, value) if value <= self._high else TOP

    def after(self, value: float) -> Cut:
        return self.before(math.nextafter(value, math.inf) + 0.0)

    def lower(self, value: float) -> tuple[float, bool]:
        previous = self._shorter_previous(value)
        return (value, False) if previous is None else (previous, True)

    def upper(self, value: float) -> tuple[float, bool]:
        previous = self._shorter_previous(value)
        return (value, True) if previous is None else (previous, False)

    @staticmethod
    def _shorter_previous(value: float) -> float | None:
        previous = math.nextafter(value, -math.inf)
        return previous if math.isinf(value) or len(repr(previous)) < len(repr(value)) else None


class _Integers:
    """Integers of a range; a fraction divides them."""

    def __init__(self, domain: tuple[int, int] | None) -> None:
        self._low, self._high = domain or INTEGER_LIMITS

    def before(self, value: Any) -> Cut:
        return self._cut(math.ceil(value))

    def after(self, value: Any) -> Cut:
        return self._cut(math.floor(value) + 1)

    def _cut(self, value: int) -> Cut:
        if value <= self._low:
            return FIRST
        return (2, value) if value <= self._high else TOP

    def lower(self, value: int) -> tuple[int, bool]:
        return value, False

    def upper(self, value: int) -> tuple[int, bool]:
        return value - 1, False


class _Strings:
    """All strings; next to each comes itself with a NUL appended."""

    def before(self, value: str) -> Cut:
        return (2, value) if value else FIRST

    def after(self, value: str) -> Cut:
        return (2, value + "\x00")

    def lower(self, value: str) -> tuple[str, bool]:
        return (value[:-1], True) if value.endswith("\x00") else (value, False)

    def upper(self, value: str) -> tuple[str, bool]:
        return (value[:-1], False) if value.endswith("\x00") else (value, True)


class _Listed:
    """A few values, sorted."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self._values = values

    def before(self, value: Any) -> Cut:
        return self._cut(bisect_left(self._values, value))

    def after(self, value: Any) -> Cut:
        return self._cut(bisect_right(self._values, value))

    def _cut(self, position: int) -> Cut:
        if position == 0:
            return FIRST
        return (2, self._values[position]) if position < len(self._values) else TOP

    def lower(self, value: Any) -> tuple[Any, bool]:
        return value, False

    def upper(self, value: Any) -> tuple[Any, bool]:
        return self._values[bisect_left(self._values, value) - 1], False


_BOOLEANS, _STRINGS, _FLOATS, _INTEGERS = _Listed((False, True)), _Strings(), _Floats(None), _Integers(None)


def axis_of(kind: AttributeType) -> Axis:
    """The axis of an attribute type.

    Examples
    --------
    >>> from pubmatch.schema import Integer
    >>> axis_of(Integer()).after(2.5)
    (2, 3)
    """
    if isinstance(kind, Boolean):
        return _BOOLEANS
    domain: Any = getattr(kind, "domain", None)
    if isinstance(kind, Category):
        return _STRINGS if domain is None else _Listed(domain)
    if isinstance(kind, Number):
        return _FLOATS if domain is None else _Floats(domain)
    return _INTEGERS if domain is None else _Integers(domain)


def side(axis: Axis, start: Cut, stop: Cut) -> Side:
    """The values from cut to cut as a `Side`.

    Examples
    --------
    >>> from pubmatch.schema import Integer
    >>> side(axis_of(Integer()), (2, 3), (2, 4))
    Side(lower=3, upper=3, lower_open=False, upper_open=False, absent=False, values=True)
    """
    if stop == FIRST:
        return Side(absent=True, values=False)
    if len(start) == 2 and axis.after(start[1]) == stop:
        return Side(start[1], start[1])
    lower, lower_open = axis.lower(start[1]) if len(start) == 2 else (None, False)
    upper, upper_open = axis.upper(stop[1]) if len(stop) == 2 else (None, False)
    if start == FIRST and upper is not None and not upper_open and axis.before(upper) == FIRST:
        lower = upper
    return Side(lower, upper, lower_open, upper_open, absent=start == BOTTOM)
