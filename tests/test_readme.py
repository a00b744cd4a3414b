"""README.md: its example runs, and its figures are those of the recorded runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pubmatch_bench.readme import updated

ROOT = Path(__file__).parent.parent


def example(number: int) -> dict[str, Any]:
    """Run one of the examples and return its names."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(blocks[number], "README.md", "exec"), names)
    return names


def test_the_example_of_arrays_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = example(0)
    assert len(names["again"]) == len(names["index"]) == 100_000


def test_the_example_of_filters_runs() -> None:
    names = example(1)
    assert list(names["matcher"].match(names["events"])) == [["ibm-cheap", "open"], []]
    assert names["matcher"].explain(names["events"][1], "open").failed[0] == ("price > 10", 5.0)


def test_examples_have_about_ten_lines() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert len(blocks) == 3, "arrays, filters, Spark; tests/spark runs the last"
    for block in blocks:
        assert len([line for line in block.splitlines() if line and not line.startswith("import ")]) <= 10


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text()):
        assert (ROOT / target).exists(), target


def test_commands_are_there() -> None:
    text = (ROOT / "README.md").read_text()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(re.findall(r"`?make ([a-z-]+)`?", text)) <= targets
    assert {"demo", "test", "docs"} <= set(re.findall(r"make ([a-z-]+)", text))


def test_the_table_is_that_of_the_recorded_run() -> None:
    text = (ROOT / "README.md").read_text()
    assert updated(text, ROOT / "bench" / "results") == text
    assert "W7" in text
