"""Streams: new versions are taken up, and nothing is lost or doubled whenever the driver is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

import pubmatch as pm
import pubmatch_spark as ps
from pubmatch_spark import streaming, version_pins
from pubmatch_spark.version_pins import VersionPins, join_output

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = pm.Schema(price=pm.Number(), symbol=pm.Category())
EVENTS = "event_id long, price double, symbol string"
DRIVER = Path(__file__).parent / "stream_driver.py"


def matcher(version: int) -> pm.Matcher:
    """Subscriptions that differ from version to version."""
    random = np.random.default_rng(version)
    made = pm.Matcher(SCHEMA)
    for place in range(50):
        low = random.uniform(0, 90)
        symbol = random.choice(["AMD", "HP", "IBM"])
        made.subscribe(f"v{version}-{place}", f"price BETWEEN {low} AND {low + 20} AND symbol <> '{symbol}'")
    return made


def events(number: int) -> pa.Table:
    random = np.random.default_rng(100 + number)
    return pa.table(
        {
            "event_id": np.arange(200) + 1000 * number,
            "price": random.uniform(0, 100, 200),
            "symbol": pa.array(random.choice(["AMD", "HP", "IBM"], 200), mask=random.random(200) < 0.1),
        }
    )


def write_events(folder: Path, number: int) -> None:
    """The events of one batch; the source takes files in the order of their times."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{number}.parquet"
    pq.write_table(events(number), folder / f".{number}")
    os.utime(folder / f".{number}", (1_000_000 + number, 1_000_000 + number))
    (folder / f".{number}").rename(path)


def wanted(number: int, version: int) -> list[tuple[Any, ...]]:
    table = events(number)
    found = matcher(version).match(table).to_arrow()
    ids = table.column("event_id").to_numpy()[found.column("event").to_numpy()].tolist()
    return sorted(zip(ids, found.column("key").to_pylist(), [version] * len(ids), strict=True))


def shown(out: Path) -> dict[int, list[tuple[Any, ...]]]:
    """What a reader sees, without Spark: every file of every batch."""
    found = {}
    for folder in out.glob("batch_id=*"):
        tables = [pq.read_table(path, partitioning=None) for path in sorted(folder.glob("*.parquet"))]
        rows = pa.concat_tables(tables).select(["event_id", "subscription", "version"]).to_pylist()
        found[int(folder.name.split("=")[1])] = sorted(tuple(row.values()) for row in rows)
    return found


def drive(folder: Path, point: str, batch: int) -> int:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with open(folder / "driver.log", "ab") as log:
        command = [sys.executable, "-W", "ignore", str(DRIVER), str(folder), point, str(batch)]
        return subprocess.run(
            command, env=environment, stdout=log, stderr=log, timeout=120, check=False
        ).returncode


