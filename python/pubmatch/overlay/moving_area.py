"""A moving area: joints no longer needed are cut, new ones are found; the rest of the tree stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pubmatch.overlay.id_ranges import IdRange
from pubmatch.overlay.placement import edge_counts, first_joint
from pubmatch.overlay.transfer_state import TransferState
from pubmatch.overlay.transfer_tree import TransferTree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]

__all__ = ["AreaMove", "move_area"]


@dataclass(frozen=True, slots=True)
class AreaMove:
    """What became of a tree whose area moved.

    Attributes
    ----------
    cut, added, kept : tuple of int
        The ids of joints that were cut, that are new, and that stayed, ascending.
    flows_cut, flows_added, flows_kept : int
        The same for flows.
    probes : int
        How often a node was asked whether it becomes a joint.
    """

    cut: tuple[int, ...]
    added: tuple[int, ...]
    kept: tuple[int, ...]
    flows_cut: int
    flows_added: int
    flows_kept: int
    probes: int


def move_area(state: TransferState, tree: TransferTree, ranges: tuple[tuple[IdRange, ...], ...]) -> AreaMove:
    """Let a tree's filters listen in other ranges."""
    before = set(tree.charges)
    old = dict(zip(_keys(tree), tree.joint.tolist(), strict=True))
    state.withdraw(tree)
    state.listen(tree, -1)
    tree.ranges = ranges
    state.listen(tree, +1)
    wanted = [edge_counts(state, tree, source) for source in range(len(ranges))]
    sources = np.concatenate([np.full(len(slots), s) for s, (slots, _, _) in enumerate(wanted)])
    edges, counts, ends = (np.concatenate([each[column] for each in wanted]) for column in range(3))
    joints = np.array(
        [old.get(key, -1) for key in zip(sources.tolist(), edges.tolist(), strict=True)], np.int64
    )
    kept = joints >= 0
    tree.set_flows(sources[kept], edges[kept], counts[kept], joints[kept])
    state.deposit(tree)  # so that new joints are chosen by the loads there are without the cut ones
    probes = _fill(state, joints, sources, counts, ends)
    state.withdraw(tree)
    tree.set_flows(sources, edges, counts, joints)
    state.deposit(tree)
    after = set(tree.charges)
    ids = state.nodes.id_of_slot
    cut, added, same = (
        tuple(sorted(ids[list(each)].tolist())) for each in (before - after, after - before, before & after)
    )
    return AreaMove(cut, added, same, len(old) - int(kept.sum()), int((~kept).sum()), int(kept.sum()), probes)


def _fill(state: TransferState, joints: IntArray, sources: IntArray, counts: IntArray, ends: IntArray) -> int:
    """Find joints for the flows that have none (-1), run by run; return how many nodes were asked.

    A joint that serves a neighbouring edge of the same run takes them if it can; otherwise the first node
    above the run becomes a new one.
    """
    probes = 0
    rates, limit = state.rates, state.rates.limit_units()
    spoken: dict[int, float] = {}  # units promised to a joint, not charged yet
    new = joints < 0
    for source, end in sorted(set(zip(sources[new].tolist(), ends[new].tolist(), strict=True))):
        run = np.flatnonzero((sources == source) & (ends == end))
        waiting = run[new[run]]
        units = float(counts[waiting].sum()) * rates.rate_fil * (1 + rates.rate_calc)
        neighbours = run[~new[run]]
        nearest = neighbours[np.argsort(np.abs(neighbours - waiting[0]), kind="stable")]
        for joint in dict.fromkeys(joints[nearest].tolist()):
            probes += 1
            if state.units[joint] + spoken.get(joint, 0.0) + units <= limit:
                break
        else:
            joint, asked = first_joint(state, end)
            probes += asked
        joints[waiting] = joint
        spoken[joint] = spoken.get(joint, 0.0) + units
    return probes


def _keys(tree: TransferTree) -> list[tuple[int, int]]:
    return list(zip(tree.source.tolist(), tree.edge.tolist(), strict=True))
