"""One SparkSession for all tests with Spark, and one standalone cluster for those that need executors."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")

import pubmatch_spark as ps

# Starting counts more than running here.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep all of these tests in one process: a second session would start a second Java."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session of the suite: two cores, few partitions, another time zone than UTC."""
    warehouse = tmp_path_factory.mktemp("warehouse")
    started = ps.session(
        "local[2]",
        **{
            "spark.sql.shuffle.partitions": 2,
            "spark.sql.warehouse.dir": str(warehouse),
            "spark.sql.session.timeZone": "America/New_York",
            "spark.sql.execution.arrow.maxRecordsPerBatch": 100,
        },
    )
    yield started
    started.stop()


@dataclass
class Cluster:
    """A standalone master and its workers, each a process of our own."""

    url: str
    workers: list[subprocess.Popen[bytes]]

    def executors(self, worker: int) -> list[int]:
        """The process ids of the executors a worker has started."""
        pid = self.workers[worker].pid
        threads = Path(f"/proc/{pid}/task").glob("*/children")  # a child belongs to the thread that made it
        children = [int(child) for thread in threads for child in thread.read_text(encoding="ascii").split()]
        # A worker may have other children, ended ones among them.
        return [pid for pid in children if b"ExecutorBackend" in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers with one core each on loopback; ended by their own process ids."""
    folder = tmp_path_factory.mktemp("cluster")
    ps.ensure_java()
    port, page = _free_port(), _free_port()
    url = f"spark://127.0.0.1:{port}"
    master = _daemon(folder, "master.Master", "--port", port, "--webui-port", page)
    started = [master]
    try:
        _wait_for(lambda: _alive_workers(page) is not None, master, "the master")
        work = folder / "work"
        for _ in range(2):
            started.append(
                _daemon(folder, "worker.Worker", "--webui-port", 0, "-c", 1, "-m", "1g", "-d", work, url)
            )
        _wait_for(lambda: _alive_workers(page) == 2, master, "two workers")
        yield Cluster(url, started[1:])
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _daemon(folder: Path, name: str, *arguments: object) -> subprocess.Popen[bytes]:
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_NO_DAEMONIZE": "1",
        "PYSPARK_PYTHON": sys.executable,
    }
    command = [home / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1"]
    with open(folder / f"{name}.log", "ab") as log:
        return subprocess.Popen(
            list(map(str, [*command, *arguments])), stdout=log, stderr=log, env=environment, cwd=folder
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _alive_workers(page: int) -> int | None:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{page}/json/", timeout=5) as answer:
            count: int = json.load(answer)["aliveworkers"]
            return count
    except OSError:
        return None


def _wait_for(reached: object, process: subprocess.Popen[bytes], what: str) -> None:
    assert callable(reached)
    end = time.monotonic() + 120
    while not reached():
        assert process.poll() is None, f"{what}: ended with code {process.returncode}"
        assert time.monotonic() < end, f"{what}: not there after two minutes"
        time.sleep(0.2)
