"""Where the line of subscriptions is cut: shards of equal work, not of equal size.

The work of a shard is what a sample of events would cost there, in microseconds:

    visits × (VISIT_US + SEARCH_US × leaves^0.7) + matches × MATCH_US

A visit is an event that the routing sends to the shard; leaves are its boxes over 512; the exponent is that
of the index's own packer. The constants are rounded from measured runs; only their ratios matter here.

Since visits of neighbouring runs overlap, the work is not a sum over subscriptions: the cuts are found in
rounds, each giving runs of overworked shards more weight. A hot spot is divided like anything else:
subscriptions with equal codes are told apart by their keys' hashes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pubmatch.index import Index

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pubmatch_spark.shard_boxes import Boxes
    from pubmatch_spark.shard_order import ShardOrder

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["Cuts", "envelopes", "matches_by_shard", "plan_cuts", "typical_events", "work_us"]

VISIT_US = 2.0
SEARCH_US = 0.25
MATCH_US = 0.25

_LEAF = 512
_EXPONENT = 0.7
_RUNS_PER_SHARD = 64
_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class Cuts:
    """The first code and hash of every shard but the first, ascending.

    Examples
    --------
    >>> import numpy as np
    >>> cuts = Cuts(np.array([5, 5], np.uint64), np.array([10, 20], np.uint64))
    >>> cuts.shards(np.array([4, 5, 5, 6], np.uint64), np.array([99, 9, 10, 0], np.uint64)).tolist()
    [0, 0, 1, 2]
    """

    codes: NDArray[np.uint64]
    hashes: NDArray[np.uint64]

    def shards(self, codes: NDArray[np.uint64], hashes: NDArray[np.uint64]) -> Ints:
        """The shard of each subscription."""
        found = np.searchsorted(self.codes, codes, side="left")
        last = np.searchsorted(self.codes, codes, side="right")
        for row in np.flatnonzero(found < last).tolist():
            first = found[row]
            found[row] = first + np.searchsorted(self.hashes[first : last[row]], hashes[row], side="right")
        return found.astype(np.int64)


def work_us(visits: Floats, boxes: Floats, matches: Floats) -> Floats:
    """The estimated work of shards; arrays of one number per shard.

    Examples
    --------
    >>> import numpy as np
    >>> float(work_us(np.array([10.0]), np.array([512.0]), np.array([4.0]))[0])
    23.5
    """
    leaves = np.maximum(boxes / _LEAF, 1.0)
    return visits * (VISIT_US + SEARCH_US * leaves**_EXPONENT) + matches * MATCH_US


def typical_events(boxes: Boxes, count: int, seed: int = 0) -> Floats:
    """Events made from subscriptions, when there are no others: centres, completed from other centres.

    A side without bounds has no centre; there the value is that of another subscription, taken at random.
    """
    random = np.random.default_rng(seed)
    chosen = random.permutation(len(boxes.lower))[:count]
    lower, upper = boxes.lower[chosen], boxes.upper[chosen]
    large = np.finfo(np.float64).max
    low_known, high_known = lower > -large, upper < large
    centres = np.where(low_known, lower, upper)
    both = low_known & high_known
    centres[both] = lower[both] / 2 + upper[both] / 2  # the sum of two large bounds may overflow
    known = low_known | high_known
    for dimension in range(centres.shape[1]):
        donors = centres[known[:, dimension], dimension]
        holes = np.flatnonzero(~known[:, dimension])
        centres[holes, dimension] = random.choice(donors, len(holes)) if len(donors) else 0.0
    return centres


def envelopes(lower: Floats, upper: Floats, starts: Ints) -> tuple[Floats, Floats]:
    """The smallest box around each run of boxes; a run begins at its start and ends where the next begins."""
    return np.minimum.reduceat(lower, starts, axis=0), np.maximum.reduceat(upper, starts, axis=0)


def matches_by_shard(boxes: Boxes, shard_of: Ints, events: Floats, shards: int) -> Floats:
    """How many matches the events have in every shard; `shard_of` tells the shard of each subscription."""
    found: Floats = np.bincount(shard_of, _hits(boxes, events), shards).astype(np.float64)
    return found


def plan_cuts(
    order: ShardOrder, boxes: Boxes, hashes: NDArray[np.uint64], events: Floats, shards: int, total: int
) -> Cuts:
    """Cut the line so that all shards have about the same work.

    Parameters
    ----------
    order : ShardOrder
        The line.
    boxes : Boxes
        A sample of the subscriptions.
    hashes : (boxes.count,) array of uint64
        The hashes of their keys.
    events : (k, dims) array
        The events whose work is estimated.
    shards : int
        How many shards.
    total : int
        How many subscriptions there are in all.
    """
    if order.by == "hash" or not boxes.count or not len(events):
        even = (np.arange(1, shards, dtype=object) * (1 << 64) // shards).astype(np.uint64)
        return Cuts(np.zeros(shards - 1, np.uint64), even)
    lower, upper = boxes.hulls()
    codes = order.codes(lower, upper)
    line = np.lexsort((hashes, codes))
    runs = min(boxes.count, _RUNS_PER_SHARD * shards)
    starts = np.linspace(0, boxes.count, runs, endpoint=False).astype(np.int64)
    sample = _Sample(boxes, line, starts, events, total / boxes.count)
    first = starts[_best_cuts(sample, runs, shards)]
    return Cuts(codes[line][first], hashes[line][first])


def _hits(boxes: Boxes, events: Floats) -> Ints:
    """How many of the events each subscription's boxes take."""
    ids = Index.build(boxes.lower, boxes.upper).match(events, level=1).ids
    return np.bincount(boxes.owner[ids], minlength=boxes.count)


