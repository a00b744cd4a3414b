"""The mobility paper's evaluation (section 4, figures 4 to 10) again, over several seeds, and more."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

from pubmatch.mobility import simulate
from pubmatch_bench.options import Notify
from pubmatch_bench.record import Record
from pubmatch_bench.reproduce import mobility_plan
from pubmatch_bench.reproduce.claims import new_report
from pubmatch_bench.reproduce.mobility_claims import judge
from pubmatch_bench.reproduce.mobility_delivery_claims import rebuild_s
from pubmatch_bench.reproduce.mobility_plan import ALL, PAPER, Plan, Scenario

_SHARES = [step / 50 for step in range(51)]
"""Where the distribution of delays is read off."""


def run(plan: Plan, notify: Notify) -> Record:
    """Run everything and judge it.

    Parameters
    ----------
    plan : Plan
        How much.
    notify : callable
        Told what is done and which fraction.

    Returns
    -------
    dict
        The report; every value is a mean over the seeds.
    """
    report = new_report(
        "mobility",
        quick=plan.duration_s < mobility_plan.FULL.duration_s,
        parameters=plan.parameters(),
        seeds={"simulation": f"{plan.seed} to {plan.seed + plan.seeds - 1}"},
    )
    scenarios = list(plan.scenarios())
    done: dict[Scenario, Record] = {}
    for scenario, record in zip(scenarios, _measure_all(scenarios, plan.jobs), strict=True):
        done[scenario] = record
        notify(scenario.label(), len(done) / len(scenarios))
    measured = Measured(plan, done)
    report["figures"] = _figures(measured)
    report["totals"] = {
        "runs": len(done),
        "moves": sum(each["moves"] for each in done.values()),
        "events": sum(each["events"] for each in done.values()),
        "unsafe": sorted(scenario.label() for scenario, each in done.items() if not each["safe"]),
    }
    report["claims"] = [claim.record() for claim in judge(measured, report)]
    return report


def _measure_all(scenarios: Sequence[Scenario], jobs: int) -> Iterator[Record]:
    """Runs share nothing, so processes change when a result comes, never which."""
    if jobs == 1:
        yield from map(measure, scenarios)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(measure, scenarios)


def measure(scenario: Scenario) -> Record:
    """Simulate one scenario; return what the figures need, as JSON would hold it."""
    result = simulate(**dataclasses.asdict(scenario))
    delays = result.delays_s
    quantiles = np.quantile(delays, _SHARES).tolist() if len(delays) else [math.nan] * len(_SHARES)
    return {
        "moves": result.moves,
        "hops": result.hops_per_move,
        "cost": result.total_hops_per_move,
        "cost_per_s": result.total_hops_per_move * result.moves / scenario.duration_s,
        "probes": result.probe_delivery,
        "delivered": 1 - result.lost / result.due if result.due else math.nan,
        "lost": result.lost,
        "delay_mean_s": float(delays.mean()) if len(delays) else math.nan,
        "delay_median_s": quantiles[len(_SHARES) // 2],
        "delays_s": quantiles,
        "rows": result.rows_per_broker,
        "safe": result.safe,
        "events": result.events,
    }


class Measured:
    """The records of all runs, asked by scenario: means over the seeds."""

    def __init__(self, plan: Plan, done: dict[Scenario, Record]) -> None:
        self.plan = plan
        self._done = done

    def runs(self, algorithm: str, **changes: Any) -> list[Record]:
        """Return a scenario's records, one for each seed."""
        return [self._done[each] for each in self.plan.seeded(Scenario(algorithm, **changes))]

    def mean(self, key: str, algorithm: str, **changes: Any) -> float:
        """Return the mean of a value over the seeds."""
        return statistics.fmean(each[key] for each in self.runs(algorithm, **changes))

    def means(self, key: str, algorithm: str, **changes: Any) -> list[float]:
        """Return the means of a list of values."""
        columns = zip(*(each[key] for each in self.runs(algorithm, **changes)), strict=True)
        return [statistics.fmean(column) for column in columns]

    def hops(self, kind: str, algorithm: str, **changes: Any) -> float:
        """Return the mean hops per move of one kind of message."""
        return statistics.fmean(each["hops"][kind] for each in self.runs(algorithm, **changes))


def _figures(measured: Measured) -> dict[str, Record]:
    plan = measured.plan

    def over(
        keys: Sequence[str], name: str, values: Sequence[Any], algorithms: Sequence[str] = ALL, **others: Any
    ) -> Record:
        series = {
            each: {
                name: list(values),
                **{
                    key: [measured.mean(key, each, **{name: value}, **others) for value in values]
                    for key in keys
                },
            }
            for each in algorithms
        }
        return {"x": name, "y": keys[0], "series": series}

    crowd = {"publishers": plan.crowd}
    probes = list(range(1, 21))
    size = over(("delay_median_s", "delay_mean_s", "delivered"), "message_bytes", plan.sizes, PAPER, **crowd)
    for each, row in size["series"].items():
        row["rebuild_s"] = [
            rebuild_s(measured.means("probes", each, message_bytes=value, **crowd)) for value in plan.sizes
        ]
    return {
        "4": over(("cost_per_s", "cost"), "publishers", plan.publishers),
        "5": {
            "x": "probe",
            "y": "delivered",
            "series": {
                each: {"probe": probes, "delivered": measured.means("probes", each, **crowd)} for each in ALL
            },
        },
        "6": {
            "x": "delay_s",
            "y": "share",
            "series": {
                each: {"delay_s": measured.means("delays_s", each, **crowd), "share": _SHARES} for each in ALL
            },
        },
        "7": over(("delivered", "cost_per_s"), "speed_kmh", plan.speeds),
        "8": over(("delay_mean_s",), "speed_kmh", plan.speeds),
        "9": over(("cost",), "locality", plan.localities),
        "10": over(("delay_mean_s",), "locality", plan.localities),
        "proxy locality": over(
            ("cost", "delivered", "delay_mean_s"),
            "overshoot",
            plan.overshoots,
            ("proxy", "delayed", "delayed+ack"),
        ),
        "subscribers": over(("cost", "delivered"), "subscribers", plan.subscribers),
        "table rows": over(("rows",), "publishers", plan.publishers),
        "synchronised start": over(
            ("delay_mean_s", "delivered"), "speed_kmh", plan.speeds, PAPER, synchronised=True
        ),
        "message size": size,
        "random walk": over(("cost", "delivered", "rows"), "walk", ("random",)),
        "both mobile": over(("cost", "delivered", "delay_mean_s"), "mobile_subscribers", (plan.roamers,)),
    }
