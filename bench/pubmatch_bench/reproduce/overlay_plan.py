"""How much the overlay reproduction runs, and the settings of the paper's figures 8 to 13 (table I)."""

from __future__ import annotations

import dataclasses
from typing import Any

from pubmatch.overlay import DsmNetwork, Subscription, TransferNetwork
from pubmatch.overlay.evaluation import cell_subscriptions, equal_intervals


@dataclasses.dataclass(frozen=True)
class Setting:
    """What distinguishes one figure from another.

    Attributes
    ----------
    pub_rate : float
        Readings per second of a publisher.
    balance : bool
        Whether overloaded nodes are relieved, in both systems.
    rate_fil : float
        The share of readings that a filter passes.
    calculate : bool
        Whether the leaves of DSM-Pub/Sub calculate.
    """

    pub_rate: float
    balance: bool
    rate_fil: float = 0.5
    calculate: bool = False


FIGURES = {
    "8": Setting(pub_rate=1, balance=False),
    "9": Setting(pub_rate=3, balance=False),
    "10": Setting(pub_rate=3, balance=True),
    "11": Setting(pub_rate=3, balance=True, rate_fil=0.25),
    "12": Setting(pub_rate=3, balance=True, calculate=True),
    "13": Setting(pub_rate=4, balance=True, calculate=True),
}
BUSY = FIGURES["10"]
"""The setting that policies, thresholds and bounds are compared in."""

THRESHOLDS = (190, 150)
"""One that can be reached, and one below what an edge alone carries."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """Counts of a run.

    Attributes
    ----------
    nodes, publishers, subscriptions : int
        As in table I.
    prefix_bits : int
        Subscriptions are for cells whose ids share so many bits.
    bits : int
        Bits per axis of the id space.
    threshold, rate_calc : float
        Messages per second above which a node is overloaded; what a calculation emits per message.
    sizes : tuple of int
        Numbers of nodes that lookups are counted in.
    lookups : int
        Lookups for each of them.
    ticks : int
        Steps of the rate that goes up and down.
    seed : int
        Of the lookups.
    """

    nodes: int = 500
    publishers: int = 20_000
    subscriptions: int = 20
    prefix_bits: int = 5
    bits: int = 10
    threshold: float = 500.0
    rate_calc: float = 0.1
    sizes: tuple[int, ...] = (100, 316, 1_000, 3_162, 10_000, 31_623, 100_000)
    lookups: int = 4_000
    ticks: int = 200
    seed: int = 0

    def parameters(self) -> dict[str, Any]:
        """Return the plan as JSON would hold it."""
        return {**dataclasses.asdict(self), "sizes": list(self.sizes)}

    def ours(
        self, setting: Setting, policy: str = "paper", threshold: float | None = None
    ) -> TransferNetwork:
        """Return the two-tier overlay with all subscriptions placed, not yet balanced.

        Examples
        --------
        >>> Plan().ours(FIGURES["9"]).peak
        1211.25
        """
        network = TransferNetwork.from_arrays(
            equal_intervals(self.nodes, self.bits),
            equal_intervals(self.publishers, self.bits),
            bits=self.bits,
            pub_rate=setting.pub_rate,
            rate_fil=setting.rate_fil,
            rate_calc=self.rate_calc,
            threshold=self.threshold if threshold is None else threshold,
            policy=policy,
        )
        for each in self.asked():
            network.subscribe(each)
        return network

    def dsm(self, setting: Setting, threshold: float | None = None) -> DsmNetwork:
        """Return DSM-Pub/Sub with the same nodes, publishers and subscriptions.

        Examples
        --------
        >>> Plan().dsm(FIGURES["9"]).peak
        937.5
        """
        network = DsmNetwork(
            equal_intervals(self.nodes, self.bits),
            equal_intervals(self.publishers, self.bits),
            bits=self.bits,
            calculate=setting.calculate,
            pub_rate=setting.pub_rate,
            rate_fil=setting.rate_fil,
            rate_calc=self.rate_calc,
            threshold=self.threshold if threshold is None else threshold,
        )
        for each in self.asked():
            network.subscribe(each)
        return network

    def asked(self) -> list[Subscription]:
        """Return the subscriptions: one cell each, disjoint."""
        return cell_subscriptions(self.subscriptions, self.prefix_bits, bits=self.bits)


FULL = Plan()
QUICK = dataclasses.replace(FULL, sizes=(100, 1_000, 10_000), lookups=500, ticks=40)
