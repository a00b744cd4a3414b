"""`bench matcher` at a tiny size: every part is measured, and a wrong answer fails the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pubmatch as pm
from pubmatch.cli import main
from pubmatch_bench import matcher as bench

ARGUMENTS = ["bench", "matcher", "--scale", "0.001", "--rounds", "2"]


def test_every_part_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "matcher.json"
    assert main([*ARGUMENTS, "--json", str(file)]) == 0
    record = json.loads(file.read_text())
    w2, flights, subscribing = record["results"]
    assert (w2["workload"], w2["dims"], w2["subscriptions"], w2["equal"]) == ("W2", 20, 1000, True)
    assert [way["way"] for way in w2["ways"]] == ["Index.match", "Matcher.match", "Matcher.match, pairs"]
    assert all(way["ratio"] > 0 for way in w2["ways"])
    assert w2["matches_per_event"] > 0
    assert (flights["subscriptions"], flights["events"]) == (100, bench.FLIGHT_BATCH)
    assert flights["sample"]["equal"] is True
    assert flights["sample"]["matches"] > 0
    assert {"match_us", "subscribe_us", "unsubscribe_us"} == flights["single"].keys()
    tables = {row["table"]: row for row in subscribing["tables"]}
    assert tables.keys() == {"bounds", "conjunctions", "every construct"}
    assert all(row["rows"] == row["loaded"] == 1000 for row in tables.values())
    assert tables["every construct"]["shapes"] == 10
    assert subscribing["equal"] is True
    shown = capsys.readouterr().out
    assert "× Index.match" in shown
    assert "every construct" in shown


def test_a_matcher_that_answers_wrongly_fails_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    genuine = pm.MatcherResult.pairs

    def wrong(self: pm.MatcherResult) -> tuple[Any, Any]:
        events, keys = genuine(self)
        return events, np.where(keys == keys.max(initial=0), 0, keys)

    monkeypatch.setattr(pm.MatcherResult, "pairs", wrong)
    assert main([*ARGUMENTS, "--peers", "none"]) == 1
    assert "results differ: W2" in capsys.readouterr().err
