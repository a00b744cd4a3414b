"""How much the clustering reproduction runs, and the scenarios of the thesis' chapter 5."""

from __future__ import annotations

import dataclasses
from typing import Any

from pubmatch.clustering import Clustering, Publisher, random_publishers


@dataclasses.dataclass(frozen=True)
class Scenario:
    """Publishers of one kind under one strategy.

    Examples
    --------
    >>> Scenario("3.1", connections=(11, 15)).label()
    '3.1 descending, n=10, 3..4 attributes, limits 11..15'
    """

    strategy: str
    order: str = "descending"
    n: int = 10
    attributes: tuple[int, int] = (3, 4)
    connections: tuple[int, int] | None = None
    publishers: int = 1000
    local_moves: int = 0
    zipf: float = 0.0

    def label(self) -> str:
        """Say what it is, for legends and keys."""
        return f"{self.name()}, {self.crowd()}"

    def name(self) -> str:
        """Return the strategy with what belongs to it."""
        order = f" {self.order}" if self.strategy in ("3", "3.1") else ""
        return f"{self.strategy}{order}{f', {self.local_moves} moves' if self.local_moves else ''}"

    def crowd(self) -> str:
        """Say how the publishers were drawn."""
        least, most = self.attributes
        attributes = f"{least}..{most}" if least < most else f"{least}"
        limits = "" if self.connections is None else f", limits {self.connections[0]}..{self.connections[1]}"
        return f"n={self.n}, {attributes} attributes{limits}{f', Zipf {self.zipf:g}' if self.zipf else ''}"

    def clustering(self, seed: int) -> Clustering:
        """Return the clustering, still empty."""
        return Clustering(self.strategy, order=self.order, seed=seed, local_moves=self.local_moves)

    def draw(self, seed: int) -> list[Publisher]:
        """Return the publishers; strategies with the same crowd and seed get the same ones."""
        return random_publishers(
            self.publishers,
            n=self.n,
            attributes=self.attributes,
            connections=self.connections,
            zipf=self.zipf,
            seed=seed,
        )


@dataclasses.dataclass(frozen=True)
class Plan:
    """Counts of a run.

    Attributes
    ----------
    seeds : int
        Runs that each mean is taken over.
    publishers : int
        Publishers of the figures that have 1000 in the thesis.
    crowd : int
        Publishers of the figures that have 3000.
    subscribers, messages : int
        Of the message simulation.
    points : int
        Points of a curve.
    grown : dict
        Publishers of the runs that measure the cost of a join, by name.
    subscriptions, senders : int
        Of the comparison of shards.
    seed : int
        The first seed.
    """

    seeds: int = 30
    publishers: int = 1000
    crowd: int = 3000
    subscribers: int = 3000
    messages: int = 1000
    points: int = 25
    grown: tuple[int, int, int] = (100_000, 100_000, 10_000)
    subscriptions: int = 200_000
    senders: int = 500
    seed: int = 0

    def parameters(self) -> dict[str, Any]:
        """Return the plan as JSON would hold it."""
        return {**dataclasses.asdict(self), "grown": list(self.grown)}


FULL = Plan()
QUICK = dataclasses.replace(FULL, seeds=10, points=10, grown=(10_000, 3_000, 1_000), subscriptions=20_000)

LIMITS = (11, 15)
STRATEGY_1 = [
    Scenario("1", attributes=(3, 4), publishers=50),
    Scenario("1", attributes=(9, 9), publishers=50),
    Scenario("1", attributes=(10, 10), publishers=50),
    Scenario("1", n=5, attributes=(3, 4), publishers=50),
    Scenario("1", n=5, attributes=(2, 3), publishers=50),
]
STRATEGY_1_WIDE = Scenario("1", attributes=(3, 6), publishers=50)
STRATEGY_2 = [
    Scenario("2", attributes=(3, 4)),
    Scenario("2", attributes=(2, 2)),
    Scenario("2", attributes=(7, 7)),
    Scenario("2", attributes=(9, 9)),
    Scenario("2", attributes=(10, 10)),
    Scenario("2", n=5, attributes=(4, 4)),
    Scenario("2", n=5, attributes=(2, 2)),
]
STRATEGY_3 = [
    Scenario("1"),
    Scenario("2"),
    *(Scenario("3", connections=(least, 15)) for least in (13, 14, 15)),
]
STRATEGY_3_ORDERS = [Scenario("3", order, connections=(13, 15)) for order in ("descending", "random")]
STRATEGY_31 = [
    Scenario("3", connections=LIMITS),
    Scenario("3.1", connections=LIMITS),
    Scenario("3.1", "random", connections=LIMITS),
]
STRATEGY_4 = [
    Scenario("3.1", connections=LIMITS),
    Scenario("4", connections=LIMITS),
    Scenario("4", connections=LIMITS, local_moves=200),
]
ZIPF = [dataclasses.replace(each, zipf=zipf) for zipf in (0.5, 1.0) for each in STRATEGY_4]
