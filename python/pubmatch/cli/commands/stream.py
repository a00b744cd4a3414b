"""`pubmatch stream`: a directory of event files as a stream, on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pubmatch.cli.output import CommandError, JsonOption, finish, progress


def register(app: typer.Typer) -> None:
    """Add the command `stream`."""
    app.command()(stream)


def stream(
    subscriptions: Annotated[
        Path, typer.Option(metavar="DIR", help="Published versions; see `pubmatch publish`.")
    ],
    events: Annotated[
        Path, typer.Option(metavar="DIR", help="Where files of events come: Parquet, CSV, JSONL or Arrow.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the matches go, as Parquet.")],
    checkpoint: Annotated[
        Path, typer.Option(metavar="DIR", help="What is done; the same directory goes on where it ended.")
    ],
    id_column: Annotated[str, typer.Option(metavar="NAME", help="The events' ids.")] = "event_id",
    text_ids: Annotated[
        bool, typer.Option("--text-ids", help="Take ids as text, also where they look like numbers.")
    ] = False,
    once: Annotated[
        bool, typer.Option("--once", help="End when all files there are have been matched.")
    ] = False,
    files_per_batch: Annotated[
        int | None, typer.Option(min=1, help="Most files that are matched together. Default: all there are.")
    ] = None,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Spark's master. Default: local[*].")
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Match files of events as they come and write each match once, whatever happens meanwhile.

    Runs until Ctrl-C or SIGTERM, or with --once until all files are done. Files must appear whole: write them
    elsewhere and move them in. A new version of the subscriptions is taken up by the next batch.

    Examples
    --------
    pubmatch stream --subscriptions alerts --events incoming --out matches --checkpoint progress
    pubmatch stream --subscriptions alerts --events incoming --out matches --checkpoint progress --once
    """
    try:
        import pyspark  # noqa: F401

        from pubmatch_spark.file_stream import StreamJob, run_stream

        job = StreamJob.of(
            subscriptions,
            events,
            out,
            checkpoint,
            id_column=id_column,
            text_ids=text_ids,
            once=once,
            files_per_batch=files_per_batch,
        )
        with progress("stream") as notify:
            summary = run_stream(job, master, notify)
    except ImportError as error:  # Spark looks for some libraries only when it uses them, and names none
        told = f"needs {error.name}" if error.name else f"cannot run: {str(error).rstrip('.')}"
        raise CommandError(f"stream {told}: pip install 'pubmatch[spark]'") from None
    versions = ", ".join(map(str, summary["versions"])) or "none"
    finish(
        summary,
        json_file,
        f"{summary['matches']:,} matches of {summary['files']:,} files in {summary['batches']:,} batches, "
        f"subscriptions of version {versions}",
        f"{summary['out']}: {'stopped' if summary['stopped'] else 'all files done'}",
    )
