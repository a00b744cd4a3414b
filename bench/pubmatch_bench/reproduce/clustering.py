"""The clustering thesis' evaluation (figures 5.2 to 5.20) again, over several seeds, and more."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pubmatch.clustering import Clustering, hash_shards, plan_shards, random_publishers
from pubmatch_bench.options import Notify
from pubmatch_bench.record import Record
from pubmatch_bench.reproduce import clustering_plan as scenarios
from pubmatch_bench.reproduce.claims import new_report
from pubmatch_bench.reproduce.clustering_claims import judge
from pubmatch_bench.reproduce.clustering_plan import Plan, Scenario

_KEYS = ("clusters", "connections", "false_positives")


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
        The report; every scenario's curves are means over the seeds, with the standard deviation.
    """
    report = new_report(
        "clustering",
        quick=plan.seeds < scenarios.FULL.seeds,
        parameters=plan.parameters(),
        seeds={"publishers": f"{plan.seed} to {plan.seed + plan.seeds - 1}"},
    )
    measured = Measured(plan)
    figures = _figures(measured, notify)
    notify("cost of a join", 0.8)
    figures["join-cost"] = join_cost(plan)
    notify("shards", 0.95)
    figures["shards"] = compare_shards(plan)
    report["figures"] = figures
    report["simulated"] = [
        simulate(plan, each) for each in (scenarios.STRATEGY_2[0], scenarios.STRATEGY_31[1])
    ]
    report["tradeoff"] = _tradeoff(measured)
    report["claims"] = [claim.record() for claim in judge(measured.of, report)]
    return report


