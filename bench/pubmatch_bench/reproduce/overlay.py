"""The overlay paper's evaluation (figures 8 to 13) again, beside policies of our own and a lower bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pubmatch.overlay import POLICIES, CoreNetwork
from pubmatch.overlay.evaluation import equal_intervals
from pubmatch_bench.options import Notify
from pubmatch_bench.record import Record
from pubmatch_bench.reproduce import overlay_plan as settings
from pubmatch_bench.reproduce.claims import new_report
from pubmatch_bench.reproduce.overlay_bound import FLOOR, lower_bound
from pubmatch_bench.reproduce.overlay_claims import judge
from pubmatch_bench.reproduce.overlay_latency import latency
from pubmatch_bench.reproduce.overlay_plan import Plan, Setting
from pubmatch_bench.reproduce.overlay_values import exchange

_LOOKUP_BITS = 16
_SWING = 0.1
_HYSTERESIS = 0.85


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
        The report; loads are messages per second, in and out together, of every node.
    """
    report = new_report(
        "overlay",
        quick=plan.lookups < settings.FULL.lookups,
        parameters=plan.parameters(),
        seeds={"lookups and readings": str(plan.seed)},
    )
    for place, (number, setting) in enumerate(settings.FIGURES.items()):
        notify(f"figure {number}", place / 20)
        report["figures"][number] = figure(plan, setting)
    report["edge_ratio"] = _edge_ratio(plan)
    notify("policies", 0.3)
    report["policies"] = {name: policy(plan, name) for name in POLICIES}
    notify("thresholds", 0.4)
    report["thresholds"] = {str(value): threshold(plan, value) for value in settings.THRESHOLDS}
    report["dsm_splits"] = _dsm_splits(plan)
    notify("lower bounds", 0.5)
    placed = plan.ours(settings.BUSY)
    for key, emitted in (("lower_bound", FLOOR), ("lower_bound_full_rate", 1.0)):
        report[key] = {
            "local": lower_bound(placed, local=True, emitted=emitted),
            "remote": lower_bound(placed, local=False, emitted=emitted),
        }
    for name, row in report["policies"].items():
        notify(f"lowest threshold, {name}", 0.6)
        kind = "local" if name == "combiner" else "remote"
        full = report["lower_bound_full_rate"][kind]
        row["lowest_threshold"] = _lowest(plan, name, report["lower_bound"][kind], halving=True)
        row["lowest_threshold_full_rate"] = _lowest(plan, name, full, halving=False)
    notify("values", 0.65)
    report["values"] = {
        name: {str(crashes): exchange(name, crashes, plan.seed) for crashes in (0, 3)} for name in POLICIES
    }
    notify("hysteresis", 0.7)
    report["hysteresis"] = {str(share): _swinging(plan, share) for share in (1.0, _HYSTERESIS)}
    notify("lookups", 0.8)
    report["hops"] = [hops(plan, size) for size in plan.sizes]
    report["claims"] = [claim.record() for claim in judge(report)]
    return report


def figure(plan: Plan, setting: Setting) -> Record:
    """Return the loads of both systems in one setting."""
    ours, dsm = plan.ours(setting), plan.dsm(setting)
    if setting.balance:
        ours.balance()
        dsm.balance()
    return {
        "setting": {"pub_rate": setting.pub_rate, "balance": setting.balance, "rate_fil": setting.rate_fil},
        "ours": {"peak": ours.peak, "loads": ours.loads.tolist()},
        "dsm": {
            "peak": dsm.peak,
            "root_peak": dsm.root_peak,
            "edge_peak": dsm.edge_peak,
            "calculates": setting.calculate,
            "loads": dsm.loads.tolist(),
        },
    }


def _edge_ratio(plan: Plan) -> float:
    """Return what an edge of DSM-Pub/Sub carries against one of ours, both as edges alone (figure 9)."""
    setting = settings.FIGURES["9"]
    return plan.dsm(setting).edge_peak / float(plan.ours(setting).loads_by_role()["edge"].max())


