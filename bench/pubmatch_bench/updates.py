"""`bench updates`: inserting and deleting, in arrays and one by one; matching after much was replaced.

An index of a million boxes loses and gains 30 % of its content in arrays of 10,000: delete an array of random
boxes, insert as many new ones. Then it is matched, batch by batch in turn, against an index freshly built
from the same content under the same ids. The fresh index then serves for arrays that only grow it, and for
calls with a single box.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import pubmatch as pm
from pubmatch_bench import options as opt
from pubmatch_bench.peers import PeerUnavailable
from pubmatch_bench.peers.protocol import Csr, IdArray
from pubmatch_bench.peers.rtree_peer import RtreePeer
from pubmatch_bench.record import Record, new_record
from pubmatch_bench.timing import spread, timed
from pubmatch_bench.workloads import FloatArray, Workload, make, spec_of

DEFAULT_WORKLOADS = "W1,W2,W3"
DEFAULT_ROUNDS = 15
PEERS = (RtreePeer.name,)
SIZE = 1_000_000
"""Boxes at scale 1, whatever the workload's own size."""

REPLACED_ARRAYS = 30
ARRAYS_PER_INDEX = 100
GROWING_ARRAYS = 5
SINGLE_CALLS = 200
NEW_BOXES_SEED = 1
_CHOICE_SEED = 2
_BUILDS = 3


@dataclass
class Content:
    """The boxes an index should hold, row by row with their ids."""

    lower: FloatArray
    upper: FloatArray
    ids: IdArray


@dataclass
class Times:
    """Microseconds per box, one value per call."""

    insert_us: list[float] = field(default_factory=list)
    delete_us: list[float] = field(default_factory=list)
    equal: bool = True
    """Whether every delete found all the boxes it was given."""

    def insert(self, index: pm.Index, lower: FloatArray, upper: FloatArray) -> IdArray:
        """Insert boxes and note the time."""
        seconds, ids = timed(index.insert, lower, upper)
        self.insert_us.append(1e6 * seconds / len(ids))
        return ids

    def delete(self, index: pm.Index, ids: IdArray) -> None:
        """Delete boxes and note the time."""
        seconds, found = timed(index.delete, ids)
        self.equal &= found == len(ids)
        self.delete_us.append(1e6 * seconds / len(ids))

    def summary(self) -> Record:
        """Sum up both kinds of call."""
        return {
            "insert_us": spread(self.insert_us),
            "delete_us": spread(self.delete_us),
            "equal": self.equal,
        }


def run(options: opt.Options, notify: opt.Notify) -> Record:
    """Measure all chosen workloads and return the record."""
    record = new_record(
        "updates",
        quick=options.quick,
        parameters=options.parameters("workloads", "peers", "rounds", "scale", "batch")
        | {"size": SIZE, "replaced": REPLACED_ARRAYS / ARRAYS_PER_INDEX, "dtype": "float32"},
        seeds=opt.SEEDS | {"inserted subscriptions": str(NEW_BOXES_SEED), "deleted": str(_CHOICE_SEED)},
    )
    for name in options.workloads:
        record["results"].append(measure(name, options, opt.part(notify, name, options)))
    return record


def measure(name: str, options: opt.Options, notify: opt.Notify) -> Record:
    """Measure one workload."""
    notify("build", 0.0)
    workload = make(name, options.scale * SIZE / spec_of(name).size, opt.SUBSCRIPTION_SEED)
    build_s = []
    for _ in range(1 if options.quick else _BUILDS):
        seconds, index = timed(pm.Index.build, workload.lower, workload.upper)
        build_s.append(seconds)
    notify("replace", 0.3)
    replacing, content = _replace(index, workload)
    index.check()
    notify("build from the same content", 0.5)
    fresh = pm.Index.build(content.lower, content.upper, content.ids)
    notify("match", 0.6)
    matching = _compare(index, fresh, workload, options)
    del index
    notify("grow", 0.8)
    growing, single = _grow(fresh, workload), _single(fresh, workload)
    fresh.check()
    result = {
        "workload": workload.name,
        "about": workload.spec.about,
        "subscriptions": len(workload),
        "array": _array_size(workload),
        "build_s": spread(build_s),
        "replacing": replacing.summary(),
        "growing": growing.summary(),
        "single": single.summary(),
        "after_replacing": matching,
    }
    if RtreePeer.name in options.peers:
        notify("rtree", 0.9)
        result["rtree"] = _rtree(workload)
    return result


