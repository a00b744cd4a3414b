"""Initial operator placement: registration, joint node assignment, operator allocation (figure 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pubmatch.errors import ArgumentError
from pubmatch.overlay.id_ranges import IdRange, maximal_runs
from pubmatch.overlay.operator_graph import OperatorGraph
from pubmatch.overlay.subscription import Area, Filter, Subscription
from pubmatch.overlay.transfer_state import TransferState
from pubmatch.overlay.transfer_tree import TransferTree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]

__all__ = ["edge_counts", "first_joint", "place", "plan"]

_SCAN = 256  # nodes looked at together


def plan(state: TransferState, subscription: Subscription, max_ranges: int | None) -> TransferTree:
    """Register a subscription: its graph, its ranges of ids, and its root; nothing is placed yet."""
    graph = OperatorGraph.of(subscription.operator)
    unknown = [each.type for each in graph.sources if each.type not in state.coverage.types]
    if unknown:
        known = ", ".join(repr(each) for each in state.coverage.types) or "none"
        raise ArgumentError(
            f"subscription {subscription.name!r} filters the unknown type {unknown[0]!r}; there are {known}"
        )
    ranges = tuple(filter_ranges(state, each, subscription, max_ranges) for each in graph.sources)
    subscriber = _place_of(state, subscription, ranges[0])
    root = int(state.nodes.order[state.nodes.owner(subscriber)])
    return TransferTree(subscription, graph, ranges, subscriber, root)


def filter_ranges(
    state: TransferState, given: Filter, subscription: Subscription, max_ranges: int | None
) -> tuple[IdRange, ...]:
    """The ranges of ids that a filter listens in: its own, or the subscription's."""
    if given.area is not None or given.ranges is not None:
        return resolved_ranges(state, given.area, given.ranges, max_ranges)
    return resolved_ranges(state, subscription.area, subscription.ranges, max_ranges)


def resolved_ranges(
    state: TransferState, area: Area | None, ranges: tuple[IdRange, ...] | None, max_ranges: int | None
) -> tuple[IdRange, ...]:
    """An area or ranges as maximal runs of ids within the id space."""
    if area is not None:
        from pubmatch.overlay import zorder

        bits = state.nodes.id_bits // 2
        return maximal_runs(zorder.ranges(*area, bits=bits, max_ranges=max_ranges), "area")
    if ranges is None:
        raise ArgumentError("the area is empty: there is neither an area nor ranges")
    if ranges[-1][1] > state.nodes.size:
        raise ArgumentError(f"ranges must end at {state.nodes.size} at most, got {ranges[-1]}")
    return ranges


def place(state: TransferState, tree: TransferTree) -> int:
    """Assign joints, allocate operators, and charge the loads; return how many nodes were asked.

    The first node above a run of ids whose load is below the threshold becomes its joint.
    """
    state.listen(tree, +1)
    sources: list[IntArray] = []
    edges: list[IntArray] = []
    counts: list[IntArray] = []
    joints: list[IntArray] = []
    probes = 0
    taken: dict[int, int] = {}  # the joint of a run's end, also for another filter on the same run
    for source in range(len(tree.ranges)):
        slots, publishers, ends = edge_counts(state, tree, source)
        joint = np.empty(len(slots), np.int64)
        for end in np.unique(ends).tolist():
            if end not in taken:
                taken[end], asked = first_joint(state, end)
                probes += asked
            joint[ends == end] = taken[end]
        sources.append(np.full(len(slots), source))
        edges.append(slots)
        counts.append(publishers)
        joints.append(joint)
    tree.set_flows(*(np.concatenate(each) for each in (sources, edges, counts, joints)))
    state.deposit(tree)
    state.trees[tree.name] = tree
    return probes


def edge_counts(state: TransferState, tree: TransferTree, source: int) -> tuple[IntArray, IntArray, IntArray]:
    """The edges of one filter: slots by id, their publishers, and the end of the first run each is in."""
    pieces = state.nodes.pieces(tree.ranges[source])
    counts = state.coverage.counts(tree.graph.sources[source].type, pieces.starts, pieces.ends)
    used = np.flatnonzero(counts)
    positions, publishers = pieces.positions[used], counts[used]
    ends = np.array([high for _, high in tree.ranges[source]], np.int64)[pieces.runs[used]]
    # An edge may own parts of several runs: one flow, to the joint of the first.
    first = np.flatnonzero(np.diff(positions, prepend=-1))
    if len(first) < len(positions):
        publishers = np.add.reduceat(publishers, first)
    return state.nodes.order[positions[first]], publishers, ends[first]


def first_joint(state: TransferState, end: int) -> tuple[int, int]:
    """The first node at or above `end` whose load is below the threshold, and how many were asked.

    After the highest node the search goes on at the lowest. If every node is at the threshold, the first one
    has to take it all the same; `balance` then moves or reports it.
    """
    nodes, threshold, rate = state.nodes, state.rates.threshold, state.rates.pub_rate
    start = int(np.searchsorted(nodes.ids, end)) % len(nodes)
    asked = 0
    while asked < len(nodes):
        low = (start + asked) % len(nodes)
        high = min(low + _SCAN, len(nodes), low + len(nodes) - asked)
        slots = nodes.order[low:high]
        free = state.units[slots] * rate < threshold
        if free.any():
            step = int(np.argmax(free))
            return int(slots[step]), asked + step + 1
        asked += high - low
    return int(nodes.order[start]), asked


def _place_of(state: TransferState, subscription: Subscription, ranges: tuple[IdRange, ...]) -> int:
    given = subscription.subscriber
    if given is None:
        low, high = ranges[0]
        return (low + high) // 2
    if isinstance(given, tuple):
        from pubmatch.overlay import zorder

        return int(zorder.encode(*given, bits=state.nodes.id_bits // 2))
    if given >= state.nodes.size:
        raise ArgumentError(f"the id of a subscriber must be below {state.nodes.size}, got {given}")
    return given
