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


def test_the_table_is_that_of_the_recorded_run() -> None:
    text = (ROOT / "README.md").read_text()
    assert updated(text, ROOT / "bench" / "results") == text
    assert "W7" in text
