"""`pubmatch match`: which subscriptions of a file each event of another satisfies."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pubmatch.cli.output import CommandError, JsonOption, check_files, finish, progress, writable_file
from pubmatch.index import MAX_THREADS

if TYPE_CHECKING:
    from pubmatch.cli.match_files import MatchJob

_FORMATS = "Parquet, CSV, JSONL or Arrow"


class Engine(StrEnum):
    """What does the matching."""

    LOCAL = "local"
    SPARK = "spark"


class EventOrder(StrEnum):
    """In which order the events of a batch are matched."""

    SJF = "sjf"
    FIFO = "fifo"


def register(app: typer.Typer) -> None:
    """Add the command `match`."""
    app.command()(match)


def match(
    subscriptions: Annotated[
        Path, typer.Option(metavar="FILE", help=f"Keys with filters or bounds: {_FORMATS}, by suffix.")
    ],
    events: Annotated[Path, typer.Option(metavar="FILE", help=f"The events: {_FORMATS}, by suffix.")],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help=f"Where the matches go: {_FORMATS}, by suffix.", callback=writable_file
        ),
    ],
    schema: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The schema as JSON. Default: inferred from the events' columns."),
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The events' ids. Default: event_id if there, else row numbers."),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Events per batch.")] = 8192,
    threads: Annotated[int, typer.Option(min=1, max=MAX_THREADS, help="Threads that match.")] = 1,
    order: Annotated[
        EventOrder, typer.Option(help="Shortest job first, or as given; the matches are the same.")
    ] = EventOrder.SJF,
    refused: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Leave bad subscriptions out and list them here. Default: the first one is an error.",
            callback=writable_file,
        ),
    ] = None,
    engine: Annotated[Engine, typer.Option(help="Match in this process, or with Spark.")] = Engine.LOCAL,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Spark's master; with --engine spark only.")
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Write a row (event_id, subscription) for every event and every subscription it satisfies.

    Examples
    --------
    pubmatch match --subscriptions alerts.parquet --events events.csv --out matches.csv
    pubmatch match --subscriptions alerts.csv --events events.jsonl --out matches.parquet --threads 2
    """
    if master is not None and engine is not Engine.SPARK:
        raise CommandError("--master is for --engine spark")
    check_files([subscriptions, events, schema], [out, refused, json_file])
    try:
        from pubmatch.cli.match_files import MatchJob, match_files
    except ModuleNotFoundError as error:
        raise CommandError(f"match needs {error.name}: pip install 'pubmatch[sql]'") from None
    job = MatchJob(subscriptions, events, out, schema, id_column, batch, threads, order.value, refused)
    with progress("match") as notify:
        summary = match_files(job, notify) if engine is Engine.LOCAL else _on_spark(job, master, notify)
    finish(summary, json_file, *_lines(summary))


def _on_spark(job: MatchJob, master: str | None, notify: Any) -> dict[str, Any]:
    """Hand the job to the Spark package, whose needs not every installation has."""
    try:
        import pyspark  # noqa: F401

        from pubmatch_spark.file_match import match_files

        return match_files(job, master, notify)
    except ImportError as error:  # Spark looks for some libraries only when it uses them, and names none
        told = f"needs {error.name}" if error.name else f"cannot run: {str(error).rstrip('.')}"
        raise CommandError(f"--engine spark {told}: pip install 'pubmatch[spark]'") from None


def _lines(summary: dict[str, Any]) -> list[str]:
    refused = f", {summary['refused']:,} refused" if summary["refused"] else ""
    return [
        f"{summary['matches']:,} matches of {summary['events']:,} events with "
        f"{summary['subscriptions']:,} subscriptions{refused}, {summary['events_per_s']:,.0f} events/s",
        f"{summary['out']}: written",
    ]
