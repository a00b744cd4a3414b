"""The setting of the paper's evaluation (section IV-A, table I), as ids and subscriptions.

Nodes and publishers at equal intervals in the id space, subscriptions on disjoint cells of one prefix length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pubmatch.arrays import checked_count
from pubmatch.overlay.subscription import Calculate, Filter, Subscription
from pubmatch.overlay.zorder import MAX_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]

__all__ = ["cell_subscriptions", "equal_intervals"]


def equal_intervals(count: int, bits: int) -> IntArray:
    """Ids at equal intervals, from 0 on.

    Parameters
    ----------
    count : int
        How many.
    bits : int
        Bits per axis of the id space.

    Examples
    --------
    >>> equal_intervals(5, bits=3)
    array([ 0, 12, 25, 38, 51])
    """
    size = 4 ** checked_count("bits", bits, MAX_BITS)
    number = checked_count("count", count, size)
    # In two parts, so that no product leaves int64.
    step, rest = divmod(size, number)
    places = np.arange(number, dtype=np.int64)
    ids: IntArray = places * step + places * rest // number
    return ids


def cell_subscriptions(count: int = 20, prefix_bits: int = 5, *, bits: int) -> list[Subscription]:
    """Subscriptions to the mean of all readings of a cell: the first `count` cells of a prefix length.

    Parameters
    ----------
    count : int
        How many.
    prefix_bits : int
        The bits that the ids of a cell have in common; there are 2^prefix_bits cells.
    bits : int
        Bits per axis of the id space.

    Examples
    --------
    >>> [each.ranges for each in cell_subscriptions(2, prefix_bits=5, bits=10)]
    [((0, 32768),), ((32768, 65536),)]
    """
    size = 4 ** checked_count("bits", bits, MAX_BITS)
    cells = 2 ** checked_count("prefix_bits", prefix_bits, 2 * bits)
    count = checked_count("count", count, cells)
    width = size // cells
    mean = Calculate("mean", Filter("reading"))
    return [
        Subscription(f"cell {each}", mean, ranges=[(each * width, (each + 1) * width)])
        for each in range(count)
    ]
