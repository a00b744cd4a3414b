"""`match` and `match_udf` give the rows of `Matcher.match`, and refuse on the driver what cannot work."""

from __future__ import annotations

import datetime as dt
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pyspark.errors import PythonException

import pubmatch as pm
import pubmatch_spark as ps
from pubmatch.errors import ArgumentError, ArgumentTypeError, FormatError, MissingFileError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

SCHEMA = pm.Schema(
    price=pm.Number(), volume=pm.Integer(), symbol=pm.Category(), halted=pm.Boolean(), at=pm.Timestamp()
)
DDL = "event_id string, price double, volume bigint, symbol string, halted boolean, at timestamp"
NOON = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)


def some_matcher(seed: int = 3, count: int = 300) -> pm.Matcher:
    rng = np.random.default_rng(seed)
    matcher = pm.Matcher(SCHEMA)
    for number in range(count):
        low = rng.random() * 90
        minute = int(rng.integers(60))
        texts = [
            f"price BETWEEN {low:.3f} AND {low + 10:.3f}",
            f"symbol IN ('S{rng.integers(9)}', 'S{rng.integers(9)}') AND price > {low:.3f}",
            f"volume >= {2**53 + int(rng.integers(5))} OR symbol = 'S{rng.integers(9)}'",
            f"halted AND at >= '2024-01-01T12:{minute:02d}:00Z'",
            f"at < '2024-01-01T12:{minute:02d}:00Z' AND NOT halted",
            f"price IS NULL AND volume < {int(rng.integers(100))}",
        ]
        matcher.subscribe(f"k{number}", texts[number % len(texts)])
    return matcher


def some_events(count: int = 450, seed: int = 5) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        row = [
            float(rng.random() * 100),
            int(rng.integers(100)) if rng.random() < 0.5 else 2**53 + int(rng.integers(5)),
            f"S{rng.integers(12)}",
            bool(rng.integers(2)),
            NOON + dt.timedelta(seconds=int(rng.integers(3600))),
        ]
        rows.append((f"e{number}", *(None if rng.random() < 0.2 else value for value in row)))
    return rows


@dataclass
class Case:
    """Events as Spark and as pubmatch see them, the matcher, and what it finds."""

    matcher: pm.Matcher
    ref: ps.IndexRef
    frame: DataFrame
    expected: list[tuple[str, str]]


