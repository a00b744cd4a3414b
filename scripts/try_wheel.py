"""Uses an installed pubmatch as a newcomer would; scripts/test-wheel runs it."""

import contextlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import pubmatch as pm


def check(what: str, holds: bool) -> None:
    """Say what was tried; end with exit code 1 if it did not work."""
    print(f"{'ok ' if holds else 'BAD'} {what}")
    if not holds:
        sys.exit(1)


def pubmatch(*words: str) -> str:
    """Run the command line; return what it printed."""
    done = subprocess.run(["pubmatch", *words], capture_output=True, text=True, check=False)
    check(f"pubmatch {' '.join(words)}", done.returncode == 0)
    return done.stdout


def main() -> None:
    """Try everything in an empty directory; by default no compiler may be in sight."""
    compilers = ("cc", "c++", "gcc", "g++", "clang", "clang++", "cmake", "ninja", "make", "ld")
    if "--with-compiler" not in sys.argv[1:]:
        check("no compiler in sight", not any(map(shutil.which, compilers)))
    here = Path(sys.prefix).resolve()
    check("the package is the installed one", here in Path(pm.__file__).resolve().parents)

    rng = np.random.default_rng(0)
    corners = np.sort(rng.random((2, 20_000, 6)), axis=0)
    points = rng.random((64, 6))
    found = pm.Index.build(corners[0], corners[1]).match(points, sort=True)
    inside = [((corners[0] <= point) & (point <= corners[1])).all(axis=1) for point in points]
    agree = all(np.array_equal(found[i], np.flatnonzero(inside[i])) for i in range(len(points)))
    check(f"{len(found.ids):,} matches are those of a scan", agree and len(found.ids) > 0)

    matcher = pm.Matcher(pm.Schema(price=pm.Number(), symbol=pm.Category()))
    matcher.subscribe("ibm-cheap", "price < 20 AND symbol = 'IBM'")
    keys = list(matcher.match([{"price": 12.5, "symbol": "IBM"}, {"price": 5.0}]))
    check("filters", keys == [["ibm-cheap"], []])

    check("version", pubmatch("--version") == f"pubmatch {pm.__version__}\n")
    pubmatch("generate", "W3", "--scale", "0.01", "--out", "W3.npz")
    pubmatch("index", "build", "W3.npz", "--out", "W3.pubmatch")
    pubmatch("index", "check", "W3.pubmatch")
    Path("alerts.csv").write_text("key,filter\na,price < 20\nb,price > 10\n")
    Path("events.csv").write_text("event_id,price\n1,5\n2,15\n")
    pubmatch("match", "--subscriptions", "alerts.csv", "--events", "events.csv", "--out", "matches.csv")
    rows = sorted(Path("matches.csv").read_text().replace('"', "").split()[1:])
    check("the file of matches", rows == ["1,a", "2,a", "2,b"])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        main()
