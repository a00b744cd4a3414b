"""`pubmatch bench match|sjf|tuner|…`: the measurements of `pubmatch_bench`, as tables and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pubmatch.cli.output import CommandError, JsonOption, finish, progress

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pubmatch_bench.options import Notify, Options

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

    options = _choose(
        workloads=workloads,
        peers=peers,
        rounds=rounds,
        scale=scale,
        quick=quick,
        default_workloads=bench.DEFAULT_WORKLOADS,
        default_rounds=bench.DEFAULT_ROUNDS,
        batch=batch,
    )
    _run(bench.run, options, "match", json_file)


def sjf(
    workloads: Workloads = None,
    rounds: MostRounds = None,
    scale: Scale = None,
    quick: Quick = False,
    json_file: JsonOption = None,
) -> None:
    """Match the same batches shortest job first and in first-come order; compare mean responses."""
    from pubmatch_bench import sjf as bench

    options = _choose(
        workloads=workloads,
        peers="none",
        rounds=rounds,
        scale=scale,
        quick=quick,
        default_workloads=bench.DEFAULT_WORKLOADS,
        default_rounds=bench.DEFAULT_ROUNDS,
    )
    _run(bench.run, options, "sjf", json_file)


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

    options = _choose(
        workloads=workloads,
        peers="none",
        rounds=rounds,
        scale=scale,
        quick=quick,
        default_workloads=bench.DEFAULT_WORKLOADS,
        default_rounds=bench.DEFAULT_ROUNDS,
        batch=batch,
    )
    _run(bench.run, options, "tuner", json_file)


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

    options = _choose(
        workloads=workloads,
        peers=peers,
        rounds=rounds,
        scale=scale,
        quick=quick,
        default_workloads=bench.DEFAULT_WORKLOADS,
        default_rounds=bench.DEFAULT_ROUNDS,
        known_peers=bench.PEERS,
        batch=batch,
    )
    _run(bench.run, options, "updates", json_file)


def memory(
    workloads: Workloads = None,
    peers: Peers = None,
    scale: Scale = None,
    quick: Quick = False,
    json_file: JsonOption = None,
) -> None:
    """Measure bytes per subscription, each index in a process of its own."""
    from pubmatch_bench import memory as bench

    options = _choose(
        workloads=workloads,
        peers=peers,
        rounds=None,
        scale=scale,
        quick=quick,
        default_workloads=bench.DEFAULT_WORKLOADS,
        default_rounds=1,
    )
    _run(bench.run, options, "memory", json_file)


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

    options = _choose(
        workloads=workloads,
        peers="none",
        rounds=rounds,
        scale=scale,
        quick=quick,
        default_workloads=bench.DEFAULT_WORKLOADS,
        default_rounds=bench.DEFAULT_ROUNDS,
        batch=batch,
        threads=threads,
    )
    _run(bench.run, options, "threads", json_file)


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
    options = _choose(
        workloads=workloads,
        peers="none",
        rounds=rounds,
        scale=scale,
        quick=quick,
        default_workloads=bench.DEFAULT_WORKLOADS,
        default_rounds=bench.DEFAULT_ROUNDS,
    )
    try:
        _run(bench.run, options, "spark", json_file)
    except PubmatchError as error:
        raise CommandError(str(error)) from error


def _choose(**choices: Any) -> Options:
    from pubmatch_bench.options import choose

    try:
        return choose(**choices)
    except ValueError as error:
        raise CommandError(str(error)) from error


def _run(
    bench: Callable[[Options, Notify], dict[str, Any]], options: Options, name: str, json_file: Path | None
) -> None:
    from pubmatch_bench.tables import TABLES, differences

    with progress(f"bench {name}") as notify:
        record = bench(options, notify)
    finish(record, json_file, *TABLES[name](record))
    different = differences(record)
    if different:
        raise CommandError(f"results differ: {', '.join(different)}", exit_code=1)
