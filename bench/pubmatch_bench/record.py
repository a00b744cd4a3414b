"""The record of a run: what was measured, on what, with which parameters and seeds."""

from __future__ import annotations

import datetime
import importlib.metadata
import importlib.util
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

Record = dict[str, Any]

_NO_SOURCES = (":(exclude)bench/results", ":(exclude)docs", ":(exclude)README.md")
_LIBRARIES = ("pubmatch", "numpy", "rtree", "shapely", "duckdb", "boost-headers")


def new_record(name: str, *, quick: bool, parameters: Record, seeds: dict[str, str]) -> Record:
    """Start a record: everything but the results.

    Parameters
    ----------
    name : str
        Name of the benchmark.
    quick : bool
        Whether sizes were reduced for a trial run.
    parameters : dict
        The options in force.
    seeds : dict
        Which seeds made subscriptions and events.
    """
    import pubmatch as pm

    return {
        "name": name,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "quick": quick,
        "machine": machine(),
        "kernel": pm.active_kernel(),
        "compiler": core_compiler(),
        "versions": {library: version_of(library) for library in _LIBRARIES},
        "parameters": parameters,
        "seeds": seeds,
        "results": [],
    }


def version_of(library: str) -> str | None:
    """Return the installed version of a distribution; None if it is not installed."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None


def machine() -> Record:
    """Describe the machine.

    Examples
    --------
    >>> sorted(machine())
    ['cores', 'cpu', 'memory_bytes', 'os', 'python']
    """
    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "os": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def _cpu_name() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    named = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return named.group(1).strip() if named else platform.processor() or platform.machine()


def commit() -> str | None:
    """Return the commit of the working copy, with "+" if its sources have changes; None outside of one.

    Records, and what is made from them, are no sources: one run's record does not mark the next one's.

    An installed package has left its repository, so the directory the user is in counts as well.
    """
    for folder in (Path(__file__).parent, Path.cwd()):
        top = _git(folder, "rev-parse", "--show-toplevel")
        if top and (Path(top) / "bench" / "pubmatch_bench" / "record.py").exists():
            revision = _git(folder, "rev-parse", "HEAD")
            changed = _git(
                Path(top), "status", "--porcelain", "--untracked-files=no", "--", ".", *_NO_SOURCES
            )
            return f"{revision}+" if revision and changed else revision
    return None


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def core_compiler() -> str | None:
    """Return the compiler that made the native core, as it signed the library; None if it left no name."""
    spec = importlib.util.find_spec("pubmatch._core")
    if spec is None or spec.origin is None:
        return None
    try:
        library = Path(spec.origin).read_bytes()
    except OSError:
        return None
    signature = re.search(rb"GCC: \([^)\0]*\) [\w.+-]+|(?:\w+ )?clang version [\w.+-]+", library)
    return signature.group().decode() if signature else None
