"""`pubmatch match --engine spark`: the files of `pubmatch match`, matched by Spark's executors.

The driver reads and checks what the local engine does, publishes the subscriptions and cuts the events into
ranges of rows. A task matches one range, in the batches and with the code of the local engine, and leaves its
rows in a file of its own; the driver puts these together. So types, rows, their order and the words of an
error are those of the local engine. What belongs to one run lies in a hidden folder beside the output, which
executors must see.
"""

from __future__ import annotations

import errno
import os
import pickle
import shutil
import tempfile
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pubmatch.errors import PubmatchError
from pubmatch_spark.own_session import own_session
from pubmatch_spark.publish import checked_ref, publish
from pubmatch_spark.spark_errors import told_in_short

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from pubmatch.cli.batch_matching import BatchMatching, Totals
    from pubmatch.cli.match_job import MatchJob, Notify, OpenedJob
    from pubmatch_spark.publish import IndexRef

__all__ = ["match_files"]

_TASKS_PER_CORE = 4
_MOST_BATCHES = 64
"""In one task, so that what it leaves is of a handy size."""

_LOOK_S = 0.2
"""How often progress is looked at."""


@dataclass(frozen=True, slots=True)
class _Range:
    number: int
    first: int
    rows: int


@dataclass(frozen=True, slots=True)
class _Work:
    """What every task gets."""

    ref: IndexRef
    path: Path
    columns: list[str]
    batch: int
    matching: BatchMatching
    folder: Path

    def result(self, number: int) -> Path:
        """Where a task leaves its rows."""
        return self.folder / f"rows-{number}.arrow"


def match_files(job: MatchJob, master: str | None, notify: Notify) -> dict[str, Any]:
    """Match all events of a file on Spark; as `pubmatch.cli.match_files.match_files`.

    Parameters
    ----------
    job : MatchJob
        Files and options.
    master : str or None
        Where Spark runs; None for `local[*]`.
    notify : callable
        Takes what is being done and the fraction done.
    """
    from pubmatch.cli.match_job import naming, open_job, summary_of, write_refused
    from pubmatch.whole_files import whole_file

    opened = open_job(job, notify)
    notify("start Spark", 0.0)
    began = time.perf_counter()
    with own_session(master) as spark, ExitStack() as files:
        started = time.perf_counter()
        folder = files.enter_context(_folder_beside(job.out))
        if job.refused is not None:
            write_refused(files.enter_context(whole_file(job.refused)), job.refused, opened.refused)
        out = files.enter_context(whole_file(job.out))
        notify("publish", 0.0)
        work, ranges = _planned(opened, folder, spark.sparkContext.defaultParallelism)
        totals = _matched(spark, work, ranges, notify)
        with naming(job.out):
            _put_together(opened, work, ranges, out, notify)
        where = spark.sparkContext.master
    told = {"master": where, "tasks": len(ranges), "start_s": started - began}
    return summary_of(opened, "spark", totals, time.perf_counter() - started) | told


