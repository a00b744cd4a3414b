"""Strategy 2 (section 4.2): never split, merge what is included; few connections, many false positives."""

from __future__ import annotations

from pubmatch.clustering.books import Books

__all__ = ["arrange"]


def arrange(books: Books) -> None:
    """Find clusters for the publisher that is joining (Algorithm 2).

    Connections are not limited: the strategy does not look at them.

    Parameters
    ----------
    books : Books
        Between its `begin` and `finish`.

    Examples
    --------
    >>> books = Books()
    >>> for attributes in ([0, 1], [0, 2], [0, 1, 2]):
    ...     books.begin(attributes, limit=None)
    ...     arrange(books)
    ...     _ = books.finish()
    >>> books.cluster_ids()  # the third publisher includes all that the others have
    [3]
    """
    to_merge = []
    for cluster, size, shared in books.overlapping(by_size=False):
        if shared == size:
            to_merge.append(cluster)
        else:
            books.connect(cluster)
    if to_merge or books.unowned():
        books.create(to_merge)
