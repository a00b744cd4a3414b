"""What `pubmatch match` was asked for, and its inputs once they are read and checked, for all engines."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pubmatch.cli.batch_matching import BatchMatching
from pubmatch.cli.event_files import id_column_of, open_events
from pubmatch.cli.event_ids import plain
from pubmatch.cli.event_schema import bound_types, inferred_attributes, used_schema
from pubmatch.cli.output import CommandError
from pubmatch.errors import PubmatchError
from pubmatch.matcher import Matcher
from pubmatch.schema import Schema
from pubmatch.tables import TableReader, format_of, open_table, table_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pubmatch.cli.batch_matching import Totals
    from pubmatch.index import Order

    Notify = Callable[[str, float], None]

__all__ = [
    "MatchJob",
    "OpenedJob",
    "naming",
    "open_job",
    "read_schema",
    "subscribed",
    "summary_of",
    "write_refused",
]


@dataclass(frozen=True, slots=True)
class MatchJob:
    """What `pubmatch match` was asked for; `id_column`, `schema` and `refused` may be missing."""

    subscriptions: Path
    events: Path
    out: Path
    schema: Path | None = None
    id_column: str | None = None
    batch: int = 8192
    threads: int = 1
    order: Order = "sjf"
    refused: Path | None = None


@dataclass(frozen=True, slots=True)
class OpenedJob:
    """A job whose files are there and fit each other; nothing has been written.

    Attributes
    ----------
    job : MatchJob
        What it is about.
    matcher : Matcher
        The subscriptions of the file.
    events : TableReader
        The events.
    columns : list of str
        The columns of the events that are needed.
    matching : BatchMatching
        How they are matched.
    refused : pyarrow.Table or None
        The subscriptions that were left out, if they are to be listed.
    subscribe_s : float
        How long it took to read the subscriptions.
    """

    job: MatchJob
    matcher: Matcher
    events: TableReader
    columns: list[str]
    matching: BatchMatching
    refused: pa.Table | None
    subscribe_s: float


def open_job(job: MatchJob, notify: Notify) -> OpenedJob:
    """Read the subscriptions, and as much of the events as tells their columns."""
    for path in (job.out, *([job.refused] if job.refused else [])):
        format_of(path)  # before long work, not after it
    notify("look at the events", 0.0)
    given = None if job.schema is None else read_schema(job.schema)
    events = open_events(job.events, given, job.id_column)
    id_column = id_column_of(events, job.id_column)
    notify("subscribe", 0.0)
    began = time.perf_counter()
    matcher, refused = subscribed(job.subscriptions, given, events, collect=job.refused is not None)
    subscribe_s = time.perf_counter() - began
    id_type = pa.int64() if id_column is None else plain(events.schema.field(id_column).type)
    key_type = matcher.match([]).to_arrow().schema.field("key").type
    matching = BatchMatching(str(job.events), id_column, id_type, key_type, job.order, job.threads)
    columns = [name for name in events.schema.names if name in matcher.schema or name == id_column]
    return OpenedJob(job, matcher, events, columns, matching, refused, subscribe_s)


def summary_of(opened: OpenedJob, engine: str, totals: Totals, total_s: float) -> dict[str, Any]:
    """What `--json` writes: `events_per_s` counts reading and writing too, `match_s` does not."""
    job = opened.job
    return {
        "name": "match",
        "engine": engine,
        "subscriptions_file": str(job.subscriptions),
        "events_file": str(job.events),
        "out": str(job.out),
        "batch": job.batch,
        "threads": job.threads,
        "order": job.order,
        "attributes": list(opened.matcher.schema.names),
        "id_column": opened.matching.id_column,
        "subscriptions": len(opened.matcher),
        "refused": 0 if opened.refused is None else opened.refused.num_rows,
        "subscribe_s": opened.subscribe_s,
        "total_s": total_s,
        "events": totals.events,
        "matches": totals.matches,
        "match_s": totals.match_s,
        "events_per_s": totals.events / total_s,
        "mean_response_s": totals.times.mean_s,
        "p99_response_s": totals.times.quantile(0.99),
    }


def read_schema(path: Path) -> Schema:
    """The schema in a file of JSON."""
    try:
        return Schema.from_json(path.read_bytes())
    except PubmatchError as error:
        raise CommandError(f"{path}: {error}") from error


def subscribed(
    subscriptions: Path, given: Schema | None, events: TableReader | None, collect: bool
) -> tuple[Matcher, pa.Table | None]:
    """A matcher with the subscriptions of a file, and if asked for a table of those that were refused.

    Parameters
    ----------
    subscriptions : Path
        Keys with filters or bounds.
    given : Schema or None
        The attributes.
    events : TableReader or None
        Tells the attributes if they are not given.
    collect : bool
        Whether subscriptions that cannot be taken are left out; otherwise the first is an error.
    """
    attributes, others = inferred_attributes(pa.schema([]) if events is None else events.schema)
    if given is not None:
        attributes, others = {name: given[name] for name in given}, {}
    types = bound_types(attributes) | {"filter": pa.string()}
    table = open_table(subscriptions, types, {"key"}).read()
    if not attributes and events is not None:
        columns_told = ", ".join(f"{name} ({kind})" for name, kind in others.items()) or "no columns"
        raise CommandError(f"{events.path}: nothing that filters can use without --schema: {columns_told}")
    matcher = Matcher(given if given is not None else used_schema(attributes, table))
    try:
        if collect:
            return matcher, matcher.subscribe_many(table, on_error="collect")
        matcher.subscribe_many(table)
    except PubmatchError as error:
        unused = [f"{name} ({kind})" for name, kind in others.items() if name and name in str(error)]
        hint = f"; no attributes, without --schema: {', '.join(unused)}" if unused else ""
        raise CommandError(f"{subscriptions}: {error}{hint}") from error
    return matcher, None


def write_refused(file: Any, path: Path, refused: pa.Table) -> None:
    """List the subscriptions that were left out."""
    with naming(path), table_writer(file, format_of(path), refused.schema) as write:
        write(refused)


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name the file that pyarrow cannot write."""
    try:
        yield
    except pa.ArrowException as error:
        raise CommandError(f"{path}: {error}") from error
