"""`reproduce batch`: the experiments of the batch-search paper, on its own tree and on the default one.

The text of the paper does not tell how many events a batch has in each figure; what was chosen where it is
silent is in `batch_plan.Plan`. Finished parts are kept beside the results, so that a run that was broken off
can be resumed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pubmatch as pm
from pubmatch_bench.options import Notify
from pubmatch_bench.record import Record, commit, machine
from pubmatch_bench.reproduce import batch_levels, batch_tuner
from pubmatch_bench.reproduce.batch_claims import judge
from pubmatch_bench.reproduce.batch_plan import FULL, TREES, Plan
from pubmatch_bench.reproduce.claims import new_report

Experiment = Callable[[str, Plan, Notify], Record]

EXPERIMENTS: dict[str, Experiment] = {"levels": batch_levels.measure, "tuner": batch_tuner.measure}
_SHARES = {"levels-paper": 0.48, "tuner-paper": 0.44, "levels-default": 0.03, "tuner-default": 0.05}
"""About what share of the whole time each part takes."""


def run(plan: Plan, notify: Notify, parts: Path | None = None, resume: bool = False) -> Record:
    """Run all experiments and return the report.

    Parameters
    ----------
    plan : Plan
        What to measure.
    notify : callable
        Told what is being done, and which fraction is done.
    parts : Path, optional
        An existing directory where each finished part is kept.
    resume : bool
        Take parts from there that were measured with the same plan, commit, kernel and machine.
    """
    measured: dict[str, Record] = {}
    before = 0.0
    for name, share in _SHARES.items():
        measured[name] = _part(name, plan, _within(notify, before, share), parts, resume)
        before += share
    report = new_report(
        "batch",
        quick=plan.sizes[-1] < FULL.sizes[-1],
        parameters={"plan": plan.parameters(), "trees": {tree: TREES[tree].dict() for tree in TREES}},
        seeds={"all": str(plan.seed)},
    )
    for tree in TREES:
        levels, tuned = measured[f"levels-{tree}"], measured[f"tuner-{tree}"]
        suffix = "" if tree == "paper" else f"-{tree}"
        figures = {**level_figures(plan, levels), **tuner_figures(plan, tuned)}
        report["figures"].update({f"{number}{suffix}": figure for number, figure in figures.items()})
        report["claims"] += [claim.record() for claim in judge(tree, plan, levels, tuned)]
        report.setdefault("insert_s", {})[tree] = levels["insert_s"]
    report["points"] = {tree: measured[f"levels-{tree}"]["points"] for tree in TREES}
    report["differences"] = differences(measured)
    return report


def _within(notify: Notify, before: float, share: float) -> Notify:
    return lambda what, done: notify(what, min(1.0, before + share * done))


def _part(name: str, plan: Plan, notify: Notify, parts: Path | None, resume: bool) -> Record:
    """Return one experiment on one tree, from the directory of parts if it may be."""
    experiment, tree = name.split("-")
    made_with = {
        "plan": plan.parameters(),
        "commit": commit(),
        "kernel": pm.active_kernel(),
        "machine": machine(),
    }
    file = None if parts is None else parts / f"{name}.json"
    if resume and file is not None and file.exists():
        kept = _kept(file)
        if kept is not None and kept["made_with"] == made_with:
            notify(f"{name} taken from {file}", 1.0)
            return dict(kept["part"])
    part = EXPERIMENTS[experiment](tree, plan, notify)
    if file is not None:
        file.write_text(json.dumps({"made_with": made_with, "part": part}))
    return part


def _kept(file: Path) -> dict[str, Any] | None:
    """Return what a file holds; None if it was cut off while it was written."""
    try:
        kept = json.loads(file.read_text())
    except ValueError:
        return None
    return kept if isinstance(kept, dict) and kept.keys() == {"made_with", "part"} else None


def differences(measured: dict[str, Record]) -> list[str]:
    """Name the parts in which two ways of matching found different subscriptions."""
    found = []
    for name, part in measured.items():
        rows = part.get("points", []) + part.get("shapes", [])
        for stretches in part.get("stretches", {}).values():
            rows += stretches
        if not all(row["equal"] for row in rows):
            found.append(name)
    return found


def level_figures(plan: Plan, levels: Record) -> dict[str, Record]:
    """Return the series of figures 5-a, 5-b and 7-a to 7-d."""
    points = levels["points"]
    by_size = {
        batch: [p for p in points if p["batch"] == batch and p["subscriptions"] in plan.sizes]
        for batch in plan.sized_batches
    }
    by_batch = [p for p in points if p["subscriptions"] == plan.shape_size and p["batch"] in plan.batches]
    first = next(iter(by_size.values()))
    sizes = {"subscriptions": [p["subscriptions"] for p in first], "height": [p["height"] for p in first]}
    events = {"events": [p["batch"] for p in by_batch], "subscriptions": plan.shape_size}
    return {
        **{f"5{letter}": shape for letter, shape in zip("ab", levels["shapes"], strict=False)},
        "7a": {**sizes, "series": {str(batch): _best(row) for batch, row in by_size.items()}},
        "7b": {**events, "height": by_batch[0]["height"], **_best(by_batch)},
        "7c": {**sizes, "series": {str(batch): _responses(row) for batch, row in by_size.items()}},
        "7d": {**events, **_responses(by_batch)},
    }


def _best(row: list[Record]) -> Record:
    return {key: [point[key] for point in row] for key in ("best_level", "tied_levels")}


def _responses(row: list[Record]) -> Record:
    keys = ("fifo_ms", "best_ms", "improvement_percent", "improvement_error_percent", "batches_measured")
    return {key: [point[key] for point in row] for key in keys}


def tuner_figures(plan: Plan, tuned: Record) -> dict[str, Record]:
    """Return the series of figures 7-e, 7-f and 8."""
    figures: dict[str, Record] = {}
    for number, (batch, stretches) in zip(("7e", "7f"), tuned["stretches"].items(), strict=False):
        figures[number] = {"events": int(batch), "stretches": stretches, "sequence": _joined(stretches)}
    pieces = [s for s in figures["7e"]["stretches"] if s["subscriptions"] == plan.piece_size]
    if pieces:
        figures["8"] = {"events": figures["7e"]["events"], "subscriptions": plan.piece_size, **pieces[0]}
    return figures


def _joined(stretches: list[Record]) -> Record:
    """Return the lines of all stretches, their batches numbered through."""
    lines: Record = {key: [] for key in ("batch", "subscriptions", "auto_ms", "fifo_ms", "best_ms")}
    before = 0
    for stretch in stretches:
        sequence = stretch["sequence"]
        lines["batch"] += [before + batch for batch in sequence["batch"]]
        lines["subscriptions"] += [stretch["subscriptions"]] * len(sequence["batch"])
        for key in ("auto_ms", "fifo_ms", "best_ms"):
            lines[key] += sequence[key]
        before += stretch["unstable_batches"]
    return lines