class _Sample:
    """What the sampled events do with every run of sampled subscriptions."""

    def __init__(self, boxes: Boxes, line: Ints, starts: Ints, events: Floats, scale: float) -> None:
        lower, upper = boxes.hulls()
        low, high = envelopes(lower[line], upper[line], starts)
        self.event, self.run = Index.build(low, high).match(events, level=1).pairs()
        self.matches = np.add.reduceat(_hits(boxes, events)[line], starts) * scale
        self.sizes = np.diff(starts, append=boxes.count) * scale
        self.events = len(events)

    def works(self, shard_of_run: Ints, shards: int) -> Floats:
        """The work of every shard."""
        pairs = np.unique(shard_of_run[self.run] * np.int64(self.events) + self.event)
        visits = np.bincount(pairs // self.events, minlength=shards).astype(np.float64)
        sizes = np.bincount(shard_of_run, self.sizes, shards).astype(np.float64)
        matches = np.bincount(shard_of_run, self.matches, shards).astype(np.float64)
        return work_us(visits, sizes, matches)


def _best_cuts(sample: _Sample, runs: int, shards: int) -> Ints:
    """The first run of every shard but the first."""
    visits = np.bincount(sample.run, minlength=runs)
    weights = work_us(visits.astype(np.float64), sample.sizes, sample.matches)
    weights += weights.sum() / (100 * runs) + 1e-9  # so that runs nobody visits are spread too
    best, cuts = np.inf, np.empty(0, np.int64)
    for _ in range(_ROUNDS):
        reached = np.cumsum(weights) - weights / 2
        shard_of_run = np.minimum(reached * shards // weights.sum(), shards - 1).astype(np.int64)
        works = sample.works(shard_of_run, shards)
        peak = works.max()
        if peak < best:
            best, cuts = peak, np.searchsorted(shard_of_run, np.arange(1, shards), side="left")
        weights = (
            weights * np.sqrt(np.maximum(works, 0.01 * works.mean() + 1e-9) / works.mean())[shard_of_run]
        )
    return np.minimum(cuts, runs - 1)
