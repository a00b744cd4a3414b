"""Tasks that wait at a gate: an executor is killed while it surely holds one of them.

The tasks of the first partitions pass at once, so that some of the work is done before. Each later task
leaves a mark and waits until the gate opens. Executors have one core: two marked tasks that wait are one in
each executor.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from conftest import Cluster

FREE_PARTITIONS = 2
PATIENCE_S = 120


def gate(folder: str | Path) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for `mapInArrow` that changes nothing, marks its task and lets it wait."""
    marks, opened = Path(folder), Path(folder, "open")

    def wait(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        if task.partitionId() >= FREE_PARTITIONS:
            (marks / f"{task.partitionId()}-{task.attemptNumber()}").touch()
            end = time.monotonic() + PATIENCE_S
            while not opened.exists() and time.monotonic() < end:
                time.sleep(0.02)
        yield from batches

    return wait


def kill_an_executor(cluster: Cluster, driver: subprocess.Popen[str], folder: Path) -> None:
    """Kill the first worker's executor while both executors hold a task, then open the gate."""
    end = time.monotonic() + PATIENCE_S
    while len(list(folder.iterdir())) < 2:
        assert driver.poll() is None, driver.communicate()[1]
        assert time.monotonic() < end
        time.sleep(0.05)
    [victim] = cluster.executors(0)
    os.kill(victim, signal.SIGKILL)
    (folder / "open").touch()


def repeated(folder: Path) -> list[str]:
    """The marks of tasks that were started again."""
    marks = [mark.name for mark in folder.iterdir() if mark.name != "open"]
    return [mark for mark in marks if not mark.endswith("-0")]
