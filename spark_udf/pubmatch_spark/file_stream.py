"""`pubmatch stream`: a directory of event files as a stream, read as `pubmatch match` reads them.

Spark's file source tells which files are new and notes those that are done; tasks read them with pubmatch's
own readers, so that all formats mean the same in a stream as elsewhere, and a value that cannot be read is an
error rather than a null. A batch needs only the columns its version has: a version with more attributes is
taken up like any other.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pubmatch.errors import ArgumentError, MissingFileError, PubmatchError
from pubmatch_spark.match import SUBSCRIPTION, key_type
from pubmatch_spark.own_session import own_session
from pubmatch_spark.publish import checked_ref, checked_root
from pubmatch_spark.spark_errors import told_in_short
from pubmatch_spark.stop_signals import stop_signals
from pubmatch_spark.streaming import BATCH, VERSION, remove_staged, start_stream
from pubmatch_spark.version_pins import VersionPins

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from pubmatch_spark.publish import IndexRef
    from pubmatch_spark.stream_ids import StreamIds

    Notify = Callable[[str, float], None]

__all__ = ["StreamJob", "event_files", "run_stream"]

_SOURCE = "path string, modificationTime timestamp, length long, content binary"
_LOOK_S = 0.5
_ROWS = 8192
"""Events per batch of the matcher, as in `pubmatch match`."""


@dataclass(frozen=True, slots=True)
class StreamJob:
    """What `pubmatch stream` was asked for; all directories are absolute paths."""

    subscriptions: str
    events: str
    out: str
    checkpoint: str
    id_column: str = "event_id"
    text_ids: bool = False
    once: bool = False
    files_per_batch: int | None = None

    @classmethod
    def of(cls, subscriptions: Any, events: Any, out: Any, checkpoint: Any, **options: Any) -> StreamJob:
        """A job, if its directories do not get in each other's way."""
        given = {"subscriptions": subscriptions, "events": events, "out": out, "checkpoint": checkpoint}
        roots: dict[str, Any] = {name: checked_root(path) for name, path in given.items()}
        for name, root in roots.items():
            for other, outer in roots.items():
                if name != other and os.path.commonpath([root, outer]) == outer:
                    raise ArgumentError(f"--{name} {root} must not be --{other} {outer}, nor lie in it")
        if options.get("id_column") in (SUBSCRIPTION, VERSION, BATCH):
            raise ArgumentError(f"--id-column must not be {options['id_column']}, a column of the result")
        return cls(**roots, **options)


@dataclass(slots=True)
class _Done:
    """What this run has done; batches run one after another."""

    batches: int = 0
    files: int = 0
    matches: int = 0
    versions: list[int] = field(default_factory=list)

    def add(self, ref: IndexRef, directory: str) -> None:
        """Count a batch that readers now see."""
        import pyarrow.parquet as pq

        self.batches += 1
        self.matches += sum(pq.read_metadata(path).num_rows for path in Path(directory).glob("*.parquet"))
        if ref.version not in self.versions:
            self.versions.append(ref.version)


def run_stream(job: StreamJob, master: str | None, notify: Notify) -> dict[str, Any]:
    """Match files as they come, until all there are now are done, or SIGINT or SIGTERM.

    Parameters
    ----------
    job : StreamJob
        Directories and options.
    master : str or None
        Where Spark runs; None for `local[*]`.
    notify : callable
        Takes what is being done and the fraction of the files that is done.

    Returns
    -------
    dict
        What this run did, as `--json` writes it.
    """
    pins = VersionPins(job.checkpoint, job.subscriptions)
    checked_ref(pins.current())
    if not os.path.isdir(job.events):
        raise MissingFileError(2, "No such directory", job.events)
    notify("start Spark", 0.0)
    done, began = _Done(), time.perf_counter()
    with own_session(master) as spark:
        started = time.perf_counter()
        with stop_signals() as stop, told_in_short():
            ids = _wait_for_ids(job, pins, stop, notify)
            if ids is not None:
                _run(spark, job, pins, ids, stop, done, notify)
            stopped = stop.is_set()
        where = spark.sparkContext.master
    return {
        "name": "stream",
        "master": where,
        "subscriptions": job.subscriptions,
        "events": job.events,
        "out": job.out,
        "checkpoint": job.checkpoint,
        "stopped": stopped,
        "batches": done.batches,
        "files": done.files,
        "matches": done.matches,
        "versions": done.versions,
        "start_s": started - began,
        "total_s": time.perf_counter() - started,
    }


def event_files(directory: str) -> list[Path]:
    """The files of a directory and those below that the stream reads, the oldest first.

    A file that is gone by the time it is looked at is none, nor is a link that leads nowhere.
    """
    found = []
    for path in _event_paths(directory):
        with suppress(OSError):
            found.append((path.stat().st_mtime_ns, path))
    return [path for _, path in sorted(found)]