def _array_size(workload: Workload) -> int:
    return max(1, len(workload) // ARRAYS_PER_INDEX)


def _replace(index: pm.Index, workload: Workload) -> tuple[Times, Content]:
    times, array = Times(), _array_size(workload)
    count = min(REPLACED_ARRAYS * array, len(workload))
    order = np.random.default_rng(_CHOICE_SEED).permutation(len(workload))
    lower, upper = workload.fresh_boxes(count, NEW_BOXES_SEED)
    added = []
    for start in range(0, count, array):
        part = slice(start, min(start + array, count))
        times.delete(index, order[part])
        added.append(times.insert(index, lower[part], upper[part]))
    kept = np.sort(order[count:])
    return times, Content(
        np.concatenate((workload.lower[kept], lower)),
        np.concatenate((workload.upper[kept], upper)),
        np.concatenate((kept, *added)),
    )


def _compare(replaced: pm.Index, fresh: pm.Index, workload: Workload, options: opt.Options) -> Record:
    """Match both indexes in turn on fresh batches; the first to go changes from round to round."""
    ms: dict[str, list[float]] = {"replaced": [], "fresh": []}
    indexes = {"replaced": replaced, "fresh": fresh}
    equal = True
    for name in indexes:
        indexes[name].match(workload.events(options.batch, opt.WARM_UP_SEED), threads=1)
    for turn in range(options.rounds):
        points = workload.events(options.batch, opt.EVENT_SEED + turn)
        answers = []
        for name in sorted(indexes, reverse=bool(turn % 2)):
            seconds, answer = timed(indexes[name].match, points, threads=1)
            ms[name].append(1e3 * seconds / options.batch)
            answers.append(Csr(answer.offsets, answer.ids))
        equal &= answers[0].same_sets(answers[1])
    return {
        "replaced_ms_per_event": spread(ms["replaced"]),
        "fresh_ms_per_event": spread(ms["fresh"]),
        "slowdown": float(np.median(ms["replaced"]) / np.median(ms["fresh"])),
        "equal": equal,
    }


def _grow(index: pm.Index, workload: Workload) -> Times:
    """Insert arrays that make the index larger, then delete them again."""
    times, array = Times(), _array_size(workload)
    lower, upper = workload.fresh_boxes(GROWING_ARRAYS * array, NEW_BOXES_SEED + 1)
    parts = [slice(start, start + array) for start in range(0, len(lower), array)]
    for ids in [times.insert(index, lower[part], upper[part]) for part in parts]:
        times.delete(index, ids)
    return times


def _single(index: pm.Index, workload: Workload) -> Times:
    times = Times()
    lower, upper = workload.fresh_boxes(SINGLE_CALLS, NEW_BOXES_SEED + 2)
    for ids in [times.insert(index, low, high) for low, high in zip(lower, upper, strict=True)]:
        times.delete(index, ids)
    return times


def _rtree(workload: Workload) -> Record:
    """Insert and delete single boxes with rtree, which has no other way."""
    peer = RtreePeer()
    try:
        version = peer.version()
    except PeerUnavailable as reason:
        return {"status": str(reason)}
    build_s, _ = timed(peer.build, workload.lower, workload.upper)
    boxes = [peer.prepare(side) for side in workload.fresh_boxes(SINGLE_CALLS, NEW_BOXES_SEED + 2)]
    numbered = list(enumerate(zip(*boxes, strict=True), start=len(workload)))
    times = Times()
    for calls, change in ((times.insert_us, peer.insert), (times.delete_us, peer.delete)):
        for number, (low, high) in numbered:
            seconds, _ = timed(change, number, low, high)
            calls.append(1e6 * seconds)
    return {"status": "ok", "version": version, "build_s": build_s, **times.summary()}
