"""What the transfer network keeps: nodes, publishers, trees, and loads that follow every change.

A load counts messages: once where one leaves, once where it arrives; inside one node it is free. Loads are
kept in units of one publisher's rate, and every stream's rate is rounded to a multiple of 2^-24 units. Sums
of such multiples are exact, so loads changed step by step equal loads counted anew, bit for bit, in any
order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pubmatch.arrays import checked_number
from pubmatch.errors import ArgumentError, PubmatchError
from pubmatch.overlay.node_table import NodeTable
from pubmatch.overlay.publisher_coverage import PublisherCoverage
from pubmatch.overlay.transfer_tree import JointCharge, TransferTree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]
    FloatArray = NDArray[np.float64]

__all__ = ["HALVINGS_FLOOR", "Rates", "TransferState", "halved"]

HALVINGS_FLOOR = 8
"""A joint's output rate is halved eight times at most: 2^-8."""

_QUANTA = float(2**24)


@dataclass(frozen=True, slots=True)
class Rates:
    """The rate model (paper, table I).

    Attributes
    ----------
    pub_rate : float
        Readings per second of one publisher.
    rate_fil : float
        The share of readings that a filter passes.
    rate_calc : float
        What a calculation emits for each message it takes.
    threshold : float
        Messages per second above which a node is overloaded.
    """

    pub_rate: float = 1.0
    rate_fil: float = 0.5
    rate_calc: float = 0.1
    threshold: float = 500.0

    def __post_init__(self) -> None:
        for name in ("pub_rate", "rate_fil", "rate_calc", "threshold"):
            value = checked_number(name, getattr(self, name))
            if not math.isfinite(value) or value < 0:
                raise ArgumentError(f"{name} must be finite and not negative, got {value}")
            object.__setattr__(self, name, value)
        for name in ("rate_fil", "rate_calc"):
            if getattr(self, name) > 1:
                raise ArgumentError(f"{name} is a fraction and at most 1, got {getattr(self, name)}")
        if self.threshold == 0:
            raise ArgumentError("threshold must be positive, got 0.0")

    def limit_units(self, share: float = 1.0) -> float:
        """The highest load in units that is not above this share of the threshold."""
        allowed = self.threshold * share
        if self.pub_rate == 0 or allowed / self.pub_rate > 2**52 / _QUANTA:
            return math.inf
        quanta = math.floor(allowed / self.pub_rate * _QUANTA) + 2
        while quanta > 0 and self.pub_rate * (quanta / _QUANTA) > allowed:
            quanta -= 1
        return quanta / _QUANTA


