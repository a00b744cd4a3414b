"""Strategy 4, by cost: the clusters that cause the fewest deliveries within everyone's limits.

Useful deliveries do not depend on the clusters, so the sum over clusters of combinations times publishers is
what false positives grow with. Every new combination starts in a cluster of its own; then, until the joining
publisher fits its limit, two of its clusters are merged, or what it has in one is moved to another, whichever
adds least. Afterwards single combinations may be moved where that lowers the sum.
"""

from __future__ import annotations

import random

from pubmatch.clustering.books import Books

__all__ = ["arrange", "improve", "relieve"]


def arrange(books: Books) -> None:
    """Give every new combination of the publisher that is joining a cluster of its own.

    Parameters
    ----------
    books : Books
        Between its `begin` and `finish`.

    Examples
    --------
    >>> books = Books()
    >>> books.begin([0, 1], limit=2)
    >>> arrange(books)
    >>> publisher = books.finish()
    >>> books.degree(publisher)
    3
    >>> relieve(books, publisher)
    >>> books.degree(publisher)
    2
    """
    books.create_each()


def relieve(books: Books, advertisement: int) -> None:
    """Merge and move at the least cost until the publishers of an advertisement are within their limits.

    Parameters
    ----------
    books : Books
        After `finish`.
    advertisement : int
        What `finish` returned.
    """
    while books.excess(advertisement):
        source, target, merge, _ = books.cheapest_relief(advertisement)
        books.relieve(advertisement, source, target, merge)


def improve(books: Books, advertisement: int, tries: int, rng: random.Random) -> int:
    """Try random moves of single combinations of an advertisement; keep those that save deliveries.

    Parameters
    ----------
    books : Books
        After `finish`.
    advertisement : int
        What `finish` returned.
    tries : int
        Moves to try.
    rng : random.Random
        Draws the moves.

    Returns
    -------
    int
        Moves made.
    """
    return books.improve(advertisement, tries, rng.getrandbits(64)) if tries else 0
