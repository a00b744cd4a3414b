"""Matched aggregates: what a plain loop over all pairs finds, in batch and in a stream, late events too."""

from __future__ import annotations

import datetime
import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

import pubmatch as pm
import pubmatch_spark as ps
from pubmatch_spark.partial_sums import partial_sums

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from pubmatch_spark import IndexRef

SCHEMA = pm.Schema(area=pm.Category(), mm=pm.Number())
TYPE = "at timestamp, area string, mm double, gauge int"
START = datetime.datetime(2024, 3, 10, 6, 0, tzinfo=datetime.UTC)  # New York's clocks change that day
MINUTE_US = 60_000_000
RAIN = {
    "n": ps.Calculation("count"),
    "with_mm": ps.Calculation("count", "mm"),
    "total": ps.Calculation("sum", "mm"),
    "average": ps.Calculation("mean", "mm"),
    "least": ps.Calculation("min", "mm"),
    "most": ps.Calculation("max", "mm"),
    "gauges": ps.Calculation("sum", "gauge"),
}


@pytest.fixture(scope="module")
def ref(tmp_path_factory: pytest.TempPathFactory) -> IndexRef:
    matcher = pm.Matcher(SCHEMA)
    matcher.subscribe("all-a", "area = 'a'")
    matcher.subscribe("all-b", "area = 'b'")
    matcher.subscribe("heavy", "mm > 20 OR mm BETWEEN 5 AND 6")
    matcher.subscribe("unknown", "mm IS NULL")
    matcher.subscribe("never", "area = 'z'")
    return ps.publish(matcher, tmp_path_factory.mktemp("rain"), version=1)


def readings(count: int, seed: int) -> pa.Table:
    """Readings over three hours; some lack a time, an area or an amount, or have NaN for it."""
    random = np.random.default_rng(seed)
    seconds = random.integers(0, 3 * 3600, count)
    at = [START + datetime.timedelta(seconds=int(one)) for one in seconds]
    amounts = np.where(random.random(count) < 0.05, np.nan, random.integers(0, 240, count) / 8)
    return pa.table(
        {
            "at": pa.array(at, pa.timestamp("us", "UTC"), mask=random.random(count) < 0.05),
            "area": pa.array(random.choice(["a", "b", "c"], count), mask=random.random(count) < 0.1),
            "mm": pa.array(amounts, mask=random.random(count) < 0.1),
            "gauge": pa.array(random.integers(-5, 5, count), pa.int32(), mask=random.random(count) < 0.1),
        }
    )


