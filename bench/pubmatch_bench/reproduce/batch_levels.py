"""Figures 5 and 7-a to 7-d: mean response over Level, index size and batch size, on a tree that grows."""

from __future__ import annotations

import itertools
import time
from functools import partial

import numpy as np

import pubmatch as pm
from pubmatch_bench.options import Notify
from pubmatch_bench.record import Record
from pubmatch_bench.reproduce.batch_plan import Plan, Source, grow, new_index
from pubmatch_bench.reproduce.race import FIFO, Match, Race, race
from pubmatch_bench.workloads import FloatArray

RUN_BATCHES, RUN_EVENTS = 8, 256
"""The least batches of a run, and about how many events it has if that makes more batches."""


def ways(index: pm.Index) -> dict[str, Match]:
    """Return first-come order and BatchSearch at every Level, by name."""
    found: dict[str, Match] = {FIFO: partial(index.match, order="fifo", level=1)}
    for level in range(1, index.height + 1):
        found[str(level)] = partial(index.match, order="sjf", level=level)
    return found


def measure(tree: str, plan: Plan, notify: Notify) -> Record:
    """Grow a tree through the plan's sizes; return a point per size and batch size, and figure 5's curves."""
    source, rng = Source(plan.seed), np.random.default_rng([plan.seed, 5])
    index = new_index(tree)
    points: list[Record] = []
    shapes: list[Record] = []
    insert_s = 0.0
    sizes = sorted({*plan.sizes, plan.shape_size})
    weight = sum(_size_weight(size, plan) for size in sizes)
    done = 0.0
    for size in sizes:
        notify(f"{tree} tree, insert up to {size:,}", done / weight)
        started = time.perf_counter()
        grow(index, size, source)
        insert_s += time.perf_counter() - started
        batches = sorted({*_batches_at(size, plan)})
        for position, batch in enumerate(batches):
            share = (done + _size_weight(size, plan) * position / len(batches)) / weight
            notify(f"{tree} tree, {size:,} subscriptions, {batch} events", share)
            points.append(_point(index, batch, plan.events_of(batch, tree), source, rng))
        if size == plan.shape_size:
            for batch in plan.shape_batches:
                notify(f"{tree} tree, response over Level, {batch} events", share)
                shapes.append(_shape(index, batch, plan.shape_loops, source, rng))
        done += _size_weight(size, plan)
    return {"tree": tree, "insert_s": insert_s, "points": points, "shapes": shapes}


def _batches_at(size: int, plan: Plan) -> tuple[int, ...]:
    sized = plan.sized_batches if size in plan.sizes else ()
    return (*sized, *(plan.batches if size == plan.shape_size else ()))


def _size_weight(size: int, plan: Plan) -> float:
    """Return a size's share of the work: a search takes longer the more there is to search."""
    return size * (3.0 if size == plan.shape_size else 1.0)


def _point(index: pm.Index, batch: int, events: int, source: Source, rng: np.random.Generator) -> Record:
    """Measure every way at one size and batch size."""
    matches = ways(index)
    _warm_up(matches, batch, source)
    total = Race()
    while total.batches() * batch < events:
        run = [source.events(batch) for _ in range(max(RUN_BATCHES, RUN_EVENTS // batch))]
        total.join(race(run, matches, rng))
    against = [total.ratio(str(level), FIFO) for level in total.levels()]
    best = total.best_ratio()
    return {
        "subscriptions": len(index),
        "height": index.height,
        "batch": batch,
        "batches_measured": total.batches(),
        "events_together": _together(index, source.events(batch)),
        "fifo_ms": total.mean_ms(FIFO),
        "levels": total.levels(),
        "level_ms": [total.mean_ms(str(level)) for level in total.levels()],
        "level_ratio": [ratio.record() for ratio in against],
        "best_level": total.best(),
        "tied_levels": total.tied(),
        "best_ms": total.mean_ms(FIFO) * best.value,
        "improvement_percent": 100 * (1 - best.value),
        "improvement_error_percent": 100 * best.error if np.isfinite(best.error) else None,
        "equal": total.equal,
    }


def _warm_up(matches: dict[str, Match], batch: int, source: Source) -> None:
    """Let the pages of the tree be there before anything is timed."""
    for match in matches.values():
        match(source.events(batch))


def _together(index: pm.Index, points: FloatArray) -> float:
    """Return how many events of a batch complete at the same moment, on average: 1 if searched one by one."""
    return len(points) / len(np.unique(index.match(points, order="fifo", level=1).response_s))


def _shape(
    index: pm.Index, batch: int, loops: tuple[int, ...], source: Source, rng: np.random.Generator
) -> Record:
    """Measure figure 5: sums over so many batches, the same ones for every level, and different ones."""
    matches = {name: match for name, match in ways(index).items() if name != FIFO}
    same, different = Race(), Race()
    while same.batches() < max(loops):
        count = min(2 * RUN_BATCHES, max(loops) - same.batches())
        same.join(race([source.events(batch) for _ in range(count)], matches, rng))
        for _ in range(count):
            for position in rng.permutation(len(matches)):
                level = list(matches)[position]
                different.join(race([source.events(batch)], {level: matches[level]}, rng))
    levels = same.levels()
    return {
        "events": batch,
        "subscriptions": len(index),
        "height": index.height,
        "levels": levels,
        "same_ms": _sums(same, loops),
        "different_ms": _sums(different, loops),
        "same_tied_levels": same.tied(),
        "best_level": same.best(),
        "valley": valley(same),
        "equal": same.equal,
    }


def _sums(measured: Race, loops: tuple[int, ...]) -> dict[str, list[float]]:
    """Return for each number of batches the summed mean responses, level by level."""
    return {
        str(count): [
            measured.mean_ms(str(level), slice(count)) * min(count, len(measured.response_s[str(level)]))
            for level in measured.levels()
        ]
        for count in loops
    }


def valley(measured: Race) -> Record:
    """Tell whether response over Level falls to one bottom and rises again, as far as noise lets one see.

    Returns
    -------
    dict
        `single`: no step on the way down rises, and none on the way up falls, by more than the noise;
        `inner`: the root's and the leaves' level are both slower than the bottom by more than the noise.

    Examples
    --------
    >>> valley(Race({"1": [4.0, 4.1], "2": [2.0, 2.1], "3": [3.0, 3.1]}))
    {'single': True, 'inner': True}
    >>> valley(Race({"1": [4.0, 4.1], "2": [2.0, 2.1], "3": [3.0, 3.1], "4": [2.5, 2.6]}))
    {'single': False, 'inner': True}
    """
    levels, best = measured.levels(), measured.best()
    turns = [
        measured.slower(level, above) if level <= best else measured.slower(above, level)
        for above, level in itertools.pairwise(levels)
    ]
    inner = measured.slower(levels[0], best) and measured.slower(levels[-1], best)
    return {"single": not any(turns), "inner": inner}
