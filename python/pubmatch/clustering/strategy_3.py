"""Strategy 3 (section 4.3): as strategy 1 while connections last, as strategy 2 when they run out."""

from __future__ import annotations

from collections.abc import Sequence

from pubmatch.clustering.books import Books, Overlap

__all__ = ["arrange", "settle"]


def arrange(books: Books, overlaps: Sequence[Overlap]) -> None:
    """Find clusters for the publisher that is joining (Algorithm 3).

    Parameters
    ----------
    books : Books
        Between its `begin` and `finish`.
    overlaps : sequence of tuple
        What `books.overlapping` told, in the order to look at them (line 4).

    Examples
    --------
    >>> books = Books()
    >>> for attributes, limit in (([0, 1], 2), ([0, 2], 1)):  # figure 4.4
    ...     books.begin(attributes, limit)
    ...     arrange(books, books.overlapping(by_size=True))
    ...     _ = books.finish()
    >>> books.cluster_ids()  # the second publisher can have one connection only
    [2]
    """
    included, overlapping = [], []
    for cluster, size, shared in overlaps:
        if shared == size:
            included.append(cluster)
        elif books.free_connections() <= 1:
            overlapping.append(cluster)
        elif books.is_exhausted(cluster):
            books.connect(cluster)
        else:
            books.split(cluster)
    settle(books, included, overlapping)


def settle(books: Books, included: Sequence[int], overlapping: Sequence[int]) -> None:
    """Connect to included clusters while a connection is left in reserve; the rest become one (lines 25-33).

    Parameters
    ----------
    books : Books
        Between its `begin` and `finish`.
    included, overlapping : sequence of int
        Clusters that were not dealt with yet, in the order they were looked at.
    """
    spare = min(max(books.free_connections() - 1, 0), len(included))
    for cluster in included[:spare]:
        books.connect(cluster)
    left = [*included[spare:], *overlapping]
    if left or books.unowned():
        books.create(left)
