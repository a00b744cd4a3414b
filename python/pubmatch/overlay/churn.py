"""Nodes that join, depart or crash: ids, publishers and flows change hands, trees are mended in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pubmatch.errors import ArgumentError
from pubmatch.overlay.placement import edge_counts, first_joint
from pubmatch.overlay.transfer_state import TransferState
from pubmatch.overlay.transfer_tree import TransferTree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]

__all__ = ["Departure", "depart", "join"]


@dataclass(frozen=True, slots=True)
class Departure:
    """What became of a node's roles.

    Attributes
    ----------
    node : int
        The node that left or crashed.
    heir : int
        The node that owns its ids and publishers now.
    edges, joints, roots : tuple of str
        The subscriptions it was an edge, a joint, the root of.
    """

    node: int
    heir: int
    edges: tuple[str, ...]
    joints: tuple[str, ...]
    roots: tuple[str, ...]


def join(state: TransferState, node: int) -> int:
    """Let a node join; return the id of the node that it takes ids from."""
    position = state.nodes.add(node)
    state.grow()
    giver = position - 1 if position else position + 1
    slot, giver_slot = (int(state.nodes.order[each]) for each in (position, giver))
    _move_readings(state, giver_slot, slot, position)
    for tree in state.trees.values():
        if (tree.edge == giver_slot).any():
            _split(state, tree, giver_slot)
    return int(state.nodes.ids[giver])


def depart(state: TransferState, node: int, crashed: bool) -> Departure:
    """Take a node out of the network and of all trees.

    Its publishers, and its part as an edge, go to the node that owns its ids now. Where it was a joint, the
    search of the initial placement finds another; where it was a root, the node nearest to the subscriber
    takes its place.
    """
    if len(state.nodes) == 1:
        raise ArgumentError(f"node {node} is the last one and cannot leave")
    position = state.nodes.position(node)
    slot = int(state.nodes.order[position])
    heir = int(state.nodes.order[position - 1 if position else 1])
    edges = tuple(name for name, tree in state.trees.items() if (tree.edge == slot).any())
    joints, roots = (tuple(index.get(slot, ())) for index in (state.joints_at, state.roots_at))
    touched = [state.trees[name] for name in state.trees if name in {*edges, *joints, *roots}]
    for tree in touched:
        state.withdraw(tree)
    _move_readings(state, slot, heir, position)
    state.nodes.remove(position)
    for tree in touched:
        _mend(state, tree, slot, heir, node)
        tree.generation += crashed
        state.deposit(tree)
    return Departure(node, int(state.nodes.id_of_slot[heir]), edges, joints, roots)


def _move_readings(state: TransferState, giver: int, taker: int, position: int) -> None:
    """What publishers at a position send is received by another slot from now on."""
    bounds = np.array(state.nodes.owned(position))
    received = sum(int(state.coverage.subscribed(kind, bounds)[0]) for kind in state.coverage.types)
    state.charge_edges(np.array([giver, taker]), np.array([-received, received]))


def _split(state: TransferState, tree: TransferTree, giver: int) -> None:
    """Count the edges anew after a node joined; its flows go to the joints that the giver's went to."""
    state.withdraw(tree)
    joints = dict(
        zip(zip(tree.source.tolist(), tree.edge.tolist(), strict=True), tree.joint.tolist(), strict=True)
    )
    parts = []
    for source in range(len(tree.ranges)):
        slots, counts, _ = edge_counts(state, tree, source)
        to = [joints[source, each if (source, each) in joints else giver] for each in slots.tolist()]
        parts.append((np.full(len(slots), source), slots, counts, np.array(to, np.int64)))
    tree.set_flows(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    state.deposit(tree)


def _mend(state: TransferState, tree: TransferTree, slot: int, heir: int, node: int) -> None:
    """Replace a node that is gone in a tree whose loads are withdrawn."""
    if tree.root == slot:
        tree.root = int(state.nodes.order[state.nodes.owner(tree.subscriber)])
    if (tree.joint == slot).any():
        target, _ = first_joint(state, node)
        tree.joint = np.where(tree.joint == slot, target, tree.joint)
        gone = tree.charges.pop(slot)
        if target in tree.charges:
            gone.halvings = max(gone.halvings, tree.charges[target].halvings)
        tree.charges[target] = gone
    if (tree.edge == slot).any():
        _inherit(state, tree, slot, heir)


def _inherit(state: TransferState, tree: TransferTree, slot: int, heir: int) -> None:
    """Give the flows of an edge to its heir; where the heir has one already, it grows."""
    source, edge, count, joint = tree.source, tree.edge.copy(), tree.count.copy(), tree.joint
    keep = np.ones(len(edge), np.bool_)
    for row in np.flatnonzero(edge == slot).tolist():
        same = np.flatnonzero((edge == heir) & (source == source[row]))
        if len(same):
            count[same[0]] += count[row]
            keep[row] = False
        else:
            edge[row] = heir
    place = np.searchsorted(state.nodes.ids, state.nodes.id_of_slot[edge])
    order = np.lexsort((place, source))
    order = order[keep[order]]
    tree.set_flows(source[order], edge[order], count[order], joint[order])
