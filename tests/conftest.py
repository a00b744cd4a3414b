"""Settings and fixtures all tests share."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Callable

# The same examples on every machine and run: a failure is the change's doing, not chance's.
settings.register_profile(
    "pubmatch",
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("pubmatch")

TESTS = Path(__file__).parent
# What these make once for all their tests takes long, so one process runs them all.
SHARING = ("test_reproduce_", "test_report", "test_overlay_map")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a module that share a costly fixture together."""
    for item in items:
        if item.path.name.startswith(SHARING):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture
def run_python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a script in an interpreter of its own, where a crash or a hang fails one test, not the run."""

    def run(script: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        search_path = os.pathsep.join([str(TESTS), *filter(None, sys.path)])
        return subprocess.run(
            [sys.executable, "-c", script, *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": search_path, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run
