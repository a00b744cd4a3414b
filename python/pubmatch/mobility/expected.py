"""The routing tables as they must be, computed from where clients are, without any message.

On a tree every link divides the brokers in two. What a broker holds from a neighbour follows from the clients
on that side alone: the advertisements there that no other one covers; and the subscriptions there that
intersect an advertisement of this side, again without covered ones. No broker takes part in this computation.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pubmatch.mobility.topology import Topology
from pubmatch.mobility.workload import Interest

__all__ = ["Placed", "Rows", "expected_rows", "maximal"]

InRow = tuple[Interest, int]
OutRow = tuple[Interest, int, bool]
Placed = Iterable[tuple[int, int, Interest]]
"""Broker, client and what the client advertises or wants there."""


@dataclass
class Rows:
    """The rows of one broker's four tables, under the paper's names."""

    in_ads: set[InRow] = field(default_factory=set)
    out_ads: set[OutRow] = field(default_factory=set)
    in_subs: set[InRow] = field(default_factory=set)
    out_subs: set[OutRow] = field(default_factory=set)


def maximal(interests: Iterable[Interest]) -> set[Interest]:
    """Return those that no other one covers.

    Examples
    --------
    >>> sorted(maximal({Interest(1, 5), Interest(2, 3), Interest(4, 9), Interest(1, 4)}))
    [Interest(low=1, high=5), Interest(low=4, high=9)]
    """
    kept, reach = set(), float("-inf")
    for each in sorted(interests, key=lambda each: (each.low, -each.high)):
        if each.high > reach:
            kept.add(each)
            reach = each.high
    return kept


class _Union:
    """The union of intervals, as disjoint ones in order: asked which others it meets."""

    def __init__(self, interests: Iterable[Interest]) -> None:
        self._lows: list[float] = []
        self._highs: list[float] = []
        for each in sorted(interests):
            if self._highs and each.low <= self._highs[-1]:
                self._highs[-1] = max(self._highs[-1], each.high)
            else:
                self._lows.append(each.low)
                self._highs.append(each.high)

    def meets(self, other: Interest) -> bool:
        at = bisect_right(self._lows, other.high) - 1
        return at >= 0 and other.low <= self._highs[at]


def expected_rows(topology: Topology, advertised: Placed, wanted: Placed) -> list[Rows]:
    """Return the rows of every broker, by its position.

    Parameters
    ----------
    topology : Topology
        The tree.
    advertised, wanted : iterable of (broker, client, Interest)
        All that clients advertise and want, and where.

    Examples
    --------
    >>> pair = Topology([(0, 1)])
    >>> rows = expected_rows(pair, [(0, 7, Interest(1, 5))], [(1, 8, Interest(2, 2)), (1, 9, Interest(9, 9))])
    >>> rows[0].in_subs, rows[1].out_subs
    ({(Interest(low=2, high=2), 1)}, {(Interest(low=2, high=2), 0, True)})
    """
    rows = [Rows() for _ in range(len(topology))]
    ads, subs = _Sides(topology, advertised), _Sides(topology, wanted)
    for broker, client, interest in ads.placed:
        rows[broker].in_ads.add((interest, client))
    for broker, client, interest in subs.placed:
        rows[broker].in_subs.add((interest, client))
    for broker, here in enumerate(rows):
        for neighbour in topology.neighbours[broker]:
            here.in_ads.update((each, neighbour) for each in maximal(ads.behind(broker, neighbour)))
            ours = _Union(ads.behind(neighbour, broker))
            met = (each for each in subs.behind(broker, neighbour) if ours.meets(each))
            here.in_subs.update((each, neighbour) for each in maximal(met))
    for broker, here in enumerate(rows):
        for neighbour in topology.neighbours[broker]:
            here.out_ads |= _outgoing(
                {each for each, sender in here.in_ads if sender != neighbour}, neighbour
            )
            theirs = _Union(each for each, sender in here.in_ads if sender == neighbour)
            asked = {each for each, sender in here.in_subs if sender != neighbour and theirs.meets(each)}
            here.out_subs |= _outgoing(asked, neighbour)
    return rows


def _outgoing(interests: set[Interest], neighbour: int) -> set[OutRow]:
    """Every interest known from elsewhere has a row; what another one covers is not sent."""
    sent = maximal(interests)
    return {(each, neighbour, each in sent) for each in interests}


class _Sides:
    """The distinct interests on either side of every link, counted up the tree once."""

    def __init__(self, topology: Topology, placed: Placed) -> None:
        self.placed: Sequence[tuple[int, int, Interest]] = list(placed)
        self._parents = topology.parents
        self._below: list[Counter[Interest]] = [Counter() for _ in range(len(topology))]
        for broker, _, interest in self.placed:
            self._below[broker][interest] += 1
        for broker in reversed(topology.depth_first):
            parent = self._parents[broker]
            if parent >= 0:
                self._below[parent].update(self._below[broker])
        self._all = self._below[topology.depth_first[0]]

    def behind(self, broker: int, neighbour: int) -> list[Interest]:
        """Return what lies on the neighbour's side of the link."""
        if self._parents[neighbour] == broker:
            return list(self._below[neighbour])
        below = self._below[broker]
        return [each for each, count in self._all.items() if count > below[each]]
