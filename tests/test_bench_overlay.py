"""`bench overlay` at a tiny size: a complete record, targets that can be missed, differences reported."""

from __future__ import annotations

import dataclasses
import json
import subprocess

import pytest

from pubmatch.cli import main
from pubmatch_bench import overlay, overlay_scale
from pubmatch_bench.reproduce import overlay_plan

SMALL = dataclasses.replace(overlay_plan.QUICK, sizes=(100, 300), lookups=60)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(overlay_plan, "QUICK", SMALL)
    monkeypatch.setattr(overlay, "QUICK_SCALE", 0.002)
    monkeypatch.setattr(overlay, "QUICK_ROUNDS", 2)


def bench(tmp_path, capsys):
    file = tmp_path / "record.json"
    code = main(["bench", "overlay", "--quick", "--json", str(file)])
    printed = capsys.readouterr()
    return code, json.loads(file.read_text()), printed


def test_the_record(small, tmp_path, capsys):
    code, record, printed = bench(tmp_path, capsys)
    assert code == 0, printed.err
    assert record["name"] == "overlay"
    assert [row["workload"] for row in record["results"]] == [
        "cells paper",
        "cells offer",
        "cells combiner",
        "rectangles paper",
    ]
    for row in record["results"]:
        assert (row["nodes"], row["publishers"], row["subscriptions"]) == (200, 20_000, 8)
        assert row["seconds"] == pytest.approx(row["register_s"] + row["place_s"] + row["balance_s"])
        assert row["equal"] is True
        assert row["peak_bytes"] is None or row["peak_bytes"] > 1e7
    paper = record["results"][0]
    assert paper["peak_before"] > 500 >= paper["peak"]
    assert [row["nodes"] for row in record["hops"]] == [100, 300]
    assert record["figures"]["equal"] is True
    assert [row["met"] for row in record["targets"]] == [True] * 4
    assert "Placed and balanced" in printed.out
    assert "mean hops over log4(N)" in printed.out


def test_a_missed_target_is_said(small, monkeypatch):
    monkeypatch.setattr(overlay, "_in_a_process", overlay_scale.probe)
    monkeypatch.setattr(overlay, "FIGURES_LIMIT_S", 0.0)
    record = overlay.run(True, lambda what, done: None)
    assert {row["target"]: row["met"] for row in record["targets"]}["figures 8 to 13, s"] is False


def test_a_wrong_load_fails_the_run(small, monkeypatch, tmp_path, capsys):
    def lying(areas, policy, scale):
        return overlay_scale.probe(areas, policy, scale) | {"equal": policy != "offer"}

    monkeypatch.setattr(overlay, "_in_a_process", lying)
    code, _, printed = bench(tmp_path, capsys)
    assert code == 1
    assert printed.err == "pubmatch: results differ: cells offer\n"
    assert "NO" in printed.out


def test_a_probe_that_dies_says_why(monkeypatch):
    def killed(command, **options):
        return subprocess.CompletedProcess(command, 137, "", "Traceback\nMemoryError: no more")

    monkeypatch.setattr(overlay.subprocess, "run", killed)
    with pytest.raises(RuntimeError, match="cells, paper: the process ended with 137: MemoryError: no more"):
        overlay._in_a_process("cells", "paper", 1.0)
