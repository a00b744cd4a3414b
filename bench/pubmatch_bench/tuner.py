"""`bench tuner`: what the self-tuned Level costs against the best fixed one, and how it gets there.

The tuner first settles on batches of its own, which are noted one by one: level and mean response. Then
`level="auto"` and every fixed level answer the same fresh batches. After that a burst of updates, larger
than the tuner's threshold, makes it start again; it settles once more, and the comparison is repeated.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from functools import partial

import numpy as np

import pubmatch as pm
from pubmatch_bench import options as opt
from pubmatch_bench.paired import (
    LAP_EVENTS,
    PRECISION,
    Match,
    Run,
    Taken,
    compare,
    judge,
    lap_batches,
    precise,
    same_answers,
    split,
    take_lap,
)
from pubmatch_bench.record import Record, new_record
from pubmatch_bench.timing import spread
from pubmatch_bench.workloads import Workload, make

DEFAULT_WORKLOADS = "W1,W2,W4,W7"
DEFAULT_ROUNDS = 16
FEWEST_ROUNDS = 6
PAPER_WORKLOAD = "W1"
PAPER_SCALE = 0.1
"""The paper's tree, grown box by box, gets this share of its workload's subscriptions."""

PAPER_PARAMS = pm.Params(node_capacity=10, leaf_capacity=20, node_kernel="compare")
SETTLING_CAP = 10_000
"""Batches after which settling is given up; a tuner of a tree up to 18 levels high needs fewer."""

SETTLING_SECONDS = 60.0
"""Time after which settling is given up; batches of W7 take long."""

TARGET = 1.05
"""Most that auto's mean response may be over the best fixed level's."""

SETTLING_SEED = 1_000_000
RESTART_SEED = 2_000_000
BOXES_SEED = 7
_AFTER_RESTART = 500_000  # measured batches after the burst are other ones than before it
_UPDATE_ARRAY = 10_000

SEEDS = {
    "subscriptions": str(opt.SUBSCRIPTION_SEED),
    "new subscriptions": str(BOXES_SEED),
    "settling events": f"{SETTLING_SEED} + batch, after the burst {RESTART_SEED} + batch",
    "events": f"{opt.EVENT_SEED} + round, after the burst {opt.EVENT_SEED + _AFTER_RESTART} + round",
}


@dataclass
class Settling:
    """How a tuner came to rest: the level and the mean response of every batch until then."""

    settled: bool = False
    levels: list[int] = field(default_factory=list)
    mean_response_us: list[float] = field(default_factory=list)

    def summary(self) -> Record:
        """Return the trace as the record holds it."""
        return {
            "settled": self.settled,
            "batches": len(self.levels),
            "trace": {"level": self.levels, "mean_response_us": self.mean_response_us},
        }


def settle(
    index: pm.Index, events: opt.Events, size: int, seed: int = SETTLING_SEED, cap: int = SETTLING_CAP
) -> Settling:
    """Match fresh batches with `level="auto"` until the tuner is stable for this size, a minute at most.

    Parameters
    ----------
    index : Index
        Whose own tuner settles.
    events : callable
        Draws events: number, seed.
    size : int
        Events per batch.
    seed : int
        Batch `b` is drawn from `seed + b`.
    cap : int
        Most batches.

    Examples
    --------
    >>> workload = make("W3", scale=0.001)
    >>> index = pm.Index.build(workload.lower, workload.upper)
    >>> settling = settle(index, workload.events, 8)
    >>> settling.settled, index.tuner.state(8).stable
    (True, True)
    """
    settling = Settling()
    start = time.perf_counter()
    while not index.tuner.state(size).stable:
        if len(settling.levels) == cap or time.perf_counter() - start > SETTLING_SECONDS:
            return settling
        matches = index.match(events(size, seed + len(settling.levels)), level="auto")
        settling.levels.append(matches.level)
        settling.mean_response_us.append(round(1e6 * matches.mean_response_s, 3))
    settling.settled = True
    return settling


def run(options: opt.Options, notify: opt.Notify) -> Record:
    """Measure all chosen workloads, then the paper's tree, and return the record."""
    record = new_record(
        "tuner",
        quick=options.quick,
        parameters=options.parameters("workloads", "rounds", "scale", "batch")
        | {
            "events_per_lap": LAP_EVENTS,
            "precision": PRECISION,
            "settling_cap": SETTLING_CAP,
            "paper_tree": {"workload": PAPER_WORKLOAD, "scale": options.scale * PAPER_SCALE}
            | {"params": PAPER_PARAMS.dict()},
            "threads": 1,
            "dtype": "float32",
        },
        seeds=SEEDS,
    )
    trees = [(name, "default") for name in options.workloads] + [(PAPER_WORKLOAD, "paper")]
    for position, (name, tree) in enumerate(trees):

        def tell(what: str, done: float, name: str = name, tree: str = tree, before: int = position) -> None:
            notify(f"{name} {tree} tree: {what}", (before + done) / len(trees))

        record["results"].append(measure(name, tree, options, tell))
    record["targets"] = targets(record["results"])
    return record


