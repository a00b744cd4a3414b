"""Half-open ranges of Z-order ids: checked, sorted and joined into maximal runs."""

from __future__ import annotations

import operator
from collections.abc import Iterable

from pubmatch.errors import ArgumentError, ArgumentTypeError
from pubmatch.overlay.zorder import MAX_BITS

__all__ = ["IdRange", "maximal_runs"]

IdRange = tuple[int, int]


def maximal_runs(ranges: Iterable[tuple[int, int]], what: str = "ranges") -> tuple[IdRange, ...]:
    """Sorted ranges that neither touch nor overlap, of the same ids as those given.

    Parameters
    ----------
    ranges : iterable of (int, int)
        Half-open `[low, high)`, at least one, in any order.
    what : str
        What the ranges are called in errors.

    Examples
    --------
    >>> maximal_runs([(8, 12), (0, 4), (4, 6)])
    ((0, 6), (8, 12))
    >>> maximal_runs([(5, 5)])
    Traceback (most recent call last):
    ...
    pubmatch.errors.ArgumentError: ranges[0] is empty: low must be below high, got (5, 5)
    """
    checked = sorted(_checked(position, each, what) for position, each in enumerate(ranges))
    if not checked:
        raise ArgumentError(f"{what} must name at least one range of ids, got none: the area is empty")
    runs = [checked[0]]
    for low, high in checked[1:]:
        if low <= runs[-1][1]:
            runs[-1] = (runs[-1][0], max(runs[-1][1], high))
        else:
            runs.append((low, high))
    return tuple(runs)


def _checked(position: int, given: tuple[int, int], what: str) -> IdRange:
    try:
        first, second = given
        low, high = operator.index(first), operator.index(second)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"{what}[{position}] must be a pair of whole numbers (low, high), got {given!r}"
        ) from None
    if low < 0:
        raise ArgumentError(f"{what}[{position}] must not start below 0, got {(low, high)}")
    if low >= high:
        raise ArgumentError(f"{what}[{position}] is empty: low must be below high, got {(low, high)}")
    if high > 4**MAX_BITS:
        raise ArgumentError(f"{what}[{position}] must end at 4**{MAX_BITS} at most, got {(low, high)}")
    return low, high