def looped(table: pa.Table, ref: IndexRef, window_us: int, slide_us: int) -> dict[tuple[Any, ...], Any]:
    """The same by a plain loop over the pairs."""
    from pubmatch.published import PublishedMatcher

    pairs = PublishedMatcher.open(ref.directory).match(table).to_arrow().to_pylist()
    rows = table.to_pylist()
    held: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for pair in pairs:
        row = rows[pair["event"]]
        if row["at"] is None:
            continue
        micros = (row["at"] - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(
            microseconds=1
        )
        first = micros // slide_us * slide_us
        for start in range(first, micros - window_us, -slide_us):
            held[pair["key"], start, start + window_us].append(row)
    return {place: _calculated(members) for place, members in held.items()}


def _calculated(members: list[dict[str, Any]]) -> tuple[Any, ...]:
    amounts = [row["mm"] for row in members if row["mm"] is not None and not math.isnan(row["mm"])]
    gauges = [row["gauge"] for row in members if row["gauge"] is not None]
    total = sum(amounts) if amounts else None
    mean = None if total is None else total / len(amounts)
    ends = (min(amounts), max(amounts)) if amounts else (None, None)
    return (len(members), len(amounts), total, mean, *ends, sum(gauges) if gauges else None)


def found(frame: DataFrame) -> dict[tuple[Any, ...], Any]:
    """Results by subscription and window, in microseconds since 1970 whatever the session's time zone."""
    from pyspark.sql import functions

    start, end = (functions.unix_micros(f"window.{side}") for side in ("start", "end"))
    names = [name for name in frame.columns if name not in ("subscription", "window")]
    rows = frame.select("subscription", start, end, *names).collect()
    result = {tuple(row[:3]): tuple(row[3:]) for row in rows}
    assert len(result) == len(rows)
    return result


@pytest.mark.parametrize(
    ("window", "slide", "minutes"), [("30 minutes", None, (30, 30)), ("1 hour", "15 minutes", (60, 15))]
)
def test_the_same_as_a_loop(
    spark: SparkSession, ref: IndexRef, window: str, slide: str | None, minutes: tuple[int, int]
) -> None:
    table = readings(1500, seed=1)
    frame = spark.createDataFrame(table, TYPE).repartition(3)
    result = ps.aggregate(frame, ref, window, "at", RAIN, slide=slide)
    assert result.columns == ["subscription", "window", *RAIN]
    wanted = looped(table, ref, minutes[0] * MINUTE_US, minutes[1] * MINUTE_US)
    assert found(result) == wanted
    assert {place[0] for place in wanted} == {"all-a", "all-b", "heavy", "unknown"}


def test_what_there_is_by_default(spark: SparkSession, ref: IndexRef) -> None:
    frame = spark.createDataFrame(readings(200, seed=2), TYPE)
    result = ps.aggregate(frame, ref, window=datetime.timedelta(hours=1), time_col="at")
    assert result.columns == ["subscription", "window", "count", "sum_mm", "mean_mm", "min_mm", "max_mm"]
    wanted = looped(readings(200, seed=2), ref, 60 * MINUTE_US, 60 * MINUTE_US)
    assert found(result.select("subscription", "window", "count", "sum_mm")) == {
        place: (row[0], row[2]) for place, row in wanted.items()
    }


def test_subscriptions_carry_their_own_calculations(spark: SparkSession, ref: IndexRef) -> None:
    frame = spark.createDataFrame(readings(400, seed=3), TYPE)
    own = {
        "total": ps.Calculation("sum", "mm", of=["all-a"]),
        "n": ps.Calculation("count", of=["all-a", "heavy"]),
    }
    result = found(ps.aggregate(frame, ref, "1 hour", "at", own))
    wanted = looped(readings(400, seed=3), ref, 60 * MINUTE_US, 60 * MINUTE_US)
    assert result == {
        place: (row[2] if place[0] == "all-a" else None, row[0])
        for place, row in wanted.items()
        if place[0] in ("all-a", "heavy")
    }


def test_a_calculation_over_the_results_of_two_others(spark: SparkSession, ref: IndexRef) -> None:
    frame = spark.createDataFrame(readings(300, seed=4), TYPE)
    means = ps.aggregate(frame, ref, "1 hour", "at", {"mean": ps.Calculation("mean", "mm")})
    gauges = ps.aggregate(frame, ref, "1 hour", "at", {"gauges": ps.Calculation("max", "gauge")})
    wanted = looped(readings(300, seed=4), ref, 60 * MINUTE_US, 60 * MINUTE_US)
    hours = sorted(
        {place[1] for place in wanted if ("all-a", *place[1:]) in wanted and ("all-b", *place[1:]) in wanted}
    )
    mean = {(place[0], place[1]): row[3] for place, row in wanted.items()}
    both = ps.dependent("a - b", "rise", a=(means, "all-a", "mean"), b=(means, "all-b", "mean"))
    assert both.columns == ["window", "a", "b", "rise"]
    rows = both.selectExpr("unix_micros(window.start) AS start", "rise").collect()
    assert {row.start: row.rise for row in rows} == pytest.approx(
        {hour: mean["all-a", hour] - mean["all-b", hour] for hour in hours}
    )
    three = ps.dependent(
        "(a + b) / 2 + g",
        a=(means, "all-a", "mean"),
        b=(means, "all-b", "mean"),
        g=(gauges, "heavy", "gauges"),
    )
    assert three.count() == len(hours) == 3
    nothing = ps.dependent("a + b", a=(means, "all-a", "mean"), b=(means, "never", "mean"))
    assert nothing.count() == 0


def test_only_sums_leave_the_executor(ref: IndexRef) -> None:
    """One row per subscription and pane of a batch, however many pairs there are."""
    table = readings(2000, seed=5)
    sums = partial_sums(ref, "at", 60 * MINUTE_US, RAIN, marks=True)
    (batch,) = table.to_batches()
    summed, mark = sums.of_batch(batch)
    assert summed.num_rows == 4 * 3
    assert mark.num_rows == 1
    assert mark.column("subscription").null_count == 1
    assert mark.schema == summed.schema
    assert mark.column("_pubmatch_time")[0].as_py() == max(filter(None, table.column("at").to_pylist()))


def of_integers(spark: SparkSession, ref: IndexRef, values: list[int], *kinds: str) -> DataFrame:
    """What is calculated over integers, of which each comes to an executor in a batch of its own."""
    columns = {
        "at": pa.array([START] * len(values), pa.timestamp("us", "UTC")),
        "area": ["a"] * len(values),
        "mm": [1.0] * len(values),
        "big": pa.array(values, pa.int64()),
    }
    frame = spark.createDataFrame(pa.table(columns), "at timestamp, area string, mm double, big long")
    own = {kind: ps.Calculation(kind, "big", of=["all-a"]) for kind in kinds}
    return ps.aggregate(frame.repartition(2), ref, "1 hour", "at", own)


def test_large_integers_are_exact(spark: SparkSession, ref: IndexRef) -> None:
    random = np.random.default_rng(6)
    cases = [
        [2**62, -(2**62)],
        [2**63 - 1] * 3,
        [-(2**63)] * 5,
        [1_700_000_000_000_000_000 + place for place in range(6)],
        [2**53 + 1, 0, 2**53, 1],  # half way between two doubles, and just above it
        [2**53 + 1, 0, 2**53, 2],
        [1, 0, 0],
        *(random.integers(-(2**63), 2**63 - 1, size).tolist() for size in range(1, 40)),
        *((2**53 - 5 + random.integers(0, 9, size)).tolist() for size in range(1, 40)),
    ]
    parts = [of_integers(spark, ref, values, "mean", "min", "max", "count") for values in cases]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.unionAll(part)
    rows = [tuple(row[2:]) for row in whole.collect()]
    # The quotient of two ints is rounded once.
    assert rows == [(sum(one) / len(one), min(one), max(one), len(one)) for one in cases]


def test_only_sums_must_fit(spark: SparkSession, ref: IndexRef) -> None:
    for values in ([2**62, -(2**62)], [2**62, 2**62 - 1], [2**62, 2**62, -1], [-(2**62)] * 2):
        (row,) = of_integers(spark, ref, values, "sum").collect()
        assert row["sum"] == sum(values)
    for values in ([2**62] * 2, [-(2**62), -(2**62), -1]):
        told = f"column 'big': the sum {sum(values)} for subscription all-a does not fit 64 bits"
        with pytest.raises(PySparkException, match=told):
            of_integers(spark, ref, values, "sum").collect()
    (row,) = of_integers(spark, ref, [2**62] * 2, "min").collect()
    assert row["min"] == 2**62


def test_names_of_any_characters(spark: SparkSession, tmp_path: Path) -> None:
    matcher = pm.Matcher(pm.Schema(**{"a.b": pm.Number(), "odd `name`.x": pm.Integer()}))
    matcher.subscribe("low", pm.attr("a.b") < 2)
    odd = ps.publish(matcher, tmp_path, version=1)
    columns = "`at.time` timestamp, `a.b` double, `odd ``name``.x` long"
    frame = spark.createDataFrame([(START, 1.0, 3), (START, 1.5, None), (START, 2.0, 5)], columns)
    own = {"sum.x": ps.Calculation("sum", "odd `name`.x"), "mean.b": ps.Calculation("mean", "a.b")}
    result = ps.aggregate(frame, odd, "1 hour", "at.time", own)
    assert list(found(result.toDF("subscription", "window", "x", "b")).values()) == [(3, 1.25)]
    assert result.columns[2:] == ["sum.x", "mean.b"]
    inputs = {"in.x": (result, "low", "sum.x"), "in`b": (result, "low", "mean.b")}
    (row,) = ps.dependent("`in.x` + `in``b`", "both", **inputs).collect()
    assert row["both"] == 4.25


def test_a_version_without_subscriptions(spark: SparkSession, tmp_path: Path) -> None:
    empty = ps.publish(pm.Matcher(SCHEMA), tmp_path, version=1)
    frame = spark.createDataFrame(readings(20, seed=2), TYPE)
    own = {"n": ps.Calculation("count", of=["all-a"])}
    assert ps.aggregate(frame, empty, "1 hour", "at", own).collect() == []


def minutes(*numbers: float) -> list[datetime.datetime]:
    return [START + datetime.timedelta(minutes=number) for number in numbers]


def test_a_stream_with_late_events(spark: SparkSession, ref: IndexRef, tmp_path: Path) -> None:
    """Windows of ten minutes, five minutes late at most; time also goes on with events nobody wants."""
    source = tmp_path / "readings"
    source.mkdir()
    batches = [
        (minutes(1, 9, 12), ["a", "b", "a"]),
        (minutes(8), ["a"]),  # late, but the watermark is at minute 7
        (minutes(31), ["nobody"]),  # completes all windows up to minute 26
        (minutes(9, 19.5), ["a", "b"]),  # too late
        (minutes(33, 38), ["a", "b"]),
        (minutes(99), ["nobody"]),
    ]
    frame = spark.readStream.schema(TYPE).option("maxFilesPerTrigger", 1).parquet(str(source))
    own = {"n": ps.Calculation("count"), "total": ps.Calculation("sum", "mm")}
    result = ps.aggregate(frame, ref, "10 minutes", "at", own, watermark="5 minutes")
    rise = ps.dependent("a - b", "rise", a=(result, "all-a", "total"), b=(result, "all-b", "total"))
    queries = [
        made.writeStream.outputMode("append")
        .format("memory")
        .queryName(name)
        .option("checkpointLocation", str(tmp_path / name))
        .start()
        for name, made in (("sums", result), ("rises", rise))
    ]
    try:
        for number, (at, areas) in enumerate(batches):
            columns = {
                "at": pa.array(at, pa.timestamp("us", "UTC")),
                "area": areas,
                "mm": [1.0 + number] * len(at),
            }
            table = pa.table(columns | {"gauge": pa.nulls(len(at), pa.int32())})
            pq.write_table(table, source / f".{number}")
            (source / f".{number}").rename(source / f"{number}.parquet")
            for query in queries:
                query.processAllAvailable()
    finally:
        for query in queries:
            query.stop()
    base = int(START.timestamp()) * 1_000_000
    wanted = {("all-a", 0): (2, 3.0), ("all-b", 0): (1, 1.0), ("all-a", 10): (1, 1.0)}
    wanted |= {("all-a", 30): (1, 5.0), ("all-b", 30): (1, 5.0), ("heavy", 30): (2, 10.0)}
    sums = found(spark.table("sums"))
    assert {(key, (start - base) // MINUTE_US): row for (key, start, _), row in sums.items()} == wanted
    rises = spark.table("rises").selectExpr("unix_micros(window.start) AS start", "rise").collect()
    assert {(row.start - base) // MINUTE_US: row.rise for row in rises} == {0: 2.0, 30: 0.0}


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        ({"window": "1 month"}, pm.ArgumentError, "fixed size"),
        ({"window": "0 seconds"}, pm.ArgumentError, "longer than nothing"),
        ({"window": 60}, pm.ArgumentTypeError, "window must be text"),
        ({"slide": "7 minutes"}, pm.ArgumentError, "whole part"),
        ({"watermark": "soon"}, pm.ArgumentError, "watermark"),
        ({"time_col": "when"}, pm.SchemaError, "^time_col: events have no column 'when'"),
        ({"time_col": "gauge"}, pm.SchemaError, "expected timestamp"),
        ({"events": [1]}, pm.ArgumentTypeError, "must be a Spark DataFrame"),
        (
            {"calculations": {"x": ps.Calculation("count", of=["all-a", 5])}},
            pm.ArgumentTypeError,
            "calculation 'x': of has the key 5, but in results the keys of version 1 are strings",
        ),
        ({"calculations": {}}, pm.ArgumentError, "empty"),
        ({"calculations": [1]}, pm.ArgumentTypeError, "dict of names"),
        ({"calculations": {"x": "sum"}}, pm.ArgumentTypeError, "'sum'"),
        ({"calculations": {"window": ps.Calculation("count")}}, pm.ArgumentError, "'window'"),
        ({"calculations": {"x": ps.Calculation("sum", "area")}}, pm.SchemaError, "'area' is string"),
        ({"calculations": {"x": ps.Calculation("sum", "depth")}}, pm.SchemaError, "0 columns 'depth'"),
        ({"ref": "here"}, pm.ArgumentTypeError, "reference"),
    ],
)
def test_bad_arguments(
    spark: SparkSession, ref: IndexRef, change: dict[str, Any], error: type[Exception], told: str
) -> None:
    frame = spark.createDataFrame([], TYPE)
    with pytest.raises(error, match=told):
        ps.aggregate(**({"events": frame, "ref": ref, "window": "1 hour", "time_col": "at"} | change))


def test_bad_calculations(spark: SparkSession, ref: IndexRef) -> None:
    with pytest.raises(pm.ArgumentError, match="needs a column"):
        ps.Calculation("sum")
    with pytest.raises(pm.ArgumentTypeError, match="list of keys"):
        ps.Calculation("count", of="all-a")  # type: ignore[arg-type]
    result = ps.aggregate(spark.createDataFrame([], TYPE), ref, "1 hour", "at")
    one = (result, "all-a", "count")
    with pytest.raises(pm.ArgumentError, match="at least two"):
        ps.dependent("a", a=one)
    with pytest.raises(pm.ArgumentError, match="no column 'total'"):
        ps.dependent("a + b", a=one, b=(result, "all-b", "total"))
    with pytest.raises(pm.ArgumentTypeError, match="input 'b'"):
        ps.dependent("a + b", a=one, b="all-b")  # type: ignore[arg-type]
    for expression, told in (("a +", "PARSE_SYNTAX_ERROR"), ("a + c", "`c`")):
        with pytest.raises(pm.ArgumentError, match=f"cannot be calculated: .*{told}"):
            ps.dependent(expression, a=one, b=one)
    longer = ps.aggregate(spark.createDataFrame([], TYPE), ref, "90 minutes", "at").where("count > 1")
    told = "windows of the same length: 1:00:00 in 'a', 1:30:00 in 'c'"
    with pytest.raises(pm.ArgumentError, match=told):
        ps.dependent("a + b + c", a=one, b=one, c=(longer, "all-a", "count"))
