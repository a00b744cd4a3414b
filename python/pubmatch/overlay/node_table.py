"""Nodes in the order of their ids; each keeps its slot, a row in arrays, while others come and go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pubmatch.arrays import id_array
from pubmatch.errors import ArgumentError
from pubmatch.overlay.id_ranges import IdRange

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    IntArray = NDArray[np.int64]
    FloatArray = NDArray[np.float64]

__all__ = ["NodeTable", "Pieces"]


class Pieces(NamedTuple):
    """Parts of ranges by owner: whose (positions), from where to where, and of which range."""

    positions: IntArray
    starts: IntArray
    ends: IntArray
    runs: IntArray


class NodeTable:
    """Processing nodes and what they own: the ids from a node's own up to the next larger one's.

    Parameters
    ----------
    ids : array of int
        The nodes' ids; at least one, none twice.
    bits : int
        Bits per axis of the id space.

    Examples
    --------
    >>> nodes = NodeTable([16, 32, 48], bits=3)
    >>> nodes.owner(3), nodes.owner(47), nodes.owned(0)  # positions; ids below the lowest node are its own
    (0, 1, (0, 32))
    >>> pieces = nodes.pieces([(10, 40), (50, 60)])  # who owns what of two ranges
    >>> pieces.positions, pieces.starts, pieces.ends
    (array([0, 1, 2]), array([10, 32, 50]), array([32, 40, 60]))
    """

    def __init__(self, ids: ArrayLike, bits: int) -> None:
        table = np.sort(id_array(ids))
        self.size = 4**bits
        self.id_bits = 2 * bits
        if not len(table):
            raise ArgumentError("a network needs at least one node")
        if table[0] < 0 or table[-1] >= self.size:
            wrong = table[0] if table[0] < 0 else table[-1]
            raise ArgumentError(f"the id of a node must be from 0 to {self.size - 1}, got {wrong}")
        twice = np.flatnonzero(table[:-1] == table[1:])
        if len(twice):
            raise ArgumentError(f"the id of a node must be its own, {table[twice[0]]} is given twice")
        self.ids: IntArray = table
        self.order: IntArray = np.arange(len(table))
        self.id_of_slot: IntArray = table.copy()
        self._straight = True  # slots are positions, while nobody has joined or left

    def __len__(self) -> int:
        return len(self.ids)

    def position(self, node: int) -> int:
        """The place of a node in the order of ids."""
        place = int(np.searchsorted(self.ids, node))
        if place == len(self.ids) or self.ids[place] != node:
            raise ArgumentError(f"there is no node {node!r}")
        return place

    def position_of_slot(self, slot: int) -> int:
        """The place of a slot's node in the order of ids."""
        return int(np.searchsorted(self.ids, self.id_of_slot[slot]))

    def ordered(self, values: FloatArray, low: int, high: int) -> FloatArray:
        """Values of slots, in the order of ids, from one position to another."""
        return values[low:high] if self._straight else values[self.order[low:high]]

    def owner(self, id: int) -> int:
        """The position of the node that owns an id."""
        return max(int(np.searchsorted(self.ids, id, side="right")) - 1, 0)

    def owned(self, position: int) -> IdRange:
        """The half-open range of ids that a node owns."""
        low = 0 if position == 0 else int(self.ids[position])
        high = self.size if position + 1 == len(self.ids) else int(self.ids[position + 1])
        return low, high

    def pieces(self, ranges: Sequence[IdRange]) -> Pieces:
        """The parts of disjoint ranges that different nodes own, in the order of ids."""
        lows, highs = np.array(ranges, np.int64).T
        first = np.maximum(np.searchsorted(self.ids, lows, side="right") - 1, 0)
        last = np.maximum(np.searchsorted(self.ids, highs, side="left") - 1, 0)
        owners = last - first + 1
        ends_at = np.cumsum(owners)
        runs = np.repeat(np.arange(len(lows)), owners)
        positions = np.arange(len(runs)) + (first - (ends_at - owners))[runs]
        starts = self.ids[positions]
        starts[ends_at - owners] = lows
        ends = np.empty_like(starts)
        ends[:-1] = starts[1:]
        ends[ends_at - 1] = highs
        return Pieces(positions, starts, ends, runs)

    def all_bounds(self) -> IntArray:
        """The cuts between all nodes, both ends of the id space included."""
        return np.concatenate(([0], self.ids[1:], [self.size]))

    def add(self, node: int) -> int:
        """Let a node join; return its position. Its slot is a new one."""
        if not 0 <= node < self.size:
            raise ArgumentError(f"the id of a node must be from 0 to {self.size - 1}, got {node}")
        place = int(np.searchsorted(self.ids, node))
        if place < len(self.ids) and self.ids[place] == node:
            raise ArgumentError(f"node {node} has already joined")
        self.ids = np.insert(self.ids, place, node)
        self.order = np.insert(self.order, place, len(self.id_of_slot))
        self.id_of_slot = np.append(self.id_of_slot, node)
        self._straight = False
        return place

    def remove(self, position: int) -> None:
        """Let the node at a position leave; its slot is not used again."""
        self.ids = np.delete(self.ids, position)
        self.order = np.delete(self.order, position)
        self._straight = False
