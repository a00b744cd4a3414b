"""Operator reallocation: overloaded joints give flows away until the network fits, or nobody accepts any."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pubmatch.overlay.joint_search import SearchOrder
from pubmatch.overlay.reallocation import Reallocation
from pubmatch.overlay.root_overload import relieve_root
from pubmatch.overlay.transfer_state import TransferState

if TYPE_CHECKING:
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]

__all__ = ["BalanceReport", "Move", "balance"]


@dataclass(frozen=True, slots=True)
class Move:
    """Flows of one subscription that went from one joint to another.

    Attributes
    ----------
    subscription : str
        Its name.
    joint, new_joint : int
        The nodes' ids.
    edges : tuple of int
        The edges whose flows moved, once per flow.
    """

    subscription: str
    joint: int
    new_joint: int
    edges: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BalanceReport:
    """What `balance` did.

    Attributes
    ----------
    moves : list of Move
        In the order they were made.
    probes : int
        How often a node was asked whether it accepts flows.
    halvings : int
        How often a joint's output rate was halved.
    unrelieved : list of int
        The ids of exactly the nodes that stay above the threshold, ascending.
    """

    moves: list[Move] = field(default_factory=list)
    probes: int = 0
    halvings: int = 0
    unrelieved: list[int] = field(default_factory=list)

    @property
    def moved_flows(self) -> int:
        """Flows moved, all moves together."""
        return sum(len(move.edges) for move in self.moves)


def balance(state: TransferState, policy: str, relieve_to: float) -> BalanceReport:
    """Relieve every node above the threshold, as far as others accept.

    Every move and every halving takes load off an overloaded node and leaves no other node above the limit,
    so the overload shrinks with each and there is an end; what is left is reported.
    """
    threshold, limit = state.rates.limit_units(), state.rates.limit_units(relieve_to)
    run = _Run(state, limit, offer=policy == "offer")
    done = -1
    while done != len(run.moves) + run.halvings:
        done = len(run.moves) + run.halvings
        order = state.nodes.order
        for slot in order[state.units[order] > threshold].tolist():
            run.relieve_joint(slot)
            run.halvings += relieve_root(state, slot, limit)
    order = state.nodes.order
    above = state.nodes.ids[state.units[order] > threshold]
    return BalanceReport(run.moves, run.probes, run.halvings, above.tolist())


class _Run:
    """One call of `balance`."""

    def __init__(self, state: TransferState, limit: float, offer: bool) -> None:
        self.state, self.limit, self.offer = state, limit, offer
        self.moves: list[Move] = []
        self.probes = 0
        self.halvings = 0

    def relieve_joint(self, slot: int) -> None:
        """Give away flows that a node takes as a joint, of its most expensive tree first."""
        state = self.state
        order: SearchOrder | None = None
        stuck: set[str] = set()
        while state.units[slot] > self.limit:
            name = max(
                (each for each in state.joints_at.get(slot, ()) if each not in stuck),
                key=lambda each: _cost(state, each, slot),
                default=None,
            )
            if name is None:
                return
            order = order or SearchOrder(state.nodes, state.nodes.position_of_slot(slot))
            if not len(order):
                return
            given = Reallocation(state, state.trees[name], slot, self.limit)
            # A single flow taken off dependent calculations can cost more than it saves: then ask for chunks.
            by_offers = self.offer and len(given.movable) > 0 and given.relieved(1) < state.units[slot]
            (self._by_offers if by_offers else self._by_chunks)(given, order)
            self._one_by_one(given, order)
            stuck.add(name)

    def _by_chunks(self, given: Reallocation, order: SearchOrder) -> None:
        """The paper's way: ask for the excess, and for half as much once everybody has refused."""
        size = len(given.movable)
        while size and len(given.movable) and self.state.units[given.joint] > self.limit:
            size = min(size, given.needed())
            slot, rank = given.first(order, size)
            self.probes += min(rank + 1, len(order))
            if slot < 0:
                size //= 2
                continue
            self._move(given, size, slot)

    def _by_offers(self, given: Reallocation, order: SearchOrder) -> None:
        """Every candidate is asked once, and says how many flows it takes."""
        asked = 0
        while asked < len(order) and len(given.movable) and self.state.units[given.joint] > self.limit:
            slot, rank = given.first(order, 1, asked)
            self.probes += min(rank + 1, len(order)) - asked
            asked = rank + 1
            if slot < 0:
                break
            self._move(given, given.most(slot, given.needed()), slot)

    def _one_by_one(self, given: Reallocation, order: SearchOrder) -> None:
        """A last attempt, with the smallest flow: who refuses it refuses all others."""
        while len(given.movable) and self.state.units[given.joint] > self.limit:
            given.smallest_first()
            slot, rank = given.first(order, 1)
            self.probes += min(rank + 1, len(order))
            if slot < 0:
                return
            self._move(given, 1, slot)

    def _move(self, given: Reallocation, number: int, slot: int) -> None:
        state, tree, chunk = self.state, given.tree, given.movable[:number]
        ids = state.nodes.id_of_slot
        edges = tuple(ids[tree.edge[chunk]].tolist())
        self.moves.append(Move(tree.name, int(ids[given.joint]), int(ids[slot]), edges))
        state.move(tree, chunk, slot)
        if given.joint not in tree.charges:
            given.movable = given.movable[:0]
        else:
            given.advance(number)


def _cost(state: TransferState, name: str, slot: int) -> float:
    charge = state.trees[name].charges[slot]
    return charge.received + charge.sent
