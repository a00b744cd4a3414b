"""Shards and streams on executors of their own, one of which is killed in the middle of a job."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import pubmatch as pm
import pubmatch_spark as ps

if TYPE_CHECKING:
    from conftest import Cluster

CONF = {
    "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50",
}
SUBSCRIPTIONS, EVENTS = 300, 800

# Every routing task leaves a mark and waits: there is time to kill an executor in the middle.
DRIVER = """
import pathlib, sys, time
import pubmatch_spark as ps
master, folder, conf = sys.argv[1:4]
folder = pathlib.Path(folder)
spark = ps.session(master, **eval(conf))
bounds = spark.range(0, 300, 1, 3).selectExpr("id as key", "id / 300 as x_min", "id / 290 + 0.02 as x_max")
manifest = ps.build_shards(bounds, folder / "shards", shards=3)

def slowly(batches):
    from pyspark import TaskContext
    task = TaskContext.get()
    (folder / "marks" / f"{task.partitionId()}-{task.attemptNumber()}").touch()
    time.sleep(1.0)
    yield from batches

events = spark.range(0, 800, 1, 8).selectExpr("id as event_id", "id / 800 as x")
rows = ps.match_sharded(events.mapInArrow(slowly, events.schema), manifest).collect()
print(len(manifest.shards) > 1, sorted(map(tuple, rows)))
events.write.parquet(str(folder / "events"))
stream = spark.readStream.schema(events.schema).parquet(str(folder / "events"))
places = {"checkpoint": folder / "checkpoint", "out": folder / "out"}
ps.match_stream(stream, folder / "versions", trigger={"availableNow": True}, **places).awaitTermination()
out = spark.read.parquet(str(folder / "out"))
pairs = out.where("version = 1").select("event_id", "subscription").collect()
print(out.count() == len(pairs), sorted(map(tuple, pairs)))
spark.stop()
"""


def test_shards_and_a_stream_outlive_an_executor(cluster: Cluster, tmp_path: Path) -> None:
    keys = np.arange(SUBSCRIPTIONS)
    matcher = pm.Matcher(pm.Schema(x=pm.Number()))
    matcher.subscribe_many({"key": keys, "x_min": keys / 300, "x_max": keys / 290 + 0.02})
    ps.publish(matcher, tmp_path / "versions", version=1)
    result = matcher.match({"x": np.arange(EVENTS) / EVENTS})
    pairs = [(event, key) for event, found in enumerate(result) for key in sorted(found)]
    (tmp_path / "marks").mkdir()
    path = os.pathsep.join(filter(None, sys.path))
    command = [sys.executable, "-c", DRIVER, cluster.url, str(tmp_path)]
    driver = subprocess.Popen(
        [*command, str({**CONF, "spark.executorEnv.PYTHONPATH": path})],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        end = time.monotonic() + 120
        while len(list((tmp_path / "marks").iterdir())) < 3:
            assert driver.poll() is None, driver.communicate()[1]
            assert time.monotonic() < end
            time.sleep(0.05)
        victims = cluster.executors(0)
        assert len(victims) == 1
        os.kill(victims[0], signal.SIGKILL)
        output, errors = driver.communicate(timeout=180)
    finally:
        if driver.poll() is None:
            driver.kill()
            driver.communicate()
    assert driver.returncode == 0, errors
    assert output.splitlines() == [f"True {pairs}", f"True {pairs}"]
    assert len(list((tmp_path / "marks").iterdir())) > 8  # what the executor was doing was done again
