"""`pubmatch match` on bad subscriptions, events and options: one line, exit code 2, no file."""

from __future__ import annotations

import json
import os
import sys
import types
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from match_command import MatchCommand, leftovers, pairs, refused_with, write

import pubmatch as pm
from pubmatch.cli.match_files import MatchJob, match_files
from pubmatch.tables import open_table

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> MatchCommand:
    return MatchCommand(tmp_path, capsys)


# --- bad subscriptions ---


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_refused_subscriptions_are_listed(run: Any, tmp_path: Path, suffix: str) -> None:
    summary, refused = tmp_path / "summary.json", tmp_path / f"refused.{suffix}"
    filters = {"key": [1, 2, 3, 1], "filter": ["x > 0", "x >", "y = 1", "x < 0"]}
    answer = run(filters, {"x": [1]}, "--refused", refused, "--json", summary)
    assert answer[0] == 0
    assert "1 subscriptions, 3 refused" in answer[1]
    assert pairs(tmp_path / "out.csv") == [(0, 1)]
    listed = open_table(refused).read()
    assert listed.schema.names == ["row", "key", "filter", "error"]
    assert listed.column("row").to_pylist() == [1, 2, 3]
    assert "unknown attribute 'y'" in listed.column("error").to_pylist()[1]
    assert json.loads(summary.read_text())["refused"] == 3


@pytest.mark.parametrize(
    ("subscriptions", "words"),
    [
        ("key,filter\n1,x > 0\n2,x >\n", ["row 1", "key 2"]),
        ("key,filter\n1,x > 0\n1,x > 1\n", ["row 1", "key 1"]),
        ("key,filter\n1,\n", ["no filter"]),
        ("key,filter\n1,colour = 'red'\n", ["unknown attribute 'colour'"]),
        ("key,filter\n1,x > 5 AND x < 3\n", ["no event can satisfy"]),
        ("filter\nx > 0\n", ["no column 'key'"]),
        ("key,what\n1,2\n", ["'what'"]),
        ("key\n1\n", ["neither"]),
        ("key,x_min,x_max\n1,5,many\n", ["x_max", "string"]),
        ("key,key,filter\n1,1,x > 0\n", ["'key' appears twice"]),
        ("", ["subs.csv", "Empty"]),
    ],
)
def test_bad_subscriptions(run: Any, tmp_path: Path, subscriptions: str, words: list[str]) -> None:
    assert refused_with(run(subscriptions, "x\n1\n"), tmp_path, "subs.csv", *words)


# --- bad events ---


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        ("parquet", b"PAR1 but nothing else"),
        ("parquet", b""),
        ("arrow", b"ARROW1 and then nonsense"),
        ("arrow", b"nonsense"),
        ("jsonl", b'{"x": 1}\n{"x": \n'),
        ("jsonl", b'{"x": 1}\n{"x": "a"}\n'),
        ("jsonl", b"[1, 2]\n"),
        ("csv", b""),
        ("csv", b"x,y\n1\n"),
        ("csv", b"x,x\n1,2\n"),
        ("csv", b"\xff\xfe,x\n1,2\n"),
    ],
)
def test_damaged_events(run: Any, tmp_path: Path, suffix: str, content: bytes) -> None:
    events = tmp_path / f"events.{suffix}"
    events.write_bytes(content)
    assert refused_with(run("key,filter\n1,x > 0\n", events), tmp_path, f"events.{suffix}")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"null\n", 1),
        (b"\xef\xbb\xbfnull", 1),
        (b'{"x": 1}\n\n \tnull\r\n{"x": 2}\n', 3),
        (b'{"x": 1, "s": "\\"} null"} null\n', 1),
        (b'{"x": 1}\n' * 200_000 + b"null\n", 200_001),
        (b'{"x": 1}\n3\n', 2),
    ],
)
def test_a_line_of_json_that_is_no_object(run: Any, tmp_path: Path, content: bytes, line: int) -> None:
    events = tmp_path / "events.jsonl"
    events.write_bytes(content)
    answer = run("key,filter\n1,x > 0\n", events)
    assert refused_with(answer, tmp_path, f"events.jsonl: line {line}: expected an object")


