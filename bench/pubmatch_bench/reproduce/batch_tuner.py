"""The self-adaptive Level while the index grows (figures 7-e, 7-f and 8).

One stretch: subscriptions are inserted, which makes the tuner unstable; batches arrive until it has settled;
then the settled Level is compared with every fixed one. The tuner is a `pubmatch.LevelTuner` like the one
each index has, driven by hand because the paper's threshold is not the default; `level="auto"` makes the same
three calls. While it is unstable, first-come order and every fixed Level also take some blocks of batches, so
that the cost of looking for the Level can be told.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import pubmatch as pm
from pubmatch_bench.options import Notify
from pubmatch_bench.record import Record
from pubmatch_bench.reproduce.batch_levels import ways
from pubmatch_bench.reproduce.batch_plan import Plan, Source, grow, new_index
from pubmatch_bench.reproduce.race import FIFO, Race, race
from pubmatch_bench.workloads import FloatArray

AUTO = "auto"

BLOCK = 12
"""Batches that a way takes in a row: a multiple of the three (or, at an edge, two) levels on trial."""


class TunedMatch:
    """Matches at the Level the tuner asks for, and tells it what that took."""

    def __init__(self, index: pm.Index, tuner: pm.LevelTuner, batch: int) -> None:
        self._index, self._tuner, self._batch = index, tuner, batch
        self.levels: list[int] = []
        self.unstable = 0

    def __call__(self, points: FloatArray) -> pm.Matches:
        """Match one batch."""
        level = self._tuner.next_level(self._batch, self._index.height)
        self.unstable += not self.settled
        matches = self._index.match(points, order="sjf", level=level)
        self._tuner.record(self._batch, level, matches.mean_response_s)
        self.levels.append(level)
        return matches

    @property
    def settled(self) -> bool:
        """Whether the tuner is stable at this batch size."""
        return self._tuner.state(self._batch).stable


def measure(tree: str, plan: Plan, notify: Notify) -> Record:
    """Grow a tree stretch by stretch under one tuner; return the stretches of each batch size."""
    source, rng = Source(2 * plan.seed + 1), np.random.default_rng([plan.seed, 7])
    index = new_index(tree)
    tuner = pm.LevelTuner(threshold=plan.step(), loops=plan.loops)
    stretches: dict[str, list[Record]] = {str(batch): [] for batch in plan.tuned_batches}
    work, done = sum(plan.growth) * len(plan.tuned_batches), 0
    for size in plan.growth:
        notify(f"{tree} tree, insert up to {size:,}", done / work)
        before = len(index)
        grow(index, size, source)
        tuner.updated(len(index) - before)
        for batch, usual in zip(plan.tuned_batches, plan.compared, strict=True):
            notify(f"{tree} tree, tuner at {size:,} subscriptions, {batch} events", done / work)
            stretch = _Stretch(index, tuner, batch, source, rng)
            shown = size == plan.piece_size and batch == plan.tuned_batches[0]
            share = 1.0 if tree == "default" else plan.piece_compared if shown else usual
            stretches[str(batch)].append(stretch.run(plan, share, plan.stable_events * plan.factor(tree)))
            done += size
    return {"tree": tree, "stretches": stretches}


class _Stretch:
    """One size of the index, one batch size."""

    def __init__(
        self, index: pm.Index, tuner: pm.LevelTuner, batch: int, source: Source, rng: np.random.Generator
    ) -> None:
        self._index, self._batch, self._source, self._rng = index, batch, source, rng
        self._tuned = TunedMatch(index, tuner, batch)
        self._fixed = ways(index)
        self._state = tuner.state
        self.positions: list[int] = []  # of the compared batches, counted from the stretch's first

    def run(self, plan: Plan, share: float, stable_events: int) -> Record:
        """Let the tuner settle, compare it then, and sum up."""
        tuned = self._tuned
        looking = Race()
        for match_all in self._blocks(plan, share):
            first = len(tuned.levels)
            block = race(self._events(), {AUTO: tuned, **(self._fixed if match_all else {})}, self._rng)
            if match_all:
                looking.join(block)
                self.positions += range(first, first + BLOCK)
        settled = Race()
        before = tuned.unstable
        while settled.batches() * self._batch < stable_events:
            settled.join(race(self._events(), {AUTO: tuned, **self._fixed}, self._rng))
        return self._record(looking, settled, before)

    def _blocks(self, plan: Plan, share: float) -> Iterator[bool]:
        """Yield for each block of batches whether all ways take it, until the tuner has settled.

        About one of every `1 / share` blocks is compared, at irregular distances, so that no rhythm of the
        tuner's own is always met.
        """
        every = max(1, round(1 / share))
        due = 0
        for block in range(max(1, plan.most_batches // BLOCK)):
            if block and self._tuned.settled:
                return
            match_all = block == due
            if match_all:
                due += every + int(self._rng.integers(-1, 2)) if every > 1 else 1
            yield match_all

    def _events(self) -> list[FloatArray]:
        return [self._source.events(self._batch) for _ in range(BLOCK)]

    def _record(self, looking: Race, settled: Race, unstable: int) -> Record:
        best = str(settled.best())
        state = self._state(self._batch)
        return {
            "subscriptions": len(self._index),
            "height": self._index.height,
            "unstable_batches": unstable,
            "rounds": state.round,
            "settled": state.stable,
            "level": state.level,
            "best_level": int(best),
            "tied_levels": settled.tied(),
            "settled_against_best": settled.ratio(AUTO, best).record(),
            "settled_against_fifo": settled.ratio(AUTO, FIFO).record(),
            "unstable_against_best": looking.ratio(AUTO, best).record(),
            "unstable_against_fifo": looking.ratio(AUTO, FIFO).record(),
            "settled_ms": {name: settled.mean_ms(name) for name in settled.response_s},
            "sequence": _windows(looking, best, self.positions),
            "levels_tried": sorted(set(self._tuned.levels)),
            "equal": looking.equal and settled.equal,
        }


def _windows(looking: Race, best: str, positions: list[int]) -> Record:
    """Return the plotted lines: one point per compared block, its mean, at its first batch."""
    starts = range(0, len(positions), BLOCK)
    names = {"auto_ms": AUTO, "fifo_ms": FIFO, "best_ms": best}
    lines = {
        line: [looking.mean_ms(name, slice(start, start + BLOCK)) for start in starts]
        for line, name in names.items()
    }
    return {"batch": [positions[start] for start in starts], **lines}