@pytest.fixture(scope="module")
def case(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Case:
    matcher, events = some_matcher(), some_events()
    ref = ps.publish(matcher, tmp_path_factory.mktemp("versions"), 1)
    frame = spark.createDataFrame(events, DDL).repartition(3)
    result = matcher.match([dict(zip(SCHEMA.names, row[1:], strict=True)) for row in events])
    expected = [(row[0], key) for row, keys in zip(events, result, strict=True) for key in keys]
    assert len(expected) > 2000
    return Case(matcher, ref, frame, sorted(expected))


@pytest.fixture
def no_job(spark: SparkSession) -> Iterator[None]:
    """Whatever the test does must not start a job."""
    spark.sparkContext.setJobGroup("refused", "none of these may start")
    yield
    assert list(spark.sparkContext.statusTracker().getJobIdsForGroup("refused")) == []
    spark.sparkContext.setJobGroup("others", "may start")


def pairs(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def test_match_gives_the_rows_of_the_matcher(case: Case) -> None:
    result = ps.match(case.frame, case.ref)
    assert result.dtypes == [("event_id", "string"), ("subscription", "string")]
    assert pairs(result) == case.expected


def test_match_udf_gives_the_same(case: Case) -> None:
    from pyspark.sql import functions

    matched = ps.match_udf(case.ref, SCHEMA)
    columns = ["price", functions.col("volume"), "symbol", "halted", "at"]
    result = case.frame.withColumn("keys", matched(*columns)).select("event_id", "keys")
    assert result.dtypes[1] == ("keys", "array<string>")
    rows = result.collect()
    assert len(rows) == 450
    assert all(row.keys is not None for row in rows)
    assert any(row["keys"] == [] for row in rows)
    assert sorted((row["event_id"], key) for row in rows for key in row["keys"]) == case.expected


def test_other_columns_and_types_of_columns(spark: SparkSession, case: Case) -> None:
    frame = case.frame.selectExpr(
        "date'2020-01-01' as junk", "to_timestamp_ntz(to_utc_timestamp(at, 'America/New_York')) as at",
        "halted", "array(1) as more", "cast(price as float) as rough", "symbol", "volume", "price",
        "named_struct('a', event_id, 'b', 7) as `the id.`",
    )  # fmt: skip
    found = ps.match(frame, case.ref, id_col="the id.").collect()
    assert sorted((row[0]["a"], row[1]) for row in found) == case.expected


def test_missing_columns(case: Case, no_job: None) -> None:
    with pytest.raises(
        SchemaError,
        match=r"no column 'volume'; there are event_id, price, symbol, halted, at; missing='absent' takes",
    ):
        ps.match(case.frame.drop("volume"), case.ref)
    with pytest.raises(SchemaError, match="id_col: events have no column 'id'"):
        ps.match(case.frame, case.ref, id_col="id")


def test_missing_columns_can_be_absent(case: Case) -> None:
    events = [row.asDict() for row in case.frame.drop("volume", "at").collect()]
    result = case.matcher.match(events)
    wanted = sorted((row["event_id"], key) for row, keys in zip(events, result, strict=True) for key in keys)
    found = ps.match(case.frame.drop("volume", "at"), case.ref, missing="absent")
    assert pairs(found) == wanted
    assert 0 < len(wanted) < len(case.expected)


@pytest.mark.parametrize(
    ("column", "cast", "told"),
    [
        ("price", "string", "column 'price' is string: a Number takes floats and integers"),
        ("price", "decimal(10,2)", r"column 'price' is decimal\(10,2\): a Number takes"),
        ("volume", "boolean", "column 'volume' is boolean: an Integer takes"),
        ("symbol", "binary", "column 'symbol' is binary: a Category takes strings"),
        ("halted", "int", "column 'halted' is int: a Boolean takes booleans"),
        ("at", "string", "column 'at' is string: a Timestamp takes timestamps and dates"),
    ],
)
def test_wrong_types(case: Case, no_job: None, column: str, cast: str, told: str) -> None:
    frame = case.frame.withColumn(column, case.frame[column].cast(cast))
    with pytest.raises(SchemaError, match=told):
        ps.match(frame, case.ref)


def test_bad_arguments(spark: SparkSession, case: Case, no_job: None) -> None:
    frame = case.frame
    with pytest.raises(ArgumentTypeError, match="events must be a Spark DataFrame, got list"):
        ps.match([], case.ref)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="a reference made by publish is needed, got str"):
        ps.match(frame, case.ref.path)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="missing must be 'error' or 'absent', got 'ignore'"):
        ps.match(frame, case.ref, missing="ignore")
    with pytest.raises(ArgumentTypeError, match="id_col must be the name of a column, got 3"):
        ps.match(frame, case.ref, id_col=3)  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="events have 2 columns 'price'"):
        ps.match(frame.selectExpr("*", "price"), case.ref)
    with pytest.raises(ArgumentError, match="id_col must not be 'subscription'"):
        ps.match(frame.withColumnRenamed("event_id", "subscription"), case.ref, id_col="subscription")
    with pytest.raises(SchemaError, match="array_col: column 'price' is double, expected array<double>"):
        ps.match(frame, case.ref, array_col="price")
    with pytest.raises(SchemaError, match="holds numbers, but attribute 'symbol' is a category"):
        ps.match(frame.selectExpr("event_id", "array(price) as all"), case.ref)
    with pytest.raises(ArgumentError, match="2 columns given for 5 attributes: price, volume"):
        ps.match_udf(case.ref)("price", "volume")
    with pytest.raises(SchemaError, match=r"has Schema.*, expected was Schema"):
        ps.match_udf(case.ref, pm.Schema(price=pm.Number()))
    with pytest.raises(SchemaError, match=r"a pubmatch\.Schema is needed, got str"):
        ps.match_udf(case.ref, "price double")  # type: ignore[arg-type]


