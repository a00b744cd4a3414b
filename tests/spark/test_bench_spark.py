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
    arguments = ["--workloads", "W1,W3", "--scale", "0.004", "--rounds", "2", "--json", str(target)]
    code = main(["bench", "spark", *arguments])
    assert code in (0, None), capsys.readouterr().err
    assert "Inside Spark" in capsys.readouterr().out
    record = json.loads(target.read_text(encoding="utf-8"))
    assert record["versions"]["pyspark"]
    assert [result["workload"] for result in record["results"]] == ["W1", "W3"]
    for result in record["results"]:
        join, plain = result["range_join"], result["plain"]
        assert (join["subscriptions"], join["events"], join["equal"]) == (400, 100, True)
        assert (plain["subscriptions"], plain["events"], plain["equal"]) == (4000, 400, True)
        assert join["ratio"] > 0
        assert plain["fraction"] > 0
        assert 0 < result["first_match"]["task_s"] <= result["first_match"]["job_s"]
        memory = result["memory"]
        assert memory["workers"] == len(memory["resident_bytes_of_each"]) == 2
        assert 0 < memory["proportional_bytes_of_all"] <= memory["index_bytes"] + 2 * mmap.PAGESIZE
        assert memory["copied_bytes_of_all"] == 0
    assert spark.range(3).count() == 3  # a session that was there before is left alone


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