class TransferState:
    """Nodes, publishers and trees, with the loads they make.

    Parameters
    ----------
    nodes : NodeTable
        The processing nodes.
    coverage : PublisherCoverage
        The publishers.
    rates : Rates
        The rate model.
    combine : bool
        Whether edges send partial aggregates instead of readings.
    """

    def __init__(self, nodes: NodeTable, coverage: PublisherCoverage, rates: Rates, combine: bool) -> None:
        self.nodes, self.coverage = nodes, coverage
        self.rates, self.combine = rates, combine
        self.trees: dict[str, TransferTree] = {}
        self.joints_at: dict[int, dict[str, None]] = {}  # slot -> trees, in the order they came
        self.roots_at: dict[int, dict[str, None]] = {}
        self.clear_loads()

    def clear_loads(self) -> None:
        """Set all loads to zero."""
        slots = len(self.nodes.id_of_slot)
        self.edge_units = np.zeros(slots)
        self.joint_units = np.zeros(slots)
        self.root_units = np.zeros(slots)
        self.units = np.zeros(slots)

    def grow(self) -> None:
        """Make room for the slot of a node that has just joined."""
        self.edge_units = np.append(self.edge_units, 0.0)
        self.joint_units = np.append(self.joint_units, 0.0)
        self.root_units = np.append(self.root_units, 0.0)
        self.units = np.append(self.units, 0.0)

    # Edges

    def charge_edges(self, slots: IntArray, amounts: FloatArray | IntArray) -> None:
        """Add to the edge loads of some slots, which may repeat."""
        np.add.at(self.edge_units, slots, amounts)
        np.add.at(self.units, slots, amounts)

    def listen(self, tree: TransferTree, step: int) -> None:
        """Let the tree's filters listen (+1) or not (-1); edges receive each reading once for all trees."""
        for source, ranges in enumerate(tree.ranges):
            kind = tree.graph.sources[source].type
            pieces = self.nodes.pieces(ranges)
            changed = self.coverage.listen(kind, pieces.starts, pieces.ends, step)
            self.charge_edges(self.nodes.order[pieces.positions], step * changed)

    # Trees

    def deposit(self, tree: TransferTree) -> None:
        """Compute the rates of a tree's flows and add all its loads, but for what edges receive."""
        tree.filtered = _rounded(tree.count * self.rates.rate_fil)
        combine = self.combine and bool(tree.graph.calculations)
        tree.stream = _rounded(tree.filtered * self.rates.rate_calc) if combine else tree.filtered
        sent = np.where(tree.edge != tree.joint, tree.stream, 0.0)
        self.charge_edges(tree.edge, sent)
        halvings = {joint: charge.halvings for joint, charge in tree.charges.items()}
        tree.charges.clear()
        for joint in np.unique(tree.joint).tolist():
            tree.charges[joint] = JointCharge(halvings=halvings.get(joint, 0))
            self.charge_joint(tree, joint)
        self.roots_at.setdefault(tree.root, {})[tree.name] = None

    def withdraw(self, tree: TransferTree) -> None:
        """Take away what `deposit` added; halvings stay written for the next `deposit`."""
        sent = np.where(tree.edge != tree.joint, tree.stream, 0.0)
        self.charge_edges(tree.edge, -sent)
        for joint in list(tree.charges):
            self.discharge_joint(tree, joint)
        _remove(self.roots_at, tree.root, tree.name)

    def charge_joint(self, tree: TransferTree, joint: int) -> None:
        """Add the loads of one joint, and what its messages are to the root."""
        charge = tree.charges[joint]
        charge.received, charge.sent = self.joint_rates(tree, tree.at(joint), joint, charge.halvings)
        self._add_joint(tree, joint, charge, 1.0)
        self.joints_at.setdefault(joint, {})[tree.name] = None

    def discharge_joint(self, tree: TransferTree, joint: int) -> None:
        """Take away what `charge_joint` added."""
        self._add_joint(tree, joint, tree.charges[joint], -1.0)
        _remove(self.joints_at, joint, tree.name)

    def _add_joint(self, tree: TransferTree, joint: int, charge: JointCharge, sign: float) -> None:
        both = sign * (charge.received + charge.sent)
        self.joint_units[joint] += both
        self.units[joint] += both
        self.root_units[tree.root] += sign * charge.sent
        self.units[tree.root] += sign * charge.sent

    def joint_rates(
        self, tree: TransferTree, rows: IntArray, joint: int, halvings: int
    ) -> tuple[float, float]:
        """What a joint at a slot would receive and send if it took these rows."""
        streams = tree.stream[rows]
        received = float(streams.sum())
        if joint >= 0:
            received -= float(streams[tree.edge[rows] == joint].sum())
        if joint == tree.root or not len(rows):
            return received, 0.0
        emitted = tree.emission(rows, self.rates.rate_calc, self.combine)
        return received, halved(emitted, halvings)

    def move(self, tree: TransferTree, rows: IntArray, target: int) -> None:
        """Send flows to another joint; it halves its output at least as often as those it relieves."""
        streams, edges, joints = tree.stream[rows], tree.edge[rows], tree.joint[rows]
        old = set(joints.tolist())
        halvings = max(tree.charges[joint].halvings for joint in (*old, target) if joint in tree.charges)
        self.charge_edges(edges, np.where(edges != joints, -streams, 0.0) + streams * (edges != target))
        for joint in {*old, target}:
            if joint in tree.charges:
                self.discharge_joint(tree, joint)
        tree.joint[rows] = target
        tree.charges.setdefault(target, JointCharge()).halvings = halvings
        for joint in sorted({*old, target}):
            if (tree.joint == joint).any():
                self.charge_joint(tree, joint)
            else:
                del tree.charges[joint]

    def halve(self, tree: TransferTree, joint: int) -> None:
        """Let a joint buffer, and send half as often."""
        self.discharge_joint(tree, joint)
        tree.charges[joint].halvings += 1
        self.charge_joint(tree, joint)

    # Counting anew

    def recount(self) -> None:
        """Compute all loads from the nodes, publishers and trees alone."""
        self.clear_loads()
        self.joints_at.clear()
        self.roots_at.clear()
        bounds = self.nodes.all_bounds()
        for kind in self.coverage.types:
            self.charge_edges(self.nodes.order, self.coverage.subscribed(kind, bounds))
        for tree in self.trees.values():
            self.deposit(tree)

    def check(self) -> None:
        """Verify that loads equal those counted anew, and that every subscribed publisher is in one flow.

        Raises
        ------
        PubmatchError
            They do not.
        """
        kept = [each.copy() for each in (self.edge_units, self.joint_units, self.root_units, self.units)]
        for name, tree in self.trees.items():
            self._check_flows(name, tree)
        self.recount()
        now = (self.edge_units, self.joint_units, self.root_units, self.units)
        for role, before, after in zip(("edge", "joint", "root", "total"), kept, now, strict=True):
            wrong = np.flatnonzero(before != after)
            if len(wrong):
                place = wrong[0]
                raise PubmatchError(
                    f"the {role} load of node {self.nodes.id_of_slot[place]} is kept as {before[place]}, "
                    f"counted as {after[place]}"
                )

    def _check_flows(self, name: str, tree: TransferTree) -> None:
        expected: dict[tuple[int, int], int] = {}
        for source, ranges in enumerate(tree.ranges):
            ids = self.coverage.ids(tree.graph.sources[source].type)
            for low, high in ranges:
                heard = ids[np.searchsorted(ids, low) : np.searchsorted(ids, high)]
                owners = np.maximum(np.searchsorted(self.nodes.ids, heard, side="right") - 1, 0)
                for slot in self.nodes.order[owners].tolist():
                    expected[source, slot] = expected.get((source, slot), 0) + 1
        pairs = zip(tree.source.tolist(), tree.edge.tolist(), strict=True)
        kept = dict(zip(pairs, tree.count.tolist(), strict=True))
        if kept != expected or len(kept) != len(tree.count):
            raise PubmatchError(f"the flows of subscription {name!r} are {kept}, should be {expected}")
        alive = set(self.nodes.order.tolist())
        if not alive.issuperset(tree.joint.tolist()) or tree.root not in alive:
            raise PubmatchError(f"subscription {name!r} uses a node that is not there")


def halved(rate: float, halvings: int) -> float:
    """A rate halved that often, as a multiple of 2^-24 units."""
    return round(rate * 0.5**halvings * _QUANTA) / _QUANTA


def _rounded(rates: NDArray[np.floating]) -> FloatArray:
    """Rates as multiples of 2^-24 units."""
    result: FloatArray = np.rint(rates * _QUANTA) / _QUANTA
    return result


def _remove(index: dict[int, dict[str, None]], slot: int, name: str) -> None:
    names = index[slot]
    del names[name]
    if not names:
        del index[slot]
