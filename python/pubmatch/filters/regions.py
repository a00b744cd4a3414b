"""Sets of values of one attribute, as cuts along its axis.

Every axis has a next value (the next float64, the next integer, the string with a NUL appended), so a set is
told by where it starts and stops: `(0,)` before the missing value, `(1,)` after it and before all values,
`(2, v)` before the value v, `(3,)` after all. A region is an ascending tuple of cuts, start and stop in turn;
equal sets are equal tuples.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

__all__ = [
    "ABSENT",
    "BOTTOM",
    "EMPTY",
    "EVERYTHING",
    "FIRST",
    "PRESENT",
    "TOP",
    "Cut",
    "Region",
    "complement",
    "intersection",
    "is_subset",
    "span",
    "union",
]

Cut: TypeAlias = tuple[Any, ...]
Region: TypeAlias = tuple[Cut, ...]

BOTTOM: Cut = (0,)
FIRST: Cut = (1,)
TOP: Cut = (3,)

EMPTY: Region = ()
EVERYTHING: Region = (BOTTOM, TOP)
PRESENT: Region = (FIRST, TOP)
ABSENT: Region = (BOTTOM, FIRST)


def span(start: Cut, stop: Cut) -> Region:
    """All from `start` to before `stop`.

    Examples
    --------
    >>> span((2, 5), (2, 3))
    ()
    """
    return (start, stop) if start < stop else EMPTY


def complement(region: Region) -> Region:
    """All that is not in `region`, the missing value included.

    Examples
    --------
    >>> complement(PRESENT) == ABSENT
    True
    """
    if not region:
        return EVERYTHING
    head = region[1:] if region[0] == BOTTOM else (BOTTOM, *region)
    return head[:-1] if head and head[-1] == TOP else (*head, TOP)


def intersection(left: Region, right: Region) -> Region:
    """What is in both.

    Examples
    --------
    >>> intersection(((2, 1), (2, 9)), ((2, 5), (3,)))
    ((2, 5), (2, 9))
    """
    if len(left) == 2 and len(right) == 2:
        return span(max(left[0], right[0]), min(left[1], right[1]))
    found: list[Cut] = []
    i = j = 0
    while i < len(left) and j < len(right):
        start, stop = max(left[i], right[j]), min(left[i + 1], right[j + 1])
        if start < stop:
            found += (start, stop)
        if left[i + 1] < right[j + 1]:
            i += 2
        else:
            j += 2
    return tuple(found)


def union(regions: Iterable[Region]) -> Region:
    """What is in any of them.

    Examples
    --------
    >>> union([((2, 4), (2, 9)), ((2, 1), (2, 4))])
    ((2, 1), (2, 9))
    """
    spans = sorted((region[i], region[i + 1]) for region in regions for i in range(0, len(region), 2))
    found: list[Cut] = []
    for start, stop in spans:
        if found and start <= found[-1]:
            found[-1] = max(found[-1], stop)
        else:
            found += (start, stop)
    return tuple(found)


def is_subset(inner: Region, outer: Region) -> bool:
    """Whether `outer` holds all of `inner`.

    Examples
    --------
    >>> is_subset(ABSENT, PRESENT), is_subset(ABSENT, EVERYTHING)
    (False, True)
    """
    if len(inner) == 2 and len(outer) == 2:
        return inner[0] >= outer[0] and inner[1] <= outer[1]
    return intersection(inner, outer) == inner
