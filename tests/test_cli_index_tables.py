"""`pubmatch index` on tables of bounds and on files of matchers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from match_command import SUFFIXES, leftovers, write

import pubmatch as pm
from pubmatch.cli import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_index_is_built_from_a_table(tmp_path: Path, suffix: str) -> None:
    bounds = {"key": [7, 5], "x_min": [0.0, None], "x_max": [1.0, 4.0], "y_max": [2, 3]}
    boxes = write(tmp_path / f"boxes.{suffix}", bounds)
    assert main(["index", "build", str(boxes), "--out", str(tmp_path / "new.pubmatch")]) == 0
    index = pm.Index.load(tmp_path / "new.pubmatch")
    assert (index.dims, len(index)) == (2, 2)
    assert [ids.tolist() for ids in index.match([[0.5, -9.0], [-5.0, 3.0], [5, 0]], sort=True)] == [
        [5, 7],
        [5],
        [],
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("key,filter\n1,x > 0\n", "'filter'"),
        ("key\n1\n", "no bounds"),
        ("x_min,x_max\n1,many\n", "x_max"),
        ("key,x_min\na,1\n", "'key' is string"),
        ("key,x_min\n,1\n2,1\n", "'key'"),
        ("x_min,x_max\n2,1\n", "row 0"),
        ("key,x_min\n1,0\n1,0\n", "1"),
    ],
)
def test_tables_no_index_can_be_built_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    boxes = write(tmp_path / "boxes.csv", text)
    assert main(["index", "build", str(boxes), "--out", str(tmp_path / "out.pubmatch")]) == 2
    printed = capsys.readouterr()
    assert words in printed.err
    assert printed.err.startswith(f"pubmatch: {boxes}: ")
    assert printed.err.count("\n") == 1
    assert leftovers(tmp_path) == []


def test_info_and_check_of_a_matcher(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    matcher = pm.Matcher(pm.Schema(x=pm.Number(), name=pm.Category()))
    matcher.subscribe("a", "x > 1 OR name = 'b'")
    file, record = tmp_path / "saved.pubmatch", tmp_path / "info.json"
    matcher.save(file)
    assert main(["index", "info", str(file), "--json", str(record)]) == 0
    info = json.loads(record.read_text())
    assert (info["size"], info["stats"]["boxes"], list(info["schema"])) == (1, 2, ["x", "name"])
    assert main(["index", "check", str(file)]) == 0
    data = bytearray(file.read_bytes())
    data[-10] ^= 1
    file.write_bytes(data)
    capsys.readouterr()
    assert main(["index", "check", str(file)]) == 1
    assert capsys.readouterr().err.count(str(file)) == 1
    assert main(["index", "info", str(file)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
