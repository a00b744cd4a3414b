"""`pubmatch publish`: a file of subscriptions as the next version for `pubmatch stream` and Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pubmatch.cli.output import CommandError, JsonOption, check_files, finish, progress, writable_file
from pubmatch.whole_files import whole_file

if TYPE_CHECKING:
    from pubmatch.schema import Schema

_FORMATS = "Parquet, CSV, JSONL or Arrow"


def register(app: typer.Typer) -> None:
    """Add the command `publish`."""
    app.command()(publish)


def publish(
    subscriptions: Annotated[
        Path, typer.Option(metavar="FILE", help=f"Keys with filters or bounds: {_FORMATS}, by suffix.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The directory of all versions.")],
    schema: Annotated[Path | None, typer.Option(metavar="FILE", help="The schema as JSON.")] = None,
    events: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Events whose columns tell the schema.")
    ] = None,
    version: Annotated[
        int | None, typer.Option(min=0, help="Its number. Default: one above the highest there is.")
    ] = None,
    refused: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Leave bad subscriptions out and list them here. Default: the first one is an error.",
            callback=writable_file,
        ),
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Publish subscriptions as an immutable version, which running streams then take up.

    Without --schema and --events the version has the schema of the one before.

    Examples
    --------
    pubmatch publish --subscriptions alerts.csv --events sample.csv --out alerts
    pubmatch publish --subscriptions alerts.parquet --schema schema.json --out alerts --version 7
    """
    try:
        from pubmatch.cli.event_files import open_events
        from pubmatch.cli.match_job import read_schema, subscribed, write_refused
        from pubmatch.tables import format_of
        from pubmatch_spark import publish as publish_version
        from pubmatch_spark import versions
    except ModuleNotFoundError as error:
        raise CommandError(f"publish needs {error.name}: pip install 'pubmatch[sql]'") from None
    if schema is not None and events is not None:
        raise CommandError("--schema and --events both tell the schema; give one of them")
    check_files([subscriptions, schema, events], [refused, json_file])
    if refused is not None:
        format_of(refused)  # before long work, not after it
    known = versions(out)
    given = read_schema(schema) if schema is not None else None if events is not None else _last_schema(out)
    sample = None if events is None else open_events(events, None, None)
    with progress("publish") as notify:
        notify("subscribe", 0.0)
        matcher, left_out = subscribed(subscriptions, given, sample, collect=refused is not None)
        notify("write", 0.5)
        number = version if version is not None else known[-1] + 1 if known else 1
        ref = publish_version(matcher, out, number)
    if refused is not None:
        with whole_file(refused) as file:
            write_refused(file, refused, left_out)
    count = 0 if left_out is None else left_out.num_rows
    summary = {
        "name": "publish",
        "directory": ref.directory,
        "version": ref.version,
        "subscriptions": ref.subscriptions,
        "refused": count,
        "attributes": list(ref.schema.names),
        "bytes": ref.nbytes,
    }
    told = f", {count:,} refused" if count else ""
    finish(
        summary,
        json_file,
        f"{ref.directory}: version {ref.version}, {ref.subscriptions:,} subscriptions{told}",
    )


def _last_schema(out: Path) -> Schema:
    from pubmatch_spark import latest, versions

    if not versions(out):
        raise CommandError(f"{out}: has no version to take the schema from; give --schema or --events")
    return latest(out).schema
