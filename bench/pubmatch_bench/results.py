"""Makes anew what `bench/results` holds: a step for each `bench` and `reproduce`, then all that is drawn.

A step is skipped if its record is a full run of the present sources on this machine, so an interrupted run
goes on where it stopped, and results that were committed do not count as a change.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pubmatch_bench.record import commit, machine

__all__ = ["Outcome", "Step", "drawing_modules", "is_current", "run", "steps"]

SOURCES = ("cpp", "python", "spark_udf", "bench/pubmatch_bench", "CMakeLists.txt", "pyproject.toml")
"""What a measurement depends on; other files may change without making a record old."""

_PEERS = "rtree,boost,shapely,numpy"


@dataclass(frozen=True)
class Step:
    """One record and the command that makes it.

    Attributes
    ----------
    name : str
        What a user calls it.
    arguments : tuple of str
        The words after `pubmatch`, run in the root of the checkout.
    record : Path
        The record, relative to the root.
    """

    name: str
    arguments: tuple[str, ...]
    record: Path


@dataclass(frozen=True)
class Outcome:
    """What became of a step: "done", "current" (skipped) or "failed", and the seconds it took."""

    step: Step
    what: str
    seconds: float = 0.0


def steps(results: Path = Path("bench") / "results") -> list[Step]:
    """Return a step for every command of `bench` and `reproduce`; a new command is a step by itself.

    Examples
    --------
    >>> {step.name: step for step in steps()}["sjf"].arguments
    ('bench', 'sjf', '--json', 'bench/results/sjf.json')
    """
    found = []
    for name in _commands("bench"):
        file = results / f"{name}.json"
        peers = ("--peers", _PEERS) if name == "match" else ()
        found.append(Step(name, ("bench", name, *peers, "--json", file.as_posix()), file))
        if name == "match":  # peers run slower beside DuckDB, so it has a record of its own
            file = results / "match-with-duckdb.json"
            all_peers = ("--peers", f"{_PEERS},duckdb")
            found.append(Step(file.stem, ("bench", name, *all_peers, "--json", file.as_posix()), file))
    for name, can_resume in _commands("reproduce").items():
        folder = results / f"reproduce-{name}"
        resume = ("--resume",) if can_resume else ()
        words = ("reproduce", name, "--out", folder.as_posix(), *resume)
        found.append(Step(folder.name, words, folder / f"{name}.json"))
    return found


def _commands(group: str) -> dict[str, bool]:
    """Names of a group's commands, each with whether it can go on with an interrupted run of its own."""
    import inspect

    from pubmatch.cli.app import make_app

    for found in make_app().registered_groups:
        if found.name == group and found.typer_instance is not None:
            callbacks = [
                (command.name, command.callback) for command in found.typer_instance.registered_commands
            ]
            return {
                name or callback.__name__: "resume" in inspect.signature(callback).parameters
                for name, callback in callbacks
                if callback is not None
            }
    return {}


def is_current(record_file: Path, root: Path) -> bool:
    """Tell whether a record is a full run of the sources as they are, on this machine.

    Parameters
    ----------
    record_file : Path
        The record; one that is missing or broken is not current.
    root : Path
        The checkout.
    """
    try:
        record = json.loads(record_file.read_text(encoding="utf-8"))
        made_by, quick, where = record["commit"], record["quick"], record["machine"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    if quick or where != machine() or not isinstance(made_by, str) or made_by.endswith("+"):
        return False
    there = [path for path in SOURCES if (root / path).exists()]
    return _git(root, "diff", "--quiet", made_by, "--", *there)


def _git(root: Path, *words: str) -> bool:
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, check=False)
    return done.returncode == 0


def run(
    chosen: Iterable[Step],
    root: Path,
    *,
    force: bool = False,
    notify: Callable[[str], None] = lambda line: None,
) -> list[Outcome]:
    """Run the steps that are needed, one after the other; a failure does not stop the others.

    Parameters
    ----------
    chosen : iterable of Step
        The steps.
    root : Path
        The checkout, in which the commands run.
    force : bool
        Also run steps whose record is current, and nothing is resumed.
    notify : callable
        Told in a line what begins.
    """
    todo = list(chosen)
    outcomes: list[Outcome] = []
    for number, step in enumerate(todo):
        if not force and is_current(root / step.record, root):
            outcomes.append(Outcome(step, "current"))
            continue
        notify(_bar(number, len(todo), step.name))
        began = time.monotonic()
        words = [word for word in step.arguments if not (force and word == "--resume")]
        done = subprocess.run([sys.executable, "-m", "pubmatch", *words], cwd=root, check=False)
        if done.returncode == 0:
            shutil.rmtree(root / step.record.parent / "parts", ignore_errors=True)
        what = "done" if done.returncode == 0 else "failed"
        outcomes.append(Outcome(step, what, time.monotonic() - began))
    return outcomes


def _bar(done: int, whole: int, name: str) -> str:
    """Draw how far the steps have come; each step has a bar of its own while it runs.

    Examples
    --------
    >>> _bar(2, 8, "sjf")
    '[#####---------------] 3 of 8: sjf'
    """
    filled = 20 * done // whole
    return f"[{'#' * filled}{'-' * (20 - filled)}] {done + 1} of {whole}: {name}"


def drawing_modules(root: Path) -> list[str]:
    """Return the modules that make what is committed and drawn from records; each takes the root as argument.

    These are README's table and every module that offers `draw_docs` and can be run; figures of a paper
    without a record are passed over.
    """
    sources = root / "bench"
    found = ["pubmatch_bench.readme"]
    for file in sorted((sources / "pubmatch_bench").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "\ndef draw_docs(" in text and '\nif __name__ == "__main__":' in text:
            paper = file.stem.removesuffix("_figures")
            record = sources / "results" / f"reproduce-{paper}" / f"{paper}.json"
            if paper == file.stem or record.exists():
                found.append(".".join(file.relative_to(sources).with_suffix("").parts))
    return found


def draw(root: Path) -> Sequence[str]:
    """Make the README's table and the docs' pictures anew; return the modules that failed."""
    failed = []
    for module in drawing_modules(root):
        done = subprocess.run([sys.executable, "-m", module, str(root)], cwd=root, check=False)
        if done.returncode != 0:
            failed.append(module)
    return failed


def state(root: Path) -> str:
    """Say in a line which sources and machine the next records will be of."""
    where = machine()
    return f"{where['cpu']}, {where['cores']} cores, commit {commit() or 'unknown'} in {root}"
