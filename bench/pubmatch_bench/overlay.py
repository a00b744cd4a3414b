"""`bench overlay`: hops over nodes, a large overlay placed and balanced, the paper's figures."""

from __future__ import annotations

import json
import math
import subprocess
import sys

from rich.console import RenderableType
from rich.table import Table

from pubmatch.overlay import POLICIES
from pubmatch_bench import overlay_scale
from pubmatch_bench.options import Notify
from pubmatch_bench.record import Record, new_record
from pubmatch_bench.reproduce import overlay as reproduce
from pubmatch_bench.reproduce import overlay_plan
from pubmatch_bench.tables import header, number
from pubmatch_bench.timing import spread, timed

__all__ = ["overlay_table", "run"]

QUICK_SCALE = 0.02
ROUNDS, QUICK_ROUNDS = 5, 2
SCALE_LIMIT_S, SCALE_LIMIT_BYTES, FIGURES_LIMIT_S = 20.0, 1 << 30, 5.0


def run(quick: bool, notify: Notify) -> Record:
    """Measure everything and return the record.

    Parameters
    ----------
    quick : bool
        A trial run: a fiftieth of the size.
    notify : callable
        Told what is done and which fraction.
    """
    plan = overlay_plan.QUICK if quick else overlay_plan.FULL
    scale, rounds = (QUICK_SCALE, QUICK_ROUNDS) if quick else (1.0, ROUNDS)
    record = new_record(
        "overlay",
        quick=quick,
        parameters={"scale": scale, "rounds": rounds, "lookups": plan.lookups, "sizes": list(plan.sizes)},
        seeds={"lookups": str(plan.seed), "rectangles": str(overlay_scale.SEED)},
    )
    notify("figures 8 to 13", 0.0)
    record["figures"] = figures(plan, rounds)
    record["hops"] = []
    for place, size in enumerate(plan.sizes):
        notify(f"lookups among {size:,} nodes", 0.1 + 0.2 * place / len(plan.sizes))
        record["hops"].append(_hops(plan, size))
    cases = [("cells", policy) for policy in POLICIES] + [("rectangles", "paper")]
    for place, (areas, policy) in enumerate(cases):
        notify(f"{areas}, {policy}", 0.3 + 0.7 * place / len(cases))
        record["results"].append({"workload": f"{areas} {policy}", **_in_a_process(areas, policy, scale)})
    record["targets"] = _targets(record)
    return record


def figures(plan: overlay_plan.Plan, rounds: int) -> Record:
    """Return the seconds that the loads of figures 8 to 13 take, both systems, and whether they repeat."""
    seconds, peaks = [], []
    for _ in range(rounds):
        taken, rows = timed(lambda: [reproduce.figure(plan, each) for each in overlay_plan.FIGURES.values()])
        seconds.append(taken)
        peaks.append([(row["ours"]["peak"], row["dsm"]["peak"]) for row in rows])
    return {"seconds": spread(seconds), "equal": all(each == peaks[0] for each in peaks)}


def _hops(plan: overlay_plan.Plan, size: int) -> Record:
    seconds, row = timed(reproduce.hops, plan, size)
    # Two networks were built and asked; building counts too, as a lookup needs nothing else.
    return row | {"us_per_lookup": 1e6 * seconds / (2 * plan.lookups)}


def _in_a_process(areas: str, policy: str, scale: float) -> Record:
    """Return what the probe printed; a fresh process has no memory of earlier work."""
    command = [sys.executable, "-m", "pubmatch_bench.overlay_scale", areas, policy, str(scale)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"{areas}, {policy}: the process ended with {done.returncode}: {last}")
    row: Record = json.loads(done.stdout)
    return row


def _targets(record: Record) -> list[Record]:
    paper = next(row for row in record["results"] if row["workload"] == "cells paper")
    shares = [
        row[kind]["mean"] / math.log(row["nodes"], 4) for row in record["hops"] for kind in ("even", "random")
    ]
    memory = paper["peak_bytes"]
    rows = [
        ("placed and balanced, s", paper["seconds"], SCALE_LIMIT_S),
        ("memory of it, MB", None if memory is None else memory / 1e6, SCALE_LIMIT_BYTES / 1e6),
        ("figures 8 to 13, s", record["figures"]["seconds"]["median"], FIGURES_LIMIT_S),
        ("mean hops over log4(N)", max(shares), 0.9),
    ]
    return [
        {"target": name, "measured": value, "at_most": limit, "met": value is None or value <= limit}
        for name, value, limit in rows
    ]


def overlay_table(record: Record) -> list[RenderableType]:
    """Show the record as tables for people."""
    hops = _table("Lookups", "nodes", "log4(N)", "mean, even", "mean, random", "longest", "µs")
    for row in record["hops"]:
        longest = max(row["even"]["max"], row["random"]["max"])
        means = (f"{row[kind]['mean']:.2f}" for kind in ("even", "random"))
        hops.add_row(
            f"{row['nodes']:,}", f"{row['log4']:.2f}", *means, str(longest), number(row["us_per_lookup"])
        )
    first = record["results"][0]
    sizes = f"{first['nodes']:,} nodes, {first['publishers']:,} publishers, {first['subscriptions']:,} areas"
    columns = (
        "areas, policy",
        "register s",
        "place s",
        "balance s",
        "MB",
        "peak",
        "moves",
        "probes",
        "equal",
    )
    scale = _table(f"Placed and balanced: {sizes}", *columns)
    for row in record["results"]:
        memory = None if row["peak_bytes"] is None else row["peak_bytes"] / 1e6
        scale.add_row(
            row["workload"],
            *(number(row[key]) for key in ("register_s", "place_s", "balance_s")),
            number(memory),
            f"{row['peak_before']:,.0f} → {row['peak']:,.0f}",
            f"{row['moves']:,}",
            f"{row['probes']:,}",
            "yes" if row["equal"] else "NO",
        )
    targets = _table("Targets (set for scale 1)", "target", "measured", "at most", "verdict")
    for row in record["targets"]:
        verdict = "met" if row["met"] else "MISSED"
        targets.add_row(row["target"], number(row["measured"]), number(row["at_most"]), verdict)
    return [header(record), hops, scale, targets]


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left")
    return table
