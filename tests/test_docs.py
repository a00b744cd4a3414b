"""The pages in docs/: their Python examples run, and so do the commands of the filters page."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pyarrow.csv
import pytest

from pubmatch.cli import main

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted(page for page in DOCS.glob("*.md") if page.name != "spark.md")  # tests/spark runs that one
FLAGS = doctest.ELLIPSIS | doctest.REPORT_NDIFF


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """The fenced blocks of a language, each with the line it begins at."""
    text = page.read_text()
    found = re.finditer(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [(text.count("\n", 0, match.start(1)), match.group(1)) for match in found]


def test_there_are_pages_with_examples() -> None:
    assert {"batches.md", "filters.md"} <= {page.name for page in PAGES if blocks(page, "python")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}  # one page is one session
    runner = doctest.DocTestRunner(verbose=False, optionflags=FLAGS)
    for line, code in blocks(page, "python"):
        if ">>> " in code:
            example = doctest.DocTestParser().get_doctest(code, names, page.name, str(page), line)
            assert runner.run(example, clear_globs=False).failed == 0
            names.update(example.globs)
        else:
            exec(compile("\n" * line + code, page.name, "exec"), names)


def test_the_commands_of_the_filters_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line for _, code in blocks(DOCS / "filters.md", "") for line in code.splitlines()]
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("pubmatch ")]
    assert [command[0] for command in commands] == ["generate", "match"]
    for command in commands:
        assert main(command) == 0, capsys.readouterr().err
    assert pyarrow.csv.read_csv("matches.csv").num_rows > 1000
