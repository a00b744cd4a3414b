"""`bench match`: pubmatch and its peers on the same fresh events, in turn, batch by batch, in one process.

Each round draws a new batch. Every contender answers it once, in an order drawn for the round, so that nobody
always finds the caches as its best or worst neighbour left them (in a rotation each keeps its neighbour).
Slow peers get the first few events of the batch only, as many as fit their time; the record says how many.
Answers are compared outside the timed part: every peer's with pubmatch's, and pubmatch's own first events
with a plain scan.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pubmatch_bench import options as opt
from pubmatch_bench.peers import PEERS, Csr, Peer, PeerUnavailable
from pubmatch_bench.peers.numpy_peer import NumpyPeer
from pubmatch_bench.peers.pubmatch_peer import PubmatchPeer
from pubmatch_bench.record import Record, new_record
from pubmatch_bench.resident import growth, resident_bytes
from pubmatch_bench.timing import spread, timed
from pubmatch_bench.workloads import FloatArray, Workload, make

DEFAULT_WORKLOADS = "W1,W2,W3,W4,W5,W6,W7"
DEFAULT_ROUNDS = 15
PEER_BUDGET_S = 1.0
"""How long a peer's share of one round should take."""

_FEWEST_EVENTS = 4
_SCANNED_EVENTS = 2
_FAILURES = (PeerUnavailable, MemoryError, ArithmeticError, OSError, RuntimeError, ValueError)


@dataclass
class Contender:
    """One competitor and what was measured of it."""

    peer: Peer
    status: str = "ok"
    version: str | None = None
    build_s: float | None = None
    resident_bytes: int | None = None
    events_per_round: int = 0
    seconds: list[float] = field(default_factory=list)
    checked_events: int = 0
    equal: bool = True

    @property
    def runs(self) -> bool:
        """Whether it takes part."""
        return self.status == "ok"

    @property
    def ms_per_event(self) -> list[float]:
        """One value per round."""
        return [1e3 * seconds / self.events_per_round for seconds in self.seconds]


def run(options: opt.Options, notify: opt.Notify) -> Record:
    """Measure all chosen workloads and return the record.

    Parameters
    ----------
    options : Options
        Workloads, peers, rounds, scale and batch.
    notify : callable
        Told what is going on.
    """
    record = new_record(
        "match",
        quick=options.quick,
        parameters=options.parameters("workloads", "peers", "rounds", "scale", "batch")
        | {"threads": 1, "peer_budget_s": PEER_BUDGET_S, "dtype": "float32"},
        seeds=opt.SEEDS,
    )
    for name in options.workloads:
        record["results"].append(measure(name, options, opt.part(notify, name, options)))
    return record


def measure(name: str, options: opt.Options, notify: opt.Notify) -> Record:
    """Measure one workload."""
    notify("generate", 0.0)
    workload = make(name, options.scale, opt.SUBSCRIPTION_SEED)
    contenders = [Contender(PubmatchPeer()), *(Contender(PEERS[peer]()) for peer in options.peers)]
    for position, contender in enumerate(contenders):
        notify(f"build {contender.peer.name}", 0.4 * position / len(contenders))
        _enter(contender, workload, options.batch)
    scan = NumpyPeer()
    scan.build(workload.lower, workload.upper)
    matches = []
    for turn in range(options.rounds):
        notify(f"round {turn + 1} of {options.rounds}", 0.4 + 0.6 * turn / options.rounds)
        points = workload.events(options.batch, opt.EVENT_SEED + turn)
        matches.append(_round(contenders, scan, points, turn))
    return _summary(workload, contenders, matches)


def _enter(contender: Contender, workload: Workload, batch: int) -> None:
    """Build a contender and find out how many events of a batch it can be given; note why it cannot run."""
    peer = contender.peer
    refusal = peer.refuses(workload.dims)
    if refusal is not None:
        contender.status = refusal
        return
    try:
        contender.version = peer.version()
        before = resident_bytes()
        contender.build_s, _ = timed(peer.build, workload.lower, workload.upper)
        contender.resident_bytes = growth(before, resident_bytes())
        contender.events_per_round = _affordable(peer, workload.events(batch, opt.WARM_UP_SEED))
    except _FAILURES as error:
        if isinstance(peer, PubmatchPeer):
            raise
        contender.status = f"cannot run: {error}"


def _affordable(peer: Peer, points: FloatArray) -> int:
    """Warm the contender up and return how many events of each batch it can be given."""
    if isinstance(peer, PubmatchPeer):
        peer.match(points)
        return len(points)
    few = min(_FEWEST_EVENTS, len(points))
    prepared = peer.prepare(points[:few])
    peer.match(prepared)
    seconds, _ = timed(peer.match, prepared)
    affordable = int(PEER_BUDGET_S / max(seconds / few, 1e-9))
    power_of_two = 1 << (max(affordable, 1).bit_length() - 1)
    return min(max(power_of_two, few), len(points))


def _round(contenders: list[Contender], scan: NumpyPeer, points: FloatArray, turn: int) -> int:
    """Let everyone answer one batch, compare the answers, and return the number of matches."""
    running = [contender for contender in contenders if contender.runs]
    answers: dict[str, Csr] = {}
    for place in np.random.default_rng(turn).permutation(len(running)):
        contender = running[place]
        peer, n_events = contender.peer, contender.events_per_round
        prepared = peer.prepare(points[:n_events])
        seconds, answer = timed(peer.match, prepared)
        contender.seconds.append(seconds)
        answers[peer.name] = peer.csr(answer, n_events)
    ours = answers[PubmatchPeer.name]
    scanned = scan.csr(scan.match(points[:_SCANNED_EVENTS]), min(_SCANNED_EVENTS, len(points)))
    for contender in running:
        pubmatch = contender.peer.name == PubmatchPeer.name
        theirs = scanned if pubmatch else answers[contender.peer.name]
        contender.equal &= ours.head(len(theirs)).same_sets(theirs)
        contender.checked_events += len(theirs)
    return len(ours.ids)


def _summary(workload: Workload, contenders: list[Contender], matches: list[int]) -> Record:
    ours = contenders[0]
    index = ours.peer.index  # type: ignore[attr-defined]
    events = ours.events_per_round * len(matches)
    return {
        "workload": workload.name,
        "about": workload.spec.about,
        "dims": workload.dims,
        "subscriptions": len(workload),
        "matches_per_event": sum(matches) / events,
        "index": {
            "nbytes": index.nbytes,
            "nbytes_per_subscription": index.nbytes / len(workload),
            "height": index.height,
            "params": index.params.dict(),
        },
        "contenders": [_row(contender, ours, len(workload)) for contender in contenders],
    }


def _row(contender: Contender, ours: Contender, subscriptions: int) -> Record:
    row: dict[str, Any] = {
        "peer": contender.peer.name,
        "about": contender.peer.about,
        "version": contender.version,
        "status": contender.status,
    }
    if not contender.runs:
        return row
    ms, reference = spread(contender.ms_per_event), spread(ours.ms_per_event)
    resident = contender.resident_bytes
    return row | {
        "build_s": contender.build_s,
        "events_per_round": contender.events_per_round,
        "ms_per_event": ms,
        "ratio": ms["median"] / reference["median"],
        "ratio_of_means": ms["mean"] / reference["mean"],
        "resident_bytes_per_subscription": None if resident is None else resident / subscriptions,
        "equal": contender.equal,
        "checked_events": contender.checked_events,
    }
