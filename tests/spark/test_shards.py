"""Shards: the same pairs as one matcher, events only where they can match, work spread evenly."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import pubmatch as pm
import pubmatch_spark as ps
from pubmatch_bench import workloads
from pubmatch_spark.routing import pieces_of
from pubmatch_spark.shard_boxes import Boxes, coarse_labels, event_points, read_boxes, read_prepared
from pubmatch_spark.shard_order import WAYS, order_of
from pubmatch_spark.shard_plan import plan_cuts, typical_events

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

SCHEMA = pm.Schema(price=pm.Number(), volume=pm.Integer(), symbol=pm.Category(), halted=pm.Boolean())
SYMBOLS = [f"{name}-{number:02d}" for name in ("AMD", "HP", "IBM", "ÄÖ") for number in range(10)]
FORMS: list[Callable[[np.random.Generator], str]] = [
    lambda r: f"price BETWEEN {(low := r.uniform(0, 90)):.3f} AND {low + r.uniform(0, 10):.3f}",
    lambda r: f"symbol = '{r.choice(SYMBOLS)}' AND volume > {r.integers(0, 900)}",
    lambda r: f"symbol IN ('{r.choice(SYMBOLS)}', '{r.choice(SYMBOLS)}') OR price < {r.uniform(0, 5):.2f}",
    lambda r: f"NOT (price > {r.uniform(0, 20):.2f}) AND halted = FALSE",
    lambda r: f"symbol LIKE '{r.choice(['AM', 'H', 'IBM-0'])}%' AND volume <= {r.integers(0, 300)}",
    lambda r: f"volume IS NULL AND price > {r.uniform(50, 100):.2f}",
    lambda r: f"symbol > '{r.choice(SYMBOLS)}' AND symbol < 'IBM-05' OR volume = {r.integers(0, 1000)}",
    lambda r: f"symbol <> '{r.choice(SYMBOLS)}' AND price BETWEEN 50 AND 51",
]


def filters(count: int, seed: int) -> pa.Table:
    """Subscriptions of every form of filter."""
    random = np.random.default_rng(seed)
    texts = [FORMS[place % len(FORMS)](random) for place in range(count)]
    return pa.table({"key": [f"s{place}" for place in range(count)], "filter": texts})


def quotes(count: int, seed: int) -> pa.Table:
    """Events that lack a tenth of their values, and have symbols that no filter knows."""
    random = np.random.default_rng(seed)
    symbols = [*SYMBOLS, "", "A", "HP-055", "Z", "é"]

    def gaps(values: Any, kind: pa.DataType) -> pa.Array:
        return pa.array(values, kind, mask=random.random(count) < 0.1)

    return pa.table(
        {
            "event_id": pa.array(np.arange(count)),
            "price": gaps(random.uniform(-5, 105, count), pa.float64()),
            "volume": gaps(random.integers(0, 1000, count), pa.int64()),
            "symbol": gaps(random.choice(symbols, count), pa.string()),
            "halted": gaps(random.random(count) < 0.5, pa.bool_()),
        }
    )


def pairs(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def expected(subscriptions: pa.Table, events: pa.Table, schema: pm.Schema) -> list[tuple[Any, ...]]:
    matcher = pm.Matcher(schema)
    matcher.subscribe_many(subscriptions)
    found = matcher.match(events).to_arrow()
    ids = events.column("event_id").to_pylist()
    rows = zip(found.column("event").to_pylist(), found.column("key").to_pylist(), strict=True)
    return sorted((ids[event], key) for event, key in rows)


def bound_table(lower: np.ndarray[Any, Any], upper: np.ndarray[Any, Any]) -> pa.Table:
    columns: dict[str, Any] = {"key": np.arange(len(lower), dtype=np.int64)}
    for dimension in range(lower.shape[1]):
        columns[f"x{dimension}_min"] = lower[:, dimension].astype(np.float64)
        columns[f"x{dimension}_max"] = upper[:, dimension].astype(np.float64)
    return pa.table(columns)


def point_table(points: np.ndarray[Any, Any]) -> pa.Table:
    columns: dict[str, Any] = {"event_id": np.arange(len(points), dtype=np.int64)}
    columns |= {
        f"x{dimension}": points[:, dimension].astype(np.float64) for dimension in range(points.shape[1])
    }
    return pa.table(columns)


@pytest.mark.parametrize("by", WAYS)
def test_the_pairs_are_those_of_one_matcher(spark: SparkSession, tmp_path: Path, by: str) -> None:
    subscriptions, events = filters(400, seed=1), quotes(600, seed=2)
    manifest = ps.build_shards(
        spark.createDataFrame(subscriptions),
        tmp_path / "shards",
        SCHEMA,
        shards=5,
        by=by,
        sample=spark.createDataFrame(quotes(400, seed=3)),
    )
    assert manifest.subscriptions == 400
    assert 1 < len(manifest.shards) <= 5
    wanted = expected(subscriptions, events, SCHEMA)
    assert len(wanted) > 1000
    frame = spark.createDataFrame(events).repartition(3)
    assert pairs(ps.match_sharded(frame, manifest)) == wanted
    again = ps.ShardManifest.load(tmp_path / "shards")
    assert again == manifest == pickle.loads(pickle.dumps(manifest))
    assert pairs(ps.match_sharded(frame, tmp_path / "shards")) == wanted
    report = ps.explain(frame, again)
    assert report.events == 600
    assert 1.0 <= report.fan_out <= len(manifest.shards)
    assert sum(report.visits) == round(report.fan_out * 600)
    assert 1.0 <= report.balance < 2.0


def test_bounds_need_no_schema_and_arrays_are_taken(spark: SparkSession, tmp_path: Path) -> None:
    workload = workloads.make("W3", scale=0.003)
    subscriptions, events = bound_table(workload.lower, workload.upper), workload.events(500, seed=5)
    manifest = ps.build_shards(spark.createDataFrame(subscriptions), tmp_path / "z", shards=4)
    assert manifest.schema == pm.Schema(x0=pm.Number(), x1=pm.Number())
    wanted = expected(subscriptions, point_table(events), manifest.schema)
    assert pairs(ps.match_sharded(spark.createDataFrame(point_table(events)), manifest)) == wanted
    arrays = spark.createDataFrame(
        pa.table({"event_id": np.arange(500), "at": pa.array(events.astype(np.float64).tolist())})
    )
    assert pairs(ps.match_sharded(arrays, manifest)) == wanted
    longer = arrays.selectExpr("event_id", "array(1.0D, 2.0D, 3.0D) AS at")
    with pytest.raises(PySparkException, match="must have 2 values, got 3"):
        ps.match_sharded(longer, manifest).collect()
    report = ps.explain(arrays, manifest)
    # Narrow boxes, so an event has hardly more than one shard to go to; hashes would need all four.
    assert report.fan_out < 2.0
    assert report.balance < 2.0
    assert "fan-out" in str(report)
    assert len(str(report).splitlines()) == 2 + len(manifest.shards)


def test_a_hot_spot_is_divided(spark: SparkSession, tmp_path: Path) -> None:
    """Nine tenths of all subscriptions are the same box, and nine tenths of the events lie in it."""
    random = np.random.default_rng(7)
    lower = random.random((3000, 3)) * 0.9
    lower[300:] = 0.5
    events = random.random((600, 3))
    events[60:] = 0.5 + random.random((540, 3)) * 0.01
    subscriptions = bound_table(lower, lower + 0.01)
    manifest = ps.build_shards(
        spark.createDataFrame(subscriptions), tmp_path / "hot", shards=4, sample=point_table(events)
    )
    assert len(manifest.shards) == 4
    assert max(shard.work for shard in manifest.shards) < 0.4
    frame = spark.createDataFrame(point_table(events[:100]))
    assert pairs(ps.match_sharded(frame, manifest)) == expected(
        subscriptions, point_table(events[:100]), manifest.schema
    )


@pytest.mark.parametrize("name", ["W1", "W2", "W3", "W5"])
@pytest.mark.parametrize("by", ["zorder", "clusters"])
def test_work_is_even_for_events_that_were_not_in_the_plan(name: str, by: str) -> None:
    workload = workloads.make(name, scale=0.004)
    count = len(workload)
    boxes = Boxes(workload.lower.astype(float), workload.upper.astype(float), np.arange(count), count)
    hashes = np.random.default_rng(1).integers(0, 2**64, count, dtype=np.uint64)
    centres = typical_events(boxes, 1000)
    order = order_of(by, boxes.lower, boxes.upper, centres, 8)
    shard = plan_cuts(order, boxes, hashes, centres, 8, count).shards(
        order.codes(boxes.lower, boxes.upper), hashes
    )
    assert set(shard.tolist()) <= set(range(8))
    hits = pm.Index.build(boxes.lower, boxes.upper).match(workload.events(1000, seed=9).astype(float))
    matches = np.bincount(shard[hits.ids], minlength=8)
    assert np.bincount(shard, minlength=8).max() < 0.5 * count
    assert matches.max() <= 0.5 * matches.sum()


@pytest.mark.parametrize("by", WAYS)
def test_routing_never_loses_a_match(by: str) -> None:
    subscriptions, events = filters(400, seed=11), quotes(500, seed=12)
    # Labels of a tenth of the subscriptions only: most strings share a position with others.
    few, _ = read_prepared(subscriptions.slice(0, 80), SCHEMA)
    labels = coarse_labels(few.strings, SCHEMA)
    prepared, refused = read_prepared(subscriptions, SCHEMA)
    assert not refused
    boxes = read_boxes(prepared, SCHEMA, labels)
    points = event_points(events, SCHEMA, labels)
    order = order_of(by, *boxes.hulls(), points, 4)
    found = pm.Index.build(boxes.lower, boxes.upper).match(points)
    coarse = set(zip(found.pairs()[0].tolist(), boxes.owner[found.ids].tolist(), strict=True))
    exact = {(event, int(key[1:])) for event, key in expected(subscriptions, events, SCHEMA)}
    assert exact <= coarse
    assert len(coarse) < 500 * 400 / 4
    lower, upper = pieces_of(boxes, order, 16)
    assert len(lower) == 16
    assert (pm.Index.build(lower, upper).covering(boxes.lower, boxes.upper).counts > 0).all()


def test_few_subscriptions_and_none(spark: SparkSession, tmp_path: Path) -> None:
    events = spark.createDataFrame(quotes(50, seed=4))
    two = ps.build_shards(spark.createDataFrame(filters(2, seed=1)), tmp_path / "two", SCHEMA, shards=8)
    assert two.subscriptions == 2
    assert pairs(ps.match_sharded(events, two)) == expected(filters(2, seed=1), quotes(50, seed=4), SCHEMA)
    empty = spark.createDataFrame([], "key string, filter string")
    none = ps.build_shards(empty, tmp_path / "none", SCHEMA, shards=3)
    assert none.shards == ()
    assert pairs(ps.match_sharded(events, none)) == []
    report = ps.explain(events, none)
    assert (report.events, report.fan_out, report.balance) == (50, 0.0, 1.0)


@pytest.mark.parametrize(
    ("rows", "columns", "schema", "error", "told"),
    [
        ([("a", "price <")], "key string, filter string", SCHEMA, pm.FilterError, "key 'a'"),
        ([("a", "colour = 1")], "key string, filter string", SCHEMA, pm.FilterError, "colour"),
        ([(None, "price < 1")], "key string, filter string", SCHEMA, pm.ArgumentError, "key None"),
        (
            [("a", "price < 1"), ("a", "price < 2")],
            "key string, filter string",
            SCHEMA,
            pm.ArgumentError,
            "'a'",
        ),
        ([("a", "price < 1")], "key string, filter string", None, pm.SchemaError, "needs a schema"),
        ([("a", 1.0)], "key string, price_low double", None, pm.ArgumentError, "neither"),
        ([("a", 1.0)], "key string, depth_min double", SCHEMA, pm.ArgumentError, "'depth_min' is no bound"),
        ([("a", "1")], "key string, price_min string", None, pm.SchemaError, "'price_min' is string"),
        (
            [("a", "x", 1.0)],
            "key string, filter string, price_min double",
            SCHEMA,
            pm.ArgumentError,
            "of bounds",
        ),
        ([(1.5, 1.0)], "key double, price_min double", None, pm.ArgumentTypeError, "'key' is double"),
        ([("a", "x")], "name string, filter string", SCHEMA, pm.ArgumentError, "no column 'key'"),
        (
            [("a", 3.0, 1.0)],
            "key string, price_min double, price_max double",
            None,
            pm.FilterError,
            "key 'a'",
        ),
    ],
)
def test_bad_subscriptions_leave_nothing_behind(
    spark: SparkSession,
    tmp_path: Path,
    rows: list[tuple[Any, ...]],
    columns: str,
    schema: pm.Schema | None,
    error: type[Exception],
    told: str,
) -> None:
    with pytest.raises(error, match=told):
        ps.build_shards(spark.createDataFrame(rows, columns), tmp_path / "bad", schema, shards=2)
    assert not (tmp_path / "bad").exists()


def test_bad_arguments(spark: SparkSession, tmp_path: Path) -> None:
    good = spark.createDataFrame(filters(3, seed=1))
    for shards in (0, -1, 5000):
        with pytest.raises(pm.ArgumentError, match="shards must be at"):
            ps.build_shards(good, tmp_path / "k", SCHEMA, shards=shards)
    with pytest.raises(pm.ArgumentTypeError, match="shards must be an integer"):
        ps.build_shards(good, tmp_path / "k", SCHEMA, shards="4")  # type: ignore[arg-type]
    with pytest.raises(pm.ArgumentError, match="by must be one of 'zorder'"):
        ps.build_shards(good, tmp_path / "k", SCHEMA, by="size")
    with pytest.raises(pm.ArgumentTypeError, match="must be a Spark DataFrame"):
        ps.build_shards(filters(3, seed=1), tmp_path / "k", SCHEMA)  # type: ignore[arg-type]
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").write_text("mine")
    with pytest.raises(pm.ArgumentError, match="in use"):
        ps.build_shards(good, tmp_path / "used", SCHEMA)
    assert (tmp_path / "used" / "file").read_text() == "mine"
    with pytest.raises(pm.MissingFileError):
        ps.match_sharded(good, tmp_path / "k")
    manifest = ps.build_shards(good, tmp_path / "k", SCHEMA, shards=1)
    stream = (
        spark.readStream.format("rate")
        .load()
        .selectExpr("value AS volume", "1.0D AS price", "'HP' AS symbol", "TRUE AS halted")
    )
    with pytest.raises(pm.ArgumentTypeError, match="must not be a stream"):
        ps.explain(stream, manifest)


def test_names_of_any_characters(spark: SparkSession, tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    low = random.random((2, 60))
    names = ["a.b", "odd `name`.x"]
    bounds = {f"{name}_{side}": low[place] + 0.2 * (side == "max")
              for place, name in enumerate(names) for side in ("min", "max")}  # fmt: skip
    subscriptions = pa.table({"key": np.arange(60), **bounds})
    points = random.random((2, 80))
    events = pa.table({"event_id": np.arange(80), **dict(zip(names, points, strict=True))})
    frame = spark.createDataFrame(events)
    manifest = ps.build_shards(spark.createDataFrame(subscriptions), tmp_path / "odd", shards=3, sample=frame)
    assert manifest.schema.names == tuple(names)
    wanted = expected(subscriptions, events, manifest.schema)
    assert len(wanted) > 50
    renamed = frame.withColumnRenamed("event_id", "event.`id`")
    found = ps.match_sharded(renamed, manifest, id_col="event.`id`")
    assert found.columns == ["event.`id`", "subscription"]
    assert pairs(found) == wanted
    assert ps.explain(renamed, manifest).events == 80


def test_a_failing_worker_is_told_in_one_line(spark: SparkSession) -> None:
    from pubmatch_spark.shard_build import collected

    def failing(batches: Any) -> Any:
        raise pm.FormatError(f"no room for {len(list(batches))} batches")

    with pytest.raises(pm.PubmatchError, match="no room for 1 batches") as told:
        collected(spark.range(3).coalesce(1).mapInArrow(failing, "x long"))
    assert len(str(told.value).splitlines()) == 1


def test_a_damaged_set_is_told_before_any_job(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "set"
    manifest = ps.build_shards(spark.createDataFrame(filters(60, seed=1)), root, SCHEMA, shards=2)
    events = spark.createDataFrame(quotes(5, seed=1))
    with pytest.raises(pm.SchemaError, match="no column 'id'"):
        ps.match_sharded(events, manifest, id_col="id")
    told = r"^events have no column 'symbol'; there are event_id, price, volume, halted$"
    with pytest.raises(pm.SchemaError, match=told):
        ps.match_sharded(events.drop("symbol"), manifest)
    with pytest.raises(pm.SchemaError, match=told):
        ps.explain(events.drop("symbol"), manifest)
    with pytest.raises(pm.ArgumentTypeError, match="must be a Spark DataFrame"):
        ps.explain(quotes(5, seed=1), manifest)  # type: ignore[arg-type]
    index = next((root / manifest.shards[0].directory / "v000001").glob("index*"))
    data = index.read_bytes()
    index.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(pm.FormatError, match="checksum"):
        ps.match_sharded(events, manifest)
    index.unlink()
    with pytest.raises(pm.MissingFileError):
        ps.match_sharded(events, manifest)
    document = json.loads((root / "manifest.json").read_text())
    for change in ({"format": 9}, {"routing": "0"}, {"shards": [{}]}, {"labels": {}}):
        (root / "manifest.json").write_text(json.dumps(document | change))
        with pytest.raises(pm.FormatError, match="manifest"):
            ps.ShardManifest.load(root)
