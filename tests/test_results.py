"""`make results`: which steps there are, which are current, and that a run makes a record and draws."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_walk import commands_of, understood

from pubmatch.cli.app import make_app
from pubmatch_bench.record import machine
from pubmatch_bench.results import Step, drawing_modules, is_current, run, steps

ROOT = Path(__file__).parent.parent
RESULTS = Path("bench") / "results"


def git(folder: Path, *words: str) -> str:
    author = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with a source file and a page, committed."""
    git(tmp_path, "init", "--quiet")
    for name in ("cpp/src/core.cpp", "docs/index.md"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    return tmp_path


def write_record(folder: Path, **content: Any) -> Path:
    record = {"commit": git(folder, "rev-parse", "HEAD"), "quick": False, "machine": machine(), **content}
    file = folder / "record.json"
    file.write_text(json.dumps(record))
    return file


def test_every_bench_and_reproduce_is_a_step() -> None:
    found = steps()
    ran = {" ".join(step.arguments[:2]) for step in found}
    assert ran == {name for name in commands_of(make_app()) if name.startswith(("bench ", "reproduce "))}
    assert len({step.name for step in found}) == len({step.record for step in found}) == len(found)


def test_every_step_is_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    RESULTS.mkdir(parents=True)
    for step in steps():
        assert understood(f"pubmatch {' '.join(step.arguments)}") == " ".join(step.arguments[:2])


def test_every_record_of_the_checkout_has_its_step() -> None:
    recorded = {
        path.relative_to(ROOT) for path in (ROOT / RESULTS).rglob("*.json") if "parts" not in path.parts
    }
    assert recorded <= {step.record for step in steps()}


def test_a_record_of_these_sources_and_machine_is_current(checkout: Path) -> None:
    assert is_current(write_record(checkout), checkout)


def test_other_files_do_not_make_a_record_old(checkout: Path) -> None:
    record = write_record(checkout)
    (checkout / "docs" / "index.md").write_text("2\n")
    git(checkout, "commit", "--quiet", "-a", "-m", "a page")
    assert is_current(record, checkout)


def test_changed_sources_make_a_record_old(checkout: Path) -> None:
    record = write_record(checkout)
    (checkout / "cpp" / "src" / "core.cpp").write_text("2\n")
    assert not is_current(record, checkout)
    git(checkout, "commit", "--quiet", "-a", "-m", "a change")
    assert not is_current(record, checkout)


@pytest.mark.parametrize(
    "content",
    [{"commit": "0" * 40}, {"commit": None}, {"quick": True}, {"machine": {**machine(), "cores": -1}}],
    ids=["unknown commit", "no commit", "quick", "another machine"],
)
def test_other_records_are_not_current(checkout: Path, content: dict[str, Any]) -> None:
    assert not is_current(write_record(checkout, **content), checkout)


def test_a_record_of_changed_sources_is_not_current(checkout: Path) -> None:
    assert not is_current(write_record(checkout, commit=git(checkout, "rev-parse", "HEAD") + "+"), checkout)


@pytest.mark.parametrize("text", ["", "[]", "{}", "nonsense"])
def test_a_broken_record_is_not_current(checkout: Path, text: str) -> None:
    (checkout / "record.json").write_text(text)
    assert not is_current(checkout / "record.json", checkout)
    assert not is_current(checkout / "none.json", checkout)


def test_a_run_makes_what_is_missing_and_says_what_failed(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", ":".join(filter(None, sys.path)))
    quick = ("bench", "threads", "--quick", "--scale", "0.001", "--rounds", "1", "--workloads", "W3")
    chosen = [
        Step("current", ("index", "info", "never run"), write_record(checkout).relative_to(checkout)),
        Step("bad", ("index", "info", "nothing.pubmatch"), Path("none.json")),
        Step("threads", (*quick, "--json", "threads.json"), Path("threads.json")),
    ]
    told: list[str] = []
    outcomes = run(chosen, checkout, notify=told.append)
    assert [(outcome.step.name, outcome.what) for outcome in outcomes] == [
        ("current", "current"),
        ("bad", "failed"),
        ("threads", "done"),
    ]
    assert json.loads((checkout / "threads.json").read_text())["name"] == "threads"
    assert [line.rpartition(": ")[2] for line in told] == ["bad", "threads"]
    forced = run(chosen[:1], checkout, force=True)
    assert forced[0].what == "failed", "it was run although its record is current"
    assert "never run" in capfd.readouterr().err


def test_what_is_drawn_from_records() -> None:
    found = drawing_modules(ROOT)
    assert {"pubmatch_bench.readme", "pubmatch_bench.matching_pictures"} <= set(found)
    assert {f"pubmatch_bench.reproduce.{name}_figures" for name in ("batch", "clustering")} <= set(found)
    for module in found:
        text = (ROOT / "bench" / Path(*module.split(".")).with_suffix(".py")).read_text()
        assert '__name__ == "__main__"' in text, f"{module} cannot be run by itself"


def test_every_picture_of_the_docs_is_drawn_again() -> None:
    makers = [
        ROOT / "bench" / Path(*module.split(".")).with_suffix(".py") for module in drawing_modules(ROOT)
    ]
    # Those of a paper come with its first record.
    makers += (ROOT / "bench" / "pubmatch_bench" / "reproduce").glob("*_figures.py")
    texts = "".join(maker.read_text() for maker in makers)
    assert [path.name for path in (ROOT / "docs").glob("*.png") if f'"{path.name}"' not in texts] == []


def test_the_pictures_of_the_matching_page_are_drawn(tmp_path: Path) -> None:
    from pubmatch_bench.matching_pictures import draw_docs

    files = draw_docs(tmp_path)
    committed = {path.name for path in (ROOT / "docs").glob("matching-*.png")}
    assert {file.name for file in files} == committed
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)
