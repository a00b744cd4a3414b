"""A streaming driver that kills itself and its JVM with SIGKILL at a chosen point of a chosen batch.

Run as: stream_driver.py FOLDER POINT BATCH. Points: "writing" (the version is pinned, Parquet files
are being written), "staged" (all written, not shown), "settled" (shown, not noted by Spark), "never".
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pubmatch_spark as ps
from pubmatch_spark import streaming
from pubmatch_spark.version_pins import VersionPins

EVENTS = "event_id long, price double, symbol string"


def main(folder: Path, point: str, batch: int) -> None:
    spark = ps.session("local[1]", **{"spark.sql.shuffle.partitions": 1})
    java = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()

    def die() -> None:
        os.kill(java, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    def watch() -> None:
        while not list((folder / "out" / "_staging").glob("*/**/*.parquet*")):
            time.sleep(0.001)
        die()

    current = [-1]
    pinned, stage, settle = VersionPins.ref, streaming.stage, streaming.settle

    def after(step: str) -> None:
        if point == step and current[0] == batch:
            die()

    def counted_ref(self: VersionPins, batch_id: int) -> Any:
        found = pinned(self, batch_id)
        current[0] = batch_id
        return found

    def counted_stage(*arguments: Any) -> Any:
        if point == "writing" and current[0] == batch:
            threading.Thread(target=watch, daemon=True).start()
        staged = stage(*arguments)
        after("staged")
        return staged

    def counted_settle(*arguments: Any) -> None:
        settle(*arguments)
        after("settled")

    VersionPins.ref = counted_ref  # type: ignore[method-assign]
    streaming.stage, streaming.settle = counted_stage, counted_settle
    events = spark.readStream.schema(EVENTS).option("maxFilesPerTrigger", 1).parquet(str(folder / "events"))
    query = ps.match_stream(
        events,
        folder / "versions",
        checkpoint=folder / "checkpoint",
        out=folder / "out",
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