def test_exactly_once_whenever_the_driver_is_killed(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(4):
        write_events(tmp_path / "events", number)
    ps.publish(matcher(1), tmp_path / "versions", version=1)
    version_of: dict[int, int] = {}
    for batch, point in enumerate(["writing", "staged", "settled"]):
        assert drive(tmp_path, point, batch) == -signal.SIGKILL, (tmp_path / "driver.log").read_text()
        version_of[batch] = batch + 1
        assert not (tmp_path / "checkpoint" / "commits" / str(batch)).exists()
        complete = batch + 1 if point == "settled" else batch
        found = shown(tmp_path / "out")
        assert found == {number: wanted(number, version_of[number]) for number in range(complete)}
        # Whoever runs the batch again must not take this version, which was published after the pin.
        ps.publish(matcher(batch + 2), tmp_path / "versions", version=batch + 2)
    assert drive(tmp_path, "never", 0) == 0, (tmp_path / "driver.log").read_text()
    version_of[3] = 4
    assert shown(tmp_path / "out") == {
        number: wanted(number, version) for number, version in version_of.items()
    }
    whole = spark.read.parquet(str(tmp_path / "out"))
    assert whole.columns == ["event_id", "subscription", "version", "batch_id"]
    # The same as batch jobs, file by file with the version it had.
    for number, version in version_of.items():
        frame = spark.read.schema(EVENTS).parquet(str(tmp_path / "events" / f"{number}.parquet"))
        batch_rows = ps.match(frame, ps.ref_of(tmp_path / "versions", version)).collect()
        streamed = whole.where(f"batch_id = {number}").select("event_id", "subscription").collect()
        assert sorted(map(tuple, streamed)) == sorted(map(tuple, batch_rows))
        assert len(streamed) > 100


def stream_of(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(EVENTS).option("maxFilesPerTrigger", 1).parquet(str(folder / "events"))


def test_new_versions_are_taken_up_while_it_runs(spark: SparkSession, tmp_path: Path) -> None:
    write_events(tmp_path / "events", 0)
    ps.publish(matcher(1), tmp_path / "versions", version=1)
    query = ps.match_stream(
        stream_of(spark, tmp_path), tmp_path / "versions", tmp_path / "checkpoint", tmp_path / "out"
    )
    try:
        query.processAllAvailable()
        ps.publish(matcher(3), tmp_path / "versions", version=3)
        write_events(tmp_path / "events", 1)
        query.processAllAvailable()
    finally:
        query.stop()
    assert shown(tmp_path / "out") == {0: wanted(0, 1), 1: wanted(1, 3)}
    assert sorted(path.name for path in (tmp_path / "checkpoint" / "commits").glob("[0-9]*")) == ["0", "1"]
    again = ps.match_stream(
        stream_of(spark, tmp_path),
        tmp_path / "versions",
        tmp_path / "checkpoint",
        tmp_path / "out",
        trigger={"availableNow": True},
    )
    again.awaitTermination()
    assert len(shown(tmp_path / "out")) == 2


def keyed(*keys: str | int) -> pm.Matcher:
    """Subscriptions with these keys, to every event."""
    made = pm.Matcher(SCHEMA)
    for key in keys:
        made.subscribe(key, "price >= 0")
    return made


def run_once(spark: SparkSession, folder: Path) -> None:
    """Match what there is; what ends the stream is raised."""
    places = {"checkpoint": folder / "checkpoint", "out": folder / "out"}
    query = ps.match_stream(
        stream_of(spark, folder), folder / "versions", **places, trigger={"availableNow": True}
    )
    query.awaitTermination()


def read_keys(spark: SparkSession, folder: Path) -> tuple[str, list[tuple[Any, ...]]]:
    """Type of the keys of all results as Spark reads them together, and the keys of each batch."""
    whole = spark.read.parquet(str(folder / "out"))
    kind = dict(whole.dtypes)["subscription"]
    return kind, sorted(map(tuple, whole.select("batch_id", "subscription").distinct().collect()))


@pytest.mark.parametrize(
    ("versions", "kind", "expected"),
    [
        ([[], ["a", 7], [7, 8], [], ["b"]], "string", [(1, "7"), (1, "a"), (2, "7"), (2, "8"), (4, "b")]),
        ([[], [7], []], "bigint", [(1, 7)]),
    ],
)
def test_keys_have_one_type(
    spark: SparkSession, tmp_path: Path, versions: list[list[Any]], kind: str, expected: list[Any]
) -> None:
    for number, keys in enumerate(versions):
        ps.publish(keyed(*keys), tmp_path / "versions", version=number)
        write_events(tmp_path / "events", number)
        run_once(spark, tmp_path)
        assert len(list((tmp_path / "out").glob("batch_id=*"))) == number + 1
        assert read_keys(spark, tmp_path)[1] == [row for row in expected if row[0] <= number]
    assert read_keys(spark, tmp_path) == (kind, expected)


def test_the_type_of_keys_survives_a_crash(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is pinned with the version: what is published after a crash does not change it."""
    versions = tmp_path / "versions"
    ps.publish(keyed(), versions, version=1)
    write_events(tmp_path / "events", 0)
    run_once(spark, tmp_path)
    ps.publish(keyed("a"), versions, version=2)
    write_events(tmp_path / "events", 1)

    def crash(staged: str, final: str) -> None:
        raise RuntimeError("crash")

    with monkeypatch.context() as patch:
        patch.setattr(streaming, "settle", crash)
        with pytest.raises(PySparkException, match="crash"):
            run_once(spark, tmp_path)
    ps.publish(keyed(7), versions, version=3)
    write_events(tmp_path / "events", 2)
    run_once(spark, tmp_path)
    assert read_keys(spark, tmp_path) == ("string", [(1, "a"), (2, "7")])
    rows = spark.read.parquet(str(tmp_path / "out")).select("batch_id", "version").distinct().collect()
    assert sorted(map(tuple, rows)) == [(1, 2), (2, 3)]


def test_strings_after_integers_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    versions = tmp_path / "versions"
    ps.publish(keyed(7), versions, version=1)
    write_events(tmp_path / "events", 0)
    run_once(spark, tmp_path)
    ps.publish(keyed("a", 7), versions, version=2)
    write_events(tmp_path / "events", 1)
    told = "those of version 2 in .*versions are strings, but this stream has written integers up to batch 0"
    with pytest.raises(pm.ArgumentError, match=told):
        run_once(spark, tmp_path)
    ps.publish(keyed(8), versions, version=3)
    run_once(spark, tmp_path)
    assert read_keys(spark, tmp_path) == ("bigint", [(0, 7), (1, 8)])


def test_what_is_wrong_is_told_before_it_starts(spark: SparkSession, tmp_path: Path) -> None:
    write_events(tmp_path / "events", 0)
    stream = stream_of(spark, tmp_path)
    places = {"checkpoint": tmp_path / "checkpoint", "out": tmp_path / "out"}
    with pytest.raises(pm.MissingFileError, match="No version"):
        ps.match_stream(stream, tmp_path / "versions", **places)
    ps.publish(matcher(1), tmp_path / "versions", version=1)
    with pytest.raises(pm.ArgumentTypeError, match="no stream"):
        ps.match_stream(spark.read.parquet(str(tmp_path / "events")), tmp_path / "versions", **places)
    with pytest.raises(pm.SchemaError, match="'symbol'"):
        ps.match_stream(stream.drop("symbol"), tmp_path / "versions", **places)
    with pytest.raises(pm.SchemaError, match="'number'"):
        ps.match_stream(stream, tmp_path / "versions", id_col="number", **places)
    for name in ("subscription", "version", "batch_id"):
        with pytest.raises(pm.ArgumentError, match=name):
            ps.match_stream(
                stream.withColumnRenamed("event_id", name), tmp_path / "versions", id_col=name, **places
            )
    with pytest.raises(pm.ArgumentError, match="three directories"):
        ps.match_stream(stream, tmp_path / "versions", checkpoint=tmp_path / "out", out=tmp_path / "out")
    with pytest.raises(pm.ArgumentError, match="trigger"):
        ps.match_stream(stream, tmp_path / "versions", trigger={"sometimes": True}, **places)
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "checkpoint").exists()


def test_an_output_belongs_to_one_checkpoint(tmp_path: Path) -> None:
    one, other, out = (str(tmp_path / name) for name in ("one", "other", "out"))
    join_output(one, out)
    join_output(one, out)
    with pytest.raises(pm.ArgumentError, match="another checkpoint"):
        join_output(other, out)
    join_output(other, str(tmp_path / "elsewhere"))
    with pytest.raises(pm.ArgumentError, match="another stream"):
        join_output(other, out)
    (tmp_path / "foreign" / "offsets").mkdir(parents=True)
    with pytest.raises(pm.ArgumentError, match="another kind"):
        join_output(str(tmp_path / "foreign"), str(tmp_path / "new"))
    (tmp_path / "orphan" / "batch_id=0").mkdir(parents=True)
    with pytest.raises(pm.ArgumentError, match="another checkpoint"):
        join_output(str(tmp_path / "third"), str(tmp_path / "orphan"))


def test_pins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = tmp_path / "versions"
    pins = VersionPins(str(tmp_path), str(versions))
    ps.publish(matcher(1), versions, version=1)
    second = ps.publish(matcher(2), versions, version=2)
    assert pins.ref(0) == second
    Path(second.directory).rename(tmp_path / "gone")
    with pytest.raises(
        pm.ArgumentError, match="version 1 as its highest, but batch 0 was matched with version 2"
    ):
        pins.ref(1)
    with pytest.raises(pm.MissingFileError):
        pins.ref(0)
    ps.publish(matcher(3), versions, version=2)
    with pytest.raises(pm.FormatError, match="not the version that batch 0"):
        pins.ref(0)
    monkeypatch.setattr(version_pins, "_KEPT", 2)
    for batch in (1, 2, 3):
        pins.ref(batch)
    kept = sorted(path.name for path in (tmp_path / "pubmatch" / "versions").glob("*.json"))
    assert kept == ["2.json", "3.json"]
    (tmp_path / "pubmatch" / "versions" / "3.json").write_text("{")
    with pytest.raises(pm.FormatError, match=r"3\.json"):
        pins.ref(3)
