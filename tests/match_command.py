"""Runs `pubmatch match` on tables and texts, and judges what it leaves behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pubmatch.cli import main
from pubmatch.tables import format_of, open_table, table_writer

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SUFFIXES = ["parquet", "csv", "jsonl", "arrow"]

Answer = tuple[int, str, str]


def write(path: Path, table: Any) -> Path:
    """Write a table, or text as it stands."""
    if isinstance(table, str):
        path.write_text(table)
        return path
    table = table if isinstance(table, pa.Table) else pa.table(table)
    with path.open("wb") as file, table_writer(file, format_of(path), table.schema) as put:
        put(table)
    return path


class MatchCommand:
    """`run(subscriptions, events, *options)` returns (exit code, stdout, stderr).

    Both are tables, texts, or paths of files; tables and texts become files with `suffix`.
    """

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory = directory
        self.capsys = capsys

    def __call__(
        self, subscriptions: Any, events: Any, *options: Any, out: str = "out.csv", suffix: str = "csv"
    ) -> Answer:
        files = [
            content if hasattr(content, "exists") else write(self.directory / f"{name}.{suffix}", content)
            for name, content in (("subs", subscriptions), ("events", events))
        ]
        inputs = ["--subscriptions", files[0], "--events", files[1]]
        words = ["match", *inputs, "--out", self.directory / out, *options]
        code = main([str(word) for word in words])
        printed = self.capsys.readouterr()
        return code, printed.out, printed.err


def pairs(path: Path) -> list[tuple[Any, Any]]:
    """The rows of a file of matches, in order."""
    table = open_table(path, verbatim=["event_id", "subscription"]).read()
    assert table.schema.names == ["event_id", "subscription"]
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


def leftovers(directory: Path) -> list[str]:
    """Files that a command wrote, temporary ones included."""
    return sorted(path.name for path in directory.iterdir() if path.name.startswith(("out", ".", "refused")))


def refused_with(answer: Answer, directory: Path, *words: str) -> bool:
    """Whether a command ended as bad input should: code 2, one line that says so, no output."""
    code, out, err = answer
    one_line = err.startswith("pubmatch: ") and err.count("\n") == 1
    told = all(word in err for word in words)
    return (code, out) == (2, "") and one_line and told and leftovers(directory) == []