def policy(plan: Plan, name: str) -> Record:
    """Return what a policy makes of the busy setting: peaks, cost, latency."""
    network = plan.ours(settings.BUSY, name)
    before = network.peak
    done = network.balance()
    network.check()
    return {
        "peak": network.peak,
        "moves": len(done.moves),
        "probes": done.probes,
        "moved_flows": done.moved_flows,
        "halvings": done.halvings,
        "unrelieved": done.unrelieved,
        "peak_before": before,
        "loads": network.loads.tolist(),
        "latency": latency(network),
    }


def _lowest(plan: Plan, name: str, bound: float, *, halving: bool) -> int:
    """Return the first whole threshold from a bound on at which nobody stays overloaded.

    One by one: that a threshold fits does not mean that every higher one does. Without halving, joints send
    at full rate.
    """
    value = math.ceil(bound)
    while True:
        done = plan.ours(settings.BUSY, name, value).balance()
        if not done.unrelieved and (halving or not done.halvings):
            return value
        value += 1


def threshold(plan: Plan, value: float) -> Record:
    """Return what balancing comes to at a low threshold."""
    network = plan.ours(settings.BUSY, threshold=value)
    done = network.balance()
    network.check()
    above = network.nodes[network.loads > value].tolist()
    return {
        "peak": network.peak,
        "unrelieved": done.unrelieved,
        "exact": done.unrelieved == above,
        "moves": len(done.moves),
        "probes": done.probes,
        "halvings": done.halvings,
        "loads": network.loads.tolist(),
    }


def _dsm_splits(plan: Plan) -> Record:
    """Return what DSM-Pub/Sub does at a threshold that its leaves exceed."""
    low = settings.THRESHOLDS[0]
    network = plan.dsm(settings.BUSY, low)
    root = network.root_peak
    before = len(network.leaves)
    done = network.balance()
    return {
        "threshold": low,
        "splits": done.splits,
        "new_nodes": 2 * (len(network.leaves) - before),
        "root_before": root,
        "root_after": network.root_peak,
        "edge_peak": network.edge_peak,
    }


def _swinging(plan: Plan, share: float) -> Record:
    """Let the publishers' rate go up and down by a tenth; count the flows that move per tick."""
    network = plan.ours(settings.BUSY)
    network.balance(relieve_to=share)
    moved = halvings = above = 0
    for tick in range(plan.ticks):
        swing = 1 + _SWING * math.sin(2 * math.pi * tick / 20)
        network.set_rates(pub_rate=settings.BUSY.pub_rate * swing)
        done = network.balance(relieve_to=share)
        moved += done.moved_flows
        halvings += done.halvings
        above += len(done.unrelieved)
    return {"flows_per_tick": moved / plan.ticks, "halvings": halvings, "unrelieved": above}


def hops(plan: Plan, size: int) -> Record:
    """Count the hops of lookups among nodes at equal intervals and at random ones."""
    result: Record = {"nodes": size, "log4": math.log(size, 4)}
    space = 4**_LOOKUP_BITS
    rng = np.random.default_rng([plan.seed, size])
    for spread in ("even", "random"):
        network = CoreNetwork(bits=_LOOKUP_BITS)
        network.join(
            _scattered(rng, size, space) if spread == "random" else equal_intervals(size, _LOOKUP_BITS)
        )
        starts = rng.choice(network.nodes, plan.lookups).tolist()
        targets = rng.integers(0, space, plan.lookups).tolist()
        counts = [
            len(network.lookup(start, target)) - 1 for start, target in zip(starts, targets, strict=True)
        ]
        result[spread] = {"mean": float(np.mean(counts)), "max": max(counts)}
    return result


def _scattered(rng: np.random.Generator, size: int, space: int) -> Any:
    """Draw different ids."""
    drawn = np.unique(rng.integers(0, space, 2 * size))
    return rng.permutation(drawn)[:size]
