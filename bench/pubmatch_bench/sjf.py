"""`bench sjf`: shortest job first against first-come order, on the same index, kernel and batches.

"fifo" is `index.match(points, order="fifo")`: events in the order given, nothing estimated (a level given
with it would change nothing). "sjf" is `index.match(points)`: the tuner's level, estimation included, after
the tuner has settled. "ideal" shows the room there is: first-come order on events sorted beforehand by the
time each took when matched alone. Every batch size sees the same events, cut differently.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

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
from pubmatch_bench.timing import spread, timed
from pubmatch_bench.tuner import SETTLING_CAP, SETTLING_SEED, settle
from pubmatch_bench.workloads import FloatArray, Workload, make

DEFAULT_WORKLOADS = "W1,W2,W3,W4,W5,W6,W7"
DEFAULT_ROUNDS = 16
FEWEST_ROUNDS = 6
BATCHES = (2, 8, 32, 128)
ORDERS = ("fifo", "sjf", "ideal")

IDEAL_ROUNDS = 3
"""Rounds (laps) in which the ideal order takes part; more would tell nothing new."""

GAINS = {"W1": 0.15, "W4": 0.30, "W7": 0.30}
"""Share of first-come's mean response to be saved at batches of 128."""

TOLERATED = 0.03
"""Most that any batch size may lose in mean response, or W2 in time of the whole call."""

_SWEEPS = 2
SEEDS = {
    "subscriptions": str(opt.SUBSCRIPTION_SEED),
    "settling events": f"{SETTLING_SEED} + batch",
    "events": f"{opt.EVENT_SEED} + round",
}


@dataclass
class OwnTimes:
    """How long each event of a round takes when it is matched alone: the least of two sweeps over the round.

    A whole sweep lies between two times of an event, so the second does not find its nodes in the caches
    either. Kept, since all batch sizes see the same rounds.
    """

    index: pm.Index
    known: dict[int, npt.NDArray[np.float64]] = field(default_factory=dict)

    def of(self, turn: int, points: FloatArray) -> npt.NDArray[np.float64]:
        """Return the seconds per event of round `turn`, measured the first time they are asked for."""
        if turn not in self.known or len(self.known[turn]) < len(points):
            sweeps = [
                [float(self.index.match(point, order="fifo").response_s[0]) for point in points]
                for _ in range(_SWEEPS)
            ]
            self.known[turn] = np.min(sweeps, axis=0)
        return self.known[turn][: len(points)]


def run(options: opt.Options, notify: opt.Notify) -> Record:
    """Measure all chosen workloads and return the record."""
    record = new_record(
        "sjf",
        quick=options.quick,
        parameters=options.parameters("workloads", "rounds", "scale")
        | {
            "batches": list(BATCHES),
            "events_per_lap": LAP_EVENTS,
            "precision": PRECISION,
            "settling_cap": SETTLING_CAP,
            "ideal_rounds": min(IDEAL_ROUNDS, options.rounds),
            "threads": 1,
            "dtype": "float32",
        },
        seeds=SEEDS,
    )
    for name in options.workloads:
        record["results"].append(measure(name, options, opt.part(notify, name, options)))
    record["targets"] = targets(record["results"])
    return record


def measure(name: str, options: opt.Options, notify: opt.Notify) -> Record:
    """Measure one workload at all batch sizes, the largest first: its tuner starts as a new index's does."""
    notify("build", 0.0)
    workload = make(name, options.scale, opt.SUBSCRIPTION_SEED)
    index = pm.Index.build(workload.lower, workload.upper)
    own = OwnTimes(index)
    rows = []
    for position, batch in enumerate(sorted(BATCHES, reverse=True)):
        notify(f"batches of {batch}", 0.2 + 0.8 * position / len(BATCHES))
        rows.append(_orders(index, workload, batch, options.rounds, own))
    return {
        "workload": workload.name,
        "about": workload.spec.about,
        "subscriptions": len(workload),
        "height": index.height,
        "batches": rows[::-1],
    }


