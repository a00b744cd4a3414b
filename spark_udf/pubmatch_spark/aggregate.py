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

import datetime
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from pubmatch.errors import ArgumentError, ArgumentTypeError, SchemaError
from pubmatch_spark.calculations import (
    carried_by,
    checked_calculations,
    default_calculations,
    length_us,
)
from pubmatch_spark.event_frame import column_type, mapped_in_arrow, named, read_frame
from pubmatch_spark.exact_sums import DIGITS, integer_mean, integer_sum
from pubmatch_spark.match import SUBSCRIPTION, key_type
from pubmatch_spark.partial_sums import Part, partial_sums
from pubmatch_spark.publish import checked_ref

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType

    from pubmatch.keys import Key
    from pubmatch_spark.calculations import Calculation
    from pubmatch_spark.partial_sums import PartialSums
    from pubmatch_spark.publish import IndexRef

__all__ = ["aggregate", "dependent"]

WINDOW = "window"
_TIME, _EVENTS = "_pubmatch_time", "_pubmatch_events"
_LENGTH = "pubmatch.window_us"
"""In the metadata of the column of windows: how long they are."""
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
    chosen = carried_by(ref, checked_calculations(wanted, (SUBSCRIPTION, WINDOW)))
    rows = _rows(events, ref, time_col, chosen, missing)
    sums = partial_sums(ref, time_col, step, chosen, marks=watermark is not None and events.isStreaming)

    def summed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (part for batch in batches for part in sums.of_batch(batch))

    partial = mapped_in_arrow(rows, summed, _partial_type(rows, ref, sums))
    if watermark is not None:
        partial = partial.withWatermark(_TIME, f"{length_us(watermark, 'watermark')} microseconds")
        # Names the time, or Spark would move it before the watermark and never see the marks.
        partial = partial.where(functions.col(SUBSCRIPTION).isNotNull() | functions.col(_TIME).isNull())
    windows = functions.window(_TIME, f"{length} microseconds", f"{step} microseconds")
    merged = [functions.sum(_EVENTS).alias(_EVENTS)]
    merge = {"count": functions.sum, "sum": functions.sum, "min": functions.min, "max": functions.max}
    for place, part in enumerate(sums.parts):
        merged.append(merge[part.kind](f"part{place}").alias(f"part{place}"))
    grouped = partial.groupBy(SUBSCRIPTION, windows.alias(WINDOW)).agg(*merged)
    results = [_result(one, sums.parts, grouped).alias(name) for name, one in chosen.items()]
    told = {**grouped.schema[WINDOW].metadata, _LENGTH: length}  # the watermark is told there too
    return grouped.select(SUBSCRIPTION, functions.col(WINDOW).alias(WINDOW, metadata=told), *results)


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
        That is checked where a result tells it: one that was written and read without Spark's metadata does
        not, and has no window in common with windows of other lengths.

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
    _check_lengths(inputs)
    parts = [frame.select(WINDOW, *_values(frame, inputs)) for frame in frames]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.union(part)
    merged = whole.groupBy(WINDOW).agg(*(functions.max(named(title)).alias(title) for title in inputs))
    complete = merged.where(reduce(and_, (named(title).isNotNull() for title in inputs)))
    try:
        return complete.select(WINDOW, *map(named, inputs), functions.expr(expression).alias(name))
    except (AnalysisException, ParseException) as error:
        told = next((line for line in str(error).splitlines() if line.strip()), "")
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
    kind = column_type(events, time_col, "time_col").simpleString()
    if kind != "timestamp":
        raise SchemaError(f"time_col: column {time_col!r} is {kind}, expected timestamp")
    frame = read_frame(events, ref.schema, time_col, missing=missing)
    if frame.array_col is not None:
        raise SchemaError(f"column {frame.array_col!r}: aggregate needs one column for each attribute")
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
    """The type of what executors send: key, time, number of events, and the parts."""
    from pyspark.sql.types import (
        DecimalType,
        DoubleType,
        LongType,
        StructField,
        StructType,
        TimestampType,
    )

    fields = [
        StructField(SUBSCRIPTION, key_type(ref)),
        StructField(_TIME, TimestampType()),
        StructField(_EVENTS, LongType()),
    ]
    for place, part in enumerate(sums.parts):
        whole = rows.schema[part.column].dataType.simpleString() in _WHOLE
        kind: DataType = LongType() if whole or part.kind == "count" else DoubleType()
        if whole and part.kind == "sum":
            kind = DecimalType(DIGITS, 0)
        fields.append(StructField(f"part{place}", kind))
    return StructType(fields)


def _result(calculation: Calculation, parts: tuple[Part, ...], merged: DataFrame) -> Column:
    """A calculation from the merged parts; null for subscriptions that do not carry it."""
    from pyspark.sql import functions

    result = functions.col(_EVENTS)
    if calculation.column is not None:
        result = _of_column(calculation.kind, calculation.column, parts, merged)
    if calculation.of is None:
        return result
    return functions.when(functions.col(SUBSCRIPTION).isin(list(calculation.of)), result)


def _of_column(kind: str, column: str, parts: tuple[Part, ...], merged: DataFrame) -> Column:
    from pyspark.sql import functions

    def at(part: str) -> str:
        return f"part{parts.index(Part(column, part))}"

    if kind not in ("sum", "mean"):
        return functions.col(at(kind))
    whole = merged.schema[at("sum")].dataType.typeName() == "decimal"
    if kind == "sum":
        return integer_sum(at("sum"), column, SUBSCRIPTION) if whole else functions.col(at("sum"))
    if whole:
        return integer_mean(at("sum"), at("count"))
    number = functions.col(at("count"))
    return functions.when(number > 0, functions.col(at("sum")) / number)


def _check_input(title: str, given: Any) -> None:
    if not isinstance(given, tuple) or len(given) != 3 or not hasattr(given[0], "groupBy"):
        raise ArgumentTypeError(f"input {title!r} must be (result of aggregate, key, column), got {given!r}")
    frame, _, column = given
    for needed in (SUBSCRIPTION, WINDOW, column):
        if needed not in frame.columns:
            raise ArgumentError(
                f"input {title!r}: there is no column {needed!r} among {', '.join(frame.columns)}"
            )


def _check_lengths(inputs: Mapping[str, tuple[DataFrame, Key, str]]) -> None:
    """Refuse windows of different lengths, of which none is the same."""
    first: tuple[str, int] | None = None
    for title, (frame, _, _) in inputs.items():
        length = frame.schema[WINDOW].metadata.get(_LENGTH)
        if length is None:
            continue
        first = first or (title, length)
        if length != first[1]:
            told = [str(datetime.timedelta(microseconds=one)) for one in (first[1], length)]
            raise ArgumentError(
                f"inputs need windows of the same length: {told[0]} in {first[0]!r}, {told[1]} in {title!r}"
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
