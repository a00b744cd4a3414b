"""`TransferNetwork`: the transfer trees of all subscriptions, and how load moves among the nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Self

import numpy as np

from pubmatch.arrays import checked_count, checked_integer, checked_number
from pubmatch.errors import ArgumentError, ArgumentTypeError
from pubmatch.overlay import balance as balancing
from pubmatch.overlay import churn, moving_area
from pubmatch.overlay.id_ranges import maximal_runs
from pubmatch.overlay.node_table import NodeTable
from pubmatch.overlay.placement import place, plan, resolved_ranges
from pubmatch.overlay.publisher_coverage import PublisherCoverage
from pubmatch.overlay.subscription import Area, Subscription, checked_area
from pubmatch.overlay.transfer_state import Rates, TransferState
from pubmatch.overlay.transfer_tree import Flow, Joint, TransferTree, TreeView
from pubmatch.overlay.zorder import MAX_BITS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pubmatch.overlay.balance import BalanceReport
    from pubmatch.overlay.churn import Departure
    from pubmatch.overlay.core_network import CoreNetwork
    from pubmatch.overlay.moving_area import AreaMove

    IntArray = NDArray[np.int64]
    FloatArray = NDArray[np.float64]

__all__ = ["POLICIES", "READING", "TransferNetwork"]

POLICIES = ("paper", "offer", "combiner")
"""How load is kept down: the paper's way; candidates that say how much they take; and, besides that, partial
aggregates made on the edges."""

READING = "reading"
"""The type of publishers that are given as one array."""


class TransferNetwork:
    """Subscriptions placed on the nodes of a core network, with the load of every node.

    A message counts once where it leaves and once where it arrives; inside one node it is free. What the
    root sends to the subscriber is not counted.

    Parameters
    ----------
    core : CoreNetwork
        Nodes and publishers as they are now. Nodes that join or leave later do so by the methods of the
        transfer network, which tell the core network too.
    pub_rate : float
        Readings per second of one publisher.
    rate_fil : float
        The share of readings that a filter passes.
    rate_calc : float
        What a calculation emits for each message it takes.
    threshold : float
        Messages per second above which a node is overloaded.
    policy : {"paper", "offer", "combiner"}
        How load is kept down.
    max_ranges : int or None
        The most ranges of ids an area is resolved into; None: as many as it needs.

    Examples
    --------
    >>> import numpy as np
    >>> from pubmatch.overlay import Calculate, Filter, Subscription, TransferNetwork
    >>> nodes, sensors = np.arange(0, 4096, 64), np.arange(0, 4096, 2)
    >>> network = TransferNetwork.from_arrays(nodes, sensors, bits=6, pub_rate=3.0, threshold=500.0)
    >>> mean = Calculate("mean", Filter("reading", "value > 20"))
    >>> network.subscribe(Subscription("rain", mean, ranges=[(0, 1024)]))
    >>> round(network.peak, 3)
    844.8
    >>> report = network.balance()
    >>> report.unrelieved, network.peak <= 500
    ([], True)
    >>> [joint.node for joint in network.tree("rain").joints]
    [1024, 1088]
    """

    def __init__(
        self,
        core: CoreNetwork,
        *,
        pub_rate: float = 1.0,
        rate_fil: float = 0.5,
        rate_calc: float = 0.1,
        threshold: float = 500.0,
        policy: str = "paper",
        max_ranges: int | None = 64,
    ) -> None:
        everywhere = [(0, 4**core.bits)]
        publishers = {kind: core.publisher_ids(everywhere, type=kind) for kind in core.types}
        rates = Rates(pub_rate, rate_fil, rate_calc, threshold)
        self._begin(core.nodes, publishers, core.bits, rates, policy, max_ranges)
        self._core: CoreNetwork | None = core

    @classmethod
    def from_arrays(
        cls,
        nodes: ArrayLike,
        publishers: ArrayLike | Mapping[str, ArrayLike],
        *,
        bits: int,
        pub_rate: float = 1.0,
        rate_fil: float = 0.5,
        rate_calc: float = 0.1,
        threshold: float = 500.0,
        policy: str = "paper",
        max_ranges: int | None = 64,
    ) -> Self:
        """A transfer network over bare ids.

        Parameters
        ----------
        nodes : array of int
            The nodes' ids.
        publishers : array of int, or mapping of str to array of int
            The publishers' ids, all of the type "reading", or by type.
        bits : int
            Bits per axis of the id space.
        pub_rate, rate_fil, rate_calc, threshold, policy, max_ranges
            As for the class.
        """
        given = publishers if isinstance(publishers, Mapping) else {READING: publishers}
        network = cls.__new__(cls)
        rates = Rates(pub_rate, rate_fil, rate_calc, threshold)
        network._begin(nodes, given, checked_count("bits", bits, MAX_BITS), rates, policy, max_ranges)
        return network

    def _begin(
        self,
        nodes: ArrayLike,
        publishers: Mapping[str, ArrayLike],
        bits: int,
        rates: Rates,
        policy: str,
        max_ranges: int | None,
    ) -> None:
        if policy not in POLICIES:
            raise ArgumentError(f"policy must be one of {', '.join(POLICIES)}, got {policy!r}")
        cap = None if max_ranges is None else checked_count("max_ranges", max_ranges)
        table = NodeTable(nodes, bits)
        coverage = PublisherCoverage(publishers, table.size)
        self._state = TransferState(table, coverage, rates, combine=policy == "combiner")
        self._policy, self._max_ranges = policy, cap
        self._core = None

    # Subscriptions

    def subscribe(self, subscription: Subscription) -> None:
        """Place a subscription: register it, assign its joints, allocate its operators.

        Raises
        ------
        ArgumentError
            There is one of that name, a filter is on a type nobody publishes, or the area is outside the id
            space; nothing was changed.
        """
        if not isinstance(subscription, Subscription):
            raise ArgumentTypeError(f"a Subscription is needed, got {type(subscription).__name__}")
        if subscription.name in self._state.trees:
            raise ArgumentError(f"there is a subscription {subscription.name!r} already")
        place(self._state, plan(self._state, subscription, self._max_ranges))

    def unsubscribe(self, name: str) -> bool:
        """Remove a subscription and its tree; return whether it was there."""
        tree = self._state.trees.pop(name, None)
        if tree is None:
            return False
        self._state.withdraw(tree)
        self._state.listen(tree, -1)
        return True

    def move_area(
        self, name: str, *, area: Area | None = None, ranges: Iterable[tuple[int, int]] | None = None
    ) -> AreaMove:
        """Move the area of a subscription: cut joints no longer needed, add new ones, keep the rest.

        Filters with an area of their own stay where they are.

        Parameters
        ----------
        name : str
            The subscription.
        area : (south, west, north, east), optional
            The new area.
        ranges : iterable of (low, high), optional
            The same as ranges of ids.
        """
        tree = self._tree(name)
        if (area is None) == (ranges is None):
            raise ArgumentError("an area moves to an area or to ranges: one of both is needed")
        runs = None if ranges is None else maximal_runs(ranges)
        where = None if area is None else checked_area(area)
        new = resolved_ranges(self._state, where, runs, self._max_ranges)
        own = tuple(
            kept if each.area is not None or each.ranges is not None else new
            for kept, each in zip(tree.ranges, tree.graph.sources, strict=True)
        )
        return moving_area.move_area(self._state, tree, own)

    def __len__(self) -> int:
        """Return the number of subscriptions."""
        return len(self._state.trees)

    def __contains__(self, name: object) -> bool:
        return name in self._state.trees

    @property
    def subscriptions(self) -> tuple[str, ...]:
        """The names of the subscriptions, in the order they came."""
        return tuple(self._state.trees)

    def subscription(self, name: str) -> Subscription:
        """A subscription as it was given."""
        return self._tree(name).subscription

    # Load

    def balance(self, *, relieve_to: float = 1.0) -> BalanceReport:
        """Relieve the nodes above the threshold: move flows to other joints, halve rates to full roots.

        Always ends. A node that nobody can relieve, such as an edge whose own publishers are too many, is
        left as it is and reported.

        Parameters
        ----------
        relieve_to : float
            The share of the threshold down to which an overloaded node is relieved, and up to which others
            accept. With 0.85 a load that goes up and down a little does not move flows all the time.

        Returns
        -------
        BalanceReport
            `moves`, `probes`, `halvings`, and `unrelieved`: exactly the nodes above the threshold.
        """
        share = checked_number("relieve_to", relieve_to)
        if not 0 < share <= 1:
            raise ArgumentError(f"relieve_to must be above 0 and at most 1, got {share}")
        return balancing.balance(self._state, self._policy, share)

    @property
    def loads(self) -> FloatArray:
        """Messages per second of every node, in and out together, in the order of `nodes`."""
        return self._per_second(self._state.units)

    @property
    def peak(self) -> float:
        """The highest load."""
        return float(self.loads.max())

    def loads_by_role(self) -> dict[str, FloatArray]:
        """Messages per second of every node as an "edge", a "joint" and a "root", in the order of `nodes`."""
        state = self._state
        return {
            "edge": self._per_second(state.edge_units),
            "joint": self._per_second(state.joint_units),
            "root": self._per_second(state.root_units),
        }

    @property
    def rates(self) -> Rates:
        """The rate model."""
        return self._state.rates

    def set_rates(
        self,
        *,
        pub_rate: float | None = None,
        rate_fil: float | None = None,
        rate_calc: float | None = None,
        threshold: float | None = None,
    ) -> None:
        """Change the rate model; placements stay, loads follow."""
        old = self._state.rates
        self._state.rates = Rates(
            old.pub_rate if pub_rate is None else pub_rate,
            old.rate_fil if rate_fil is None else rate_fil,
            old.rate_calc if rate_calc is None else rate_calc,
            old.threshold if threshold is None else threshold,
        )
        self._state.recount()

    @property
    def policy(self) -> str:
        """How load is kept down."""
        return self._policy

    def check(self) -> None:
        """Verify that the loads kept equal loads counted anew, and that every publisher is in one flow.

        Raises
        ------
        PubmatchError
            They do not.
        """
        self._state.check()

    # Nodes

    @property
    def nodes(self) -> IntArray:
        """The nodes' ids, ascending."""
        return self._state.nodes.ids.copy()

    @property
    def bits(self) -> int:
        """Bits per axis of the id space."""
        return self._state.nodes.id_bits // 2

    @property
    def types(self) -> tuple[str, ...]:
        """The types there are publishers of."""
        return self._state.coverage.types

    def publishers(self, type: str) -> IntArray:
        """The ids of the publishers of a type, ascending; not to be changed."""
        if type not in self._state.coverage.types:
            raise ArgumentError(f"nobody publishes the type {type!r}")
        ids = self._state.coverage.ids(type).view()
        ids.flags.writeable = False
        return ids

    def owner(self, id: int) -> int:
        """The node that owns an id."""
        place = checked_integer("id", id)
        if not 0 <= place < self._state.nodes.size:
            raise ArgumentError(f"id must be from 0 to {self._state.nodes.size - 1}, got {place}")
        return int(self._state.nodes.ids[self._state.nodes.owner(place)])

    def join(self, node: int) -> int:
        """Let a node join, taking ids and publishers from a neighbour; return the neighbour's id."""
        giver = churn.join(self._state, checked_integer("node", node))
        if self._core is not None:
            self._core.join(int(node))
        return giver

    def leave(self, node: int) -> Departure:
        """Let a node depart in good order: others take its roles over."""
        return self._depart(node, crashed=False)

    def crash(self, node: int) -> Departure:
        """Take a node out without its help; the trees it had a part in begin a new generation."""
        return self._depart(node, crashed=True)

    def _depart(self, node: int, crashed: bool) -> Departure:
        departure = churn.depart(self._state, checked_integer("node", node), crashed)
        if self._core is not None:
            self._core.leave(int(node))
        return departure

    # Trees

    def tree(self, name: str) -> TreeView:
        """A subscription's edges, joints and root as they are now."""
        tree, nodes = self._tree(name), self._state.nodes
        joints = sorted(tree.charges, key=lambda slot: int(nodes.id_of_slot[slot]))
        return TreeView(
            name,
            int(nodes.id_of_slot[tree.root]),
            tuple(self._joint(tree, slot) for slot in joints),
            tree.ranges,
            tree.generation,
        )

    def flow_arrays(self, name: str) -> dict[str, IntArray]:
        """A subscription's flows as arrays: "source", "edge", "joint" (ids) and "publishers"."""
        tree, ids = self._tree(name), self._state.nodes.id_of_slot
        return {
            "source": tree.source.copy(),
            "edge": ids[tree.edge],
            "joint": ids[tree.joint],
            "publishers": tree.count.copy(),
        }

    def _joint(self, tree: TransferTree, slot: int) -> Joint:
        ids, rate, charge = self._state.nodes.id_of_slot, self._state.rates.pub_rate, tree.charges[slot]
        rows = tree.at(slot)
        flows = tuple(
            Flow(
                int(tree.source[row]),
                int(ids[tree.edge[row]]),
                int(ids[slot]),
                int(tree.count[row]),
                float(tree.stream[row]) * rate if tree.edge[row] != slot else 0.0,
            )
            for row in rows.tolist()
        )
        here = tree.graph.here(tree.whole(rows))
        complete = tuple(number for number, runs in enumerate(here) if runs)
        return Joint(int(ids[slot]), flows, charge.sent * rate, charge.halvings, complete)

    def _tree(self, name: str) -> TransferTree:
        try:
            return self._state.trees[name]
        except (KeyError, TypeError):
            raise ArgumentError(f"there is no subscription {name!r}") from None

    def _per_second(self, units: FloatArray) -> FloatArray:
        result: FloatArray = units[self._state.nodes.order] * self._state.rates.pub_rate
        return result
