"""Which publishers somebody has subscribed to: one sorted array of ids per type, one count beside each.

An edge receives a reading once, however many subscriptions want it. Ranges are counted by binary search.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pubmatch.arrays import id_array
from pubmatch.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    IntArray = NDArray[np.int64]

__all__ = ["PublisherCoverage"]


class PublisherCoverage:
    """Publishers by type, with the number of filters that listen to each.

    Parameters
    ----------
    publishers : mapping of str to array of int
        The publishers' ids by type; sorted once if they are not.
    size : int
        Ids run from 0 to size - 1.

    Examples
    --------
    >>> import numpy as np
    >>> coverage = PublisherCoverage({"rain": np.arange(0, 64, 2)}, size=64)
    >>> coverage.counts("rain", np.array([0, 16]), np.array([16, 20]))
    array([8, 2])
    >>> coverage.listen("rain", np.array([0, 10]), np.array([10, 16]), +1)  # newly listened to, by piece
    array([5, 3])
    >>> coverage.listen("rain", np.array([8, 10]), np.array([10, 20]), +1)
    array([0, 2])
    """

    def __init__(self, publishers: Mapping[str, ArrayLike], size: int) -> None:
        self._ids: dict[str, IntArray] = {}
        self._listeners: dict[str, NDArray[np.int32]] = {}
        for kind, given in publishers.items():
            ids = id_array(given)
            if len(ids) > 1 and not bool(np.all(ids[:-1] <= ids[1:])):
                ids = np.sort(ids)
            if len(ids) and not (ids[0] >= 0 and ids[-1] < size):
                wrong = ids[0] if ids[0] < 0 else ids[-1]
                raise ArgumentError(
                    f"the ids of publishers of type {kind!r} must be from 0 to {size - 1}, got {wrong}"
                )
            self._ids[kind] = ids
            self._listeners[kind] = np.zeros(len(ids), np.int32)

    @property
    def types(self) -> tuple[str, ...]:
        """The types there are publishers of."""
        return tuple(self._ids)

    def ids(self, kind: str) -> IntArray:
        """The ids of the publishers of a type, ascending."""
        return self._ids[kind]

    def __len__(self) -> int:
        return sum(len(each) for each in self._ids.values())

    def counts(self, kind: str, starts: IntArray, ends: IntArray) -> IntArray:
        """How many publishers of a type are in each piece."""
        ids = self._ids[kind]
        return np.searchsorted(ids, ends) - np.searchsorted(ids, starts)

    def subscribed(self, kind: str, bounds: IntArray) -> IntArray:
        """How many publishers that somebody listens to are between each two neighbouring bounds."""
        places = np.searchsorted(self._ids[kind], bounds)
        return _between(self._listeners[kind][places[0] : places[-1]] > 0, places - places[0])

    def listen(self, kind: str, starts: IntArray, ends: IntArray, step: int) -> IntArray:
        """Let a filter listen (+1) or no longer listen (-1) in pieces that ascend and are disjoint.

        Returns
        -------
        ndarray of int64
            How many publishers began or ceased to be listened to in each piece.
        """
        ids, listeners = self._ids[kind], self._listeners[kind]
        first, last = np.searchsorted(ids, starts), np.searchsorted(ids, ends)
        cuts = np.concatenate(([0], np.cumsum(last - first)))
        where: slice | IntArray = slice(int(first[0]), int(last[-1]))
        if not bool(np.all(first[1:] == last[:-1])):
            where = np.arange(cuts[-1]) + np.repeat(first - cuts[:-1], last - first)
        changed = listeners[where] == (0 if step > 0 else 1)
        listeners[where] += np.int32(step)
        return _between(changed, cuts)


def _between(flags: NDArray[np.bool_], cuts: IntArray) -> IntArray:
    """How many flags are set between each two neighbouring cuts."""
    sums = np.zeros(len(flags) + 1, np.int64)
    np.cumsum(flags, out=sums[1:])
    return np.diff(sums[cuts])
