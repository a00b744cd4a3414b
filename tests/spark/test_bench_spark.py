"""`bench spark` on a small scale: everything is measured, and all results are equal."""

from __future__ import annotations

import json
import mmap
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("typer")

from pubmatch.cli import main
from pubmatch_bench.spark import mapping_of

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_bench_spark(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "record.json"
    choices = ["--workloads", "W3", "--peers", "sedona", "--scale", "0.004", "--rounds", "1"]
    code = main(["bench", "spark", *choices, "--json", str(target)])
    assert code in (0, None), capsys.readouterr().err
    printed = capsys.readouterr().out
    assert "Inside Spark" in printed
    assert "Shards" in printed
    record = json.loads(target.read_text(encoding="utf-8"))
    assert record["versions"]["pyspark"]
    assert [result["workload"] for result in record["results"]] == ["W3"]
    for result in record["results"]:
        join, plain = result["range_join"], result["plain"]
        assert (join["subscriptions"], join["events"]) == (400, 100)
        assert [(peer["peer"], peer["equal"]) for peer in join["peers"]] == [("spark", True)]
        assert join["peers"][0]["plan"] == "BroadcastNestedLoopJoin"
        assert join["peers"][0]["ratio"] > 0
        assert (plain["subscriptions"], plain["events"], plain["equal"]) == (4000, 400, True)
        assert plain["fraction"] > 0
        assert [(one["by"], one["equal"]) for one in result["shards"]] == [
            ("zorder", True),
            ("clusters", True),
            ("hash", True),
        ]
        assert all(0 <= one["fan_out"] <= 8 and one["balance"] >= 1 for one in result["shards"])
        first = result["first_match"]
        for name in ("cached", "from_disk"):
            assert 0 < first[f"{name}_task_s"] <= first[f"{name}_job_s"]
        memory = result["memory"]
        assert memory["workers"] == len(memory["resident_bytes_of_each"]) == 2
        shared = memory["proportional_bytes_of_all"]
        assert 0.5 * memory["index_bytes"] < shared <= memory["index_bytes"] + 2 * mmap.PAGESIZE
        assert memory["copied_bytes_of_all"] == 0
    # The session of the tests was started without Sedona.
    assert [list(result["range_join"]["not_measured"]) for result in record["results"]] == [["sedona"]]
    assert "sedona: not measured" in printed
    assert first["index_bytes"] == pytest.approx(0.004 * 500e6, rel=0.3)
    assert spark.range(3).count() == 3  # a session that was there before is left alone


def test_unknown_peers_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "spark", "--peers", "flink"]) == 2
    assert "known are sedona, or none" in capsys.readouterr().err


def test_mapping_of(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 3 * mmap.PAGESIZE)
    assert mapping_of(str(path)) == {"rss": 0, "pss": 0, "anonymous": 0}
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as view:
        assert view[0] + view[mmap.PAGESIZE] + view[2 * mmap.PAGESIZE] == 3 * ord("x")
        view[0] = 1
        sizes = mapping_of(str(path))
        assert sizes["rss"] == 3 * mmap.PAGESIZE
        assert sizes["anonymous"] == mmap.PAGESIZE
