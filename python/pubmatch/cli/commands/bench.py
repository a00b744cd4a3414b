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
    for command in (match, sjf, tuner, updates, memory, threads, matcher, mobility, spark, overlay):
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
    """Match the same fresh batches with pubmatch and its peers, in turn; compare times and results.

    Examples
    --------
    pubmatch bench match --quick
    pubmatch bench match --workloads W1,W3 --peers rtree,boost --json match.json
    """
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
    """Match the same batches shortest job first and in first-come order; compare mean responses.

    Examples
    --------
    pubmatch bench sjf --quick
    pubmatch bench sjf --workloads W4 --json sjf.json
    """
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
    """Let the tuner settle, then match the same batches at its level and at every fixed one.

    Examples
    --------
    pubmatch bench tuner --quick
    pubmatch bench tuner --workloads W1 --batch 32 --json tuner.json
    """
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
    """Insert and delete, in arrays and one by one; match after 30 % have been replaced.

    Examples
    --------
    pubmatch bench updates --quick
    pubmatch bench updates --workloads W3 --peers none --json updates.json
    """
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
    """Measure bytes per subscription, each index in a process of its own.

    Examples
    --------
    pubmatch bench memory --quick
    pubmatch bench memory --workloads W1,W3 --json memory.json
    """
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
    """Match the same batches on one thread and on several; time a call on an empty index.

    Examples
    --------
    pubmatch bench threads --quick
    pubmatch bench threads --workloads W1 --threads 4 --json threads.json
    """
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


def matcher(
    workloads: Workloads = None,
    peers: Peers = None,
    rounds: Rounds = None,
    scale: Scale = None,
    quick: Quick = False,
    json_file: JsonOption = None,
) -> None:
    """Match named attributes and filters beside bare boxes and DuckDB; subscribe a million filters.

    Examples
    --------
    pubmatch bench matcher --quick
    pubmatch bench matcher --peers none --json matcher.json
    """
    from pubmatch_bench import matcher as bench

    _run(
        bench,
        "matcher",
        json_file,
        workloads=workloads,
        peers=peers,
        rounds=rounds,
        scale=scale,
        quick=quick,
        known_peers=bench.PEERS,
    )


def mobility(
    quick: Annotated[
        bool, typer.Option("--quick", help="A trial run: a tenth of the size, one round.")
    ] = False,
    json_file: JsonOption = None,
) -> None:
    """Simulate mobile publishers on 85 and 11,111 brokers; publish at a broker with 100,000 subscriptions.

    Examples
    --------
    pubmatch bench mobility --quick
    pubmatch bench mobility --json mobility.json
    """
    from pubmatch_bench import mobility as bench
    from pubmatch_bench.mobility_table import mobility_table
    from pubmatch_bench.tables import differences

    with progress("bench mobility") as notify:
        record = bench.run(bench.QUICK if quick else bench.FULL, quick, notify)
    finish(record, json_file, *mobility_table(record))
    different = differences(record)
    if different:
        raise CommandError(f"results differ: {', '.join(different)}", exit_code=1)


def spark(
    workloads: Workloads = None,
    peers: Annotated[
        str | None, typer.Option(metavar="NAMES", help="sedona, loaded from Maven Central. Default: none.")
    ] = None,
    rounds: Rounds = None,
    scale: Scale = None,
    quick: Quick = False,
    json_file: JsonOption = None,
) -> None:
    """Match inside Spark; compare with Spark's own range join and with plain Python.

    Examples
    --------
    pubmatch bench spark --quick
    pubmatch bench spark --workloads W1 --json spark.json
    """
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
            peers=peers or "none",
            known_peers=bench.PEERS,
            rounds=rounds,
            scale=scale,
            quick=quick,
        )
    except PubmatchError as error:
        raise CommandError(str(error)) from error


def overlay(
    quick: Annotated[bool, typer.Option("--quick", help="A trial run: a fiftieth of the size.")] = False,
    json_file: JsonOption = None,
) -> None:
    """Count hops; place and balance a large overlay; time the loads of the paper's figures 8 to 13.

    Examples
    --------
    pubmatch bench overlay --quick
    pubmatch bench overlay --json overlay.json
    """
    try:
        from pubmatch_bench import overlay as bench
    except ModuleNotFoundError as error:
        raise CommandError(f"bench overlay needs {error.name}: pip install 'pubmatch[bench]'") from None
    from pubmatch_bench.tables import differences

    with progress("bench overlay") as notify:
        record = bench.run(quick, notify)
    finish(record, json_file, *bench.overlay_table(record))
    different = differences(record)
    if different or not record["figures"]["equal"]:
        raise CommandError(f"results differ: {', '.join(different) or 'figures'}", exit_code=1)


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
