"""The pages in docs/: examples run, commands are understood or run, pictures and links lead somewhere."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shlex
from pathlib import Path

import pytest
from command_walk import commands_of, understood

from pubmatch.cli import main
from pubmatch.cli.app import make_app

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
WITH_SPARK = {"spark.md"}  # tests/spark runs its examples
FLAGS = doctest.ELLIPSIS | doctest.REPORT_NDIFF
QUICK = ("generate", "match", "index")
"""Commands that are quick enough to be run and not only parsed."""


def named(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """The fenced blocks of a language, each with the line it begins at."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```([^\n]*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [(text.count("\n", 0, match.start(2)), match[2]) for match in found if match[1] == language]


def command_lines(page: Path) -> list[str]:
    """What a reader would type: the lines of blocks without a language; a backslash continues a line."""
    text = "\n".join(code for language in ("", "sh", "bash", "console") for _, code in blocks(page, language))
    lines = text.replace("\\\n", " ").splitlines()
    return [line.removeprefix("$ ").partition("  #")[0].strip() for line in lines if line.strip()]


def test_the_designed_pages_are_there() -> None:
    designed = "index matching filters batches updates spark clustering reproducing benchmarks limits api"
    assert set(designed.split()) <= {page.stem for page in PAGES}
    examples = "index matching filters batches updates spark clustering"
    assert set(examples.split()) <= {page.stem for page in PAGES if blocks(page, "python")}


@pytest.mark.parametrize("page", [page for page in PAGES if named(page) not in WITH_SPARK], ids=named)
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


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_no_example_is_in_a_language_nobody_runs(page: Path) -> None:
    languages = set(re.findall(r"^```([^\n]+)\n", page.read_text(encoding="utf-8"), flags=re.MULTILINE))
    directives = {language for language in languages if language.startswith("{")}
    assert languages - directives <= {"python", "sh", "bash", "console", "text", "json"}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_are_understood(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench" / "results").mkdir(parents=True)  # commands that write a record name its file there
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for line in command_lines(page):
        words = shlex.split(line)
        if words[0] == "pubmatch":
            assert understood(line), line
        elif words[:2] == ["python", "-m"]:
            assert importlib.util.find_spec(words[2]), line
        elif words[0] == "make":
            assert words[1] in targets, line
        else:
            assert words[0] in ("pip", "git", "cd"), f"{line}: a command that no test knows"


@pytest.mark.parametrize(
    "page",
    [
        page
        for page in PAGES
        if any(shlex.split(line)[1] in QUICK for line in command_lines(page) if " " in line)
    ],
    ids=named,
)
def test_quick_commands_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for line in command_lines(page):
        program, *words = shlex.split(line)
        if program == "pubmatch" and words[0] in QUICK and "spark" not in words:
            assert main(words) == 0, capsys.readouterr().err
            written = [Path(words[place + 1]) for place, word in enumerate(words) if word == "--out"]
            assert all(path.stat().st_size > 100 for path in written)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_pictures_and_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        assert not target.startswith("http"), "the pages stand by themselves"
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize(("group", "page"), [("bench", "benchmarks.md"), ("reproduce", "reproducing.md")])
def test_every_benchmark_and_paper_has_its_place(group: str, page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    directive = {"bench": "bench", "reproduce": "claims"}[group]
    names = [name.split()[1] for name in commands_of(make_app()) if name.startswith(f"{group} ")]
    assert [name for name in names if f"```{{{directive}}} {name}\n" not in text] == []


def test_every_picture_is_shown_and_has_a_maker() -> None:
    texts = "".join(page.read_text(encoding="utf-8") for page in PAGES) + (ROOT / "README.md").read_text()
    makers = "".join(path.read_text() for path in (ROOT / "bench" / "pubmatch_bench").rglob("*.py"))
    for picture in [*DOCS.rglob("*.png"), *DOCS.rglob("*.svg")]:
        assert picture.name in texts, f"{picture.name} is on no page"
        assert f'"{picture.name}"' in makers, f"nothing draws {picture.name}"
