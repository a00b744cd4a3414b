"""`match` and `match_udf`: the native matcher inside executors.

`match` sends Arrow batches through `mapInArrow` and gives pairs (event id, subscription), the cheapest way
through Spark. Within a batch the shortest jobs come first, and their pairs leave the executor while longer
ones are still being matched; a Level tuner per worker process learns from batch to batch. `match_udf` is for
`withColumn`.

Both get Arrow arrays rather than pandas series: pandas would turn a nullable bigint into floats, which are
not exact, and take the time zone off timestamps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pubmatch.errors import ArgumentError, SchemaError
from pubmatch.schema import checked_schema
from pubmatch_spark.event_frame import mapped_in_arrow, read_frame
from pubmatch_spark.publish import checked_ref

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from pubmatch.schema import Schema
    from pubmatch_spark.publish import IndexRef

__all__ = ["SUBSCRIPTION", "key_type", "match", "match_udf", "pairs_of"]

SUBSCRIPTION = "subscription"
"""The column of keys in results."""

CHUNK = 1024
"""Most events whose pairs leave the executor together: one that matches 28,000 has 230 kB of integer keys."""


def match(
    events: DataFrame,
    ref: IndexRef,
    id_col: str = "event_id",
    array_col: str | None = None,
    missing: str = "error",
) -> DataFrame:
    """Find the subscriptions of every event, as `Matcher.match` does.

    Parameters
    ----------
    events : DataFrame
        Attributes are found by name; nulls are missing values, other columns are ignored. Batch or streaming.
    ref : IndexRef
        A published version; its files are checked before anything else happens.
    id_col : str
        The column that names the events in the result.
    array_col : str, optional
        A column of type array<double> that holds the attributes in schema order; by default the only column
        beside `id_col`, if it is one.
    missing : {"error", "absent"}
        Whether an attribute without a column is an error, or absent in every event.

    Returns
    -------
    DataFrame
        The columns `id_col` and `subscription`, one row for each event and subscription it satisfies. Keys
        are bigint if all keys of the matcher are integers, else strings.

    Raises
    ------
    SchemaError
        A column is not there or has the wrong type.
    FormatError
        A file of the version was changed, or (as `MissingFileError`) is gone.

    Examples
    --------
    >>> pairs = match(events, ref)  # doctest: +SKIP
    >>> pairs.groupBy("subscription").count().show()  # doctest: +SKIP
    """
    from pyspark.sql.types import StructField, StructType

    checked_ref(ref)
    frame = read_frame(events, ref.schema, id_col, array_col, missing)
    if id_col == SUBSCRIPTION:
        raise ArgumentError(f"id_col must not be {SUBSCRIPTION!r}, the column of keys in the result")
    result = StructType([StructField(id_col, frame.id_type), StructField(SUBSCRIPTION, key_type(ref))])
    array = frame.array_col

    def matched(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Imported where the function runs: the cache belongs to the worker's process.
        from pubmatch_spark.match import pairs_of

        for batch in batches:
            yield from pairs_of(batch, ref, id_col, array)

    return mapped_in_arrow(frame.rows, matched, result)


def match_udf(ref: IndexRef, schema: Schema | None = None) -> Callable[..., Column]:
    """A function of columns for `withColumn`: the keys of the subscriptions each row satisfies.

    Parameters
    ----------
    ref : IndexRef
        A published version; its files are checked now.
    schema : Schema, optional
        The schema the caller expects, an error if the version has another one.

    Returns
    -------
    callable
        Takes one column, or name of a column, for each attribute in schema order; gives an array of keys,
        empty where nothing matches.

    Raises
    ------
    SchemaError
        The version has another schema.
    FormatError
        A file of the version was changed, or (as `MissingFileError`) is gone.

    Examples
    --------
    >>> matched = match_udf(ref)  # doctest: +SKIP
    >>> events.withColumn("subscriptions", matched("price", "symbol"))  # doctest: +SKIP
    """
    import pyarrow as pa
    from pyspark.sql.pandas.functions import arrow_udf
    from pyspark.sql.types import ArrayType

    checked_ref(ref)
    if schema is not None and checked_schema(schema) != ref.schema:
        raise SchemaError(f"version {ref.version} of {ref.path} has {ref.schema}, expected was {schema}")
    names = ref.schema.names

    def keys(*columns: pa.Array) -> pa.Array:
        from pubmatch_spark.match import lists_of

        return lists_of(dict(zip(names, columns, strict=True)), ref)

    # Spark tells the kind of function by its annotations, and wants types rather than their names.
    keys.__annotations__ = {"columns": pa.Array, "return": pa.Array}
    make: Any = arrow_udf  # its overloads know fixed numbers of columns only
    function = make(keys, returnType=ArrayType(key_type(ref)))

    def matched(*columns: Column | str) -> Column:
        if len(columns) != len(names):
            told = ", ".join(names)
            raise ArgumentError(f"{len(columns)} columns given for {len(names)} attributes: {told}")
        result: Column = function(*columns)
        return result

    return matched


def key_type(ref: IndexRef) -> DataType:
    """Spark's type of the keys of a version."""
    from pyspark.sql.types import LongType, StringType

    return LongType() if ref.key_type == "int64" else StringType()


