"""Strategy 3.1 (section 4.4): strategy 3, with free connections counted for each combination."""

from __future__ import annotations

from collections.abc import Sequence

from pubmatch.clustering.books import Books, Overlap
from pubmatch.clustering.strategy_3 import settle

__all__ = ["arrange"]


def arrange(books: Books, overlaps: Sequence[Overlap]) -> None:
    """Find clusters for the publisher that is joining (Algorithm 4).

    Of a partly overlapping cluster, those combinations can be split out all of whose publishers have a
    connection left (the set T). If they are not all that is shared, the publisher needs the old cluster too.

    Parameters
    ----------
    books : Books
        Between its `begin` and `finish`.
    overlaps : sequence of tuple
        What `books.overlapping` told, in the order to look at them (line 4).

    Examples
    --------
    >>> books = Books()
    >>> for attributes, limit in (([0, 1], 2), ([0, 2], 1), ([1, 3], 2)):  # figure 4.5
    ...     books.begin(attributes, limit)
    ...     arrange(books, books.overlapping(by_size=True))
    ...     _ = books.finish()
    >>> books.cluster_ids(), books.owner([1])
    ([2, 3, 4], 3)
    """
    included, overlapping = [], []
    for cluster, size, shared in overlaps:
        if shared == size:
            included.append(cluster)
            continue
        free = books.free_connections()
        if free <= 1:
            overlapping.append(cluster)
            continue
        splittable = books.splittable(cluster)
        if splittable == shared:
            books.split(cluster)
            continue
        if splittable and free > 2:
            books.split(cluster, only_splittable=True)
        books.connect(cluster)
    settle(books, included, overlapping)
