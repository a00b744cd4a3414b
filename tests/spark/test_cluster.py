"""Executors of their own: a standalone master and two workers on loopback.

Drivers run in processes of their own, since the suite has its session already.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from task_gate import kill_an_executor, repeated

import pubmatch as pm
import pubmatch_spark as ps
from pubmatch.errors import FormatError, MissingFileError
from pubmatch_spark.ship import _installed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Cluster
    from pyspark.sql import SparkSession

EVENTS = 800
CONF = {
    "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.task.maxFailures": "2",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50",
}

# Tasks wait until an executor has been killed in the middle of the job.
KILLED = """
import sys
import pubmatch_spark as ps
from task_gate import gate
master, root, marks, conf = sys.argv[1:5]
spark = ps.session(master, **eval(conf))
ref = ps.latest(root)
events = spark.range(0, 800, 1, 8).selectExpr("id as event_id", "id / 800 as x")
rows = ps.match(events.mapInArrow(gate(marks), events.schema), ref).collect()
print(sorted((row.event_id, row.subscription) for row in rows))
spark.stop()
"""

# The executors' Python has numpy and pyarrow, but none of our packages until they are sent.
SHIPPED = """
import os
import sys
import pubmatch_spark as ps
from pyspark.errors import PythonException
master, root, wheel, conf, python = sys.argv[1:6]
os.environ["PYSPARK_PYTHON"] = python
spark = ps.session(master, **eval(conf))
ref = ps.latest(root)
events = spark.range(0, 800, 1, 2).selectExpr("id as event_id", "id / 800 as x")
try:
    ps.match(events, ref).collect()
    print("matched without the packages")
except PythonException as error:
    print("No module named" in str(error))
ps.ship_packages(spark, wheel or None)

def origin(batches):
    import os
    import pyarrow as pa
    import pubmatch, pubmatch_spark
    from pyspark import SparkFiles
    list(batches)
    root = os.path.realpath(SparkFiles.getRootDirectory())
    for module in (pubmatch, pubmatch._core, pubmatch_spark):
        place = os.path.realpath(module.__file__)
        yield pa.record_batch({"sent": ["" if place.startswith(root) else f"{place} {root}"]})

print({row.sent for row in events.mapInArrow(origin, "sent string").collect()})
ps.ship(ref)
found = ps.match(events, ref)
rows = found.collect()
print(sorted((row.event_id, row.subscription) for row in rows))
spark.stop()
"""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The directory of a version, and what matching the events with it should print."""
    matcher = pm.Matcher(pm.Schema(x=pm.Number()))
    matcher.subscribe_many(
        {"key": np.arange(40), "x_min": np.arange(40) / 50, "x_max": np.arange(40) / 45 + 0.05}
    )
    root = tmp_path_factory.mktemp("versions")
    ps.publish(matcher, root, 1)
    result = matcher.match({"x": np.arange(EVENTS) / EVENTS})
    return root, str([(event, key) for event, keys in enumerate(result) for key in sorted(keys)])


@pytest.fixture
def start_driver() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a driver script; whatever is still running at the end is ended."""
    started = []

    def start(script: str, *arguments: object) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command = [sys.executable, "-c", script, *map(str, arguments)]
        started.append(
            subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        )
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_a_killed_executor_does_not_change_the_result(
    cluster: Cluster,
    published: tuple[Path, str],
    start_driver: Callable[..., subprocess.Popen[str]],
    tmp_path: Path,
) -> None:
    root, expected = published
    # An executor sees what its worker was started with; the search path of this process goes along.
    path = os.pathsep.join(filter(None, sys.path))
    driver = start_driver(KILLED, cluster.url, root, tmp_path, {**CONF, "spark.executorEnv.PYTHONPATH": path})
    kill_an_executor(cluster, driver, tmp_path)
    output, errors = driver.communicate(timeout=120)
    assert driver.returncode == 0, errors
    assert output.strip() == expected
    assert repeated(tmp_path)  # what the executor was doing was done again


def test_the_packages_reach_executors_that_lack_them(
    cluster: Cluster,
    published: tuple[Path, str],
    start_driver: Callable[..., subprocess.Popen[str]],
    tmp_path: Path,
) -> None:
    root, expected = published
    bare = tmp_path / "python"  # -S: no .pth file brings an editable install in
    bare.write_text(
        f'#!/bin/sh\nPYTHONPATH="{sysconfig.get_path("purelib")}:$PYTHONPATH" exec {sys.executable} -S "$@"\n'
    )
    bare.chmod(0o755)
    wheel = tmp_path / "pubmatch-0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        for package, files in _installed().items():
            for name, data in files.items():
                file.writestr(f"{package}/{name}", data)
        file.writestr("pubmatch-0.dist-info/METADATA", "Name: pubmatch\n")
    driver = start_driver(SHIPPED, cluster.url, root, wheel, CONF, bare)
    output, errors = driver.communicate(timeout=180)
    assert driver.returncode == 0, errors
    assert output.splitlines() == ["True", "{''}", expected]


def test_what_is_no_wheel_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        ps.ship_packages(spark, tmp_path / "none.whl")
    (tmp_path / "text.whl").write_text("no zip")
    with pytest.raises(FormatError, match="not a wheel"):
        ps.ship_packages(spark, tmp_path / "text.whl")
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as file:
        file.writestr("pubmatch/__init__.py", "")
    with pytest.raises(FormatError, match="it has no package pubmatch_spark"):
        ps.ship_packages(spark, tmp_path / "other.whl")
    names = _installed()["pubmatch"]
    assert "__init__.py" in names
    assert any(name.startswith("_core.") and name.endswith(".so") for name in names)
