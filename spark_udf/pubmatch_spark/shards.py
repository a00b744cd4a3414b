"""`match_sharded` and `explain`: events go only to the shards where they can match.

Events are routed where they are read, one row for each shard they can match in, then shuffled so that a task
has events of one shard, and matched there. A shard with much work has several tasks, each with a part of its
events: the index is mapped, so tasks on one machine share it, and a hot shard does not hold up the job.
Which part an event belongs to depends on its id alone, so that a task that is repeated gives the same rows.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pubmatch.errors import ArgumentError, ArgumentTypeError
from pubmatch_spark.event_frame import mapped_in_arrow, named, read_frame
from pubmatch_spark.match import SUBSCRIPTION
from pubmatch_spark.shard_build import build_shards, collected
from pubmatch_spark.shard_manifest import ShardManifest
from pubmatch_spark.shard_plan import work_us

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

    from pubmatch_spark.routing import Routing

__all__ = ["ShardReport", "build_shards", "explain", "match_sharded"]

_HASH, _PART = "_pubmatch_hash", "_pubmatch_part"
_TASKS_PER_CORE = 4


def match_sharded(
    events: DataFrame, manifest: ShardManifest | str | os.PathLike[str], id_col: str = "event_id"
) -> DataFrame:
    """Find the subscriptions of every event in a set of shards; the rows are those of `match`.

    Parameters
    ----------
    events : DataFrame
        Attributes are found by name, or in the one column of type array<double>.
    manifest : ShardManifest or path-like
        What `build_shards` returned, or where it wrote.
    id_col : str
        The column that names the events in the result.

    Returns
    -------
    DataFrame
        The columns `id_col` and `subscription`, one row for each event and subscription it satisfies.

    Raises
    ------
    SchemaError
        A column is not there or has the wrong type.
    FormatError
        A file of the set was changed, or (as `MissingFileError`) is gone.

    Examples
    --------
    >>> pairs = match_sharded(events, manifest)  # doctest: +SKIP
    """
    from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

    found = _checked(manifest)
    rows, id_type = _event_rows(events, found, id_col)
    if id_col == SUBSCRIPTION:
        raise ArgumentError(f"id_col must not be {SUBSCRIPTION!r}, the column of keys in the result")
    refs = found.refs()
    context = rows.sparkSession.sparkContext
    first = _first_parts(found, context.defaultParallelism)
    routing, starts = context.broadcast(found.routing), context.broadcast(first)
    known = context.broadcast(refs)

    def routed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pubmatch_spark.shards import route

        return (route(batch, routing.value, starts.value) for batch in batches)

    def probed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pubmatch_spark.match import pairs_of
        from pubmatch_spark.shards import by_shard

        for batch in batches:
            for shard, part in by_shard(batch, starts.value):
                yield from pairs_of(part, known.value[shard], id_col, None)

    kind = LongType() if found.key_type == "int64" else StringType()
    result = StructType([StructField(id_col, id_type), StructField(SUBSCRIPTION, kind)])
    sent = StructType([*rows.schema.fields, StructField(_PART, IntegerType())])
    parts = mapped_in_arrow(_hashed(rows, id_col), routed, sent)
    return mapped_in_arrow(parts.repartitionById(max(int(first[-1]), 1), named(_PART)), probed, result)


@dataclass(frozen=True, slots=True)
class ShardReport:
    """How events spread over shards.

    Attributes
    ----------
    events : int
        How many there were.
    fan_out : float
        How many shards an event is sent to, on average.
    balance : float
        The largest shard's estimated work over the mean; 1 is even.
    subscriptions, visits : tuple of int
        For each shard how many it has, and how many events are sent there.
    work : tuple of float
        For each shard its share of the estimated work.

    Examples
    --------
    >>> print(ShardReport(10, 1.5, 1.2, (3, 4), (9, 6), (0.6, 0.4)))
    10 events, fan-out 1.50 of 2 shards, balance 1.20
    shard  subscriptions  events   work
        0              3       9  60.0%
        1              4       6  40.0%
    """

    events: int
    fan_out: float
    balance: float
    subscriptions: tuple[int, ...]
    visits: tuple[int, ...]
    work: tuple[float, ...]

    def __str__(self) -> str:
        lines = [
            f"{self.events} events, fan-out {self.fan_out:.2f} of {len(self.visits)} shards, "
            f"balance {self.balance:.2f}",
            "shard  subscriptions  events   work",
        ]
        rows = zip(self.subscriptions, self.visits, self.work, strict=True)
        lines += [
            f"{shard:>5}  {held:>13}  {visits:>6}  {work:>5.1%}"
            for shard, (held, visits, work) in enumerate(rows)
        ]
        return "\n".join(lines)


def explain(events: DataFrame, manifest: ShardManifest | str | os.PathLike[str]) -> ShardReport:
    """Route events without matching them, and tell how they spread.

    Parameters
    ----------
    events : DataFrame
        As for `match_sharded`; an id column is not needed.
    manifest : ShardManifest or path-like
        What `build_shards` returned, or where it wrote.

    Examples
    --------
    >>> print(explain(events, manifest))  # doctest: +SKIP
    """
    from pyspark.sql import functions

    found = _checked(manifest)
    rows, _ = _event_rows(events, found, None)
    if rows.isStreaming:
        raise ArgumentTypeError("events must not be a stream: they are counted to the end")
    routing = rows.sparkSession.sparkContext.broadcast(found.routing)

    def counted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pubmatch_spark.shards import visits_of

        return (visits_of(batch, routing.value) for batch in batches)

    partial = mapped_in_arrow(rows, counted, "shard int, visits long")
    total = {row.shard: row.visits for row in collected(
        partial.groupBy("shard").agg(functions.sum("visits").alias("visits"))
    )}  # fmt: skip
    visits = np.array([total.get(shard, 0) for shard in range(len(found.shards))], np.float64)
    boxes = np.array([shard.boxes for shard in found.shards], np.float64)
    matches = visits * np.array([shard.matches_per_visit for shard in found.shards])
    work = work_us(visits, boxes, matches)
    count, whole = total.get(-1, 0), float(work.sum())
    return ShardReport(
        events=count,
        fan_out=float(visits.sum() / count) if count else 0.0,
        balance=float(work.max() / work.mean()) if whole else 1.0,
        subscriptions=tuple(shard.subscriptions for shard in found.shards),
        visits=tuple(int(number) for number in visits),
        work=tuple(float(share) for share in work / (whole or 1.0)),
    )


# --- on the driver ---


def _checked(manifest: ShardManifest | str | os.PathLike[str]) -> ShardManifest:
    return manifest if isinstance(manifest, ShardManifest) else ShardManifest.load(manifest)


def _event_rows(events: DataFrame, manifest: ShardManifest, id_col: str | None) -> tuple[DataFrame, DataType]:
    """One column per attribute, after the id if there is one; an array of all attributes is taken apart."""
    from pyspark.sql import functions

    schema = manifest.schema
    frame = read_frame(events, schema, id_col, advise=False)
    if frame.array_col is None:
        return frame.rows, frame.id_type
    array, dims = named(frame.array_col), len(schema)
    told = f"column {frame.array_col!r} must have {dims} values, got "
    whole = functions.when(
        functions.coalesce(functions.size(array), functions.lit(dims)).isin(dims, -1), array
    ).otherwise(functions.raise_error(functions.concat(functions.lit(told), functions.size(array))))
    values = [whole.getItem(place).alias(name) for place, name in enumerate(schema.names)]
    ids = [] if id_col is None else [named(id_col)]
    return frame.rows.select(*ids, *values), frame.id_type


def _first_parts(manifest: ShardManifest, cores: int) -> NDArray[np.int64]:
    """The first part of every shard, and the number of all parts: parts in proportion to the work."""
    shares = np.array([shard.work for shard in manifest.shards])
    wanted = np.ceil(shares * _TASKS_PER_CORE * max(cores, 1)).astype(np.int64)
    return np.concatenate([[0], np.cumsum(np.clip(wanted, 1, max(cores, 1)))]).astype(np.int64)


def _hashed(rows: DataFrame, id_col: str) -> DataFrame:
    from pyspark.sql import functions

    return rows.withColumn(_HASH, functions.xxhash64(named(id_col)))


# --- in executors ---


def route(batch: pa.RecordBatch, routing: Routing, first: NDArray[np.int64]) -> pa.RecordBatch:
    """Every event once for each shard it can match in, with the part of that shard."""
    import pyarrow as pa

    event, shard = routing.route(batch)
    place = batch.schema.get_field_index(_HASH)
    hashes = batch.column(place).to_numpy(zero_copy_only=False)[event]
    parts = first[shard] + hashes % np.diff(first)[shard]
    rows = batch.remove_column(place).take(pa.array(event))
    return pa.RecordBatch.from_arrays(
        [*rows.columns, pa.array(parts, pa.int32())], names=[*rows.schema.names, _PART]
    )


def by_shard(batch: pa.RecordBatch, first: NDArray[np.int64]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The events of a batch by shard; as a rule it has those of one."""
    place = batch.schema.get_field_index(_PART)
    parts = batch.column(place).to_numpy(zero_copy_only=False)
    shards = np.searchsorted(first, parts, side="right") - 1
    rows: Any = batch.remove_column(place)
    for shard in np.unique(shards).tolist():
        mine = np.flatnonzero(shards == shard)
        yield shard, rows if len(mine) == len(shards) else rows.take(mine)


def visits_of(batch: pa.RecordBatch, routing: Routing) -> pa.RecordBatch:
    """How many events of a batch go to each shard; under -1 how many there are."""
    import pyarrow as pa

    visits = np.bincount(routing.route(batch)[1], minlength=routing.shards)
    shards = np.arange(-1, len(visits))
    counts = np.concatenate([[batch.num_rows], visits]).astype(np.int64)
    return pa.record_batch({"shard": pa.array(shards, pa.int32()), "visits": pa.array(counts)})
