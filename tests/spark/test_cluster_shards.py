"""Shards, streams and `pubmatch match` on executors of their own, one of which is killed in the middle."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from match_command import pairs as matches
from match_command import write
from task_gate import kill_an_executor, repeated

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

# Routing tasks wait until an executor has been killed in the middle of the job.
DRIVER = """
import pathlib, sys
import pubmatch_spark as ps
from task_gate import gate
master, folder, conf = sys.argv[1:4]
folder = pathlib.Path(folder)
spark = ps.session(master, **eval(conf))
bounds = spark.range(0, 300, 1, 3).selectExpr("id as key", "id / 300 as x_min", "id / 290 + 0.02 as x_max")
manifest = ps.build_shards(bounds, folder / "shards", shards=3)

events = spark.range(0, 800, 1, 8).selectExpr("id as event_id", "id / 800 as x")
rows = ps.match_sharded(events.mapInArrow(gate(folder / "marks"), events.schema), manifest).collect()
print(len(manifest.shards) > 1, sorted(map(tuple, rows)))
events.write.parquet(str(folder / "events"))
stream = spark.readStream.schema(events.schema).parquet(str(folder / "events"))
places = {"checkpoint": folder / "checkpoint", "out": folder / "out"}
ps.match_stream(stream, folder / "versions", trigger={"availableNow": True}, **places).awaitTermination()
out = spark.read.parquet(str(folder / "out"))
pairs = out.where("version = 1").select("event_id", "subscription").collect()
print(out.count() == len(pairs), sorted(map(tuple, pairs)))
from pubmatch.cli import main
files = {"subscriptions": "bounds.csv", "events": "events.csv", "out": "pairs.parquet"}
words = [word for name, file in files.items() for word in (f"--{name}", str(folder / file))]
print(main(["match", *words, "--engine", "spark", "--batch", "50"]))
spark.stop()
"""


def test_shards_and_a_stream_outlive_an_executor(cluster: Cluster, tmp_path: Path) -> None:
    keys = np.arange(SUBSCRIPTIONS)
    matcher = pm.Matcher(pm.Schema(x=pm.Number()))
    matcher.subscribe_many({"key": keys, "x_min": keys / 300, "x_max": keys / 290 + 0.02})
    ps.publish(matcher, tmp_path / "versions", version=1)
    result = matcher.match({"x": np.arange(EVENTS) / EVENTS})
    pairs = [(event, key) for event, found in enumerate(result) for key in sorted(found)]
    write(tmp_path / "bounds.csv", {"key": keys, "x_min": keys / 300, "x_max": keys / 290 + 0.02})
    write(tmp_path / "events.csv", {"event_id": np.arange(EVENTS), "x": np.arange(EVENTS) / EVENTS})
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
        kill_an_executor(cluster, driver, tmp_path / "marks")
        output, errors = driver.communicate(timeout=180)
    finally:
        if driver.poll() is None:
            driver.kill()
            driver.communicate()
    assert driver.returncode == 0, errors
    assert output.splitlines()[:2] == [f"True {pairs}", f"True {pairs}"]
    assert output.splitlines()[-1] == "0"
    assert matches(tmp_path / "pairs.parquet") == pairs
    assert repeated(tmp_path / "marks")  # what the executor was doing was done again