def test_ids_that_are_not_utf8_cannot_be_written_as_json(run: Any, tmp_path: Path) -> None:
    events = tmp_path / "events.parquet"
    ids = pa.array([b"a", b"\xff"]).view(pa.string())
    pq.write_table(pa.table({"event_id": ids, "x": [1, 2]}), events)
    answer = run("key,filter\n1,x > 0\n", events, out="out.jsonl")
    assert refused_with(answer, tmp_path, "out.jsonl: column 'event_id' has strings that are not UTF-8")


def test_objects_that_only_look_strange(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes(
        b'\xef\xbb\xbf\r\n  {"s": "} null", "x": {"y": null}}\r\n\r\n'
        b'{"s":\nnull, "x": {"y": 1} }{"s": "}\\""}\n'
    )
    assert open_table(file).read().column("s").to_pylist() == ["} null", None, '}"']


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_file_damaged_in_the_middle(run: Any, tmp_path: Path, suffix: str) -> None:
    events = write(tmp_path / f"events.{suffix}", {"x": np.random.default_rng(0).random(50_000)})
    data = bytearray(events.read_bytes())
    data[100:2000] = bytes(1900)
    if suffix == "arrow":
        data = data[: len(data) // 2]
    events.write_bytes(data)
    assert refused_with(run("key,filter\n1,x > 0.5\n", events), tmp_path, f"events.{suffix}")


def test_a_bad_value_is_told_with_its_batch(run: Any, tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(pm.Schema(x=pm.Integer(domain=(0, 9))).to_json())
    events = {"x": [1, 2, 3, 4, 5, 77]}
    answer = run("key,filter\n1,x > 0\n", events, "--schema", schema, "--batch", "4")
    assert refused_with(answer, tmp_path, "events.csv", "begins with row 4", "at row 1 (77)")


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_integers_read_as_floats_are_refused_where_they_may_be_rounded(
    run: Any, tmp_path: Path, suffix: str
) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(pm.Schema(x=pm.Integer()).to_json())
    lines = ["9007199254740993", "3.0"]
    events = {"csv": "\n".join(["x", *lines]), "jsonl": "\n".join(f'{{"x": {one}}}' for one in lines)}[suffix]
    events_file = write(tmp_path / f"events.{suffix}", events + "\n")
    answer = run("key,filter\n1,x > 0\n", events_file, "--schema", schema)
    assert refused_with(answer, tmp_path, "column 'x' has an integer beyond 2^53 as a float", "at row 0")
    bounds = "key,x_min\n1,3.0\n2,9007199254740993\n"
    answer = run(bounds, "x\n1\n", "--schema", schema)
    assert refused_with(answer, tmp_path, "row 1, key 2", "column 'x_min' has an integer beyond 2^53")
    assert run("key,x_min\n1,3.0\n2,9007199254740991\n", "x\n1\n", "--schema", schema)[0] == 0


def test_an_old_result_survives_a_failure(run: Any, tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("old")
    schema = tmp_path / "schema.json"
    schema.write_text(pm.Schema(x=pm.Integer(domain=(0, 9))).to_json())
    events = {"x": [1] * 50 + [77]}
    assert run("key,filter\n1,x > 0\n", events, "--schema", schema, "--batch", "10")[0] == 2
    assert (tmp_path / "out.csv").read_text() == "old"
    assert leftovers(tmp_path) == ["out.csv"]


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    subscriptions = write(tmp_path / "subs.csv", "key,filter\n1,x > 0\n")
    events = write(tmp_path / "events.csv", "x\n1\n2\n")

    def interrupt(what: str, fraction: float) -> None:
        if "matches" in what:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        match_files(MatchJob(subscriptions, events, tmp_path / "out.parquet"), interrupt)
    assert leftovers(tmp_path) == []


# --- bad usage ---


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--schema", "none.json"], ["none.json", "No such file"]),
        (["--schema", "events.csv"], ["events.csv", "not JSON"]),
        (["--master", "local[2]"], ["--engine spark"]),
        (["--refused", "refused.xlsx"], ["refused.xlsx", ".parquet"]),
        (["--json", "out.csv"], ["named twice"]),
        (["--refused", "events.csv"], ["named twice"]),
        (["--engine", "spark", "--master", "local[2]"], ["--engine spark needs pyspark", "pubmatch[spark]"]),
    ],
)
def test_bad_options(
    run: Any, tmp_path: Path, options: list[str], words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if "spark" in options:
        monkeypatch.setitem(sys.modules, "pyspark", None)
    assert refused_with(run("key,filter\n1,x > 0\n", "x\n1\n", *options), tmp_path, *words)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            ImportError("pandas >= 2.2.0 must be installed."),
            "cannot run: pandas >= 2.2.0 must be installed: ",
        ),
        (ModuleNotFoundError("No module named 'pandas'", name="pandas"), "needs pandas: "),
    ],
)
def test_what_spark_misses_while_it_runs(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: ImportError, words: str
) -> None:
    def fail(*arguments: Any) -> None:
        raise error

    package = types.ModuleType("pubmatch_spark.file_match")
    monkeypatch.setattr(package, "match_files", fail, raising=False)
    monkeypatch.setitem(sys.modules, "pyspark", types.ModuleType("pyspark"))
    monkeypatch.setitem(sys.modules, "pubmatch_spark", types.ModuleType("pubmatch_spark"))
    monkeypatch.setitem(sys.modules, "pubmatch_spark.file_match", package)
    answer = run("key,filter\n1,x > 0\n", "x\n1\n", "--engine", "spark")
    assert refused_with(answer, tmp_path, f"--engine spark {words}pip install 'pubmatch[spark]'")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("out.xlsx", [".parquet"]),
        ("out", [".parquet"]),
        ("none/out.csv", ["no directory"]),
        (".", ["directory"]),
    ],
)
def test_bad_output_names(run: Any, tmp_path: Path, name: str, words: list[str]) -> None:
    assert refused_with(run("key,filter\n1,x > 0\n", "x\n1\n", out=name), tmp_path, *words)


