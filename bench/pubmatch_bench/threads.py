"""`bench threads`: the same batches on one thread and on several, and what the shortest call costs."""

from __future__ import annotations

import numpy as np

import pubmatch as pm
from pubmatch_bench import options as opt
from pubmatch_bench.peers.protocol import Csr
from pubmatch_bench.record import Record, new_record
from pubmatch_bench.timing import spread, timed
from pubmatch_bench.tuner import SETTLING_SEED, settle
from pubmatch_bench.workloads import make

DEFAULT_WORKLOADS = "W1,W2,W3,W6"
DEFAULT_ROUNDS = 31
LARGE_BATCH = 2048
_EMPTY_DIMS = 12
_EMPTY_CALLS = 100
_EMPTY_REPEATS = 50


def run(options: opt.Options, notify: opt.Notify) -> Record:
    """Measure all chosen workloads and return the record."""
    record = new_record(
        "threads",
        quick=options.quick,
        parameters=options.parameters("workloads", "rounds", "scale", "batch", "threads")
        | {"large_batch": LARGE_BATCH, "dtype": "float32"},
        seeds=opt.SEEDS | {"settling events": f"{SETTLING_SEED} + batch"},
    )
    record["empty_index_call_us"] = empty_call_us()
    for position, name in enumerate(options.workloads):
        notify(f"{name} build", position / len(options.workloads))
        record["results"].append(measure(name, options))
    return record


def empty_call_us() -> dict[str, float]:
    """Return the microseconds of a call with a single event on an empty index: the cost of calling at all."""
    index = pm.Index(dims=_EMPTY_DIMS, dtype="float32")
    point = np.full((1, _EMPTY_DIMS), 0.5, dtype=np.float32)

    def calls() -> None:
        for _ in range(_EMPTY_CALLS):
            index.match(point, threads=1)

    return spread([1e6 * timed(calls)[0] / _EMPTY_CALLS for _ in range(_EMPTY_REPEATS)])


def measure(name: str, options: opt.Options) -> Record:
    """Measure one workload with small and large batches."""
    workload = make(name, options.scale, opt.SUBSCRIPTION_SEED)
    index = pm.Index.build(workload.lower, workload.upper)
    batches = [_speedup(index, workload.events, batch, options) for batch in _batches(options)]
    return {
        "workload": workload.name,
        "about": workload.spec.about,
        "subscriptions": len(workload),
        "batches": batches,
    }


def _batches(options: opt.Options) -> list[int]:
    return sorted({options.batch, LARGE_BATCH})


def _speedup(index: pm.Index, events: opt.Events, batch: int, options: opt.Options) -> Record:
    """Time one and several threads in turn on fresh batches; the first to go changes from round to round.

    The tuner settles first: levels it tries in turn would fall on one thread here, on several there.
    """
    settle(index, events, batch)
    counts = (1, options.threads)
    ms: dict[int, list[float]] = {threads: [] for threads in counts}
    equal = True
    for threads in counts:
        index.match(events(batch, opt.WARM_UP_SEED), threads=threads)
    for turn in range(options.rounds):
        points = events(batch, opt.EVENT_SEED + turn)
        answers = []
        for threads in counts if turn % 2 else reversed(counts):
            seconds, answer = timed(index.match, points, threads=threads)
            ms[threads].append(1e3 * seconds / batch)
            answers.append(Csr(answer.offsets, answer.ids))
        equal &= answers[0].same_sets(answers[1])
    return {
        "batch": batch,
        "one_ms_per_event": spread(ms[1]),
        "many_ms_per_event": spread(ms[options.threads]),
        "speedup": float(np.median(ms[1]) / np.median(ms[options.threads])),
        "equal": equal,
    }
