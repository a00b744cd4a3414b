"""Random publishers, as in the thesis' evaluation: uniform, or Zipf-distributed attributes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pubmatch.arrays import checked_count, checked_number
from pubmatch.errors import ArgumentError, ArgumentTypeError

__all__ = ["Publisher", "random_publishers"]


class Publisher(NamedTuple):
    """One publisher, in the order of the arguments of `Clustering.join`."""

    name: str
    attributes: frozenset[str]
    connections: int | None


def random_publishers(
    count: int,
    *,
    n: int = 10,
    attributes: tuple[int, int] = (3, 4),
    connections: tuple[int, int] | None = None,
    zipf: float = 0.0,
    seed: int = 0,
) -> list[Publisher]:
    """Draw publishers.

    Parameters
    ----------
    count : int
        How many.
    n : int
        Attributes in the system: "A", "B", …, after "Z" "A1" and so on.
    attributes : tuple of int
        Least and most attributes of a publisher; each number equally likely.
    connections : tuple of int, optional
        Least and most connections, each equally likely; unlimited if not given.
    zipf : float
        0: all attributes equally likely. Above: the attribute of rank r is drawn with weight 1 / r**zipf.
    seed : int
        Same seed, same publishers.

    Examples
    --------
    >>> first, second = random_publishers(2, connections=(11, 15), seed=1)
    >>> first.name, sorted(first.attributes), first.connections
    ('p1', ['B', 'D', 'I'], 11)
    """
    total, size = checked_count("count", count, least=0), checked_count("n", n)
    least, most = _range(attributes, "attributes")
    if most > size:
        raise ArgumentError(f"a publisher cannot have {most} of {size} attributes")
    limits = _range(connections, "connections") if connections is not None else None
    zipf = checked_number("zipf", zipf)
    if not 0 <= zipf < float("inf"):
        raise ArgumentError(f"zipf must be finite and not below 0, got {zipf}")
    rng = np.random.default_rng(checked_count("seed", seed, least=0))
    names = np.array([_name(number) for number in range(size)])
    sizes = rng.integers(least, most, endpoint=True, size=total)
    # The k largest of log(weight) + Gumbel noise are k draws without replacement.
    keys = rng.gumbel(size=(total, size)) - zipf * np.log(np.arange(1, size + 1))
    chosen = np.argsort(-keys, axis=1)
    limit = rng.integers(*limits, endpoint=True, size=total).tolist() if limits else [None] * total
    return [
        Publisher(f"p{i + 1}", frozenset(names[chosen[i, : sizes[i]]].tolist()), limit[i])
        for i in range(total)
    ]


def _range(bounds: tuple[int, int], what: str) -> tuple[int, int]:
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{what} must be a pair of least and most, got {bounds!r}") from None
    least, most = checked_count(f"least {what}", low), checked_count(f"most {what}", high)
    if least > most:
        raise ArgumentError(f"least {what} must not be above most, got {least} and {most}")
    return least, most


def _name(number: int) -> str:
    letter, again = chr(ord("A") + number % 26), number // 26
    return f"{letter}{again}" if again else letter
