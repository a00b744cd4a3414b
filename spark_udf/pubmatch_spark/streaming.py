"""`match_stream`: a stream of events against subscriptions that change while it runs, exactly once.

Every batch of events goes through three steps, and a driver may be killed at any moment of them:

1. its version of the subscriptions is pinned, in a file under the checkpoint (`version_pins`);
2. its pairs are written to a directory of their own under `out/_staging`;
3. that directory is renamed to `out/batch_id=N`.

Then Spark notes the batch as done. A batch that was not noted is run again after a restart, on the same
events. If step 3 was reached, its output is complete and is left alone; if not, step 2 starts afresh with
the same version. So readers of `out` see whole batches only, each of them once.

All batches have columns of the same types. What type keys have is decided by the first version that has any;
where they are strings, the integers of a later version are written as strings.
"""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pubmatch.errors import ArgumentError, ArgumentTypeError, file_access_error
from pubmatch_spark.event_frame import read_frame
from pubmatch_spark.match import SUBSCRIPTION, match
from pubmatch_spark.publish import checked_ref, checked_root
from pubmatch_spark.version_pins import VersionPins, join_output

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from pubmatch_spark.publish import IndexRef

__all__ = ["BATCH", "VERSION", "match_stream", "remove_staged", "start_stream"]

VERSION, BATCH = "version", "batch_id"
_STAGING = "_staging"


def match_stream(
    events: DataFrame,
    versions_path: str | os.PathLike[str],
    checkpoint: str | os.PathLike[str],
    out: str | os.PathLike[str],
    id_col: str = "event_id",
    array_col: str | None = None,
    missing: str = "error",
    trigger: Mapping[str, Any] | None = None,
) -> StreamingQuery:
    """Match a stream of events and write the pairs, exactly once, as Parquet.

    Parameters
    ----------
    events : DataFrame
        A streaming one; how much a batch takes is up to its source (`maxFilesPerTrigger` and the like).
    versions_path : path-like
        What `publish` was given. Each batch is matched with the version that is current when it begins.
    checkpoint : path-like
        Where Spark keeps its progress, and pubmatch the version of every batch. The same directory continues
        the stream after a stop or a crash.
    out : path-like
        Where results go, `out/batch_id=N/`; `spark.read.parquet(out)` reads them all. The columns are
        `id_col`, `subscription`, `version` and `batch_id`. It belongs to one checkpoint. Keys are bigint or
        strings, whichever they are in the first version that has any; integers in a later version are
        written as strings where keys are strings.
    id_col, array_col, missing
        As for `match`.
    trigger : mapping, optional
        When batches run, as `DataStreamWriter.trigger` takes it: `{"availableNow": True}`,
        `{"processingTime": "5 seconds"}`; by default as soon as there are events.

    Returns
    -------
    StreamingQuery
        The query, started.

    Raises
    ------
    ArgumentError
        `out` belongs to another checkpoint, or the current version is older than one already used, or it has
        strings for keys where integers were written. (A version that comes later ends the query so.)
    SchemaError
        A column is not there or has the wrong type.
    FormatError
        The current version is damaged, or (as `MissingFileError`) there is none.

    Examples
    --------
    >>> query = match_stream(events, "alerts", checkpoint="progress", out="pairs")  # doctest: +SKIP
    >>> query.processAllAvailable()  # doctest: +SKIP
    """
    frame = _checked_stream(events)
    roots = [checked_root(path) for path in (versions_path, checkpoint, out)]
    source, progress, target = roots
    if len(set(roots)) < 3:
        raise ArgumentError(f"versions_path, checkpoint and out must be three directories, got {roots}")
    if id_col in (SUBSCRIPTION, VERSION, BATCH):
        raise ArgumentError(f"id_col must not be {id_col!r}, which is a column of the result")
    pins = VersionPins(progress, source)
    read_frame(frame, checked_ref(pins.current()).schema, id_col, array_col, missing)

    def pairs(batch: DataFrame, ref: IndexRef) -> DataFrame:
        return match(batch, ref, id_col, array_col, missing)

    return start_stream(frame, pins, progress, target, pairs, trigger)


def start_stream(
    frame: DataFrame,
    pins: VersionPins,
    checkpoint: str,
    out: str,
    pairs: Callable[[DataFrame, IndexRef], DataFrame],
    trigger: Mapping[str, Any] | None = None,
    shown: Callable[[IndexRef, str], None] | None = None,
) -> StreamingQuery:
    """Start a query that writes what `pairs` makes of each batch and its version, exactly once.

    Parameters
    ----------
    frame : DataFrame
        A stream.
    pins : VersionPins
        The versions of its batches.
    checkpoint, out : str
        Absolute paths; see `match_stream`.
    pairs : callable
        Takes a batch and its version and gives the rows to be written.
    trigger : mapping, optional
        When batches run.
    shown : callable, optional
        Told the version and the directory of a batch when readers see it.
    """
    writer = frame.writeStream
    if trigger is not None:
        writer = _triggered(writer, trigger)
    join_output(checkpoint, out)
    remove_staged(out)

    def written(batch: DataFrame, batch_id: int) -> None:
        ref = pins.ref(batch_id)
        final = os.path.join(out, f"{BATCH}={batch_id}")
        if not os.path.isdir(final):
            keys = pins.key_type(batch_id)
            staged = stage(pairs(batch, ref), ref, keys, out)
            if keys == "string" and pins.key_type(batch_id - 1) is None:
                remove_empty(out)
            settle(staged, final)
            if shown is not None:
                shown(ref, final)

    return writer.foreachBatch(written).option("checkpointLocation", f"file://{checkpoint}").start()


def remove_staged(out: str) -> None:
    """Remove what batches that were interrupted have written."""
    shutil.rmtree(os.path.join(out, _STAGING), ignore_errors=True)


def remove_empty(out: str) -> None:
    """Remove the files of batches before the first keys: without rows, and of a type keys do not have."""
    import pyarrow.parquet as pq

    for path in Path(out).glob(f"{BATCH}=*/*.parquet"):
        if pq.read_metadata(path).num_rows == 0:
            path.unlink()


def stage(pairs: DataFrame, ref: IndexRef, keys: str | None, out: str) -> str:
    """Write the pairs of a batch to a directory that no reader looks at, and return it."""
    from pyspark.sql import functions

    staged = os.path.join(out, _STAGING, uuid.uuid4().hex)
    rows = pairs.withColumn(VERSION, functions.lit(ref.version).cast("bigint"))
    if keys == "string":
        rows = rows.withColumn(SUBSCRIPTION, functions.col(SUBSCRIPTION).cast("string"))
    rows.write.parquet(f"file://{staged}")
    return staged


def settle(staged: str, final: str) -> None:
    """Show a batch to readers, whole."""
    try:
        os.rename(staged, final)
    except OSError as error:
        raise file_access_error(error, final) from None


def _checked_stream(events: DataFrame) -> DataFrame:
    if not getattr(events, "isStreaming", False):
        kind = "a DataFrame that is no stream" if hasattr(events, "mapInArrow") else type(events).__name__
        raise ArgumentTypeError(f"events must be a streaming DataFrame, got {kind}; match takes others")
    return events


def _triggered(writer: Any, trigger: Mapping[str, Any]) -> Any:
    try:
        return writer.trigger(**trigger)
    except Exception as error:  # noqa: BLE001 - Spark and Java have many ways to refuse a trigger
        raise ArgumentError(f"trigger: Spark does not take {trigger!r}: {error}") from None
