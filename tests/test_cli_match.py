"""`pubmatch match`: DuckDB's answers in every format, ids, schemas, streaming, progress."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from match_command import SUFFIXES, MatchCommand, leftovers, pairs, refused_with, write

import pubmatch as pm
from pubmatch.cli.commands import match as command
from pubmatch.cli.match_files import MatchJob, match_files
from pubmatch.cli.response_times import ResponseTimes
from pubmatch.tables import csv_files, json_files, open_table, writer
from pubmatch_bench.flights import SCHEMA, flight_events, flight_filters

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> MatchCommand:
    return MatchCommand(tmp_path, capsys)


# --- against DuckDB ---


@pytest.fixture(scope="module")
def flights() -> tuple[pa.Table, pa.Table, list[tuple[int, str]]]:
    """A sample of flights, filters, and the pairs that DuckDB finds."""
    events, filters = flight_events(4000, seed=1), flight_filters(200, seed=8)
    found: list[tuple[int, str]] = []
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("flights", events)
        for row in filters.to_pylist():
            ids = connection.execute(f"SELECT event_id FROM flights WHERE {row['filter']}").fetchall()
            found += [(event, row["key"]) for (event,) in ids]
    return events, filters, sorted(found)


@pytest.mark.oracle
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_pairs_are_those_of_duckdb(
    run: Any, flights: Any, tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 40_000)
    monkeypatch.setattr(json_files, "BLOCK_BYTES", 40_000)
    monkeypatch.setattr(writer, "_GROUP_ROWS", 300)
    events, filters, expected = flights
    assert len(expected) > 500
    summary = tmp_path / "summary.json"
    out = f"out.{suffix}"
    code, shown, err = run(filters, events, "--batch", "700", "--json", summary, out=out, suffix=suffix)
    assert (code, err) == (0, "")
    assert f"{len(expected):,} matches of 4,000 events" in shown
    assert pairs(tmp_path / out) == expected
    told = json.loads(summary.read_text())
    assert (told["events"], told["matches"], told["subscriptions"]) == (4000, len(expected), 200)
    assert told["refused"] == 0
    assert told["events_per_s"] > 0
    assert 0 < told["mean_response_s"] <= told["p99_response_s"] * 1.01
    assert set(SCHEMA.names) - set(told["attributes"]) == {"air_time", "month"}  # no filter names them
    assert leftovers(tmp_path) == [out]


@pytest.mark.oracle
@pytest.mark.parametrize("options", [["--order", "fifo"], ["--threads", "2"], ["--batch", "1000000"]])
def test_options_do_not_change_the_pairs(run: Any, flights: Any, tmp_path: Path, options: list[str]) -> None:
    events, filters, expected = flights
    assert run(filters, events, *options, suffix="parquet")[0] == 0
    assert pairs(tmp_path / "out.csv") == expected


# --- ids and keys ---


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_without_ids_events_are_numbered_through_all_batches(run: Any, tmp_path: Path, suffix: str) -> None:
    events = {"x": np.arange(10.0)}
    assert run({"key": [5], "filter": ["x >= 6"]}, events, "--batch", "4", suffix=suffix)[0] == 0
    assert pairs(tmp_path / "out.csv") == [(6, 5), (7, 5), (8, 5), (9, 5)]


def test_another_id_column(run: Any, tmp_path: Path) -> None:
    events = {"event_id": [1, 2], "name": ["007", "7"], "x": [1, 2]}
    assert run({"key": ["a"], "filter": ["x > 0"]}, events, "--id-column", "name")[0] == 0
    assert pairs(tmp_path / "out.csv") == [("007", "a"), ("7", "a")]
    again = run({"key": ["a"], "filter": ["name = '007'"]}, events, "--id-column", "name", suffix="parquet")
    assert again[0] == 0  # the ids' column is an attribute too if a filter names it
    assert pairs(tmp_path / "out.csv") == [("007", "a")]


def test_ids_of_a_dictionary_column_are_plain(run: Any, tmp_path: Path) -> None:
    events = {"event_id": pa.array(["a", "b", "a"]).dictionary_encode(), "x": [1, 2, 3]}
    assert run({"key": [1], "filter": ["x > 1"]}, events, out="out.arrow", suffix="arrow")[0] == 0
    assert open_table(tmp_path / "out.arrow").schema.field("event_id").type == pa.string()
    assert pairs(tmp_path / "out.arrow") == [("a", 1), ("b", 1)]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_ids_of_many_types(run: Any, tmp_path: Path, suffix: str) -> None:
    far = pa.array([2**58, 2**58 + 1], pa.timestamp("us"))
    fine = pa.array([1, None], pa.timestamp("ns", "UTC"))
    for ids in (
        far,
        fine,
        pa.array([b"a", b"b"]).cast(pa.string_view()),
        pa.nulls(2),
        pa.array([0.5, 1e300]),
    ):
        events = write(tmp_path / "events.parquet", {"event_id": ids, "x": [1, 2]})
        assert run({"key": [1], "filter": ["x > 1"]}, events, out=f"out.{suffix}")[0] == 0
        assert open_table(tmp_path / f"out.{suffix}").read().num_rows == 1
        (tmp_path / f"out.{suffix}").unlink()
    for ids in (
        [[1], [2]],
        [b"a", b"b"],
        pa.array([1, 2], pa.duration("s")),
        pa.array([1, 2], pa.decimal128(5)),
    ):
        events = write(tmp_path / "events.parquet", {"event_id": ids, "x": [1, 2]})
        answer = run({"key": [1], "filter": ["x > 1"]}, events, out=f"out.{suffix}")
        assert refused_with(answer, tmp_path, "'event_id'", "not an id")


def test_a_time_that_text_cannot_hold(run: Any, tmp_path: Path) -> None:
    events = {"event_id": pa.array([2**60], pa.timestamp("us")), "x": [1]}
    parquet = write(tmp_path / "events.parquet", events)
    for name in ("out.csv", "out.jsonl"):
        answer = run("key,filter\n1,x > 0\n", parquet, out=name)
        assert refused_with(answer, tmp_path, name, "'event_id'", "year")
    assert run("key,filter\n1,x > 0\n", parquet, out="out.parquet")[0] == 0


def test_events_without_types(run: Any, tmp_path: Path) -> None:
    answer = run("key,filter\n1,x > 0\n", "x,y\n")
    assert refused_with(answer, tmp_path, "events.csv", "--schema", "x (empty), y (empty)")
    schema = tmp_path / "schema.json"
    schema.write_text(pm.Schema(x=pm.Number()).to_json())
    for events in ("x,y\n", "y\n5\n"):
        assert run("key,filter\n1,x > 0\n", events, "--schema", schema)[0] == 0
        assert pairs(tmp_path / "out.csv") == []


def test_a_missing_id_column(run: Any, tmp_path: Path) -> None:
    answer = run("key,filter\n1,x > 0\n", "x,y\n1,2\n", "--id-column", "id")
    assert refused_with(answer, tmp_path, "events.csv", "no column 'id'", "x, y")
    answer = run("key,filter\n1,x > 0\n", "x,y\n1,2\n", "--id-column", "")
    assert refused_with(answer, tmp_path, "events.csv", "no column ''")


def test_keys_in_text_stay_what_they_are(run: Any, tmp_path: Path) -> None:
    assert run('key,filter\n007,x > 0\n8,"x > 0 AND\nx < 5"\n', "x\n1\n")[0] == 0
    assert pairs(tmp_path / "out.csv") == [(0, "007"), (0, "8")]
    assert run('{"key": "2013-01-01T00:00:00", "filter": "x > 0"}\n', '{"x": 1}\n', suffix="jsonl")[0] == 0
    assert pairs(tmp_path / "out.csv") == [(0, "2013-01-01T00:00:00")]


# --- schemas and types ---


def test_bounds(run: Any, tmp_path: Path) -> None:
    subscriptions = "key,price_min,price_max,zip_min,zip_max\na,1,2.5,,\nb,,,00500,00600\n"
    events = {"price": [2.5, 3.0], "zip": ["00700", "00501"]}
    parquet = write(tmp_path / "events.parquet", pa.table(events))
    assert run(subscriptions, parquet)[0] == 0
    assert pairs(tmp_path / "out.csv") == [(0, "a"), (1, "b")]


def test_a_given_schema_decides_what_text_means(run: Any, tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    kinds = pm.Schema(zip=pm.Category(), ok=pm.Boolean(), at=pm.Timestamp(), gone=pm.Number())
    schema.write_text(kinds.to_json())
    subscriptions = {
        "key": [1, 2, 3, 4],
        "filter": ["zip = '007'", "ok", "at < '2013-01-01 00:00:00.5'", "gone IS NULL"],
    }
    expected = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 4)]
    text = "zip,ok,at\n007,1,2013-01-01 00:00:00.25\n7,0,2013-01-01 00:00:01\n"
    assert run(subscriptions, text, "--schema", schema)[0] == 0
    assert pairs(tmp_path / "out.csv") == expected
    lines = (
        '{"zip": "007", "ok": true, "at": "2013-01-01T00:00:00.25Z"}\n'
        '{"zip": "7", "ok": false, "at": "2013-01-01T01:00:01+01:00"}\n'
    )
    assert run(subscriptions, lines, "--schema", schema, suffix="jsonl")[0] == 0
    assert pairs(tmp_path / "out.csv") == expected


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_types_follow_the_whole_file(
    run: Any, tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 64)
    monkeypatch.setattr(json_files, "BLOCK_BYTES", 64)
    rows = [{"late": None, "number": n, "name": "NA"} for n in range(60)]
    rows.append({"late": "x", "number": 0.5, "name": "LX"})
    text = "".join(json.dumps(row) + "\n" for row in rows)
    if suffix == "csv":
        text = "late,number,name\n" + "".join(f"{r['late'] or ''},{r['number']},{r['name']}\n" for r in rows)
    filters = {"key": [1, 2], "filter": ["late = 'x' AND number = 0.5", "name = 'NA' AND number = 59"]}
    assert run(filters, text, suffix=suffix)[0] == 0
    assert pairs(tmp_path / "out.csv") == [(59, 2), (60, 1)]


def test_a_column_no_attribute_takes_is_left_alone(run: Any, tmp_path: Path) -> None:
    events = pa.table({"x": [1, 2], "tags": [["a"], []], "note": pa.nulls(2)})
    parquet = write(tmp_path / "events.parquet", events)
    assert run({"key": [1], "filter": ["x = 1"]}, parquet)[0] == 0
    (tmp_path / "out.csv").unlink()
    answer = run({"key": [1], "filter": ["note = 'a'"]}, parquet)
    assert refused_with(answer, tmp_path, "subs.csv", "unknown attribute 'note'", "note (empty)", "--schema")


def test_more_columns_than_a_matcher_takes(run: Any, tmp_path: Path) -> None:
    events = {f"c{place}_": [float(place)] for place in range(300)}
    assert run({"key": [1, 2], "filter": ["c7_ = 7", "c299_ = 0"]}, events)[0] == 0
    assert pairs(tmp_path / "out.csv") == [(0, 1)]


def test_names_that_need_quotes(run: Any, tmp_path: Path) -> None:
    events = pa.table({"": [0, 1], 'a "b" c': [5, 6], "Ünit": [1, 1]})
    filters = {"key": [1, 2], "filter": ['"a ""b"" c" = 6', '"Ünit" = 1']}
    assert run(filters, events)[0] == 0
    assert pairs(tmp_path / "out.csv") == [(0, 2), (1, 1), (1, 2)]


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_no_events_and_no_subscriptions(run: Any, tmp_path: Path, suffix: str) -> None:
    none = pa.table({"x": pa.array([], pa.int64())})
    nobody = pa.table({"key": pa.array([], pa.int64()), "filter": pa.array([], pa.string())})
    summary = tmp_path / "summary.json"
    for subscriptions, events in ((nobody, {"x": [1]}), ({"key": [1], "filter": ["x > 0"]}, none)):
        answer = run(subscriptions, events, "--json", summary, out=f"out.{suffix}", suffix=suffix)
        assert answer[0] == 0
        assert pairs(tmp_path / f"out.{suffix}") == []
    told = json.loads(summary.read_text())
    assert (told["events"], told["mean_response_s"], told["p99_response_s"]) == (0, None, None)


# --- files larger than memory, in small ---


def test_memory_does_not_grow_with_the_file(run_python: Any, tmp_path: Path) -> None:
    """Peak Arrow memory, of which reading a file whole would take all."""
    rng = np.random.default_rng(0)
    subscriptions = write(tmp_path / "subs.csv", "key,filter\n1,x > 0.99\n")
    for name, rows in (("small", 1 << 17), ("large", 1 << 20)):
        table = pa.table({"x": rng.random(rows), "more": rng.random(rows), "event_id": np.arange(rows)})
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=1 << 16)
    script = (
        "import sys, pathlib, pyarrow as pa\n"
        "from pubmatch.cli.match_files import MatchJob, match_files\n"
        "pa.set_memory_pool(pa.system_memory_pool())\n"
        "match_files(MatchJob(*map(pathlib.Path, sys.argv[1:])), lambda *_: None)\n"
        "print(pa.default_memory_pool().max_memory())\n"
    )
    peaks = {}
    for name in ("small", "large"):
        done = run_python(
            script, subscriptions, tmp_path / f"{name}.parquet", tmp_path / f"out-{name}.parquet"
        )
        assert done.returncode == 0, done.stderr
        peaks[name] = int(done.stdout)
    assert peaks["large"] < 2 * peaks["small"]
    assert peaks["large"] < (1 << 20) * 16  # the two columns that are read


# --- parts ---


def test_response_times_are_exact_to_one_percent() -> None:
    seconds = np.random.default_rng(4).lognormal(-8, 2, 10_000)
    times = ResponseTimes()
    for part in np.array_split(seconds, 7):
        times.add(part)
    assert len(times) == 10_000
    assert times.mean_s == pytest.approx(seconds.mean())
    for share in (0.01, 0.5, 0.99, 1.0):
        expected = np.sort(seconds)[max(int(np.ceil(share * 10_000)), 1) - 1]
        assert times.quantile(share) == pytest.approx(expected, rel=0.011)
    times.add(np.array([0.0, 1e300]))
    assert ResponseTimes().quantile(0.5) is None


def test_a_progress_bar_on_a_terminal(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("key,filter\n1,x > 0\n", {"x": range(100)}, "--batch", "10")
    assert run(*arguments)[2] == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    code, out, err = run(*arguments)
    assert code == 0
    assert "99 matches of 100 events" in out
    assert "match: 100 events" in err


def test_progress_goes_from_nothing_to_all(tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []
    subscriptions = write(tmp_path / "subs.csv", "key,filter\n1,x > 0\n")
    for suffix in SUFFIXES:
        told.clear()
        events = write(tmp_path / f"events.{suffix}", {"x": range(100)})
        job = MatchJob(subscriptions, events, tmp_path / "out.csv", batch=10)
        match_files(job, lambda *one: told.append(one))
        fractions = [fraction for _, fraction in told]
        assert fractions == sorted(fractions)
        assert told[-1] == ("100 events, 99 matches", 1.0)
        assert len(told) > 10


def test_the_enumerations_are_those_of_the_index() -> None:
    index = pm.Index(dims=1)
    for order in command.EventOrder:
        assert len(index.match(np.zeros((2, 1)), order=order.value)) == 2
