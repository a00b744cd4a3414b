"""`build_shards`: subscriptions that are too many for one executor, as one index per shard.

Three passes over the subscriptions, all of them in executors:

1. keys are compared, for no two subscriptions may have the same;
2. every filter is read, so that a bad one is told before anything is written, and subscriptions are counted;
3. every subscription is sent to its shard, and every shard is built and published where it arrived.

In between the driver plans the cuts on a sample. An executor that dies leaves at most a directory that no
manifest names; the task that replaces it writes another one.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pubmatch.arrays import checked_count
from pubmatch.errors import (
    ArgumentError,
    FilterError,
    PubmatchError,
    SchemaError,
    file_access_error,
)
from pubmatch.matcher import Matcher
from pubmatch_spark.event_frame import mapped_in_arrow, named
from pubmatch_spark.publish import checked_root, publish
from pubmatch_spark.routing import Routing, pieces_of, pieces_per_shard
from pubmatch_spark.shard_boxes import MAX_BOXES, coarse_labels, event_points, read_boxes, read_prepared
from pubmatch_spark.shard_manifest import Shard, ShardManifest
from pubmatch_spark.shard_order import WAYS, order_of
from pubmatch_spark.shard_plan import matches_by_shard, plan_cuts, typical_events, work_us
from pubmatch_spark.spark_errors import told_in_short
from pubmatch_spark.subscription_frame import KEY, read_subscription_frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, Row

    from pubmatch.encoding.labels import Labels
    from pubmatch.schema import Schema
    from pubmatch_spark.shard_boxes import Boxes
    from pubmatch_spark.shard_order import ShardOrder
    from pubmatch_spark.shard_plan import Cuts
    from pubmatch_spark.subscription_frame import SubscriptionFrame

__all__ = ["build_shards"]

MOST_SHARDS = 4096
_SAMPLED_SUBSCRIPTIONS = 20_000
_SAMPLED_EVENTS = 2_000
_HASH, _SHARD = "_pubmatch_hash", "_pubmatch_shard"


@dataclass(frozen=True, slots=True)
class _Plan:
    """What executors need to know to divide and describe subscriptions."""

    schema: Schema
    labels: dict[str, Labels]
    order: ShardOrder
    cuts: Cuts
    pieces: int
    events: NDArray[np.float64]
    matches: NDArray[np.float64]


def build_shards(
    subscriptions: DataFrame,
    path: str | os.PathLike[str],
    schema: Schema | None = None,
    shards: int = 8,
    by: str = "zorder",
    sample: Any = None,
) -> ShardManifest:
    """Divide subscriptions into shards of equal work and build an index for each, inside the executors.

    Parameters
    ----------
    subscriptions : DataFrame
        Columns as for `Matcher.subscribe_many`: `key`, and `filter` or bounds `<attribute>_min` and
        `<attribute>_max`.
    path : path-like
        A directory that is empty or not there yet, on a filesystem that driver and executors share.
    schema : Schema, optional
        The attributes; by default those that have bounds, all of them Numbers. Filters need a schema.
    shards : int
        How many, at most 4096. There are fewer if some would be empty.
    by : {"zorder", "clusters", "hash"}
        What is kept together: subscriptions for near values, those that constrain the same attributes,
        or nothing at all.
    sample : DataFrame, or events as for `Matcher.match`, optional
        Events like those to be matched, to estimate work with; by default the subscriptions' centres.

    Returns
    -------
    ShardManifest
        What `match_sharded` and `explain` take; `ShardManifest.load(path)` reads it again.

    Raises
    ------
    FilterError
        A filter is not understood; the message names its key.
    ArgumentError
        Two subscriptions have the same key, or `path` is in use, or a number is out of range.

    Examples
    --------
    >>> manifest = build_shards(subscriptions, "/shared/alerts", shards=16)  # doctest: +SKIP
    >>> pairs = match_sharded(events, manifest)  # doctest: +SKIP
    """
    count = checked_count("shards", shards, MOST_SHARDS)
    if by not in WAYS:
        raise ArgumentError(f"by must be one of {', '.join(map(repr, WAYS))}, got {by!r}")
    frame = read_subscription_frame(subscriptions, schema)
    root = checked_root(path)
    _check_free(root)
    total = _verified(frame)
    plan = _planned(frame, total, count, by, sample)
    existed = os.path.isdir(root)
    try:
        os.makedirs(root, exist_ok=True)
        manifest = _manifest(frame, plan, root, by, _built(frame, plan, root, count))
        manifest.save()
    except BaseException as error:
        _remove(root, keep=existed)
        if isinstance(error, OSError) and not isinstance(error, PubmatchError):
            raise file_access_error(error, root) from None
        raise
    return manifest


# --- on the driver ---


def _check_free(root: str) -> None:
    try:
        if os.path.lexists(root) and (not os.path.isdir(root) or os.listdir(root)):
            raise ArgumentError(f"path must be an empty directory or a new one; {root} is in use")
    except OSError as error:
        raise file_access_error(error, root) from None


def _remove(root: str, keep: bool) -> None:
    """Take away what was written; nothing else was in there."""
    with suppress(OSError):
        for name in os.listdir(root):
            shutil.rmtree(os.path.join(root, name), ignore_errors=True)
            with suppress(OSError):
                os.unlink(os.path.join(root, name))
        if not keep:
            os.rmdir(root)


def _verified(frame: SubscriptionFrame) -> int:
    """How many subscriptions there are, all of which can be read and have keys of their own."""
    from pyspark.sql import functions

    schema = frame.schema

    def refused(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pubmatch_spark.shard_build import refusals_of

        return refusals_of(batches, schema)

    again = frame.rows.groupBy(named(KEY)).agg(functions.count("*").alias("rows")).where("rows > 1").limit(1)
    for row in collected(again):
        raise ArgumentError(f"key {row[0]!r} has {row[1]} rows")
    rows = collected(mapped_in_arrow(frame.rows, refused, "rows long, kind string, error string"))
    for row in rows:
        if row.error is not None:
            kind = {"FilterError": FilterError, "SchemaError": SchemaError}.get(row.kind, ArgumentError)
            raise kind(row.error)
    return sum(row.rows for row in rows)


def _planned(frame: SubscriptionFrame, total: int, shards: int, by: str, sample: Any) -> _Plan:
    """Order and cuts, from a sample of the subscriptions and of events."""
    schema = frame.schema
    fraction = min(1.0, 1.2 * _SAMPLED_SUBSCRIPTIONS / max(total, 1))
    picked = _hashed(frame.rows if fraction == 1.0 else frame.rows.sample(fraction=fraction, seed=0))
    table = picked.limit(2 * _SAMPLED_SUBSCRIPTIONS).toArrow()
    hashes = _hashes(table)
    prepared, _ = read_prepared(table.drop_columns([_HASH]), schema)
    labels = coarse_labels(prepared.strings, schema)
    boxes = read_boxes(prepared, schema, labels)
    events = _sample_points(sample, schema, labels)
    if events is None:
        events = typical_events(boxes, _SAMPLED_EVENTS)
    order = order_of(by, *boxes.hulls(), events, shards)
    cuts = plan_cuts(order, boxes, hashes, events, shards, total)
    place = cuts.shards(order.codes(*boxes.hulls()), hashes)
    matches = matches_by_shard(boxes, place, events, shards) * (total / max(boxes.count, 1))
    return _Plan(schema, labels, order, cuts, pieces_per_shard(shards), events, matches)


def _sample_points(sample: Any, schema: Schema, labels: dict[str, Labels]) -> NDArray[np.float64] | None:
    """The sample events on the shared axes; None if there are none."""
    if sample is None:
        return None
    if hasattr(sample, "mapInArrow"):
        from pyspark.sql import functions

        known = [name for name in schema.names if name in sample.columns]
        if not known:
            raise SchemaError(f"sample has none of the attributes {', '.join(schema.names)}")
        mixed = sample.select(*map(named, known)).orderBy(functions.rand(0))
        sample = mixed.limit(_SAMPLED_EVENTS).toArrow()
    points = event_points(sample, schema, labels)
    chosen = np.random.default_rng(0).permutation(len(points))[:_SAMPLED_EVENTS]
    return points[chosen] if len(points) else None


def _built(frame: SubscriptionFrame, plan: _Plan, root: str, shards: int) -> list[Row]:
    """Send every subscription to its shard and build the shards; one row for each."""
    from pyspark.sql.types import IntegerType, StructField, StructType

    sent = frame.rows.sparkSession.sparkContext.broadcast(plan)

    def placed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pubmatch_spark.shard_build import place

        return (place(batch, sent.value) for batch in batches)

    def built(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pubmatch_spark.shard_build import build

        return build(batches, sent.value, root)

    schema = StructType([*frame.rows.schema.fields, StructField(_SHARD, IntegerType())])
    routed = mapped_in_arrow(_hashed(frame.rows), placed, schema).repartitionById(shards, named(_SHARD))
    columns = "shard int, directory string, digest string, rows long, boxes long, lower binary, upper binary"
    try:
        return sorted(collected(mapped_in_arrow(routed, built, columns)), key=lambda row: row.shard)
    finally:
        sent.destroy()


def _manifest(frame: SubscriptionFrame, plan: _Plan, root: str, by: str, rows: list[Row]) -> ShardManifest:
    """The manifest of the shards that were built; whatever failed tasks left behind is removed."""
    for name in set(os.listdir(root)) - {row.directory for row in rows}:
        shutil.rmtree(os.path.join(root, name), ignore_errors=True)
    dims = len(plan.schema)
    lower = [np.frombuffer(row.lower).reshape(-1, dims) for row in rows]
    upper = [np.frombuffer(row.upper).reshape(-1, dims) for row in rows]
    shard_of = np.repeat(np.arange(len(rows)), [len(part) for part in lower]).astype(np.int64)
    none = np.empty((0, dims))
    routing = Routing(
        plan.schema,
        plan.labels,
        np.concatenate([none, *lower]),
        np.concatenate([none, *upper]),
        shard_of,
        len(rows),
    )
    visits = np.bincount(routing.route_points(plan.events)[1], minlength=len(rows)).astype(np.float64)
    matches = plan.matches[[row.shard for row in rows]] if rows else np.empty(0)
    works = work_us(visits, np.array([row.boxes for row in rows], np.float64), matches)
    per_visit = matches / np.maximum(visits, 1.0)
    shards = tuple(
        Shard(row.directory, row.digest, row.rows, row.boxes, float(work), float(expected))
        for row, work, expected in zip(rows, works / max(works.sum(), 1e-9), per_visit, strict=True)
    )
    return ShardManifest(root, by, frame.key_type, plan.schema, shards, routing)


def collected(frame: DataFrame) -> list[Row]:
    """The rows of a DataFrame; what a worker raised is told in one line.

    Raises
    ------
    PubmatchError
        A task failed.
    """
    with told_in_short():
        return frame.collect()


def _hashed(rows: DataFrame) -> DataFrame:
    """The rows with a hash of their keys that does not depend on where it is computed."""
    from pyspark.sql import functions

    return rows.withColumn(_HASH, functions.xxhash64(named(KEY)))


# --- in executors ---


def refusals_of(batches: Iterable[pa.RecordBatch], schema: Schema) -> Iterator[pa.RecordBatch]:
    """For every batch the number of its rows and the first that cannot be taken."""
    import pyarrow as pa

    for batch in batches:
        kind = error = None
        try:
            _, refused = read_prepared(batch, schema)
            if refused:
                kind, error = type(refused[0].error).__name__, f"key {refused[0].key!r}: {refused[0].error}"
        except PubmatchError as problem:
            kind, error = type(problem).__name__, str(problem)
        yield pa.record_batch(
            {
                "rows": pa.array([batch.num_rows], pa.int64()),
                "kind": pa.array([kind], pa.string()),
                "error": pa.array([error], pa.string()),
            }
        )


def place(batch: pa.RecordBatch, plan: _Plan) -> pa.RecordBatch:
    """The batch with the shard of every subscription instead of its hash."""
    import pyarrow as pa

    rows = batch.drop_columns([_HASH])
    hulls = _boxes_of(rows, plan).hulls()
    shard = plan.cuts.shards(plan.order.codes(*hulls), _hashes(batch))
    return pa.RecordBatch.from_arrays(
        [*rows.columns, pa.array(shard, pa.int32())], names=[*rows.schema.names, _SHARD]
    )


def build(batches: Iterable[pa.RecordBatch], plan: _Plan, root: str) -> Iterator[pa.RecordBatch]:
    """Build and publish the shard whose subscriptions these are; or several, had Spark joined partitions."""
    import pyarrow as pa

    parts = list(batches)
    if not parts:
        return
    table = pa.Table.from_batches(parts)
    shards = table.column(_SHARD).to_numpy()
    for shard in np.unique(shards).tolist():
        rows = table.filter(pa.array(shards == shard)).drop_columns([_SHARD])
        yield _build_one(shard, rows, plan, root)


def _build_one(shard: int, rows: pa.Table, plan: _Plan, root: str) -> pa.RecordBatch:
    import uuid

    import pyarrow as pa

    matcher = Matcher(plan.schema, MAX_BOXES)
    matcher.subscribe_many(rows)
    boxes = _boxes_of(rows, plan)
    lower, upper = pieces_of(boxes, plan.order, plan.pieces)
    directory = f"shard-{shard:05d}-{uuid.uuid4().hex[:8]}"
    ref = publish(matcher, os.path.join(root, directory), 1)
    return pa.record_batch(
        {
            "shard": pa.array([shard], pa.int32()),
            "directory": pa.array([directory]),
            "digest": pa.array([ref.digest]),
            "rows": pa.array([rows.num_rows], pa.int64()),
            "boxes": pa.array([len(boxes.lower)], pa.int64()),
            "lower": pa.array([lower.tobytes()]),
            "upper": pa.array([upper.tobytes()]),
        }
    )


def _boxes_of(rows: Any, plan: _Plan) -> Boxes:
    prepared, refused = read_prepared(rows, plan.schema)
    if refused:  # not when it was verified: the DataFrame gives other rows each time it is read
        raise ArgumentError(f"subscriptions changed while shards were built: {refused[0].error}")
    return read_boxes(prepared, plan.schema, plan.labels)


def _hashes(table: Any) -> NDArray[np.uint64]:
    column = table.column(_HASH)
    values = column.to_numpy() if hasattr(column, "num_chunks") else column.to_numpy(zero_copy_only=False)
    hashes: NDArray[np.uint64] = values.astype(np.int64).view(np.uint64)
    return hashes
