"""README.md: its example runs, and its figures are those of the recorded runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pubmatch_bench.readme import updated

ROOT = Path(__file__).parent.parent


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert len(names["again"]) == len(names["index"]) == 100_000  # type: ignore[arg-type]


def test_the_table_is_that_of_the_recorded_run() -> None:
    text = (ROOT / "README.md").read_text()
    assert updated(text, ROOT / "bench" / "results") == text
    assert "W7" in text
