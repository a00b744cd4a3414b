"""`aggregate`: filter → calculate → merge, the overlay's operators, over subscriptions and windows of time.

Filter and the first half of calculate happen in one pass inside the executors: events are matched, and of
each Arrow batch only one row per subscription and *pane* leaves, with number, sum, least and greatest. A
pane is a window, or what windows that slide over each other have in common. Spark merges these rows, first
on each executor, then after the shuffle; it never sees a pair of event and subscription.

A pane's row carries the time of its last event. That time lies in the same windows as all others of the pane,
so Spark's own windows and watermark can be used on it. In a stream each batch also sends the time of its last
event of all, matched or not, lest time stand still for subscriptions that match nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pubmatch.errors import ArgumentError, ArgumentTypeError, SchemaError
from pubmatch_spark.calculations import checked_calculations, default_calculations, length_us
from pubmatch_spark.event_frame import named, read_frame
from pubmatch_spark.match import SUBSCRIPTION, key_type
from pubmatch_spark.partial_sums import partial_sums
from pubmatch_spark.publish import checked_ref

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from pubmatch.keys import Key
    from pubmatch_spark.calculations import Calculation
    from pubmatch_spark.partial_sums import PartialSums
    from pubmatch_spark.publish import IndexRef

__all__ = ["aggregate", "dependent"]

WINDOW = "window"
_TIME, _EVENTS = "_pubmatch_time", "_pubmatch_events"
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_FLOATING = ("float", "double")


def aggregate(
    events: DataFrame,
    ref: IndexRef,
    window: str | datetime.timedelta,
    time_col: str,
    calculations: Mapping[str, Calculation] | None = None,
    slide: str | datetime.timedelta | None = None,
    watermark: str | datetime.timedelta | None = None,
    missing: str = "error",
) -> DataFrame:
    """Calculate over the events of every subscription, window by window.

    Parameters
    ----------
    events : DataFrame
        Batch or streaming; attributes are found by name.
    ref : IndexRef
        A published version.
    window : str or timedelta
        How long a window is: "10 minutes". Windows begin at whole multiples since 1970, UTC.
    time_col : str
        The column of type timestamp that tells when an event happened; events without are left out.
    calculations : mapping, optional
        Names of result columns and what is in them; by default the number of events, and sum, mean, min and
        max of every numeric attribute. Subscriptions that carry none of them have no rows.
    slide : str or timedelta, optional
        How far apart windows begin, a whole part of `window`; by default they follow each other.
    watermark : str or timedelta, optional
        How late an event may be. In a stream a window is complete, and written in append mode, once an event
        came that is so much later than its end; events for it that come after that are dropped.
    missing : {"error", "absent"}
        Whether an attribute without a column is an error, or absent in every event.

    Returns
    -------
    DataFrame
        The columns `subscription`, `window` (start and end) and one for each calculation; one row for each
        subscription and window in which it matched an event.

    Examples
    --------
    >>> hourly = aggregate(events, ref, window="1 hour", time_col="at")  # doctest: +SKIP
    """
    from pyspark.sql import functions

    checked_ref(ref)
    length, step = _lengths(window, slide)
    wanted = default_calculations(ref.schema) if calculations is None else calculations
    chosen = checked_calculations(wanted, (SUBSCRIPTION, WINDOW))
    rows = _rows(events, ref, time_col, chosen, missing)
    sums = partial_sums(ref, time_col, step, chosen, marks=watermark is not None and events.isStreaming)

    def summed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (part for batch in batches for part in sums.of_batch(batch))

    partial = rows.mapInArrow(summed, _partial_type(rows, ref, sums))
    if watermark is not None:
        partial = partial.withWatermark(_TIME, f"{length_us(watermark, 'watermark')} microseconds")
        # Names the time, or Spark would move it before the watermark and never see the marks.
        partial = partial.where(functions.col(SUBSCRIPTION).isNotNull() | functions.col(_TIME).isNull())
    windows = functions.window(_TIME, f"{length} microseconds", f"{step} microseconds")
    merged = [functions.sum(_EVENTS).alias(_EVENTS)]
    for place in range(len(sums.columns)):
        merged += [
            functions.sum(f"n{place}").alias(f"n{place}"),
            functions.sum(f"sum{place}").alias(f"sum{place}"),
            functions.min(f"min{place}").alias(f"min{place}"),
            functions.max(f"max{place}").alias(f"max{place}"),
        ]
    grouped = partial.groupBy(SUBSCRIPTION, windows.alias(WINDOW)).agg(*merged)
    results = [_result(calculation, sums.columns).alias(name) for name, calculation in chosen.items()]
    return grouped.select(SUBSCRIPTION, WINDOW, *results)


def dependent(expression: str, name: str = "value", **inputs: tuple[DataFrame, Key, str]) -> DataFrame:
    """A calculation over the results of others, window by window.

    Parameters
    ----------
    expression : str
        What to calculate, in Spark's SQL, from the names of the inputs: "rain_a + rain_b - level".
    name : str
        The column of the result.
    **inputs
        For each name a result of `aggregate`, the key of one of its subscriptions and one of its columns.
        Results may come from different events and versions, but need windows of the same length.

    Returns
    -------
    DataFrame
        The columns `window`, the inputs, and `name`; a row for each window in which every input has a value.

    Examples
    --------
    >>> alarm = dependent("a > 20 AND b > 20", "alarm",
    ...                   a=(rain, "area-a", "mean_mm"), b=(rain, "area-b", "mean_mm"))  # doctest: +SKIP
    """
    from pyspark.errors import AnalysisException, ParseException
    from pyspark.sql import functions

    if len(inputs) < 2:
        raise ArgumentError(f"a dependent calculation needs at least two inputs, got {len(inputs)}")
    if name in (WINDOW, *inputs):
        raise ArgumentError(f"name must not be {name!r}, a column the result has already")
    frames: list[DataFrame] = []
    for title, given in inputs.items():
        _check_input(title, given)
        if not any(given[0] is known for known in frames):
            frames.append(given[0])
    parts = [frame.select(WINDOW, *_values(frame, inputs)) for frame in frames]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.union(part)
    merged = whole.groupBy(WINDOW).agg(*(functions.max(title).alias(title) for title in inputs))
    complete = merged.where(" AND ".join(f"`{title}` IS NOT NULL" for title in inputs))
    try:
        return complete.select(WINDOW, *map(named, inputs), functions.expr(expression).alias(name))
    except (AnalysisException, ParseException) as error:
        told = str(error).splitlines()[0]
        raise ArgumentError(f"expression {expression!r} cannot be calculated: {told}") from None


def _lengths(window: Any, slide: Any) -> tuple[int, int]:
    """Length and distance of windows in microseconds."""
    length = length_us(window, "window")
    if length == 0:
        raise ArgumentError(f"window must be longer than nothing, got {window!r}")
    step = length if slide is None else length_us(slide, "slide")
    if step == 0 or length % step:
        raise ArgumentError(f"slide must be a whole part of the window {window!r}, got {slide!r}")
    return length, step


def _rows(
    events: DataFrame, ref: IndexRef, time_col: str, calculations: dict[str, Calculation], missing: str
) -> DataFrame:
    """Time, attributes and the other columns that are calculated with."""
    frame = read_frame(events, ref.schema, time_col, missing=missing)
    if frame.array_col is not None:
        raise SchemaError(f"column {frame.array_col!r}: aggregate needs one column for each attribute")
    if frame.id_type.simpleString() != "timestamp":
        raise SchemaError(
            f"time_col: column {time_col!r} is {frame.id_type.simpleString()}, expected timestamp"
        )
    types = {field.name: field.dataType.simpleString() for field in events.schema.fields}
    names = list(frame.rows.columns)
    for name, calculation in calculations.items():
        column = calculation.column
        if column is None:
            continue
        if events.columns.count(column) != 1:
            raise SchemaError(
                f"calculation {name!r}: events have {events.columns.count(column)} columns {column!r}"
            )
        if types[column] not in (*_WHOLE, *_FLOATING):
            raise SchemaError(f"calculation {name!r}: column {column!r} is {types[column]}, expected numbers")
        if column not in names:
            names.append(column)
    return events.select(*map(named, names))


def _partial_type(rows: DataFrame, ref: IndexRef, sums: PartialSums) -> StructType:
    """The type of what executors send: key, time, number of events, and four numbers per column."""
    from pyspark.sql.types import DoubleType, LongType, StructField, StructType, TimestampType

    fields = [
        StructField(SUBSCRIPTION, key_type(ref)),
        StructField(_TIME, TimestampType()),
        StructField(_EVENTS, LongType()),
    ]
    for place, column in enumerate(sums.columns):
        number = LongType() if rows.schema[column].dataType.simpleString() in _WHOLE else DoubleType()
        fields.append(StructField(f"n{place}", LongType()))
        fields += [StructField(f"{kind}{place}", number) for kind in ("sum", "min", "max")]
    return StructType(fields)


def _result(calculation: Calculation, columns: tuple[str, ...]) -> Column:
    """A calculation from the merged numbers; null for subscriptions that do not carry it."""
    from pyspark.sql import functions

    if calculation.column is None:
        result = functions.col(_EVENTS)
    else:
        place = columns.index(calculation.column)
        number = functions.col(f"n{place}")
        if calculation.kind == "count":
            result = number
        elif calculation.kind == "mean":
            total = functions.col(f"sum{place}").cast("double")
            result = functions.when(number > 0, total / number)
        else:
            result = functions.col(f"{calculation.kind}{place}")
    if calculation.of is None:
        return result
    return functions.when(functions.col(SUBSCRIPTION).isin(list(calculation.of)), result)


def _check_input(title: str, given: Any) -> None:
    if not isinstance(given, tuple) or len(given) != 3 or not hasattr(given[0], "groupBy"):
        raise ArgumentTypeError(f"input {title!r} must be (result of aggregate, key, column), got {given!r}")
    frame, _, column = given
    for needed in (SUBSCRIPTION, WINDOW, column):
        if needed not in frame.columns:
            raise ArgumentError(
                f"input {title!r}: there is no column {needed!r} among {', '.join(frame.columns)}"
            )


def _values(frame: DataFrame, inputs: dict[str, tuple[DataFrame, Key, str]]) -> list[Column]:
    """For each input its values in `frame`, null in rows of other subscriptions and for other frames."""
    from pyspark.sql import functions

    values = []
    for title, (origin, key, column) in inputs.items():
        value = functions.lit(None)
        if origin is frame:
            value = functions.when(functions.col(SUBSCRIPTION) == functions.lit(key), named(column))
        values.append(value.cast("double").alias(title))
    return values
