"""The kernels, each forced in an interpreter of its own, and what importing pubmatch brings along."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pubmatch as pm

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    Run = Callable[..., subprocess.CompletedProcess[str]]

ORACLE_RUN = """
import sys
import numpy as np, oracle, pubmatch as pm
assert pm.active_kernel() == sys.argv[1], pm.active_kernel()
for layout, params in oracle.LAYOUTS.items():
    for dims, kind in ((1, "extreme"), (2, "uniform"), (5, "touching"), (12, "uniform"), (20, "sparse")):
        for dtype in oracle.DTYPES:
            lower, upper = oracle.make_boxes(kind, 1300, dims, dtype)
            index = pm.Index.build(lower, upper, params=params)
            for point_dtype in oracle.DTYPES:
                points = oracle.make_points(lower, upper, 60, point_dtype)
                expected = oracle.rows_of(oracle.contains(lower, upper, points), np.arange(1300))
                found = oracle.rows_in(index.match(points, threads=2))
                assert found == expected, (layout, dims, kind, dtype, point_dtype)
            below, above = points[:20], np.nan_to_num(points[:20], nan=0.5) + 0.25
            below = np.fmin(np.nan_to_num(below, nan=0.5), above)
            hits = oracle.intersects(lower, upper, below, above)
            assert oracle.rows_in(index.intersecting(below, above)) == oracle.rows_of(hits, np.arange(1300))
print("agrees")
"""


@pytest.mark.oracle
@pytest.mark.parametrize("kernel", pm.kernels())
def test_a_forced_kernel_runs_and_agrees_with_brute_force(run_python: Run, kernel: str) -> None:
    done = run_python(ORACLE_RUN, kernel, PUBMATCH_FORCE_KERNEL=kernel)
    assert (done.returncode, done.stdout) == (0, "agrees\n"), done.stderr


def test_kernels_are_named_once_and_end_with_one_every_machine_has() -> None:
    names = pm.kernels()
    assert isinstance(names, tuple)
    assert len(set(names)) == len(names)
    assert names[-1] == "baseline"
    assert pm.active_kernel() in names


def test_without_force_the_best_kernel_runs(run_python: Run) -> None:
    script = """
import os
os.environ.pop("PUBMATCH_FORCE_KERNEL", None)
import pubmatch
print(pubmatch.active_kernel())
"""
    assert run_python(script).stdout == f"{pm.kernels()[0]}\n"


@pytest.mark.parametrize("name", ["mmx", "AVX2 ", "auto"])
def test_an_unknown_kernel_fails_at_import(run_python: Run, name: str) -> None:
    done = run_python("import pubmatch", PUBMATCH_FORCE_KERNEL=name)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError")
    assert name in last
    assert "PUBMATCH_FORCE_KERNEL" in last


def test_import_needs_numpy_alone(run_python: Run) -> None:
    script = """
import sys
import numpy
before = set(sys.modules)
import threading
import pubmatch
optional = {"pyarrow", "pandas", "pyspark", "matplotlib", "sqlglot", "typer", "rich", "duckdb", "shapely"}
print(sorted(optional & set(sys.modules)), threading.active_count())
foreign = {name.partition(".")[0] for name in set(sys.modules) - before} - sys.stdlib_module_names
print(sorted(foreign))
"""
    assert run_python(script).stdout == "[] 1\n['pubmatch']\n"


def test_import_starts_no_native_thread(run_python: Run) -> None:
    script = """
import os
import numpy
before = len(os.listdir("/proc/self/task"))
import pubmatch
index = pubmatch.Index.build([[0.0]], [[1.0]])
index.match([[0.5]])
print(len(os.listdir("/proc/self/task")) - before)
"""
    assert run_python(script).stdout == "0\n"