def test_files_gone_or_damaged(case: Case, no_job: None, tmp_path: Path) -> None:
    ref = ps.publish(case.matcher, tmp_path, 1)
    index = Path(ref.directory) / "index.pubmatch"
    data = bytearray(index.read_bytes())
    data[len(data) // 2] ^= 1
    index.write_bytes(data)
    with pytest.raises(FormatError, match=r"index.pubmatch: damaged"):
        ps.match(case.frame, ref)
    shutil.rmtree(tmp_path)
    with pytest.raises(MissingFileError, match=r"manifest.json"):
        ps.match(case.frame, ref)
    with pytest.raises(MissingFileError, match=r"manifest.json"):
        ps.match_udf(ref)


def test_what_only_a_worker_can_see_is_told_in_short(spark: SparkSession, tmp_path: Path) -> None:
    matcher = pm.Matcher(pm.Schema(x=pm.Number(domain=(0, 9)), n=pm.Integer()))
    matcher.subscribe("a", "x > 1")
    ref = ps.publish(matcher, tmp_path, 1)
    frame = spark.createDataFrame([(1, 50.0, 2.0)], "event_id int, x double, n double")
    with pytest.raises(PythonException, match="SchemaError: column 'x' lies outside the domain"):
        ps.match(frame, ref).collect()
    with pytest.raises(PythonException, match="SchemaError: column 'x' is string: a Number takes"):
        frame.select(ps.match_udf(ref)(frame["x"].cast("string"), "n")).collect()
    with pytest.raises(PythonException, match="column 'p' has 3 values at row 0 of a batch, expected 2"):
        ps.match(frame.selectExpr("event_id", "array(1D, 2D, 3D) as p"), ref).collect()
    later = ps.match(frame, ref)
    shutil.rmtree(tmp_path)  # after the check on the driver
    with pytest.raises(PythonException, match="This executor does not see the version"):
        later.collect()


def test_arrays_of_doubles(spark: SparkSession, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    matcher = pm.Matcher(pm.Schema(a=pm.Number(), b=pm.Integer(), c=pm.Number()))
    low, most = rng.random((2, 200)), rng.integers(0, 9, 200)
    matcher.subscribe_many({"key": np.arange(200), "a_min": low[0], "b_max": most, "c_min": low[1] / 2})
    matcher.subscribe(1000, "a IS NULL AND b IS NULL")
    ref = ps.publish(matcher, tmp_path, 1)
    points = [[float(rng.random()), float(rng.integers(9)), float(rng.random())] for _ in range(250)]
    rows: list[tuple[int, list[float | None] | None]] = [(n, list(point)) for n, point in enumerate(points)]
    rows += [(900, None), (901, [None, None, 0.9]), (902, [0.99, None, float("nan")]), (903, [0.9, 0.0, 0.9])]
    events = [dict(zip("abc", point or [None] * 3, strict=True)) for _, point in rows]
    result = matcher.match(events)
    expected = sorted((row[0], key) for row, keys in zip(rows, result, strict=True) for key in keys)
    frame = spark.createDataFrame(rows, "event_id bigint, point array<double>").coalesce(1)
    found = ps.match(frame, ref)
    assert found.dtypes == [("event_id", "bigint"), ("subscription", "bigint")]
    assert pairs(found) == expected
    named = frame.selectExpr("event_id", "point", "'x' as a")
    assert pairs(ps.match(named, ref, array_col="point")) == expected
    assert (900, 1000) in expected


def test_an_id_that_is_an_attribute(spark: SparkSession, tmp_path: Path) -> None:
    matcher = pm.Matcher(pm.Schema(**{"odd `name`.x": pm.Number(), "n": pm.Integer()}))
    matcher.subscribe("some", pm.attr("odd `name`.x") > 1)
    matcher.subscribe("two", "n = 2")
    ref = ps.publish(matcher, tmp_path, 1)
    frame = spark.createDataFrame([(1, 5.0), (2, 0.0), (3, None)], "n int, `odd ``name``.x` double")
    assert pairs(ps.match(frame, ref, id_col="n")) == [(1, "some"), (2, "two")]


def test_no_events_and_no_subscriptions(spark: SparkSession, case: Case, tmp_path: Path) -> None:
    assert ps.match(case.frame.limit(0), case.ref).collect() == []
    empty = ps.publish(pm.Matcher(SCHEMA), tmp_path, 1)
    assert ps.match(case.frame, empty).count() == 0
    assert case.frame.select(ps.match_udf(empty)(*SCHEMA.names).alias("k")).distinct().collect()[0].k == []


def test_one_copy_per_process_and_old_versions_leave(spark: SparkSession, tmp_path: Path) -> None:
    import pyarrow as pa

    frame = spark.createDataFrame([(n, n / 10) for n in range(300)], "event_id int, x double").repartition(4)
    for version in range(1, 5):
        matcher = pm.Matcher(pm.Schema(x=pm.Number()))
        matcher.subscribe(version, "x >= 0")
        ref = ps.publish(matcher, tmp_path, version)
        assert {row.subscription for row in ps.match(frame, ref).collect()} == {version}
    root = str(tmp_path)

    def mapped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import gc
        import os

        assert gc.get_freeze_count() > 10_000  # what was imported is not looked through after every task
        list(batches)
        with open("/proc/self/maps") as maps:
            names = [
                line.split()[-1] for line in maps if root in line and line.rstrip().endswith(".pubmatch")
            ]
        seen = [name.split("/")[-2] for name in names]
        yield pa.record_batch({"pid": pa.array([os.getpid()], pa.int32()), "versions": [" ".join(seen)]})

    rows = frame.mapInArrow(mapped, "pid int, versions string").collect()
    assert len(rows) == 4
    for row in rows:  # each mapped once, and no more than two
        names = row.versions.split()
        assert len(names) == len(set(names)) <= 2
        assert names
        assert "v000001" not in names


def test_files_that_were_shipped(spark: SparkSession, case: Case, tmp_path: Path) -> None:
    ref = ps.publish(case.matcher, tmp_path / "here", 1)
    ps.ship(ref, spark)
    ps.ship(ref)  # again is no error
    found = ps.match(case.frame, ref)
    (tmp_path / "here").rename(tmp_path / "gone")
    assert pairs(found) == case.expected
