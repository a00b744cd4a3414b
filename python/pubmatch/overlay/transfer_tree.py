"""One subscription's three-step tree: flows from edges to joints, joints to the root (paper, section III-B).

A flow is what one edge sends for one filter: the unit that is split off and moved.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pubmatch.overlay.id_ranges import IdRange
from pubmatch.overlay.operator_graph import OperatorGraph
from pubmatch.overlay.subscription import Subscription

if TYPE_CHECKING:
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]
    FloatArray = NDArray[np.float64]

__all__ = ["Flow", "Joint", "JointCharge", "TransferTree", "TreeView"]


@dataclass(frozen=True, slots=True)
class Flow:
    """What one edge sends to one joint for one filter.

    Attributes
    ----------
    source : int
        Which of the subscription's distinct filters, in the order of `OperatorGraph.sources`.
    edge, joint : int
        The nodes' ids.
    publishers : int
        How many publishers of the edge the filter listens to.
    rate : float
        Messages per second from the edge to the joint; none are sent if both are one node.
    """

    source: int
    edge: int
    joint: int
    publishers: int
    rate: float


@dataclass(frozen=True, slots=True)
class Joint:
    """A joint of one tree.

    Attributes
    ----------
    node : int
        The node's id.
    flows : tuple of Flow
        What it takes, by source, then by edge.
    rate_out : float
        Messages per second to the root.
    halvings : int
        How often its output rate was halved because the root was overloaded.
    calculations : tuple of int
        Which of the subscription's calculations run here to the end, in the order of
        `OperatorGraph.calculations`; the others run on the root, on partial aggregates from here.
    """

    node: int
    flows: tuple[Flow, ...]
    rate_out: float
    halvings: int
    calculations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TreeView:
    """A transfer tree at one moment.

    Attributes
    ----------
    name : str
        The subscription.
    root : int
        The root's id.
    joints : tuple of Joint
        The joints, by id.
    ranges : tuple of tuple of (int, int)
        The id ranges each filter listens in.
    generation : int
        Grows with every crash that the tree recovered from.
    """

    name: str
    root: int
    joints: tuple[Joint, ...]
    ranges: tuple[tuple[IdRange, ...], ...]
    generation: int

    @property
    def flows(self) -> tuple[Flow, ...]:
        """All flows, by joint, then by source, then by edge."""
        return tuple(flow for joint in self.joints for flow in joint.flows)

    @property
    def edges(self) -> tuple[int, ...]:
        """The edges' ids, ascending."""
        return tuple(sorted({flow.edge for flow in self.flows}))


@dataclass(slots=True)
class JointCharge:
    """What a joint of one tree costs: units received, units sent to the root, and how often halved."""

    received: float = 0.0
    sent: float = 0.0
    halvings: int = 0


@dataclass(slots=True)
class TransferTree:
    """The working state of a tree; nodes are slots, flows are rows sorted by source, then by edge id.

    Attributes
    ----------
    filtered : ndarray
        For each flow, the readings that pass the filter, in units of one publisher's rate.
    stream : ndarray
        What the edge sends for them: the same, or partial aggregates.
    """

    subscription: Subscription
    graph: OperatorGraph
    ranges: tuple[tuple[IdRange, ...], ...]
    subscriber: int
    root: int
    source: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    edge: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    count: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    joint: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    filtered: FloatArray = field(default_factory=lambda: np.empty(0))
    stream: FloatArray = field(default_factory=lambda: np.empty(0))
    totals: IntArray = field(default_factory=lambda: np.empty(0, np.int64))  # flows of each source
    charges: dict[int, JointCharge] = field(default_factory=dict)
    generation: int = 0

    @property
    def name(self) -> str:
        """The subscription's name."""
        return self.subscription.name

    def set_flows(self, source: IntArray, edge: IntArray, count: IntArray, joint: IntArray) -> None:
        """Replace all flows; their rates are to be computed anew."""
        self.source, self.edge, self.count, self.joint = source, edge, count, joint
        self.totals = np.bincount(source, minlength=len(self.graph.sources))

    def at(self, joint: int) -> IntArray:
        """The rows of the flows to a joint."""
        return np.flatnonzero(self.joint == joint)

    def whole(self, rows: IntArray) -> list[bool]:
        """For each source, whether these rows are all its flows."""
        if len(self.totals) == 1:
            return [len(rows) == int(self.totals[0])]
        given = np.bincount(self.source[rows], minlength=len(self.totals))
        return [bool(each) for each in given == self.totals]

    def emission(self, rows: IntArray, rate_calc: float, combine: bool) -> float:
        """What a joint that takes these rows sends to the root, before any halving."""
        filtered = self.filtered[rows]
        if len(self.totals) == 1:
            arriving = [float(filtered.sum())]
            peaks = [float(self.stream[rows].max(initial=0.0))] if combine else []
        else:
            source = self.source[rows]
            arriving = np.bincount(source, weights=filtered, minlength=len(self.totals)).tolist()
            peaks = []
            if combine:
                highest = np.zeros(len(self.totals))
                np.maximum.at(highest, source, self.stream[rows])
                peaks = highest.tolist()
        return self.graph.emitted(arriving, peaks, self.whole(rows), rate_calc)
