"""What moving some flows of a joint elsewhere does to the loads, and which node accepts them first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pubmatch.overlay.joint_search import SearchOrder
from pubmatch.overlay.transfer_state import TransferState, halved
from pubmatch.overlay.transfer_tree import TransferTree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]

__all__ = ["Reallocation"]

_NOWHERE = -1  # a slot no node has: a candidate that is neither an edge, a joint nor the root of the tree


class Reallocation:
    """The flows of one tree that an overloaded joint can give away, and where to.

    A candidate accepts if it is not above `limit` with the flows, and neither is the root unless its load
    does not grow. A flow whose edge is the joint itself is never given away: it costs nothing here.

    Parameters
    ----------
    state : TransferState
        The network.
    tree : TransferTree
        One of the trees the node is a joint of.
    joint : int
        The slot of the node.
    limit : float
        The load in units that nodes may have.
    """

    def __init__(self, state: TransferState, tree: TransferTree, joint: int, limit: float) -> None:
        self.state, self.tree, self.joint, self.limit = state, tree, joint, limit
        rows = tree.at(joint)
        own = tree.edge[rows] == joint
        # The largest ids first: the new joint is searched among larger ids, and areas stay in one piece.
        self.movable = rows[~own][::-1]
        self.kept = rows[own]
        self.charge = tree.charges[joint]
        self._simple = len(tree.graph.sources) == 1 and len(tree.graph.calculations) == 1
        self._given = 0  # flows given away since the sums were made
        if self._simple:
            self._sum_up()

    def advance(self, number: int) -> None:
        """Go on after the first `number` flows were given away; the joint still has others."""
        self.movable = self.movable[number:]
        self.charge = self.tree.charges[self.joint]
        self._given += number

    def smallest_first(self) -> None:
        """Let the flow of the lowest rate be the first to be given away."""
        place = int(np.argmin(self.tree.stream[self.movable]))
        self.movable = np.concatenate(([self.movable[place]], np.delete(self.movable, place)))
        if self._simple:
            self._sum_up()

    def needed(self) -> int:
        """The fewest flows that bring the joint to the limit; all if even they do not."""
        low, high = 1, len(self.movable)
        while low < high:
            middle = (low + high) // 2
            if self.relieved(middle) <= self.limit:
                high = middle
            else:
                low = middle + 1
        return low

    def relieved(self, number: int) -> float:
        """The joint's load after giving away the first `number` flows to a node without part in the tree."""
        received, sent = self._remaining(number)
        before = self.state.units[self.joint] - self.charge.received - self.charge.sent
        extra = self._alone(number)[1] if self.joint == self.tree.root else 0.0
        return float(before + received + sent + extra)

    def first(self, order: SearchOrder, number: int, after: int = 0) -> tuple[int, int]:
        """The first node, from rank `after` on, that accepts `number` flows: its slot and its rank.

        Returns (-1, ranks) if nobody does.
        """
        state, nodes = self.state, self.state.nodes
        if self.relieved(number) >= state.units[self.joint]:
            return _NOWHERE, len(order)
        special = self._special(number)
        best = self._first_outsider(order, number, after, special) if self._root_allows(number) else -1
        best = len(order) if best < 0 else best
        likely = self._likely(number, special)
        if len(likely):
            ranks = order.ranks(np.searchsorted(nodes.ids, nodes.id_of_slot[likely]))
            for rank, slot in sorted(zip(ranks.tolist(), likely.tolist(), strict=True)):
                if after <= rank < best and self.accepts(slot, number):
                    return slot, rank
        if best == len(order):
            return _NOWHERE, best
        return int(nodes.order[order.position(best)]), best

    def _first_outsider(self, order: SearchOrder, number: int, after: int, special: IntArray) -> int:
        """The rank of the first node without part in the tree that accepts, tested in bulk."""
        units = self.state.units
        saved = units[special]
        units[special] = np.inf
        rank = order.first_below(units, self._room(number), after)
        units[special] = saved
        return rank

    def accepts(self, slot: int, number: int) -> bool:
        """Whether a node, whatever part it has in the tree, accepts the first `number` flows."""
        state, tree, chunk = self.state, self.tree, self.movable[:number]
        other = tree.charges.get(slot)
        halvings = self.charge.halvings if other is None else max(self.charge.halvings, other.halvings)
        rows = chunk if other is None else np.concatenate((tree.at(slot), chunk))
        received, sent = state.joint_rates(tree, rows, slot, halvings)
        left = self._remaining(number)
        before = (0.0, 0.0) if other is None else (other.received, other.sent)
        streams = tree.stream[chunk]
        change = {slot: 0.0, self.joint: 0.0, tree.root: 0.0}
        change[slot] += received + sent - before[0] - before[1] - streams[tree.edge[chunk] == slot].sum()
        change[self.joint] += left[0] + left[1] - self.charge.received - self.charge.sent
        change[tree.root] += sent + left[1] - before[1] - self.charge.sent
        after = {each: float(state.units[each] + change[each]) for each in change}
        root_fits = after[tree.root] <= self.limit or change[tree.root] <= 0
        return after[slot] <= self.limit and root_fits and change[self.joint] < 0

    def most(self, slot: int, number: int) -> int:
        """The most flows, at least one and `number` at most, that a node accepts; it accepts one."""
        low, high = 1, number
        while low < high:
            middle = (low + high + 1) // 2
            if self.accepts(slot, middle):
                low = middle
            else:
                high = middle - 1
        return low

    def _sum_up(self) -> None:
        """Running sums over the flows in their order: with one calculation nothing else matters."""
        rows = np.concatenate((self.movable, self.kept))
        self._streams = self.tree.stream[rows].tolist()
        self._received = [0.0, *np.cumsum(self.tree.stream[self.movable]).tolist()]
        self._arrived = [0.0, *np.cumsum(self.tree.filtered[rows]).tolist()]
        self._given = 0

    def _remaining(self, number: int) -> tuple[float, float]:
        """What the joint receives and sends without the first `number` flows."""
        if not self._simple:
            rest = np.concatenate((self.kept, self.movable[number:]))
            return self.state.joint_rates(self.tree, rest, self.joint, self.charge.halvings)
        first = self._given + number
        received = self._received[-1] - self._received[first]
        sent = 0.0 if self.joint == self.tree.root else self._sent(first, len(self._streams))
        return received, sent

    def _alone(self, number: int) -> tuple[float, float]:
        """What a joint without other part in the tree would receive and send."""
        if not self._simple:
            rows = self.movable[:number]
            return self.state.joint_rates(self.tree, rows, _NOWHERE, self.charge.halvings)
        first, last = self._given, self._given + number
        return self._received[last] - self._received[first], self._sent(first, last)

    def _sent(self, first: int, last: int) -> float:
        """What a joint sends that takes the flows from one place of the running sums to another."""
        if self.state.combine:
            emitted = max(self._streams[first:last], default=0.0)
        else:
            emitted = (self._arrived[last] - self._arrived[first]) * self.state.rates.rate_calc
        return halved(emitted, self.charge.halvings)

    def _room(self, number: int) -> float:
        """The highest load at which a node without part in the tree accepts."""
        received, sent = self._alone(number)
        return self.limit - received - sent

    def _root_allows(self, number: int) -> bool:
        """Whether the root can take what a further joint would send."""
        if self.joint == self.tree.root:
            return True  # then `relieved` has counted it
        change = self._remaining(number)[1] + self._alone(number)[1] - self.charge.sent
        return change <= 0 or bool(self.state.units[self.tree.root] + change <= self.limit)

    def _special(self, number: int) -> IntArray:
        """Slots of nodes with a part in the tree: edges of the flows first, then joints and the root."""
        return np.concatenate((self.tree.edge[self.movable[:number]], [*self.tree.charges, self.tree.root]))

    def _likely(self, number: int, special: IntArray) -> IntArray:
        """Those of the special nodes that may accept: a test in bulk by what they receive at least."""
        tree, chunk = self.tree, self.movable[:number]
        change = np.full(len(special), self._alone(number)[0])
        # An edge neither sends nor receives its own flows; a root may be spared what joints sent so far.
        own = tree.stream[chunk] if len(tree.totals) == 1 else tree.stream[chunk].sum()
        change[:number] -= 2 * own
        change[special == tree.root] -= sum(charge.sent for charge in tree.charges.values())
        fits = (special != self.joint) & (self.state.units[special] + change <= self.limit)
        found: IntArray = special[fits]
        return found
