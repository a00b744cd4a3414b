"""Values as positions on a float64 axis: strictly monotone, so that boxes and points compare as values do.

Every axis has the same form. `ABSENT` (-inf) is the place of a missing value, below everything; values lie
from `LOWEST` (the least finite double) to +inf. A side that does not care is [ABSENT, inf], IS NULL is
[ABSENT, ABSENT], IS NOT NULL is [LOWEST, inf], `x <= 5` is [LOWEST, 5].

Numbers are their own positions. Integers are too up to 2^53; further out each integer takes the next double,
whatever that double's value, which is exact up to `LARGEST_BOUND` in size. Event values beyond are all put at
the end of the axis; no bound is allowed there, so none of them can be told apart wrongly.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "ABSENT",
    "LARGEST_BOUND",
    "LOWEST",
    "encode_integer",
    "encode_integers",
    "finish_points",
    "lower_number",
    "upper_number",
]

ABSENT = -math.inf
HIGHEST = float(np.finfo(np.float64).max)
LOWEST = -HIGHEST

_EXACT = 1 << 53
_EXACT_BITS = int(np.float64(_EXACT).view(np.int64))
_STEPS = int(np.float64(HIGHEST).view(np.int64)) - _EXACT_BITS
LARGEST_BOUND = _EXACT + _STEPS - 1
"""The largest integer a filter may compare with; the next one is where all larger event values lie."""


def encode_integers(values: NDArray[np.int64]) -> NDArray[np.float64]:
    """The position of each integer.

    Examples
    --------
    >>> import numpy as np
    >>> positions = encode_integers(np.array([-3, 2**53, 2**53 + 1, 2**53 + 2]))
    >>> float(positions[0]), bool((np.diff(positions) > 0).all())
    (-3.0, True)
    """
    positions = values.astype(np.float64)
    far = (values > _EXACT) | (values < -_EXACT)
    if far.any():
        given = values[far]
        magnitude = given.astype(np.uint64)
        magnitude = np.where(given < 0, np.uint64(0) - magnitude, magnitude)
        steps = np.minimum(magnitude - np.uint64(_EXACT), np.uint64(_STEPS)).astype(np.int64)
        positions[far] = np.copysign((steps + _EXACT_BITS).view(np.float64), given)
    return positions


def encode_integer(value: int) -> float:
    """The position of one integer of at most `LARGEST_BOUND` in size.

    Examples
    --------
    >>> encode_integer(7)
    7.0
    >>> encode_integer(2**53 + 1) > encode_integer(2**53)
    True
    """
    if -_EXACT <= value <= _EXACT:
        return float(value)
    return float(encode_integers(np.array([value], np.int64))[0])


def lower_number(value: float, is_open: bool) -> float:
    """The least position that `x >= value`, or `x > value`, allows; there is none above +inf."""
    return math.nextafter(value, math.inf) if is_open else value


def upper_number(value: float, is_open: bool) -> float:
    """The greatest position that `x <= value`, or `x < value`, allows."""
    return math.nextafter(value, -math.inf) if is_open else value


def finish_points(points: NDArray[np.float64]) -> None:
    """Put missing values, NaN until now, and real values of -inf into their places.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[1.0, np.nan], [-np.inf, 2.0]])
    >>> finish_points(points)
    >>> points[0, 1] == ABSENT, points[1, 0] == LOWEST
    (np.True_, np.True_)
    """
    if (points >= LOWEST).all():  # neither NaN nor -inf
        return
    points[np.isneginf(points)] = LOWEST
    points[np.isnan(points)] = ABSENT
