"""`pubmatch reproduce batch|clustering`: the papers' experiments as JSON, pictures and a table of claims."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Annotated

import typer

from pubmatch.cli.output import CommandError, JsonOption, finish, progress, whole_file

DEFAULT_OUT = Path("reproduce") / "batch"
CLUSTERING_OUT = Path("reproduce") / "clustering"


def register(app: typer.Typer) -> None:
    """Add the group `reproduce`."""
    group = typer.Typer(help="Run the papers' experiments and check their claims.", no_args_is_help=True)

    # With a callback, one command alone is still called by its name.
    @group.callback()
    def _reproduce() -> None: ...

    group.command()(batch)
    group.command()(clustering)
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
    """Shortest job first over Level, index size and batch size; the self-adaptive Level as an index grows."""
    try:
        import matplotlib  # noqa: F401  before an hour's work, not after it
    except ModuleNotFoundError:
        raise CommandError("reproduce needs matplotlib: pip install 'pubmatch[bench]'") from None
    from pubmatch_bench.reproduce import batch as experiment
    from pubmatch_bench.reproduce import batch_figures, batch_plan
    from pubmatch_bench.reproduce.claims import claim_table
    from pubmatch_bench.tables import header

    parts = writable_directory(out) / "parts"
    parts.mkdir(exist_ok=True)
    plan = dataclasses.replace(batch_plan.QUICK if quick else batch_plan.FULL, seed=seed)
    with progress("reproduce batch") as notify:
        report = experiment.run(plan, notify, parts, resume)
    with whole_file(out / "batch.json") as file:
        file.write(json.dumps(report, indent=2, allow_nan=False).encode() + b"\n")
    pictures = batch_figures.draw(report, out)
    table = claim_table(report["claims"], "Claims of the batch-search paper")
    finish(report, json_file, header(report), table, f"batch.json and {len(pictures)} pictures are in {out}")
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
    """Publisher clustering: growth, connections and false positives of every strategy; shards compared."""
    try:
        import matplotlib  # noqa: F401  before the work, not after it
    except ModuleNotFoundError:
        raise CommandError("reproduce needs matplotlib: pip install 'pubmatch[bench]'") from None
    from pubmatch_bench.reproduce import clustering as experiment
    from pubmatch_bench.reproduce import clustering_figures, clustering_plan
    from pubmatch_bench.reproduce.claims import claim_table
    from pubmatch_bench.tables import header

    writable_directory(out)
    plan = dataclasses.replace(clustering_plan.QUICK if quick else clustering_plan.FULL, seed=seed)
    with progress("reproduce clustering") as notify:
        report = experiment.run(plan, notify)
    with whole_file(out / "clustering.json") as file:
        file.write(json.dumps(report, indent=2, allow_nan=False).encode() + b"\n")
    pictures = clustering_figures.draw(report, out)
    table = claim_table(report["claims"], "Claims of the clustering thesis")
    finish(
        report, json_file, header(report), table, f"clustering.json and {len(pictures)} pictures are in {out}"
    )


def writable_directory(path: Path) -> Path:
    """Make a directory if it is not there; refuse one that cannot be written, before long work."""
    if path.exists() and not path.is_dir():
        raise CommandError(f"{path}: is a file, not a directory")
    path.mkdir(parents=True, exist_ok=True)
    if not os.access(path, os.W_OK):
        raise CommandError(f"{path}: directory is not writable")
    return path