@contextmanager
def _folder_beside(out: Path) -> Iterator[Path]:
    """A folder for one run, where the output will be: what one machine sees there all should see."""
    place = out.absolute().parent if out.is_file() or not out.exists() else Path(tempfile.gettempdir())
    folder = place / f".{out.name}.{uuid.uuid4().hex[:12]}"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _planned(opened: OpenedJob, folder: Path, cores: int) -> tuple[_Work, list[_Range]]:
    """Publish the subscriptions and divide the events into ranges of whole batches."""
    from pubmatch_spark.file_rows import count_rows, seekable

    batch = opened.job.batch
    ref = checked_ref(publish(opened.matcher, folder / "subscriptions", 1))
    path = seekable(opened.events, opened.columns, batch, folder)
    total = count_rows(path)
    batches = -(-total // batch)
    size = batch * min(max(1, -(-batches // (_TASKS_PER_CORE * cores))), _MOST_BATCHES)
    ranges = [
        _Range(place, first, min(size, total - first)) for place, first in enumerate(range(0, total, size))
    ]
    return _Work(ref, path, opened.columns, batch, opened.matching, folder), ranges


def _matched(spark: SparkSession, work: _Work, ranges: list[_Range], notify: Notify) -> Totals:
    """Let Spark match all ranges; tell how far it is meanwhile."""
    from pubmatch.cli.batch_matching import Totals

    totals = Totals()
    if not ranges:
        return totals

    def matched(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Imported where the function runs: the cache of opened versions belongs to the worker's process.
        from pubmatch_spark.file_match import match_range

        for batch in batches:
            for place in batch.column(0).to_pylist():
                yield match_range(work, ranges[place])

    frame = spark.range(0, len(ranges), 1, len(ranges)).mapInArrow(
        matched, "number long, totals binary, error string"
    )
    with ThreadPoolExecutor(1) as pool, told_in_short():
        job = pool.submit(frame.collect)
        try:
            while not job.done():
                done = len(list(work.folder.glob("rows-*.arrow")))
                notify(f"{done} of {len(ranges)} tasks", 0.9 * done / len(ranges))
                with suppress(TimeoutError):
                    job.exception(timeout=_LOOK_S)
        except BaseException:
            spark.sparkContext.cancelAllJobs()
            raise
        rows = sorted(job.result(), key=lambda row: row.number)
    for row in rows:
        if row.error is not None:
            raise PubmatchError(row.error)
        totals.add(pickle.loads(row.totals))
    return totals


def _put_together(opened: OpenedJob, work: _Work, ranges: list[_Range], out: Any, notify: Notify) -> None:
    """Write the rows of all tasks to the output, in the order of the events."""
    import pyarrow as pa

    from pubmatch.tables import format_of, table_writer

    with table_writer(out, format_of(opened.job.out), work.matching.schema) as write:
        for part in ranges:
            notify("write", 0.9 + 0.1 * part.number / len(ranges))
            path = work.result(part.number)
            with pa.memory_map(str(path)) as source:
                file = pa.ipc.open_file(source)
                for place in range(file.num_record_batches):
                    write(pa.Table.from_batches([file.get_batch(place)]))
            path.unlink()


# --- in executors ---


def match_range(work: _Work, part: _Range) -> pa.RecordBatch:
    """Match one range of the events; one row with what was found, or why it could not be."""
    import pyarrow as pa

    from pubmatch.cli.batch_matching import Totals

    totals, error = Totals(), None
    try:
        if not _failed_before(work.folder, part.first):
            _write_rows(work, part, totals)
    except OSError as problem:
        error = _told(problem, work.path)
    except PubmatchError as problem:
        error = str(problem)
    if error is not None:
        with suppress(OSError):
            (work.folder / f"failed-{part.first}").touch()
    return pa.record_batch(
        {
            "number": pa.array([part.number], pa.int64()),
            "totals": pa.array([pickle.dumps(totals)], pa.binary()),
            "error": pa.array([error], pa.string()),
        }
    )


def _told(problem: OSError, path: Path) -> str:
    """What the system said, and about which file; pyarrow tells no name apart from the message."""
    what = f"{problem.filename or path}: {problem.strerror or problem}"
    return f"{what}; executors must see the files of the job" if problem.errno == errno.ENOENT else what


def _failed_before(folder: Path, first: int) -> bool:
    """Whether an earlier range failed: then this one is of no use."""
    return any(int(mark.name.partition("-")[2]) < first for mark in folder.glob("failed-*"))


def _write_rows(work: _Work, part: _Range, totals: Totals) -> None:
    """Match a range, and show its rows when they are complete: Spark may run a task twice."""
    import pyarrow as pa

    from pubmatch_spark.file_rows import read_rows
    from pubmatch_spark.worker_cache import opened

    reader = opened(work.ref)
    target = work.result(part.number)
    aside = target.with_name(f".{target.name}-{uuid.uuid4().hex}")
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with (
        pa.OSFile(str(aside), "wb") as sink,
        pa.ipc.new_file(sink, work.matching.schema, options=options) as file,
    ):
        for batch in read_rows(work.path, work.columns, part.first, part.rows, work.batch):
            file.write_table(work.matching.rows(reader, batch, part.first + totals.events, totals))
    os.replace(aside, target)
