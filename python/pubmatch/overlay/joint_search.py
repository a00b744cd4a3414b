"""The order in which an overloaded joint asks other nodes (paper, section III-B.2, figure 6).

First the larger ids under the prefix that the joint shares with its successor, then the smaller ones; then
the same one bit wider, and so on until the prefix is empty and every node was asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pubmatch.overlay.node_table import NodeTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]
    FloatArray = NDArray[np.float64]

__all__ = ["SearchOrder"]

_WIDE = 1024  # candidates after which it pays to look whether any node at all can accept


class SearchOrder:
    """All nodes but one, in the order in which that one asks them.

    Parameters
    ----------
    nodes : NodeTable
        The nodes.
    position : int
        The one that asks, by its place in the order of ids.

    Examples
    --------
    >>> nodes = NodeTable([0, 4, 8, 9, 10, 11, 12, 40], bits=3)
    >>> order = SearchOrder(nodes, position=3)  # node 9 = 001001, its successor 10 = 001010
    >>> [int(nodes.ids[order.position(rank)]) for rank in range(len(order))]
    [10, 11, 8, 12, 4, 0, 40]
    """

    def __init__(self, nodes: NodeTable, position: int) -> None:
        self._nodes = nodes
        ids, bits, own = nodes.ids, nodes.id_bits, int(nodes.ids[position])
        if position + 1 < len(ids):
            neighbour = int(ids[position + 1])
        else:
            neighbour = int(ids[position - 1]) if position else own
        widths = np.arange((own ^ neighbour).bit_length(), bits + 1)
        low = (own >> widths) << widths
        below = np.searchsorted(ids, low)
        above = np.searchsorted(ids, low + (np.int64(1) << widths) - 1, side="right")
        self._highs = np.concatenate(([position + 1], above))  # ascending
        self._lows = np.concatenate(([position], below))  # descending
        larger, smaller = np.diff(self._highs), -np.diff(self._lows)
        self._starts = np.concatenate(([0], np.cumsum(larger + smaller)))
        self._larger = larger
        self._parts = self._listed()

    def _listed(self) -> list[tuple[int, int, int, bool]]:
        """Parts of the order that are not empty: first rank, positions from and to, whether downwards."""
        parts = []
        highs, lows = self._highs.tolist(), self._lows.tolist()
        for level, start in enumerate(self._starts[:-1].tolist()):
            if highs[level + 1] > highs[level]:
                parts.append((start, highs[level], highs[level + 1], False))
            if lows[level] > lows[level + 1]:
                parts.append((start + highs[level + 1] - highs[level], lows[level + 1], lows[level], True))
        return parts

    def __len__(self) -> int:
        return len(self._nodes) - 1

    def ranks(self, positions: IntArray) -> IntArray:
        """When the nodes at some positions are asked, counted from 0; not for the one that asks."""
        above = np.searchsorted(self._highs[1:], positions, side="right")
        below = np.searchsorted(-self._lows[1:], -positions, side="left")
        larger = positions >= self._highs[0]
        level = np.where(larger, above, below)
        steps = np.where(
            larger,
            positions - self._highs[level],
            self._larger[level] + self._lows[level] - 1 - positions,
        )
        return self._starts[level] + steps

    def position(self, rank: int) -> int:
        """The position of the node that is asked at a rank."""
        for start, low, high, down in self._parts:
            if rank < start + high - low:
                return high - 1 - (rank - start) if down else low + rank - start
        raise IndexError(rank)

    def first_below(self, units: FloatArray, limit: float, after: int = 0) -> int:
        """The rank, from `after` on, of the first node whose load is not above a limit; -1 if there is none.

        Candidates are tested in bulk: the answer is what asking one after the other would give.
        """
        nodes, total = self._nodes, len(self._nodes)
        seen = 0
        for start, low, high, down in self._parts:
            if start + high - low <= after:
                continue
            loads = nodes.ordered(units, low, high)
            skip = max(after - start, 0)
            fits = (loads[::-1] if down else loads)[skip:] <= limit
            place = int(fits.argmax())
            if fits[place]:
                return start + skip + place
            seen += high - low
            if seen > _WIDE:
                if float(nodes.ordered(units, 0, total).min()) > limit:
                    return -1
                seen = -total
        return -1