def _event_paths(directory: str) -> Iterator[Path]:
    """What is named like a file that the stream reads, in no order."""
    from pubmatch.tables import SUFFIXES

    for folder, folders, names in os.walk(directory):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        for name in names:
            if not name.startswith((".", "_")) and os.path.splitext(name)[1].lower() in SUFFIXES:
                yield Path(folder, name)


def _wait_for_ids(
    job: StreamJob, pins: VersionPins, stop: threading.Event, notify: Notify
) -> StreamIds | None:
    """What the ids are, once there is a first file to tell it; None if the stream ends before."""
    from pubmatch.cli.event_files import open_events
    from pubmatch_spark.stream_ids import ids_in, remembered_ids

    known = remembered_ids(job.checkpoint, job.id_column, job.text_ids)
    while known is None:
        files = event_files(job.events)
        if files:
            try:
                first = open_events(files[0], pins.current().schema, job.id_column)
            except FileNotFoundError:
                if files[0].exists():
                    raise
                continue  # it went since it was found
            return ids_in(first, job.id_column, job.text_ids)
        if job.once:
            return None
        notify("wait for a first file", 0.0)
        if stop.wait(_LOOK_S):
            return None
    return known


def _run(
    spark: SparkSession,
    job: StreamJob,
    pins: VersionPins,
    ids: StreamIds,
    stop: threading.Event,
    done: _Done,
    notify: Notify,
) -> None:
    from pubmatch_spark.stream_ids import remember_ids

    def pairs(batch: DataFrame, ref: IndexRef) -> DataFrame:
        paths = sorted(_local(row.path) for row in batch.collect())
        done.files += len(paths)
        return _pairs(spark, paths, ref, ids)

    trigger = {"availableNow": True} if job.once else None
    query = start_stream(_source(spark, job), pins, job.checkpoint, job.out, pairs, trigger, done.add)
    remember_ids(job.checkpoint, ids)
    try:
        while query.isActive and not stop.wait(_LOOK_S):
            known = sum(1 for _ in _event_paths(job.events))
            share = done.files / max(known, done.files, 1)
            notify(f"{done.batches} batches, {done.files} files, {done.matches:,} matches", share)
        failure = query.exception()
        if failure is not None:
            raise failure
    finally:
        query.stop()
        remove_staged(job.out)


def _source(spark: SparkSession, job: StreamJob) -> DataFrame:
    """The paths of new files, as a stream; what is in them is not read."""
    from pubmatch.tables import SUFFIXES

    suffixes = [suffix for known in SUFFIXES for suffix in (known[1:], known[1:].upper())]
    reader = spark.readStream.format("binaryFile").schema(_SOURCE)
    reader = reader.option("pathGlobFilter", f"*.{{{','.join(suffixes)}}}").option(
        "recursiveFileLookup", True
    )
    # Spark passes over a file a week older than others without a word; moving a file keeps its time.
    reader = reader.option("maxFileAge", "36500d")
    if job.files_per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", job.files_per_batch)
    # Spark takes a path for a pattern.
    literal = re.sub(r"[\\\[\]{}*?]", r"\\\g<0>", job.events)
    return reader.load(f"file://{literal}").select("path")


def _local(path: str) -> str:
    """The path of a file that Spark names with a scheme."""
    return "/" + path.removeprefix("file:").lstrip("/")


def _pairs(spark: SparkSession, paths: list[str], ref: IndexRef, ids: StreamIds) -> DataFrame:
    from pyspark.sql.types import StructField, StructType, _parse_datatype_string

    def matched(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Imported where the function runs: the cache of opened versions belongs to the worker's process.
        from pubmatch_spark.file_stream import pairs_of_file

        for batch in batches:
            for place in batch.column(0).to_pylist():
                yield from pairs_of_file(paths[place], ref, ids)

    id_type = _parse_datatype_string(ids.spark_type)
    result = StructType([StructField(ids.column, id_type), StructField(SUBSCRIPTION, key_type(ref))])
    tasks = min(len(paths), 4 * spark.sparkContext.defaultParallelism)
    return spark.range(0, len(paths), 1, tasks).mapInArrow(matched, result)


# --- in executors ---


def pairs_of_file(path: str, ref: IndexRef, ids: StreamIds) -> Iterator[pa.RecordBatch]:
    """The pairs (id, key) of all events of a file."""
    import pyarrow as pa

    from pubmatch.cli.event_files import id_column_of, open_events
    from pubmatch_spark.worker_cache import opened

    reader = opened(ref)
    events = open_events(Path(path), ref.schema, ids.column)
    id_column_of(events, ids.column)
    columns = [name for name in events.schema.names if name in ref.schema or name == ids.column]
    first = 0
    for batch in events.batches(columns, _ROWS):
        try:
            found = reader.match(batch).to_arrow()
        except PubmatchError as error:
            raise PubmatchError(f"{path}: in the batch that begins with row {first}: {error}") from None
        taken = ids.of(batch, path).take(found.column("event").combine_chunks())
        yield pa.RecordBatch.from_arrays(
            [taken, found.column("key").combine_chunks()], names=[ids.column, SUBSCRIPTION]
        )
        first += batch.num_rows
