"""`pubmatch reproduce batch|clustering|…`: the papers' experiments as JSON, pictures, a table of claims."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from pubmatch.cli.output import (
    CommandError,
    JsonOption,
    check_files,
    finish,
    progress,
    writable_file,
)
from pubmatch.whole_files import replace_file

Draw = Callable[[dict[str, Any], Path], list[Path]]

DEFAULT_OUT = Path("reproduce") / "batch"
CLUSTERING_OUT = Path("reproduce") / "clustering"
OVERLAY_OUT = Path("reproduce") / "overlay"
MOBILITY_OUT = Path("reproduce") / "mobility"


def register(app: typer.Typer) -> None:
    """Add the group `reproduce`."""
    group = typer.Typer(help="Run the papers' experiments and check their claims.", no_args_is_help=True)

    # With a callback, one command alone is still called by its name.
    @group.callback()
    def _reproduce() -> None: ...

    group.command()(batch)
    group.command()(clustering)
    group.command()(overlay)
    group.command()(mobility)
    app.add_typer(group, name="reproduce")


def batch(
    quick: Annotated[
        bool, typer.Option("--quick", help="A tenth of the size, in about two minutes.")
    ] = False,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where batch.json and the pictures go; made if need be.")
    ] = DEFAULT_OUT,
    seed: Annotated[int, typer.Option(min=0, max=10_000, help="Seed of subscriptions and events.")] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep what an interrupted run with the same options finished.")
    ] = False,
    json_file: JsonOption = None,
) -> None:
    """Shortest job first over Level, index size and batch size; the self-adaptive Level as an index grows.

    Examples
    --------
    pubmatch reproduce batch --quick
    pubmatch reproduce batch --out results/batch --resume
    """
    _require("matplotlib")
    from pubmatch_bench.reproduce import batch as experiment
    from pubmatch_bench.reproduce import batch_figures, batch_plan

    parts = writable_directory(out) / "parts"
    parts.mkdir(exist_ok=True)
    plan = dataclasses.replace(batch_plan.QUICK if quick else batch_plan.FULL, seed=seed)
    with progress("reproduce batch") as notify:
        report = experiment.run(plan, notify, parts, resume)
    _publish(report, "Claims of the batch-search paper", batch_figures.draw, out, json_file)
    if report["differences"]:
        raise CommandError(f"results differ: {', '.join(report['differences'])}", exit_code=1)


def clustering(
    quick: Annotated[
        bool, typer.Option("--quick", help="Ten seeds instead of thirty, smaller crowds.")
    ] = False,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where clustering.json and the pictures go; made if need be.")
    ] = CLUSTERING_OUT,
    seed: Annotated[int, typer.Option(min=0, max=10_000, help="The first seed of the publishers.")] = 0,
    json_file: JsonOption = None,
) -> None:
    """Publisher clustering: growth, connections and false positives of every strategy; shards compared.

    Examples
    --------
    pubmatch reproduce clustering --quick
    pubmatch reproduce clustering --out results/clustering --seed 100
    """
    _require("matplotlib")
    from pubmatch_bench.reproduce import clustering as experiment
    from pubmatch_bench.reproduce import clustering_figures, clustering_plan

    writable_directory(out)
    plan = dataclasses.replace(clustering_plan.QUICK if quick else clustering_plan.FULL, seed=seed)
    with progress("reproduce clustering") as notify:
        report = experiment.run(plan, notify)
    _publish(report, "Claims of the clustering thesis", clustering_figures.draw, out, json_file)


def overlay(
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer lookups, shorter swings; all figures.")
    ] = False,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where overlay.json and the pictures go; made if need be.")
    ] = OVERLAY_OUT,
    map_file: Annotated[
        Path | None,
        typer.Option(
            "--map",
            metavar="FILE",
            help="Also write a map of nodes, loads and trees: one HTML page.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=10_000, help="Seed of the lookups.")] = 0,
    json_file: JsonOption = None,
) -> None:
    """The two-tier overlay: loads of figures 8 to 13 beside DSM-Pub/Sub, policies, a lower bound, lookups.

    Examples
    --------
    pubmatch reproduce overlay --quick
    pubmatch reproduce overlay --out results/overlay --map overlay.html
    """
    _require("matplotlib", "scipy")
    from pubmatch_bench.reproduce import overlay as experiment
    from pubmatch_bench.reproduce import overlay_figures, overlay_map, overlay_plan

    writable_directory(out)
    writable_file(map_file)  # it may lie in that directory
    check_files([], [out / "overlay.json", map_file, json_file])
    plan = dataclasses.replace(overlay_plan.QUICK if quick else overlay_plan.FULL, seed=seed)
    with progress("reproduce overlay") as notify:
        report = experiment.run(plan, notify)
    more = []
    if map_file is not None:
        replace_file(map_file, overlay_map.map_page(plan).encode())
        more.append(f"the map is {map_file}")
    _publish(report, "Claims of the overlay paper", overlay_figures.draw, out, json_file, *more)


def mobility(
    quick: Annotated[
        bool, typer.Option("--quick", help="One seed of 120 s, fewer points; in about two minutes.")
    ] = False,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where mobility.json and the pictures go; made if need be.")
    ] = MOBILITY_OUT,
    seed: Annotated[int, typer.Option(min=0, max=10_000, help="The first seed.")] = 1,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; results do not depend on it. Default: the cores.")
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Mobile publishers: cost, deliveries and delays of every algorithm (figures 4 to 10), checked at rest.

    Examples
    --------
    pubmatch reproduce mobility --quick
    pubmatch reproduce mobility --out results/mobility --jobs 2
    """
    _require("matplotlib")
    from pubmatch_bench.reproduce import mobility as experiment
    from pubmatch_bench.reproduce import mobility_figures, mobility_plan

    writable_directory(out)
    plan = dataclasses.replace(
        mobility_plan.QUICK if quick else mobility_plan.FULL, seed=seed, jobs=jobs or os.cpu_count() or 1
    )
    with progress("reproduce mobility") as notify:
        report = experiment.run(plan, notify)
    _publish(report, "Claims of the mobility paper", mobility_figures.draw, out, json_file)
    if report["totals"]["unsafe"]:
        raise CommandError(f"not safe at rest: {', '.join(report['totals']['unsafe'])}", exit_code=1)


def _require(*modules: str) -> None:
    """Refuse to begin what could not be finished: an hour's work must not end without its pictures."""
    for name in modules:
        if importlib.util.find_spec(name) is None:
            raise CommandError(f"reproduce needs {name}: pip install 'pubmatch[bench]'")


def _publish(
    report: dict[str, Any], title: str, draw: Draw, out: Path, json_file: Path | None, *more: str
) -> None:
    """Write a report, then its pictures beside it, and show its claims."""
    from pubmatch_bench.reproduce.claims import claim_table
    from pubmatch_bench.tables import header

    record = out / f"{report['name']}.json"
    replace_file(record, json.dumps(report, indent=2, allow_nan=False).encode() + b"\n")
    pictures = draw(report, out)
    where = ", ".join([f"{record.name} and {len(pictures)} pictures are in {out}", *more])
    finish(report, json_file, header(report), claim_table(report["claims"], title), where)


def writable_directory(path: Path) -> Path:
    """Make a directory if it is not there; refuse one that cannot be written, before long work."""
    if path.exists() and not path.is_dir():
        raise CommandError(f"{path}: is a file, not a directory")
    path.mkdir(parents=True, exist_ok=True)
    if not os.access(path, os.W_OK):
        raise CommandError(f"{path}: directory is not writable")
    return path