@pytest.mark.parametrize(
    "options", [["--batch", "0"], ["--threads", "0"], ["--order", "lifo"], ["--engine", "x"]]
)
def test_wrong_usage_shows_the_usage(run: Any, tmp_path: Path, options: list[str]) -> None:
    code, out, err = run("key,filter\n1,x > 0\n", "x\n1\n", *options)
    assert (code, out) == (2, "")
    assert err.startswith("Usage: pubmatch match")
    assert leftovers(tmp_path) == []


def test_files_that_are_not_there(run: Any, tmp_path: Path) -> None:
    answer = run("key,filter\n1,x > 0\n", tmp_path / "none.parquet")
    assert refused_with(answer, tmp_path, "none.parquet", "No such file")
    assert refused_with(run(tmp_path / "none.csv", "x\n1\n"), tmp_path, "none.csv", "No such file")
    directory = tmp_path / "directory.csv"
    directory.mkdir()
    assert refused_with(run("key,filter\n1,x > 0\n", directory), tmp_path, "directory.csv", "directory")


def test_without_pyarrow_the_extra_is_named(run_python: Any, tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['pyarrow'] = None; from pubmatch.cli import main; "
        "sys.exit(main(['match', '--subscriptions', 's.csv', '--events', 'e.csv', '--out', sys.argv[1]]))"
    )
    done = run_python(script, tmp_path / "out.csv")
    assert done.returncode == 2
    assert done.stderr == "pubmatch: match needs pyarrow: pip install 'pubmatch[sql]'\n"


def test_the_same_file_by_another_name_is_seen(run: Any, tmp_path: Path) -> None:
    events = write(tmp_path / "events.csv", "x\n1\n")
    os.symlink(events, tmp_path / "other.csv")
    code, out, err = run("key,filter\n1,x > 0\n", events, out="other.csv")
    assert (code, out) == (2, "")
    assert "named twice" in err
    assert events.read_text() == "x\n1\n"