def _orders(index: pm.Index, workload: Workload, batch: int, rounds: int, own: OwnTimes) -> Record:
    """Measure the orders at one batch size, after the tuner has settled."""
    settling = settle(index, workload.events, batch)
    taken = {name: Taken() for name in ORDERS}
    first = workload.events(batch, opt.WARM_UP_SEED)
    event_s = timed(index.match, first, order="fifo")[0] / batch
    # Shared evenly by three orders, and by two later on.
    lap = lap_batches(batch, 2 * len(ORDERS), event_s)
    equal = True
    for turn in range(rounds):
        points = workload.events(lap * batch, opt.EVENT_SEED + turn)
        equal &= _round(index, points, batch, turn, own, taken)
        if turn + 1 >= FEWEST_ROUNDS and precise(
            compare(taken["sjf"].response_s, taken["fifo"].response_s, lap)
        ):
            break
    return {
        "batch": batch,
        "level": index.tuner.state(batch).level,
        "settled": settling.settled,
        "settling_batches": len(settling.levels),
        "events_together": _together(index, points[:batch]),
        "rounds": turn + 1,
        "equal": equal,
        **summary(taken["fifo"], taken["sjf"], taken["ideal"], lap),
    }


def _round(
    index: pm.Index, points: FloatArray, batch: int, turn: int, own: OwnTimes, taken: dict[str, Taken]
) -> bool:
    """Let each order answer the same batches; add the times and tell whether the answers agree."""
    batches = split(points, batch)
    fifo: Match = partial(index.match, order="fifo")
    runs: dict[str, Run] = {
        "fifo": (fifo, batches),
        "sjf": (partial(index.match, order="sjf", level="auto"), batches),
    }
    sorting = None
    if turn < IDEAL_ROUNDS:
        sorting = np.argsort(own.of(turn, points).reshape(-1, batch), axis=1, kind="stable")
        runs["ideal"] = fifo, [part[order] for part, order in zip(batches, sorting, strict=True)]
    latest = take_lap(runs, turn)
    for name, part in latest.items():
        taken[name].add(part)
    return _agree(latest, sorting)


def _agree(latest: dict[str, Taken], sorting: npt.NDArray[np.int64] | None) -> bool:
    """Tell whether all orders found the same; the ideal one got each batch's events sorted."""
    expected = latest["fifo"].answers
    agree = same_answers(expected, latest["sjf"].answers)
    if sorting is None:
        return agree
    reordered = [answer[order] for answer, order in zip(expected, sorting, strict=True)]
    return agree and same_answers(reordered, latest["ideal"].answers)


def _together(index: pm.Index, points: FloatArray) -> float:
    """Return how many events of a batch complete at the same moment, on average."""
    return len(points) / len(np.unique(index.match(points, order="fifo").response_s))


def summary(fifo: Taken, sjf: Taken, ideal: Taken, lap: int) -> Record:
    """Sum up one batch size: mean responses, whole calls, and the room an ideal order has."""
    beside_ideal = len(ideal.response_s)
    return {
        "fifo_response_ms": _ms(fifo.response_s),
        "sjf_response_ms": _ms(sjf.response_s),
        "response": compare(sjf.response_s, fifo.response_s, lap),
        "ideal_response": compare(ideal.response_s, fifo.response_s[:beside_ideal], lap),
        "fifo_call_ms": _ms(fifo.call_s),
        "sjf_call_ms": _ms(sjf.call_s),
        "call": compare(sjf.call_s, fifo.call_s, lap),
    }


def _ms(seconds: list[float]) -> Record:
    return spread([1e3 * value for value in seconds])


def targets(results: list[Record]) -> list[Record]:
    """Check what shortest job first should save, and what it may cost, on the workloads measured.

    Examples
    --------
    >>> side = {"ratio": 0.8, "low": 0.79, "high": 0.81}
    >>> rows = [{"batch": 128, "response": side, "call": side}]
    >>> [(row["place"], row["met"]) for row in targets([{"workload": "W1", "batches": rows}])]
    [('W1 128', True), ('W1 128', True)]
    """
    rows = [(result["workload"], row) for result in results for row in result["batches"]]
    checked = [
        judge(
            f"mean response at least {GAINS[name]:.0%} better",
            f"{name} 128",
            row["response"],
            1 - GAINS[name],
        )
        for name, row in rows
        if name in GAINS and row["batch"] == 128
    ]
    checked.append(_worst(f"mean response nowhere over {TOLERATED:.0%} worse", rows, "response"))
    even_work = [(name, row) for name, row in rows if name == "W2"]
    if even_work:
        checked.append(_worst(f"W2: whole call nowhere over {TOLERATED:.0%} longer", even_work, "call"))
    return checked


def _worst(target: str, rows: list[tuple[str, Record]], what: str) -> Record:
    """Judge the row that lost most."""
    name, row = max(rows, key=lambda place: float(place[1][what]["ratio"]))
    return judge(target, f"{name} {row['batch']}", row[what], 1 + TOLERATED)
