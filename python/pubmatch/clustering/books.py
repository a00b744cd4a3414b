"""The books of a clustering: owners of combinations, connections, limits, ids; kept in the native core.

A strategy is a function that, between `begin` and `finish`, tells the books what the joining publisher does:
`split`, `connect`, `create` (with clusters to merge). The books carry it out for everybody concerned: who has
a combination in a split-out part pays a connection, who has none left in the old cluster drops it, who was in
several merged clusters keeps one connection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from pubmatch import _core
from pubmatch.errors import PubmatchError

__all__ = ["MAX_ADVERTISED", "MAX_ATTRIBUTES", "Books", "InvariantError", "Overlap"]

MAX_ADVERTISED = _core.MAX_ADVERTISED
"""Most attributes one publisher can advertise: its combinations are enumerated."""

MAX_ATTRIBUTES = _core.MAX_CLUSTERED_ATTRIBUTES
"""Most different attributes that all present publishers together can have."""

Overlap: TypeAlias = tuple[int, int, int]
"""A cluster's id, how many combinations it owns, and how many of them the joining publisher has."""


class InvariantError(PubmatchError):
    """`Clustering.check` found clusters that contradict each other, or a publisher above its limit."""


class Books(_core.ClusterBooks):
    """Owners, connections and limits; attributes are numbers, advertisements too.

    Publishers with the same attributes share an advertisement: they are always connected to the same
    clusters, and of their limits the least counts.

    Examples
    --------
    >>> books = Books()
    >>> books.begin([0, 1], limit=3)
    >>> books.create()
    1
    >>> first = books.finish()
    >>> books.begin([0, 2], limit=2)
    >>> books.overlapping(by_size=True)  # cluster 1 owns 3 combinations, one of them is shared
    [(1, 3, 1)]
    >>> books.split(1), books.create()
    (2, 3)
    >>> second = books.finish()
    >>> books.clusters_of(first), books.clusters_of(second)
    ([1, 2], [2, 3])
    """

    def overlapping(self, by_size: bool = True) -> list[Overlap]:
        """Return the clusters that own combinations of the joining publisher: oldest, or largest, first."""
        return super().overlapping(by_size)

    def split(self, cluster: int, only_splittable: bool = False) -> int:
        """Take what the joining publisher shares out of a cluster, into a new one that it joins.

        Parameters
        ----------
        cluster : int
            The cluster; it keeps at least one combination.
        only_splittable : bool
            Take only combinations all of whose publishers have a connection left.

        Returns
        -------
        int
            The new cluster's id.
        """
        return super().split(cluster, only_splittable)

    def create(self, merged: Sequence[int] = ()) -> int:
        """Make one new cluster of the joining publisher's unowned combinations and the clusters to merge."""
        return super().create(list(merged))

    def verify(self) -> None:
        """Recount everything; raise `InvariantError` if something does not fit."""
        if wrong := self.check():
            raise InvariantError(f"the clusters contradict themselves: {wrong}")
