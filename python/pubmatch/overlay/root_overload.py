"""Root overload: the joint that sends most often buffers, and sends half as often (section III-B.2)."""

from __future__ import annotations

import heapq

from pubmatch.overlay.transfer_state import HALVINGS_FLOOR, TransferState

__all__ = ["relieve_root"]


def relieve_root(state: TransferState, root: int, limit: float) -> int:
    """Halve output rates of joints until a root is not above a limit; return how often.

    Nothing is done if buffering alone cannot reach the limit. No rate falls below 2^-8 of what it was.
    """
    if state.units[root] <= limit:
        return 0
    senders = [
        (-charge.sent, int(state.nodes.id_of_slot[joint]), name, joint)
        for name in state.roots_at.get(root, ())
        for joint, charge in state.trees[name].charges.items()
        if charge.sent > 0 and charge.halvings < HALVINGS_FLOOR
    ]
    saved = sum(
        -sent * (1 - 0.5 ** (HALVINGS_FLOOR - state.trees[name].charges[joint].halvings))
        for sent, _, name, joint in senders
    )
    if state.units[root] - saved > limit:
        return 0
    heapq.heapify(senders)
    halved = 0
    while senders and state.units[root] > limit:
        _, node, name, joint = heapq.heappop(senders)
        tree = state.trees[name]
        state.halve(tree, joint)
        halved += 1
        charge = tree.charges[joint]
        if charge.sent > 0 and charge.halvings < HALVINGS_FLOOR:
            heapq.heappush(senders, (-charge.sent, node, name, joint))
    return halved
