"""`pubmatch publish` and `pubmatch stream`: every file once, as `pubmatch match` reads it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

pytest.importorskip("typer")

from match_command import write

import pubmatch as pm
import pubmatch_spark as ps
from pubmatch.cli import main
from pubmatch.tables import open_table
from pubmatch_bench.flights import SCHEMA, flight_events, flight_filters
from pubmatch_spark import file_stream
from pubmatch_spark.file_stream import event_files
from pubmatch_spark.stream_ids import ids_in, remember_ids, remembered_ids

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Answer = tuple[int, str, str]


class Streams:
    """Directories of one stream, and the two commands on them."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys
        (folder / "events").mkdir()

    def words(self, **others: Path) -> list[str]:
        places = {"subscriptions": "versions", "events": "events", "out": "out", "checkpoint": "progress"}
        paths = {name: self.folder / place for name, place in places.items()} | others
        return ["stream", *(str(word) for name, path in paths.items() for word in (f"--{name}", path))]

    def stream(self, *options: Any, **others: Path) -> Answer:
        return self._run([*self.words(**others), "--once", *map(str, options)])

    def publish(self, subscriptions: Any, *options: Any, suffix: str = "parquet") -> Answer:
        file = write(self.folder / f"subscriptions.{suffix}", subscriptions)
        places = ["--subscriptions", file, "--out", self.folder / "versions"]
        return self._run(["publish", *map(str, [*places, *options])])

    def _run(self, words: list[str]) -> Answer:
        code = main(words)
        printed = self.capsys.readouterr()
        return code, printed.out, printed.err

    def add(self, name: str, table: Any) -> None:
        """A file of events, moved in when it is complete."""
        aside = write(self.folder / f"aside{Path(name).suffix}", table)
        (self.folder / "events" / name).parent.mkdir(exist_ok=True)
        aside.rename(self.folder / "events" / name)

    def rows(self) -> list[tuple[Any, ...]]:
        """What readers of the output find, without Spark: id, key, version."""
        if not list((self.folder / "out").glob("batch_id=*")):
            return []
        table = ds.dataset(self.folder / "out", partitioning="hive").to_table()
        return sorted(zip(*(table.column(place).to_pylist() for place in range(3)), strict=True))