def measure(name: str, tree: str, options: opt.Options, notify: opt.Notify) -> Record:
    """Measure one tree before and after a burst of updates."""
    notify("build", 0.0)
    workload, index = _plant(name, tree, options.scale)
    fresh = _phase(index, workload, options, SETTLING_SEED, opt.EVENT_SEED, notify, 0.05)
    notify("burst of updates", 0.5)
    updates = burst(index, workload)
    restarted = not index.tuner.state(options.batch).stable
    again = _phase(index, workload, options, RESTART_SEED, opt.EVENT_SEED + _AFTER_RESTART, notify, 0.55)
    return {
        "workload": name,
        "tree": tree,
        "about": workload.spec.about,
        "subscriptions": len(workload),
        "height": index.height,
        "batch_size": options.batch,
        "loops": index.tuner.loops,
        "threshold": index.tuner.threshold,
        "fresh": fresh,
        "burst": {"updates": updates, "restarted": restarted},
        "after_updates": again,
    }


def _plant(name: str, tree: str, scale: float) -> tuple[Workload, pm.Index]:
    """Make the default tree by bulk load, or the paper's tree by inserts."""
    if tree == "default":
        workload = make(name, scale, opt.SUBSCRIPTION_SEED)
        return workload, pm.Index.build(workload.lower, workload.upper)
    workload = make(name, scale * PAPER_SCALE, opt.SUBSCRIPTION_SEED)
    index = pm.Index(workload.dims, dtype="float32", params=PAPER_PARAMS)
    index.insert(workload.lower, workload.upper)
    return workload, index


def burst(index: pm.Index, workload: Workload) -> int:
    """Replace subscriptions by new ones until the tuner's threshold is reached; return the updates made."""
    array = max(1, min(len(workload) // 2, _UPDATE_ARRAY))
    steps = index.tuner.threshold // (2 * array) + 1
    lower, upper = workload.fresh_boxes(steps * array, BOXES_SEED)
    present = deque(np.random.default_rng(BOXES_SEED).permutation(len(workload)).tolist())
    updates = 0
    for start in range(0, len(lower), array):
        leaving = [present.popleft() for _ in range(array)]
        updates += index.delete(np.array(leaving, dtype=np.int64))
        entered = index.insert(lower[start : start + array], upper[start : start + array])
        present.extend(entered.tolist())
        updates += len(entered)
    return updates


def _phase(
    index: pm.Index,
    workload: Workload,
    options: opt.Options,
    settling_seed: int,
    event_seed: int,
    notify: opt.Notify,
    done: float,
) -> Record:
    """Let the tuner settle, then measure it against every fixed level."""
    notify("settling", done)
    settling = settle(index, workload.events, options.batch, settling_seed)
    ways: dict[str, Match] = {"auto": partial(index.match, level="auto")}
    ways |= {str(level): partial(index.match, level=level) for level in range(1, index.height + 1)}
    taken = {name: Taken() for name in ways}
    lap = lap_batches(options.batch, len(ways))
    equal = True
    for turn in range(options.rounds):
        notify(f"round {turn + 1} of at most {options.rounds}", done + 0.4 * turn / options.rounds)
        points = workload.events(lap * options.batch, event_seed + turn)
        batches = split(points, options.batch)
        equal &= _lap({name: (way, batches) for name, way in ways.items()}, turn, taken)
        if turn + 1 >= FEWEST_ROUNDS and precise(_against_best(taken, lap)[1]):
            break
    level = index.tuner.state(options.batch).level
    return settling.summary() | {"equal": equal, "level": level, "rounds": turn + 1, **_summary(taken, lap)}


def _lap(runs: dict[str, Run], number: int, taken: dict[str, Taken]) -> bool:
    """Let every way answer the same batches; add the times and tell whether the answers agree."""
    latest = take_lap(runs, number)
    for name, part in latest.items():
        taken[name].add(part)
    return all(same_answers(latest["auto"].answers, part.answers) for part in latest.values())


def _against_best(taken: dict[str, Taken], lap: int) -> tuple[str, Record]:
    """Name the fixed level of least mean response, and compare auto with it."""
    auto = taken["auto"].response_s
    against = {name: compare(auto, part.response_s, lap) for name, part in taken.items() if name != "auto"}
    best = max(against, key=lambda name: float(against[name]["ratio"]))
    return best, against[best]


def _summary(taken: dict[str, Taken], lap: int) -> Record:
    best, against = _against_best(taken, lap)
    ms = {name: spread([1e3 * seconds for seconds in part.response_s]) for name, part in taken.items()}
    return {
        "auto_ms": ms.pop("auto"),
        "fixed_ms": ms,
        "best_level": int(best),
        "auto_over_best": against,
    }


def targets(results: list[Record]) -> list[Record]:
    """Check every comparison: auto within 5 % of the best fixed level."""
    return [
        judge(
            "auto at most 5 % over the best fixed level",
            f"{result['workload']} {result['tree']} tree, {phase.replace('_', ' ')}",
            result[phase]["auto_over_best"],
            TARGET,
        )
        for result in results
        for phase in ("fresh", "after_updates")
    ]