class Measured:
    """Runs each scenario once per seed, when it is first asked for."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._done: dict[Scenario, Record] = {}

    def of(self, scenario: Scenario) -> Record:
        """Return a scenario's curves and final values.

        `points` are numbers of publishers; each key of a curve has `mean` and `sd` there. `final` has the
        values of each seed, `sizes` and `rates` all clusters' combinations and expected rates, of all seeds.
        """
        if scenario not in self._done:
            seeds = range(self.plan.seed, self.plan.seed + self.plan.seeds)
            self._done[scenario] = _pooled([_grow(scenario, seed, self.plan.points) for seed in seeds])
        return self._done[scenario]


def _grow(scenario: Scenario, seed: int, points: int) -> Record:
    """Let all publishers join; look at the clusters now and then."""
    clustering = scenario.clustering(seed)
    publishers = scenario.draw(seed)
    stops = sorted({round(len(publishers) * step / points) for step in range(1, points + 1)} - {0})
    curve: dict[str, list[float]] = {key: [] for key in _KEYS}
    for count, publisher in enumerate(publishers, start=1):
        clustering.join(*publisher)
        if count in stops:
            stats = clustering.stats()
            curve["clusters"].append(stats["clusters"])
            curve["connections"].append(stats["mean_connections"])
            curve["false_positives"].append(stats["expected_false_positive_rate"])
    clustering.check()
    return {
        "points": stops,
        "curve": curve,
        "sizes": [len(cluster.combinations) for cluster in clustering.clusters],
        "rates": list(clustering.false_positive_rates().values()),
    }


def _pooled(runs: Sequence[Record]) -> Record:
    curves = {}
    for key in _KEYS:
        values = np.array([run["curve"][key] for run in runs])
        curves[key] = {"mean": values.mean(axis=0).tolist(), "sd": values.std(axis=0).tolist()}
    return {
        "points": runs[0]["points"],
        **curves,
        "final": {key: [run["curve"][key][-1] for run in runs] for key in _KEYS},
        "sizes": [size for run in runs for size in run["sizes"]],
        "rates": [rate for run in runs for rate in run["rates"]],
        "rate_mean": [statistics.fmean(run["rates"]) for run in runs],
        "rate_sd": [statistics.pstdev(run["rates"]) for run in runs],
    }


def _figures(measured: Measured, notify: Notify) -> dict[str, Record]:
    plan = measured.plan

    def sized(listed: Sequence[Scenario], publishers: int | None = None) -> list[Scenario]:
        count = plan.publishers if publishers is None else publishers
        return [dataclasses.replace(each, publishers=count) for each in listed]

    def curves(key: str, listed: Sequence[Scenario]) -> Record:
        return {
            "quantity": key,
            "series": {
                each.label(): {"publishers": measured.of(each)["points"], **measured.of(each)[key]}
                for each in listed
            },
        }

    def histogram(key: str, listed: Sequence[Scenario]) -> Record:
        shown = {each.label(): _histogram(measured.of(each), key, plan.seeds) for each in listed}
        return {"quantity": key, "series": shown}

    first, second = scenarios.STRATEGY_1, sized(scenarios.STRATEGY_2)
    third, orders = sized(scenarios.STRATEGY_3), sized(scenarios.STRATEGY_3_ORDERS)
    extended, ours = sized(scenarios.STRATEGY_31), sized(scenarios.STRATEGY_4)
    makers: dict[str, Callable[[], Record]] = {
        "5.2": lambda: curves("clusters", first),
        "5.3": lambda: curves("clusters", sized(first[:1], plan.crowd)),
        "5.4": lambda: curves("connections", [*first, scenarios.STRATEGY_1_WIDE]),
        "5.5": lambda: curves("clusters", sized(scenarios.STRATEGY_2, 200)),
        "5.6": lambda: curves("clusters", sized(scenarios.STRATEGY_2[:1], plan.crowd)),
        "5.7": lambda: curves("connections", second),
        "5.8": lambda: curves("false_positives", second),
        "5.9": lambda: histogram("sizes", [second[2]]),
        "5.10": lambda: histogram("sizes", [second[6]]),
        "5.11": lambda: curves("clusters", third),
        "5.12": lambda: curves("false_positives", third),
        "5.13": lambda: curves("clusters", orders),
        "5.14": lambda: curves("false_positives", orders),
        "5.15": lambda: histogram("rates", orders[:1]),
        "5.16": lambda: histogram("rates", orders[1:]),
        "5.17": lambda: curves("clusters", extended),
        "5.18": lambda: curves("false_positives", extended),
        "5.19": lambda: histogram("sizes", extended[1:]),
        "5.20": lambda: histogram("rates", extended[1:]),
        "strategy-4": lambda: curves("false_positives", ours),
        "zipf": lambda: curves("false_positives", [*ours, *sized(scenarios.ZIPF)]),
    }
    figures = {}
    for place, (number, make) in enumerate(makers.items()):
        notify(f"figure {number}", 0.8 * place / len(makers))
        figures[number] = make()
    return figures


def _tradeoff(measured: Measured) -> Record:
    """Return connections and false positives of every strategy for the same publishers."""
    listed = [Scenario("1"), Scenario("2"), *scenarios.STRATEGY_31, *scenarios.STRATEGY_4[1:]]
    sized = [dataclasses.replace(each, publishers=measured.plan.publishers) for each in listed]
    return {
        key: {f"strategy {each.name()}": measured.of(each)[key]["mean"][-1] for each in sized}
        for key in ("connections", "false_positives")
    }


def _histogram(found: Record, key: str, seeds: int) -> Record:
    """Count clusters by number of combinations, or by false-positive rate in steps of 5 %, per run."""
    values = np.array(found[key])
    if key == "sizes":
        at, counts = np.unique(values, return_counts=True)
        return {"at": at.tolist(), "clusters": (counts / seeds).tolist()}
    counts, edges = np.histogram(values, bins=20, range=(0.0, 1.0))
    spread = {"mean": statistics.fmean(found["rate_mean"]), "sd": statistics.fmean(found["rate_sd"])}
    return {"at": edges[:-1].tolist(), "clusters": (counts / seeds).tolist(), **spread}


def simulate(plan: Plan, scenario: Scenario) -> Record:
    """Send messages as the thesis does, and compare their false positives with the exact expectation."""
    sized = dataclasses.replace(scenario, publishers=plan.publishers)
    clustering = sized.clustering(plan.seed)
    for publisher in sized.draw(plan.seed):
        clustering.join(*publisher)
    rng = np.random.default_rng(plan.seed)
    offered = sorted(sorted(each) for cluster in clustering.clusters for each in cluster.combinations)
    for number, choice in enumerate(rng.integers(len(offered), size=plan.subscribers)):
        clustering.subscribe(f"s{number}", offered[choice])
    names = clustering.publishers
    sent = [clustering.publish(names[choice]) for choice in rng.integers(len(names), size=plan.messages)]
    return {
        "scenario": sized.label(),
        "simulated": sum(each.false_positives for each in sent) / sum(each.deliveries for each in sent),
        "expected": clustering.expected_false_positive_rate(),
    }


def join_cost(plan: Plan) -> Record:
    """Time joins as the system grows: seconds in all, microseconds per join by tenths of the run."""
    listed = (
        Scenario("3.1", n=20, attributes=(3, 4), connections=scenarios.LIMITS, publishers=plan.grown[0]),
        Scenario("3.1", n=20, attributes=(6, 8), connections=scenarios.LIMITS, publishers=plan.grown[1]),
        Scenario("4", n=16, attributes=(3, 6), connections=scenarios.LIMITS, publishers=plan.grown[2]),
    )
    return {"quantity": "join_us", "series": {each.label(): _timed(each, plan.seed) for each in listed}}


def _timed(scenario: Scenario, seed: int) -> Record:
    publishers = scenario.draw(seed)
    clustering: Clustering = scenario.clustering(seed)
    step = max(1, len(publishers) // 10)
    counts, each_us, start = [], [], time.perf_counter()
    for first in range(0, len(publishers), step):
        part, begin = publishers[first : first + step], time.perf_counter()
        for publisher in part:
            clustering.join(*publisher)
        each_us.append(1e6 * (time.perf_counter() - begin) / len(part))
        counts.append(first + len(part))
    total = time.perf_counter() - start
    return {"publishers": counts, "mean": each_us, "total_s": total, "clusters": clustering.cluster_count}


def compare_shards(plan: Plan, shards: int = 8) -> Record:
    """Plan shards for subscriptions like those of workload W2, and compare with a hash of the combination.

    W2's subscriptions constrain 2 to 5 of 20 attributes, Zipf-distributed; publishers advertise 4 to 8.
    """
    drawn = random_publishers(plan.subscriptions, n=20, attributes=(2, 5), zipf=1.0, seed=plan.seed)
    subscriptions = [each.attributes for each in drawn]
    publishers = {
        each.name: each.attributes
        for each in random_publishers(plan.senders, n=20, attributes=(4, 8), zipf=1.0, seed=plan.seed + 1)
    }
    plans: dict[str, Any] = {"hash": hash_shards(subscriptions, publishers, shards)}
    for limit in (None, 6, 4):
        name = "planned" if limit is None else f"planned, at most {limit} shards"
        plans[name] = plan_shards(subscriptions, publishers, shards, limit)
    rows = {
        name: {
            "wasted": each.wasted,
            "wasted_share": each.wasted_share,
            "fan_out": each.fan_out,
            "most_shards": max(map(len, each.publisher_shards.values())),
            "balance": each.balance,
        }
        for name, each in plans.items()
    }
    return {"subscriptions": plan.subscriptions, "publishers": plan.senders, "shards": shards, "plans": rows}
