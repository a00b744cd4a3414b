"""Strategy 1 (section 4.1): split whatever overlaps partly; no false positives, many connections."""

from __future__ import annotations

from pubmatch.clustering.books import Books

__all__ = ["arrange"]


def arrange(books: Books) -> None:
    """Find clusters for the publisher that is joining (Algorithm 1).

    Connections are not limited: the strategy does not look at them.

    Parameters
    ----------
    books : Books
        Between its `begin` and `finish`.

    Examples
    --------
    >>> books = Books()
    >>> books.begin([0, 1], limit=None)
    >>> arrange(books)
    >>> books.finish(), books.cluster_ids()
    (0, [1])
    """
    for cluster, size, shared in books.overlapping(by_size=False):
        if shared == size:
            books.connect(cluster)
        else:
            books.split(cluster)
    if books.unowned():
        books.create()
