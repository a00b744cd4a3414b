"""How many clusters there can be (formulas 4.1 and 4.2)."""

from __future__ import annotations

import math

from pubmatch.arrays import checked_count
from pubmatch.errors import ArgumentError

__all__ = ["max_clusters_bound"]


def max_clusters_bound(strategy: str, n: int, m: int) -> int:
    """Return the most clusters that publishers with `m` of `n` attributes can lead to.

    Parameters
    ----------
    strategy : str
        "1", "3", "3.1": formula 4.1 without the empty set, which it counts by mistake: the combinations of up
        to `m` attributes, or 1 if every publisher has all of them. "2": formula 4.2. "4" makes clusters
        without need of an overlap, so that for it `m` = `n` is no exception.
    n, m : int
        Attributes in the system, and of one publisher.

    Examples
    --------
    >>> [max_clusters_bound("1", n, m) for n, m in ((10, 9), (10, 4), (5, 4), (5, 3), (10, 10))]
    [1022, 385, 30, 25, 1]
    >>> [max_clusters_bound("2", n, m) for n, m in ((10, 4), (10, 9), (5, 4))]
    [210, 10, 5]
    """
    attributes = checked_count("n", n)
    chosen = checked_count("m", m)
    if chosen > attributes:
        raise ArgumentError(f"m must be at most n, got m={chosen} and n={attributes}")
    if strategy == "2":
        return math.comb(attributes, chosen)
    if chosen == attributes and strategy != "4":
        return 1
    return sum(math.comb(attributes, size) for size in range(1, chosen + 1))