def pairs_of(
    batch: pa.RecordBatch, ref: IndexRef, id_col: str, array_col: str | None
) -> Iterator[pa.RecordBatch]:
    """The matches of a batch of events as pairs, those of the shortest jobs first; runs in executors."""
    import pyarrow as pa

    from pubmatch_spark.worker_cache import opened

    reader = opened(ref)
    ids = batch.column(batch.schema.get_field_index(id_col))
    events: Any = batch if array_col is None else _array_events(batch, array_col, ref.schema)
    for positions, result in reader.stream(events, chunk=CHUNK):
        found = result.to_arrow()
        if found.num_rows:
            rows = pa.array(positions[found.column("event").to_numpy()])
            yield pa.RecordBatch.from_arrays(
                [ids.take(rows), found.column("key").combine_chunks()], names=[id_col, SUBSCRIPTION]
            )


def lists_of(columns: dict[str, pa.Array], ref: IndexRef) -> pa.Array:
    """The keys of each event as an Arrow array of lists; runs in executors."""
    import numpy as np
    import pyarrow as pa

    from pubmatch_spark.worker_cache import opened

    result = opened(ref).match(columns)
    ends = np.cumsum(result.counts)
    if len(ends) and int(ends[-1]) > np.iinfo(np.int32).max:
        raise ArgumentError(
            f"{int(ends[-1])} matches in a batch of {len(ends)} events; "
            "lower spark.sql.execution.arrow.maxRecordsPerBatch"
        )
    keys = result.to_arrow().column("key").combine_chunks()
    return pa.ListArray.from_arrays(pa.array(np.concatenate([[0], ends]), pa.int32()), keys)


def _array_events(batch: pa.RecordBatch, array_col: str, schema: Schema) -> dict[str, Any]:
    """The attributes of a column of arrays; where an array is null, all are missing."""
    import numpy as np

    column = batch.column(batch.schema.get_field_index(array_col))
    lengths = np.diff(column.offsets.to_numpy())
    present = column.is_valid().to_numpy(zero_copy_only=False)
    wrong = present & (lengths != len(schema))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise SchemaError(
            f"column {array_col!r} has {int(lengths[row])} values at row {row} of a batch, "
            f"expected {len(schema)}"
        )
    points = np.full((len(column), len(schema)), np.nan)
    # Nulls have no values, whatever lies under them: flatten leaves them out.
    points[present] = column.flatten().to_numpy(zero_copy_only=False).reshape(-1, len(schema))
    return {name: points[:, place] for place, name in enumerate(schema.names)}
