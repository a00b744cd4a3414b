"""DSM-Pub/Sub, the system the paper compares itself with (section IV).

A binary tree divides the same id space, so only every other node is a leaf and an edge serves twice the
publishers. Filtered readings go from the leaf straight to the subscriber's root. An overloaded leaf is split:
two new nodes take the halves of its area. Nothing relieves a root. With calculation installed, leaves
calculate before they send.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pubmatch.arrays import checked_count
from pubmatch.errors import ArgumentError, ArgumentTypeError
from pubmatch.overlay.node_table import NodeTable
from pubmatch.overlay.placement import plan
from pubmatch.overlay.publisher_coverage import PublisherCoverage
from pubmatch.overlay.subscription import Subscription
from pubmatch.overlay.transfer_state import Rates, TransferState
from pubmatch.overlay.transfer_tree import TransferTree
from pubmatch.overlay.zorder import MAX_BITS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    IntArray = NDArray[np.int64]
    FloatArray = NDArray[np.float64]

__all__ = ["DsmNetwork", "SplitReport"]


@dataclass(frozen=True, slots=True)
class SplitReport:
    """What balancing did.

    Attributes
    ----------
    splits : int
        How many leaves were split; each split added two nodes.
    unrelieved : list of int
        The ids of the nodes that stay above the threshold, ascending: roots, and leaves that cannot be split.
    """

    splits: int
    unrelieved: list[int]


class DsmNetwork:
    """Loads of DSM-Pub/Sub over the same nodes, publishers and subscriptions.

    Parameters
    ----------
    nodes : array of int
        The nodes' ids. Every other one, from the first on, is a leaf; the others are inside the tree and
        serve as roots.
    publishers : array of int, or mapping of str to array of int
        The publishers' ids, all of the type "reading", or by type.
    bits : int
        Bits per axis of the id space.
    calculate : bool
        Whether leaves calculate.
    pub_rate, rate_fil, rate_calc, threshold : float
        As for `TransferNetwork`.

    Examples
    --------
    >>> import numpy as np
    >>> from pubmatch.overlay import Calculate, Filter, Subscription
    >>> nodes, sensors = np.arange(0, 4096, 64), np.arange(0, 4096, 2)
    >>> network = DsmNetwork(nodes, sensors, bits=6, pub_rate=3.0)
    >>> network.subscribe(Subscription("rain", Calculate("mean", Filter("reading")), ranges=[(0, 1024)]))
    >>> network.edge_peak, network.root_peak  # 64 publishers in, half of it out; 512 publishers' half in
    (288.0, 768.0)
    """

    def __init__(
        self,
        nodes: ArrayLike,
        publishers: ArrayLike | Mapping[str, ArrayLike],
        *,
        bits: int,
        calculate: bool = False,
        pub_rate: float = 1.0,
        rate_fil: float = 0.5,
        rate_calc: float = 0.1,
        threshold: float = 500.0,
    ) -> None:
        given = publishers if isinstance(publishers, Mapping) else {"reading": publishers}
        everyone = NodeTable(nodes, checked_count("bits", bits, MAX_BITS))
        if len(everyone) < 2:
            raise ArgumentError("a binary tree needs at least two nodes, got 1")
        self._leaves: IntArray = everyone.ids[::2].copy()
        self._inner: IntArray = everyone.ids[1::2].copy()
        self._size, self._bits = everyone.size, bits
        self._coverage = PublisherCoverage(given, everyone.size)
        self._rates, self._calculate = Rates(pub_rate, rate_fil, rate_calc, threshold), calculate
        self._trees: dict[str, TransferTree] = {}
        self._retired = 0  # leaves that were split: inside the tree, without load

    def subscribe(self, subscription: Subscription) -> None:
        """Place a subscription: its root is the inner node nearest below the subscriber."""
        if not isinstance(subscription, Subscription):
            raise ArgumentTypeError(f"a Subscription is needed, got {type(subscription).__name__}")
        if subscription.name in self._trees:
            raise ArgumentError(f"there is a subscription {subscription.name!r} already")
        inner = NodeTable(self._inner, self._bits)
        tree = plan(TransferState(inner, self._coverage, self._rates, False), subscription, 64)
        tree.root = int(inner.ids[inner.owner(tree.subscriber)])
        for source, ranges in enumerate(tree.ranges):
            lows, highs = np.array(ranges, np.int64).T
            self._coverage.listen(tree.graph.sources[source].type, lows, highs, +1)
        self._trees[subscription.name] = tree

    @property
    def leaves(self) -> IntArray:
        """The ids where the leaves' areas begin, ascending; the first area begins at 0."""
        return self._leaves.copy()

    @property
    def roots(self) -> dict[str, int]:
        """The id of every subscription's root."""
        return {name: tree.root for name, tree in self._trees.items()}

    @property
    def edge_loads(self) -> FloatArray:
        """Messages per second of the leaves, in the order of `leaves`: readings in, what passes out."""
        return self._edge_units() * self._rates.pub_rate

    @property
    def inner_loads(self) -> FloatArray:
        """Messages per second of the nodes that are no leaves, by id: what roots receive."""
        units = np.zeros(len(self._inner))
        for tree in self._trees.values():
            units[np.searchsorted(self._inner, tree.root)] += self._sent(tree).sum()
        return units * self._rates.pub_rate

    @property
    def loads(self) -> FloatArray:
        """Messages per second of all nodes: leaves, inner nodes, and leaves that were split (none)."""
        return np.concatenate((self.edge_loads, self.inner_loads, np.zeros(self._retired)))

    @property
    def edge_peak(self) -> float:
        """The highest load of a leaf."""
        return float(self.edge_loads.max())

    @property
    def root_peak(self) -> float:
        """The highest load of a root."""
        return float(self.inner_loads.max())

    @property
    def peak(self) -> float:
        """The highest load."""
        return max(self.edge_peak, self.root_peak)

    def balance(self) -> SplitReport:
        """Split every leaf above the threshold, down to areas of a single id."""
        splits = 0
        stuck: set[int] = set()
        while True:
            loads = self.edge_loads
            above = np.flatnonzero(loads > self._rates.threshold).tolist()
            open_leaves = [each for each in above if int(self._leaves[each]) not in stuck]
            if not open_leaves:
                break
            for each in reversed(open_leaves):
                splits += self._split(each, stuck)
        roots = self._inner[self.inner_loads > self._rates.threshold].tolist()
        leaves = self._leaves[self.edge_loads > self._rates.threshold].tolist()
        return SplitReport(splits, sorted(roots + leaves))

    def _split(self, position: int, stuck: set[int]) -> int:
        """Let two new nodes take the halves of a leaf's area: one where it began, one in the middle."""
        bounds = self._bounds()
        low, high = int(bounds[position]), int(bounds[position + 1])
        middle = (low + high) // 2
        if middle <= low:
            stuck.add(int(self._leaves[position]))
            return 0
        self._leaves[position] = low
        self._leaves = np.insert(self._leaves, position + 1, middle)
        self._retired += 1
        return 1

    def _bounds(self) -> IntArray:
        return np.concatenate(([0], self._leaves[1:], [self._size]))

    def _edge_units(self) -> FloatArray:
        bounds = self._bounds()
        units = np.zeros(len(self._leaves))
        for kind in self._coverage.types:
            units += self._coverage.subscribed(kind, bounds)
        for tree in self._trees.values():
            units += self._sent(tree)
        return units

    def _sent(self, tree: TransferTree) -> FloatArray:
        """What every leaf sends for a subscription, in units of one publisher's rate."""
        bounds = self._bounds()
        rate = self._rates.rate_fil * (self._rates.rate_calc if self._calculates(tree) else 1.0)
        counts = np.zeros(len(self._leaves), np.int64)
        for source, ranges in enumerate(tree.ranges):
            kind = tree.graph.sources[source].type
            for low, high in ranges:
                cuts = np.clip(bounds, low, high)
                counts += self._coverage.counts(kind, cuts[:-1], cuts[1:])
        return np.asarray(counts * rate, np.float64)

    def _calculates(self, tree: TransferTree) -> bool:
        return self._calculate and bool(tree.graph.calculations)
