"""Files of subscriptions and events to a file of matches, batch by batch: the work of `pubmatch match`."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from pubmatch.cli.event_schema import (
    bound_types,
    column_types,
    inferred_attributes,
    json_column_types,
    used_schema,
)
from pubmatch.cli.output import CommandError, whole_file
from pubmatch.cli.response_times import ResponseTimes
from pubmatch.errors import PubmatchError
from pubmatch.matcher import Matcher
from pubmatch.schema import Schema
from pubmatch.tables import TableReader, format_of, open_table, table_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pubmatch.index import Order

    Notify = Callable[[str, float], None]

__all__ = ["MatchJob", "match_files"]

_DEFAULT_ID = "event_id"


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


@dataclass(slots=True)
class _Totals:
    events: int
    matches: int
    match_s: float
    times: ResponseTimes


def match_files(job: MatchJob, notify: Notify) -> dict[str, Any]:
    """Match all events of a file and write the matches; the summary that `--json` writes.

    The file of matches appears when it is complete, and not at all after an error.

    Parameters
    ----------
    job : MatchJob
        Files and options.
    notify : callable
        Takes what is being done and the fraction done.
    """
    for path in (job.out, *([job.refused] if job.refused else [])):
        format_of(path)  # before long work, not after it
    notify("look at the events", 0.0)
    given = None if job.schema is None else _read_schema(job.schema)
    events = _open_events(job, given)
    id_column = _id_column(job, events)
    notify("subscribe", 0.0)
    began = time.perf_counter()
    matcher, refused = _subscribed(job, given, events.schema)
    subscribed = time.perf_counter()
    with contextlib.ExitStack() as files:
        if job.refused is not None:
            _write_refused(files.enter_context(whole_file(job.refused)), job.refused, refused)
        out = files.enter_context(whole_file(job.out))
        with _naming(job.out):
            totals = _match_all(job, matcher, events, id_column, out, notify)
    total_s = time.perf_counter() - subscribed
    return {
        **_description(job),
        "attributes": list(matcher.schema.names),
        "id_column": id_column,
        "subscriptions": len(matcher),
        "refused": 0 if refused is None else refused.num_rows,
        "subscribe_s": subscribed - began,
        "total_s": total_s,
        **_measures(totals, total_s),
    }


def _description(job: MatchJob) -> dict[str, Any]:
    return {
        "name": "match",
        "engine": "local",
        "subscriptions_file": str(job.subscriptions),
        "events_file": str(job.events),
        "out": str(job.out),
        "batch": job.batch,
        "threads": job.threads,
        "order": job.order,
    }


def _measures(totals: _Totals, total_s: float) -> dict[str, Any]:
    """What was found, and how fast: `events_per_s` counts reading and writing too, `match_s` does not."""
    return {
        "events": totals.events,
        "matches": totals.matches,
        "match_s": totals.match_s,
        "events_per_s": totals.events / total_s,
        "mean_response_s": totals.times.mean_s,
        "p99_response_s": totals.times.quantile(0.99),
    }


def _read_schema(path: Path) -> Schema:
    try:
        return Schema.from_json(path.read_bytes())
    except PubmatchError as error:
        raise CommandError(f"{path}: {error}") from error


def _open_events(job: MatchJob, given: Schema | None) -> TableReader:
    types = {}
    if given is not None:
        types = json_column_types(given) if format_of(job.events) == "jsonl" else column_types(given)
    return open_table(job.events, types, {_DEFAULT_ID if job.id_column is None else job.id_column})


def _id_column(job: MatchJob, events: TableReader) -> str | None:
    name = _DEFAULT_ID if job.id_column is None else job.id_column
    if name in events.schema.names:
        if not _can_be_id(_plain(events.schema.field(name).type)):
            raise CommandError(
                f"{job.events}: column {name!r} is {events.schema.field(name).type}, not an id"
            )
        return name
    if job.id_column is not None:
        listed = ", ".join(events.schema.names) or "none"
        raise CommandError(f"{job.events}: there is no column {name!r}; its columns are {listed}")
    return None


def _subscribed(job: MatchJob, given: Schema | None, columns: pa.Schema) -> tuple[Matcher, pa.Table | None]:
    """A matcher with the subscriptions of the file, and if asked for a table of those that were refused."""
    attributes, others = inferred_attributes(columns)
    if given is not None:
        attributes, others = {name: given[name] for name in given}, {}
    types = bound_types(attributes) | {"filter": pa.string()}
    table = open_table(job.subscriptions, types, {"key"}).read()
    if not attributes:
        columns_told = ", ".join(f"{name} ({kind})" for name, kind in others.items()) or "no columns"
        raise CommandError(f"{job.events}: nothing that filters can use without --schema: {columns_told}")
    matcher = Matcher(given if given is not None else used_schema(attributes, table))
    try:
        if job.refused is not None:
            return matcher, matcher.subscribe_many(table, on_error="collect")
        matcher.subscribe_many(table)
    except PubmatchError as error:
        unused = [f"{name} ({kind})" for name, kind in others.items() if name and name in str(error)]
        hint = f"; no attributes, without --schema: {', '.join(unused)}" if unused else ""
        raise CommandError(f"{job.subscriptions}: {error}{hint}") from error
    return matcher, None


def _write_refused(file: Any, path: Path, refused: pa.Table) -> None:
    with _naming(path), table_writer(file, format_of(path), refused.schema) as write:
        write(refused)


def _match_all(
    job: MatchJob, matcher: Matcher, events: TableReader, id_column: str | None, out: Any, notify: Notify
) -> _Totals:
    id_type = pa.int64() if id_column is None else _plain(events.schema.field(id_column).type)
    key_type = matcher.match([]).to_arrow().schema.field("key").type
    wanted = [name for name in events.schema.names if name in matcher.schema or name == id_column]
    totals = _Totals(0, 0, 0.0, ResponseTimes())
    schema = pa.schema({"event_id": id_type, "subscription": key_type})
    with table_writer(out, format_of(job.out), schema) as write:
        for batch in events.batches(wanted, job.batch):
            began = time.perf_counter()
            with _telling_rows(job.events, totals.events):
                result = matcher.match(batch, order=job.order, threads=job.threads)
            totals.match_s += time.perf_counter() - began
            found = result.to_arrow()
            ids = _ids(batch, id_column, id_type, totals.events).take(found.column("event"))
            write(pa.table({"event_id": ids, "subscription": found.column("key")}, schema))
            totals.events += batch.num_rows
            totals.matches += found.num_rows
            totals.times.add(np.asarray(result.response_s))
            notify(f"{totals.events:,} events, {totals.matches:,} matches", events.fraction)
    return totals


def _can_be_id(kind: pa.DataType) -> bool:
    """Whether every format can write values of a type."""
    types = pa.types
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    time = types.is_timestamp(kind) or types.is_date(kind) or types.is_time(kind)
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    return bool(text or time or number or types.is_null(kind))


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type in which ids are written: neither by dictionary nor as views, which some formats lack."""
    values = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.large_string() if pa.types.is_string_view(values) else values


def _ids(batch: pa.Table, id_column: str | None, id_type: pa.DataType, first: int) -> pa.ChunkedArray:
    if id_column is None:
        return pa.chunked_array([np.arange(first, first + batch.num_rows)])
    return batch.column(id_column).cast(id_type).combine_chunks()


@contextlib.contextmanager
def _telling_rows(path: Path, first: int) -> Iterator[None]:
    """Say which batch an error is about: rows are counted from the batch's first."""
    try:
        yield
    except PubmatchError as error:
        raise CommandError(f"{path}: in the batch that begins with row {first}: {error}") from error


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name the file that pyarrow cannot write."""
    try:
        yield
    except pa.ArrowException as error:
        raise CommandError(f"{path}: {error}") from error
