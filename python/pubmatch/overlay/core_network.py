"""The core network: who is there, who owns which ids, who publishes what, and how to find it.

Paper, section III-A. A node owns the ids from its own up to the next larger node's (ids below the lowest node
belong to the lowest), and keeps what is known of the publishers there: id and type.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from pubmatch.arrays import checked_count, checked_integer
from pubmatch.errors import ArgumentError, ArgumentTypeError
from pubmatch.overlay import digit_links
from pubmatch.overlay.id_ranges import maximal_runs
from pubmatch.overlay.publisher_table import PublisherTable, name_array
from pubmatch.overlay.zorder import MAX_BITS, checked_ids

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    IdArray = NDArray[np.int64]

__all__ = ["CoreNetwork", "Publisher"]

Ranges = Iterable[tuple[int, int]]


class Publisher(NamedTuple):
    """A publisher as the core network knows it."""

    name: str | int
    id: int
    type: str


class CoreNetwork:
    """Processing nodes and publishers in one geographic id space.

    Parameters
    ----------
    bits : int
        Bits per axis of the id space, 1 to 31; ids run from 0 to 4^bits - 1.

    Examples
    --------
    >>> from pubmatch.overlay import CoreNetwork, zorder
    >>> network = CoreNetwork(bits=3)
    >>> network.join([2, 6, 8, 10, 11, 14, 40])
    >>> network.links(10)
    [2, 6, 8, 11, 14, 40]
    >>> network.lookup(40, 15)
    [40, 14]
    >>> network.register("gauge", 15, "river level")
    >>> network.publishers(14)
    [Publisher(name='gauge', id=15, type='river level')]
    >>> network.leave(14)
    >>> network.publishers(11)
    [Publisher(name='gauge', id=15, type='river level')]
    >>> network.find([(12, 16)], type="river level")
    [Publisher(name='gauge', id=15, type='river level')]
    """

    def __init__(self, bits: int) -> None:
        self._bits = checked_count("bits", bits, MAX_BITS)
        self._nodes: list[int] = []
        self._node_array: IdArray | None = None
        self._tables: dict[str, PublisherTable] = {}

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self._nodes)

    def __repr__(self) -> str:
        publishers = sum(len(table) for table in self._tables.values())
        return f"<CoreNetwork bits={self._bits} nodes={len(self)} publishers={publishers}>"

    @property
    def bits(self) -> int:
        """Bits per axis of the id space."""
        return self._bits

    @property
    def nodes(self) -> IdArray:
        """Ids of the nodes, ascending; read-only."""
        if self._node_array is None:
            self._node_array = np.array(self._nodes, dtype=np.int64)
            self._node_array.flags.writeable = False
        return self._node_array

    @property
    def types(self) -> tuple[str, ...]:
        """Types that publishers are registered under, in alphabetical order."""
        return tuple(sorted(self._tables))

    def join(self, id: int | ArrayLike) -> None:
        """Let a node, or all of an array, join; each takes its ids from the node below.

        Parameters
        ----------
        id : int or array_like of int
            Not yet in the network. If one of several cannot join, none does.
        """
        new = np.unique(self._ids(id, "id"), return_counts=True)
        numbers = np.atleast_1d(new[0])
        if len(numbers) and new[1].max() > 1:
            raise ArgumentError(f"node {numbers[np.argmax(new[1] > 1)]} is to join twice")
        known = np.isin(numbers, self.nodes, assume_unique=True)
        if known.any():
            raise ArgumentError(f"node {numbers[np.argmax(known)]} is in the network already")
        if len(numbers) == 1:
            insort(self._nodes, int(numbers[0]))
        else:
            self._nodes = np.union1d(self.nodes, numbers).tolist()
        self._node_array = None

    def leave(self, id: int | ArrayLike) -> None:
        """Let a node, or all of an array, leave; the node below takes its ids and publishers over.

        When the last node leaves, publishers stay registered, and the next node to join takes them.

        Parameters
        ----------
        id : int or array_like of int
            In the network. If one of several is not, none leaves.
        """
        numbers = np.unique(self._ids(id, "id"))
        unknown = ~np.isin(numbers, self.nodes, assume_unique=True)
        if unknown.any():
            raise ArgumentError(f"there is no node {numbers[np.argmax(unknown)]}")
        if len(numbers) == 1:
            del self._nodes[bisect_left(self._nodes, int(numbers[0]))]
        else:
            self._nodes = np.setdiff1d(self.nodes, numbers, assume_unique=True).tolist()
        self._node_array = None

    @overload
    def owner(self, id: int) -> int: ...
    @overload
    def owner(self, id: ArrayLike) -> IdArray: ...
    def owner(self, id: int | ArrayLike) -> int | IdArray:
        """Return the node that owns an id, or those of an array of ids."""
        ids = self._ids(id, "id")
        self._need_nodes()
        if ids.ndim == 0:
            return self._nodes[digit_links.owner_position(self._nodes, int(ids))]
        nodes = self.nodes
        return nodes[np.maximum(np.searchsorted(nodes, ids, side="right") - 1, 0)]

    def links(self, id: int) -> list[int]:
        """Return the nodes a node is connected to, ascending, neighbours included."""
        return digit_links.links(self._nodes, self._node(id, "id"), self._bits)

    def lookup(self, start: int, id: int) -> list[int]:
        """Return the nodes that a search for an id's owner passes.

        Parameters
        ----------
        start : int
            The node that searches.
        id : int
            What it searches for.

        Returns
        -------
        list of int
            From `start` to the owner, both included; each is linked to by the one before.
        """
        target = int(self._ids(checked_integer("id", id), "id"))
        return digit_links.lookup(self._nodes, self._node(start, "start"), target, self._bits)

    def register(self, name: Any, id: int | ArrayLike, type: str | ArrayLike) -> None:
        """Register a publisher, or all of an array, with the owner of its id.

        Parameters
        ----------
        name : str, int or array_like of them
            Names, one per id; they are labels, and need not differ.
        id : int or array_like of int
            Where the publishers are.
        type : str or array_like of str
            What they publish: one type for all, or one each.
        """
        ids = self._ids(id, "id")
        numbers = ids.reshape(1) if ids.ndim == 0 else ids
        if numbers.ndim != 1:
            raise ArgumentError(f"id must be one-dimensional, got shape {numbers.shape}")
        names = name_array(name)
        if len(names) != len(numbers):
            raise ArgumentError(f"there are {len(names)} names for {len(numbers)} ids")
        parts = _by_type(type, len(numbers))
        for kind, rows in parts:
            table = self._tables.setdefault(kind, PublisherTable())
            whole = isinstance(rows, slice)
            table.add(names[rows], numbers.copy() if whole else numbers[rows])

    def publishers(self, node: int) -> list[Publisher]:
        """Return the publishers that a node looks after, by id, then by type."""
        number = self._node(node, "node")
        return self.find([self.owned(number)])

    def owned(self, node: int) -> tuple[int, int]:
        """Return the ids a node owns, as a half-open range.

        Examples
        --------
        >>> network = CoreNetwork(bits=2)
        >>> network.join([3, 7])
        >>> network.owned(3), network.owned(7)
        ((0, 7), (7, 16))
        """
        place = bisect_left(self._nodes, self._node(node, "node"))
        low = self._nodes[place] if place else 0
        high = self._nodes[place + 1] if place + 1 < len(self._nodes) else 4**self._bits
        return low, high

    def find(self, ranges: Ranges, type: str | None = None) -> list[Publisher]:
        """Return the publishers in ranges of ids.

        Parameters
        ----------
        ranges : iterable of (int, int)
            Half-open, as `zorder.ranges` gives them; what several of them hold counts once.
        type : str, optional
            Only publishers of this type; of all types by default.

        Returns
        -------
        list of Publisher
            By id, then by type, then in order of registration.
        """
        runs = self._runs(ranges)
        found = [
            Publisher(name, number, kind)
            for kind in self._kinds(type)
            for low, high in _slices(self._tables[kind].ids, runs)
            for name, number in zip(
                self._tables[kind].names[low:high].tolist(),
                self._tables[kind].ids[low:high].tolist(),
                strict=True,
            )
        ]
        found.sort(key=lambda publisher: publisher.id)
        return found

    def publisher_ids(self, ranges: Ranges, type: str | None = None) -> IdArray:
        """Return the ids of the publishers in ranges, ascending, an id once per publisher; read-only.

        Parameters
        ----------
        ranges : iterable of (int, int)
            Half-open.
        type : str, optional
            Only publishers of this type; of all types by default.

        Examples
        --------
        >>> network = CoreNetwork(bits=3)
        >>> network.register(range(64), range(64), "rain")
        >>> network.publisher_ids([(10, 13), (40, 41)], type="rain")
        array([10, 11, 12, 40])
        """
        runs = self._runs(ranges)
        tables = [self._tables[kind].ids for kind in self._kinds(type)]
        parts = [ids[low:high] for ids in tables for low, high in _slices(ids, runs)]
        # Ten million ids in one range are not copied.
        joined = parts[0].view() if len(parts) == 1 else np.concatenate([np.empty(0, np.int64), *parts])
        if len(tables) > 1:
            joined.sort()
        joined.flags.writeable = False
        return joined

    def _ids(self, ids: int | ArrayLike, name: str) -> IdArray:
        return checked_ids(ids, self._bits, name)

    def _node(self, id: int, name: str) -> int:
        """Return `id` as an int if it is a node."""
        number = checked_integer(name, id)
        place = bisect_left(self._nodes, number)
        if place == len(self._nodes) or self._nodes[place] != number:
            raise ArgumentError(f"{name}: there is no node {number}")
        return number

    def _need_nodes(self) -> None:
        if not self._nodes:
            raise ArgumentError("the network has no nodes; let one join first")

    def _kinds(self, type: str | None) -> list[str]:
        """Return the known types asked for; a type nobody publishes is none."""
        if type is None:
            return sorted(self._tables)
        return [type] if _checked_type(type) in self._tables else []

    def _runs(self, ranges: Ranges) -> tuple[tuple[int, int], ...]:
        """Return ranges checked, ascending and disjoint."""
        if not np.iterable(ranges):
            raise ArgumentTypeError(f"ranges must be pairs (low, high), got {ranges!r}")
        runs = maximal_runs(ranges)
        if runs[-1][1] > 4**self._bits:
            raise ArgumentError(f"ranges must end at {4**self._bits} at most, got {runs[-1]}")
        return runs


def _slices(ids: IdArray, runs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    places = np.searchsorted(ids, np.array(runs, np.int64).ravel()).tolist()
    return list(zip(places[::2], places[1::2], strict=True))


def _checked_type(type: Any) -> str:
    if not isinstance(type, str):
        raise ArgumentTypeError(f"type must be a str, got {type!r}")
    if not type:
        raise ArgumentError("type must not be empty")
    return type


def _by_type(type: Any, count: int) -> list[tuple[str, Any]]:
    """Return each type with its rows."""
    if isinstance(type, str):
        return [(_checked_type(type), slice(None))] if count else []
    given = type.tolist() if isinstance(type, np.ndarray) else type
    listed = list(given) if np.iterable(given) else [given]
    kinds = np.array([_checked_type(each) for each in listed], dtype=object)
    if len(kinds) != count:
        raise ArgumentError(f"there are {len(kinds)} types for {count} ids")
    return [(kind, np.flatnonzero(kinds == kind)) for kind in dict.fromkeys(kinds.tolist())]
