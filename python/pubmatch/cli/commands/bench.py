"""`pubmatch bench match|sjf|tuner|…`: the measurements of `pubmatch_bench`, as tables and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pubmatch.cli.output import CommandError, JsonOption, finish, progress

if TYPE_CHECKING:
    from pathlib import Path

Workloads = Annotated[
    str | None, typer.Option(metavar="NAMES", help="Workloads with commas between, such as W1,W3.")
]
Peers = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES", help="Peers with commas between, such as rtree,boost, or none. Default: all."
    ),
]
Rounds = Annotated[int | None, typer.Option(help="How often everything is measured.")]
MostRounds = Annotated[
    int | None,
    typer.Option(help="Most rounds, each of some 6,144 events; fewer if the ratios are precise before."),
]
Scale = Annotated[float | None, typer.Option(help="Factor on the number of subscriptions.")]
Quick = Annotated[bool, typer.Option("--quick", help="A trial run: a twentieth of the size, 3 rounds.")]
Batch = Annotated[int, typer.Option(help="Events per batch.")]


def register(app: typer.Typer) -> None:
    """Add the group `bench`."""
    group = typer.Typer(help="Measure pubmatch, beside its peers, in one run.", no_args_is_help=True)
    for command in (match, sjf, tuner, updates, memory, threads, spark):
        group.command()(command)
    app.add_typer(group, name="bench")


def match(
    workloads: Workloads = None,
    peers: Peers = None,
    rounds: Rounds = None,
    scale: Scale = None,
    quick: Quick = False,
    batch: Batch = 128,
    json_file: JsonOption = None,
) -> None:
    """Match the same fresh batches with pubmatch and its peers, in turn; compare times and results."""
    from pubmatch_bench import match as bench

    _run(
        bench,
        "match",
        json_file,
        workloads=workloads,
        peers=peers,
        rounds=rounds,
        scale=scale,
        quick=quick,
        batch=batch,
    )


def sjf(
    workloads: Workloads = None,
    rounds: MostRounds = None,
    scale: Scale = None,
    quick: Quick = False,
    json_file: JsonOption = None,
) -> None:
    """Match the same batches shortest job first and in first-come order; compare mean responses."""
    from pubmatch_bench import sjf as bench

    _run(
        bench,
        "sjf",
        json_file,
        workloads=workloads,
        peers="none",
        rounds=rounds,
        scale=scale,
        quick=quick,
    )


def tuner(
    workloads: Workloads = None,
    rounds: MostRounds = None,
    scale: Scale = None,
    quick: Quick = False,
    batch: Batch = 128,
    json_file: JsonOption = None,
) -> None:
    """Let the tuner settle, then match the same batches at its level and at every fixed one."""
    from pubmatch_bench import tuner as bench

    _run(
        bench,
        "tuner",
        json_file,
        workloads=workloads,
        peers="none",
        rounds=rounds,
        scale=scale,
        quick=quick,
        batch=batch,
    )


def updates(
    workloads: Workloads = None,
    peers: Peers = None,
    rounds: Rounds = None,
    scale: Scale = None,
    quick: Quick = False,
    batch: Batch = 128,
    json_file: JsonOption = None,
) -> None:
    """Insert and delete, in arrays and one by one; match after 30 % have been replaced."""
    from pubmatch_bench import updates as bench

    _run(
        bench,
        "updates",
        json_file,
        workloads=workloads,
        peers=peers,
        rounds=rounds,
        scale=scale,
        quick=quick,
        known_peers=bench.PEERS,
        batch=batch,
    )


def memory(
    workloads: Workloads = None,
    peers: Peers = None,
    scale: Scale = None,
    quick: Quick = False,
    json_file: JsonOption = None,
) -> None:
    """Measure bytes per subscription, each index in a process of its own."""
    from pubmatch_bench import memory as bench

    _run(
        bench,
        "memory",
        json_file,
        workloads=workloads,
        peers=peers,
        rounds=None,
        scale=scale,
        quick=quick,
    )


def threads(
    workloads: Workloads = None,
    rounds: Rounds = None,
    scale: Scale = None,
    quick: Quick = False,
    batch: Batch = 128,
    threads: Annotated[int, typer.Option(min=2, help="Threads to compare with one.")] = 2,
    json_file: JsonOption = None,
) -> None:
    """Match the same batches on one thread and on several; time a call on an empty index."""
    from pubmatch_bench import threads as bench

    _run(
        bench,
        "threads",
        json_file,
        workloads=workloads,
        peers="none",
        rounds=rounds,
        scale=scale,
        quick=quick,
        batch=batch,
        threads=threads,
    )


def spark(
    workloads: Workloads = None,
    rounds: Rounds = None,
    scale: Scale = None,
    quick: Quick = False,
    json_file: JsonOption = None,
) -> None:
    """Match inside Spark; compare with Spark's own range join and with plain Python."""
    from pubmatch.errors import PubmatchError

    try:
        from pubmatch_bench import spark as bench
    except ImportError as error:
        raise CommandError(f"{error}; pip install 'pubmatch[spark]'") from error
    try:
        _run(
            bench,
            "spark",
            json_file,
            workloads=workloads,
            peers="none",
            rounds=rounds,
            scale=scale,
            quick=quick,
        )
    except PubmatchError as error:
        raise CommandError(str(error)) from error


def _run(bench: Any, name: str, json_file: Path | None, **choices: Any) -> None:
    """Run a module of `pubmatch_bench` with what the user chose, show its table and write its record."""
    from pubmatch_bench.options import choose
    from pubmatch_bench.tables import TABLES, differences

    defaults = {"default_workloads": bench.DEFAULT_WORKLOADS, "default_rounds": bench.DEFAULT_ROUNDS}
    try:
        options = choose(**defaults, **choices)
    except ValueError as error:
        raise CommandError(str(error)) from error
    with progress(f"bench {name}") as notify:
        record = bench.run(options, notify)
    finish(record, json_file, *TABLES[name](record))
    different = differences(record)
    if different:
        raise CommandError(f"results differ: {', '.join(different)}", exit_code=1)