@pytest.fixture
def streams(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Streams:
    return Streams(tmp_path, capsys)


def refused(answer: Answer, *words: str) -> bool:
    code, out, err = answer
    one_line = err.startswith("pubmatch: ") and err.count("\n") == 1
    return (code, out) == (2, "") and one_line and all(word in err for word in words)


def wanted(table: pa.Table, filters: pa.Table, version: int) -> list[tuple[Any, ...]]:
    matcher = pm.Matcher(SCHEMA)
    matcher.subscribe_many(filters)
    found = matcher.match(table).to_arrow()
    ids = table.column("event_id").take(found.column("event")).to_pylist()
    return sorted(zip(ids, found.column("key").to_pylist(), [version] * len(ids), strict=True))


def test_files_of_all_formats_and_new_versions(spark: SparkSession, streams: Streams) -> None:
    flights = [flight_events(500, seed=number) for number in range(5)]
    flights = [
        table.set_column(0, "event_id", pa.array(range(1000 * number, 1000 * number + 500)))
        for number, table in enumerate(flights)
    ]
    sample = write(streams.folder / "sample.parquet", flights[0])
    filters = [flight_filters(60, seed=1), flight_filters(80, seed=2)]
    code, out, err = streams.publish(filters[0].slice(0, 60), "--events", sample)
    assert (code, err) == (0, "")
    assert "v000001: version 1, 60 subscriptions" in out
    names = ["a.parquet", "b.csv", "below/c.jsonl", "d.arrow"]
    for name, table in zip(names, flights, strict=False):
        streams.add(name, table)
    streams.add("_hidden.csv", "no,events\n")
    (streams.folder / "events" / "notes.txt").write_text("nor are these\n")
    summary = streams.folder / "summary.json"
    code, out, err = streams.stream("--files-per-batch", 3, "--json", summary)
    assert (code, err) == (0, "")
    expected = [row for table in flights[:4] for row in wanted(table, filters[0], 1)]
    assert len(expected) > 100
    assert streams.rows() == sorted(expected)
    told = json.loads(summary.read_text())
    assert (told["batches"], told["files"], told["matches"]) == (2, 4, len(expected))
    assert (told["versions"], told["stopped"]) == ([1], False)
    assert f"{len(expected):,} matches of 4 files in 2 batches" in out
    # The same command goes on where it ended; the next version may have other attributes.
    assert streams.publish(filters[1], "--events", sample, "--version", 7)[0] == 0
    assert ps.versions(streams.folder / "versions") == [1, 7]
    streams.add("e.CSV", flights[4])
    os.utime(streams.folder / "events" / "e.CSV", (600_000_000, 600_000_000))  # an old file, moved in late
    assert streams.stream()[0] == 0
    assert streams.rows() == sorted(expected + wanted(flights[4], filters[1], 7))
    assert not (streams.folder / "out" / "_staging").exists()


def test_directories_and_files_of_any_name(spark: SparkSession, streams: Streams) -> None:
    """Spark takes some characters for a pattern."""
    sample = write(streams.folder / "sample.csv", "x\n1.5\n")
    assert streams.publish("key,filter\n1,x > 0\n", "--events", sample, suffix="csv")[0] == 0
    streams.add("elsewhere.csv", "event_id,x\n9,1\n")
    names = ["in[1]", "{a,b} *?", "back\\slash", "per%20cent #"]
    for number, name in enumerate(names):
        folder = streams.folder / name
        (folder / "deep[2]").mkdir(parents=True)
        write(folder / "a[x]*.csv", f"event_id,x\n{number},1\n")
        write(folder / "deep[2]" / "b{y}.csv", f"event_id,x\n{10 + number},1\n")
        places = {"events": folder, "out": streams.folder / f"out {name}"}
        assert streams.stream(**places, checkpoint=streams.folder / f"progress {name}")[0] == 0
        found = ds.dataset(places["out"], partitioning="hive").to_table().column("event_id")
        assert sorted(found.to_pylist()) == [number, 10 + number]


def test_integer_keys_among_strings(spark: SparkSession, streams: Streams) -> None:
    sample = write(streams.folder / "sample.csv", "x\n1.5\n")
    for number, key in enumerate(["a", "5"], start=1):
        subscriptions = f"key,filter\n{key},x > 0\n"
        assert streams.publish(subscriptions, "--events", sample, suffix="csv")[0] == 0
        streams.add(f"{number}.csv", f"event_id,x\n{number},1\n")
        assert streams.stream()[0] == 0
    assert [ps.ref_of(streams.folder / "versions", number).key_type for number in (1, 2)] == [
        "string",
        "int64",
    ]
    assert streams.rows() == [(1, "a", 1), (2, "5", 2)]
    whole = spark.read.parquet(str(streams.folder / "out"))
    assert sorted(row.subscription for row in whole.collect()) == ["5", "a"]


def test_without_pyarrow_the_extra_is_named(tmp_path: Path) -> None:
    """What it needs is imported only when it runs."""
    words = ["--subscriptions", "versions", "--events", "events", "--out", "out", "--checkpoint", "progress"]
    script = (
        "import sys; sys.modules['pyarrow'] = None; from pubmatch.cli import main; "
        f"sys.exit(main(['stream', *{words}]))"
    )
    ps.publish(pm.Matcher(pm.Schema(x=pm.Number())), tmp_path / "versions", 1)
    (tmp_path / "events").mkdir()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        text=True,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "pubmatch: stream needs pyarrow: pip install 'pubmatch[spark]'\n"


def test_a_version_with_more_attributes(spark: SparkSession, streams: Streams) -> None:
    first = write(streams.folder / "first.json", pm.Schema(x=pm.Number()).to_json())
    assert streams.publish("key,filter\nbig,x > 5\n", "--schema", first, suffix="csv")[0] == 0
    streams.add("a.csv", "event_id,x,name\n1,7,ab\n2,1,ax\n")
    assert streams.stream()[0] == 0
    second = write(streams.folder / "second.json", pm.Schema(x=pm.Number(), name=pm.Category()).to_json())
    subscriptions = "key,filter\nbig,x > 5\na,name LIKE 'a%'\n"
    assert streams.publish(subscriptions, "--schema", second, suffix="csv")[0] == 0
    streams.add("b.csv", "event_id,name,x\n3,ab,7\n4,b,\n")
    streams.add("c.jsonl", '{"event_id": 5, "name": "ay"}\n')
    assert streams.stream()[0] == 0
    assert streams.rows() == [(1, "big", 1), (3, "a", 2), (3, "big", 2), (5, "a", 2)]
    # Without a schema the last one's is taken.
    assert streams.publish("key,filter\nb,name = 'b'\n", suffix="csv")[1].startswith(
        f"{streams.folder}/versions/v000003: version 3, 1 subscriptions"
    )


@pytest.mark.parametrize(
    ("ids", "options", "expected"),
    [
        ("007", [], "007"),
        ("7", [], 7),
        ("7", ["--text-ids"], "7"),
    ],
)
def test_ids(spark: SparkSession, streams: Streams, ids: str, options: list[str], expected: Any) -> None:
    sample = write(streams.folder / "sample.csv", "x\n1.5\n")
    assert streams.publish("key,filter\n1,x > 0\n", "--events", sample, suffix="csv")[0] == 0
    streams.add("a.csv", f"x,name\n1,{ids}\n")
    assert streams.stream("--id-column", "name", *options)[0] == 0
    assert streams.rows() == [(expected, 1, 1)]
    streams.add("b.csv", "x,name\n1,b\n")
    answer = streams.stream("--id-column", "name", *options)
    if expected == 7:
        assert refused(answer, "b.csv", "'name' is string, but the ids of this stream are integers")
        assert streams.rows() == [(expected, 1, 1)]
        streams.add("b.csv", "x,name\n1,8\n")  # once it is mended the stream goes on
        assert streams.stream("--id-column", "name")[0] == 0
        assert streams.rows() == [(7, 1, 1), (8, 1, 1)]
    else:
        assert answer[0] == 0
        assert streams.rows() == [(expected, 1, 1), ("b", 1, 1)]
    assert refused(streams.stream(), "progress", "ids are the", "in 'name'")


def test_what_is_wrong_is_told_before_anything_is_written(spark: SparkSession, streams: Streams) -> None:
    folder = streams.folder
    assert refused(streams.stream(), "versions", "No version was published", "pubmatch publish")
    assert refused(streams.publish("key,filter\n1,x > 0\n", suffix="csv"), "versions", "--schema or --events")
    sample = write(folder / "sample.csv", "x\n1.5\n")
    schema = write(folder / "schema.json", pm.Schema(x=pm.Number()).to_json())
    both = streams.publish("key,filter\n1,x > 0\n", "--events", sample, "--schema", schema, suffix="csv")
    assert refused(both, "give one of them")
    assert refused(
        streams.publish("key,filter\n1,y > 0\n", "--events", sample, suffix="csv"), "unknown attribute 'y'"
    )
    assert not (folder / "versions").exists()
    listed = folder / "refused.csv"
    code, out, _ = streams.publish(
        "key,filter\n1,y > 0\n2,x > 0\n", "--events", sample, "--refused", listed, suffix="csv"
    )
    assert (code, "1 subscriptions, 1 refused" in out) == (0, True)
    assert open_table(listed).read().column("row").to_pylist() == [0]
    older = streams.publish("key,filter\n1,x > 0\n", "--version", 1, suffix="csv")
    assert refused(older, "version must be above 1")
    assert refused(streams.stream(events=folder / "none"), "none", "No such directory")
    assert refused(streams.stream(out=folder / "events" / "out"), "--out", "nor lie in it")
    assert refused(streams.stream(checkpoint=folder / "out"), "--out", "must not be --checkpoint")
    assert refused(streams.stream("--id-column", "version"), "version, a column of the result")
    nothing = "0 matches of 0 files in 0 batches, subscriptions of version none"
    assert streams.stream()[:2] == (0, f"{nothing}\n{folder}/out: all files done\n")
    streams.add("a.csv", "x\n1\n")
    assert refused(streams.stream(), "a.csv", "no column 'event_id'; its columns are x")
    streams.add("a.csv", "event_id,x\n1\n")
    assert refused(streams.stream(), "a.csv")
    assert not (folder / "out").exists()
    assert not (folder / "progress").exists()
    streams.add("a.csv", "event_id,x\n1,much\n")
    assert refused(streams.stream(), "a.csv", "begins with row 0", "column 'x' is string")
    assert streams.rows() == []
    streams.add("a.csv", "event_id,x\n1,2\n")
    assert streams.stream()[0] == 0
    assert streams.rows() == [(1, 2, 1)]


def test_ids_of_many_types(tmp_path: Path) -> None:
    types = {
        pa.uint8(): "integers",
        pa.float32(): "numbers",
        pa.bool_(): "booleans",
        pa.date32(): "dates",
        pa.timestamp("ns"): "times",
        pa.dictionary(pa.int8(), pa.large_string()): "texts",
        pa.null(): "texts",
    }
    for kind, name in types.items():
        table = pa.table({"id": pa.nulls(2, kind), "x": [1, 2]})
        ids = ids_in(open_table(write(tmp_path / "a.parquet", table)), "id")
        assert (ids.kind, ids.of(table, "a")) == (name, pa.nulls(2, ids.arrow_type))
    with pytest.raises(pm.SchemaError, match="which Spark does not have"):
        ids_in(open_table(write(tmp_path / "a.parquet", {"id": pa.nulls(2, pa.time32("s"))})), "id")
    remember_ids(str(tmp_path), ids)
    assert remembered_ids(str(tmp_path), "id", False) == ids
    for text in ("{", "{}", '{"column": "id", "kind": "x"}'):
        write(tmp_path / "pubmatch" / "ids.json", text)
        with pytest.raises(pm.FormatError, match=r"ids\.json"):
            remembered_ids(str(tmp_path), "id", False)


def start(words: list[str], log: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    script = "import sys; from pubmatch.cli import main; sys.exit(main(sys.argv[1:]))"
    with log.open("w") as file:
        return subprocess.Popen(
            [sys.executable, "-c", script, *words, "--master", "local[1]"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
        )


def test_it_runs_until_it_is_asked_to_stop(spark: SparkSession, streams: Streams) -> None:
    """First it waits for a file; then it is stopped between batches or in one; then it is taken up again."""
    filters = flight_filters(50, seed=3)
    sample = write(streams.folder / "sample.parquet", flight_events(10))
    assert streams.publish(filters, "--events", sample)[0] == 0
    flights = flight_events(2000, seed=4)
    log = streams.folder / "stderr"
    process = start([*streams.words(), "--files-per-batch", "1"], log)
    try:
        end = time.monotonic() + 240
        for place in range(8):
            streams.add(f"{place}.parquet", flights.slice(250 * place, 250))
        while not list((streams.folder / "out").glob("batch_id=*")):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    assert (process.returncode, log.read_text()) == (0, "")
    assert out.endswith(f"{streams.folder}/out: stopped\n")
    expected = wanted(flights, filters, 1)
    assert 0 < len(streams.rows()) < len(expected)
    assert streams.stream()[0] == 0
    assert streams.rows() == expected


def test_event_files(tmp_path: Path) -> None:
    for place, name in enumerate(["b.csv", "a.PQ", ".c.csv", "_d.csv", "e.txt", "_f/g.csv", "h/i.arrow"]):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
        os.utime(path, (place, place))
    (tmp_path / "dangling.csv").symlink_to("nowhere")
    assert event_files(str(tmp_path)) == [tmp_path / name for name in ("b.csv", "a.PQ", "h/i.arrow")]


def test_a_first_file_that_goes_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ps.publish(pm.Matcher(pm.Schema(x=pm.Number())), tmp_path / "versions", 1)
    places = {name: str(tmp_path / name) for name in ("versions", "events", "out", "progress")}
    job = file_stream.StreamJob(*places.values(), once=True)
    found = [[tmp_path / "events" / "gone.csv"], []]
    monkeypatch.setattr(file_stream, "event_files", lambda directory: found.pop(0))
    pins = file_stream.VersionPins(job.checkpoint, job.subscriptions)
    assert file_stream._wait_for_ids(job, pins, threading.Event(), lambda what, done: None) is None
    assert found == []
