"""What clients publish and want: the paper's unique publications, shared ones, or overlapping ranges.

Everything is an interval of one attribute, `publication`. So which filter covers which, and what matches, is
plain arithmetic here, independent of the brokers' index: the simulator checks them by it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import NamedTuple

import pubmatch as pm
from pubmatch.arrays import checked_share
from pubmatch.errors import ArgumentError

__all__ = ["FILTERS", "SCHEMA", "Interest", "Workload", "draw_workload"]

SCHEMA = pm.Schema(publication=pm.Number())
FILTERS = ("unique", "ranges")

_SPAN = 1_000.0


class Interest(NamedTuple):
    """The publications from `low` to `high`, both included.

    Examples
    --------
    >>> wide, narrow = Interest(1, 5), Interest(2, 2)
    >>> wide.covers(narrow), narrow.covers(wide), wide.intersects(Interest(5, 9)), wide.matches(4)
    (True, False, True, True)
    >>> str(wide.filter()), str(narrow.filter())
    ('publication >= 1 AND publication <= 5', 'publication = 2')
    """

    low: float
    high: float

    def covers(self, other: Interest) -> bool:
        """Tell whether all that matches `other` matches this one too."""
        return self.low <= other.low and other.high <= self.high

    def intersects(self, other: Interest) -> bool:
        """Tell whether some publication matches both."""
        return self.low <= other.high and other.low <= self.high

    def matches(self, publication: float) -> bool:
        """Tell whether a publication is wanted."""
        return self.low <= publication <= self.high

    def filter(self) -> pm.Filter:
        """Return the filter that brokers get."""
        publication = pm.attr("publication")
        if self.low == self.high:
            return publication == self.low
        return (publication >= self.low) & (publication <= self.high)


@dataclass(frozen=True)
class Workload:
    """What each client publishes or wants, in the order of the clients.

    Attributes
    ----------
    publications : tuple of float
        What each publisher publishes.
    advertisements : tuple of Interest
        What each publisher says that it may publish; contains its publication.
    subscriptions : tuple of Interest
        What each subscriber wants.
    """

    publications: tuple[float, ...]
    advertisements: tuple[Interest, ...]
    subscriptions: tuple[Interest, ...]


def draw_workload(
    publishers: int, subscribers: int, *, locality: float = 0.0, filters: str = "unique", seed: int = 1
) -> Workload:
    """Draw what clients publish and want.

    Parameters
    ----------
    publishers, subscribers : int
        How many there are.
    locality : float
        The share of publishers that publish the same (section 4.3, "Publication Locality"); the others'
        publications are unique.
    filters : {"unique", "ranges"}
        "unique": advertisements and subscriptions name one publication, a subscriber's is that of a random
        publisher. "ranges": advertisements and subscriptions are intervals of random width, many of which
        cover each other.
    seed : int
        Same seed, same workload.

    Examples
    --------
    >>> drawn = draw_workload(10, 3, locality=0.8)
    >>> drawn.publications
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 8.0, 9.0)
    >>> all(want.low in drawn.publications for want in drawn.subscriptions)
    True
    """
    if filters not in FILTERS:
        raise ArgumentError(f"filters must be one of {', '.join(FILTERS)}, got {filters!r}")
    alike = round(checked_share("locality", locality) * publishers)
    rng = random.Random(f"{seed} workload")
    publications = tuple(float(0 if each < alike else each) for each in range(publishers))
    if filters == "unique":
        drawn = [publications[rng.randrange(publishers)] for _ in range(subscribers)]
        exact = tuple(Interest(each, each) for each in publications)
        return Workload(publications, exact, tuple(Interest(each, each) for each in drawn))
    places = [float(rng.randrange(int(_SPAN))) for _ in range(publishers)]
    ranges = [_around(rng, place) for place in places]
    wanted = tuple(_around(rng, places[rng.randrange(publishers)]) for _ in range(subscribers))
    chosen = [int(each) for each in publications]
    return Workload(tuple(places[each] for each in chosen), tuple(ranges[each] for each in chosen), wanted)


def _around(rng: random.Random, place: float) -> Interest:
    """Return an interval around a place; few are wide, so that some cover many."""
    width = _SPAN * rng.random() ** 4 / 2
    return Interest(float(round(place - width * rng.random())), float(round(place + width * rng.random())))
