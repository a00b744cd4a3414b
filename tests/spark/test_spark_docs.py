"""docs/spark.md: its program runs, and gives what its comments say."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PAGE = Path(__file__).parent.parent.parent / "docs" / "spark.md"


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def test_the_program_runs(spark: SparkSession) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 5
    names: dict[str, Any] = {}
    exec(compile("\n".join(blocks), str(PAGE), "exec"), names)
    pairs = [(1, "ibm-cheap"), (3, "not-ibm"), (4, "not-ibm")]
    assert rows(names["pairs"]) == rows(spark.read.parquet(str(names["folder"] / "pairs"))) == pairs
    sharded = {event for event, _ in rows(names["sharded"])}
    assert sharded == {1, 2, 3}
    assert names["report"].events == 4
    assert rows(names["results"]) == [(*pair, 1, 0) for pair in pairs]
    counts = names["per_minute"].select("subscription", "events", "mean_price")
    assert rows(counts.where("mean_price IS NOT NULL")) == [("ibm-cheap", 1, 12.5), ("not-ibm", 1, 12.5)]
    assert names["both"].columns == ["window", "ibm", "other", "ratio"]
    assert rows(names["both"]) == []


def test_the_commands_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("typer")
    from pubmatch.cli import main

    text = PAGE.read_text(encoding="utf-8")
    commands = [line for line in text.splitlines() if line.startswith("pubmatch ")]
    assert [line.split()[1] for line in commands] == ["match", "publish", "stream"]
    monkeypatch.chdir(tmp_path)
    Path("alerts.csv").write_text("key,filter\nibm-cheap,price BETWEEN 10 AND 20 AND symbol = 'IBM'\n")
    Path("events.csv").write_text("event_id,price,symbol\n1,12.5,IBM\n2,30,IBM\n3,12.5,HP\n")
    Path("incoming").mkdir()
    Path("incoming", "first.csv").write_text(Path("events.csv").read_text())
    for line in commands:
        assert main(shlex.split(line)[1:]) == 0, capsys.readouterr().err
    assert rows(spark.read.parquet(str(tmp_path / "matches.parquet"))) == [(1, "ibm-cheap")]
    assert rows(spark.read.parquet(str(tmp_path / "pairs"))) == [(1, "ibm-cheap", 1, 0)]


def test_the_example_of_the_readme_runs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = (PAGE.parent.parent / "README.md").read_text(encoding="utf-8")
    (code,) = [
        part for part in re.findall(r"```python\n(.*?)```", readme, re.DOTALL) if "pubmatch_spark" in part
    ]
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    assert "|       1|   ibm-cheap|" in capsys.readouterr().out


def test_the_extra_has_what_the_examples_need() -> None:
    project = tomllib.loads((PAGE.parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {re.split(r"\W", line)[0] for line in project["optional-dependencies"]["spark"]}
    assert needed == {"pandas", "pyarrow", "pyspark", "sqlglot"}  # sqlglot for filters given as text
