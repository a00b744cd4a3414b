"""`bench spark`: the matcher inside Spark, against Spark's own range join and against plain Python.

One session, one machine. Four questions per workload: how many times as long Spark takes to join the same
events and boxes by comparing them; which part of plain Python's events per second is left when one task
matches the same batches of the same file; how soon after its start a task that opens the index hands out its
first match; how much memory two workers take that map the same index.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import pubmatch as pm
import pubmatch_spark as ps
from pubmatch_bench import options as opt
from pubmatch_bench.record import Record, new_record, version_of
from pubmatch_bench.timing import spread, timed
from pubmatch_bench.workloads import Workload, make, spec_of
from pubmatch_spark.worker_cache import opened

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DEFAULT_WORKLOADS = "W1"
DEFAULT_ROUNDS = 5
JOIN_SUBSCRIPTIONS, JOIN_EVENTS = 100_000, 10_000
SUBSCRIPTIONS, EVENTS = 1_000_000, 100_000
BATCH = 10_000
"""Rows per Arrow batch, in Spark and outside."""

_CORES = 2
_WARM_UPS = 5
_ID = "event_id"


@dataclass(frozen=True)
class Data:
    """A workload's subscriptions as a published version, and events as a Parquet file."""

    workload: Workload
    ref: ps.IndexRef
    path: Path
    events: int

    def frame(self, spark: SparkSession) -> DataFrame:
        """The events in one partition."""
        return spark.read.parquet(str(self.path / "events.parquet")).coalesce(1)


def run(options: opt.Options, notify: opt.Notify) -> Record:
    """Measure all chosen workloads and return the record."""
    record = new_record(
        "spark",
        quick=options.quick,
        parameters=options.parameters("workloads", "rounds", "scale") | {"batch": BATCH, "cores": _CORES},
        seeds=opt.SEEDS,
    )
    record["versions"] |= {library: version_of(library) for library in ("pyspark", "pyarrow")}
    with _session() as spark, TemporaryDirectory(prefix="pubmatch-bench-") as folder:
        for name in options.workloads:
            tell = opt.part(notify, name, options)
            record["results"].append(measure(spark, name, options, Path(folder) / name, tell))
    return record


def measure(spark: SparkSession, name: str, options: opt.Options, folder: Path, notify: opt.Notify) -> Record:
    """Measure one workload."""
    notify("range join", 0.0)
    small = _data(name, folder / "join", options.scale, JOIN_SUBSCRIPTIONS, JOIN_EVENTS)
    joined = range_join(spark, small, options.rounds)
    notify("build", 0.4)
    data = _data(name, folder / "match", options.scale, SUBSCRIPTIONS, EVENTS)
    notify("plain Python", 0.6)
    plain = against_plain(spark, data, options.rounds)
    notify("first match", 0.9)
    spec = spec_of(name)
    return {
        "workload": spec.name,
        "about": spec.about,
        "dims": spec.dims,
        "range_join": joined,
        "plain": plain,
        "first_match": first_match(spark, data),
        "memory": shared_memory(spark, data),
    }


def range_join(spark: SparkSession, data: Data, rounds: int) -> Record:
    """Time Spark's own join once and `match` in every round; both hand their pairs to the driver."""
    from pyspark.sql import functions

    boxes = spark.read.parquet(str(data.path / "boxes.parquet"))
    events = data.frame(spark).repartition(_CORES).cache()
    events.count()
    inside = [
        functions.col(f"x{place}").between(functions.col(f"x{place}_min"), functions.col(f"x{place}_max"))
        for place in range(data.workload.dims)
    ]
    condition = inside[0]
    for one in inside[1:]:
        condition = condition & one
    join = events.join(functions.broadcast(boxes), condition).select(_ID, functions.col("key"))
    match = ps.match(events, data.ref)
    # A join of many seconds warms itself up; jobs of a fraction of one get a few runs to do so.
    found = [match.toArrow() for _ in range(_WARM_UPS)][-1]
    match_s = [timed(match.toArrow)[0] for _ in range(rounds)]
    join_s, wanted = timed(join.toArrow)
    events.unpersist()
    return {
        "subscriptions": len(data.workload),
        "events": data.events,
        "join_s": join_s,
        "match_s": spread(match_s),
        "ratio": join_s / float(np.median(match_s)),
        "matches": len(found),
        "equal": _same_pairs(found, wanted),
    }


def against_plain(spark: SparkSession, data: Data, rounds: int) -> Record:
    """Time one Spark task and one Python thread, in turn, on the same batches of the same file."""
    frame = ps.match(data.frame(spark), data.ref)
    reader = opened(data.ref)
    path = data.path / "events.parquet"

    def in_python() -> pa.Table:
        parts = []
        for batch in pq.ParquetFile(path).iter_batches(BATCH):
            found = reader.match(batch).to_arrow()
            ids = batch.column(0).take(found.column("event").combine_chunks())
            parts.append(pa.table({_ID: ids, "key": found.column("key")}))
        return pa.concat_tables(parts)

    def in_spark() -> None:
        frame.write.format("noop").mode("overwrite").save()

    equal = _same_pairs(frame.toArrow(), in_python())
    in_spark()
    seconds: dict[str, list[float]] = {"plain": [], "spark": []}
    for _ in range(rounds):
        seconds["plain"].append(timed(in_python)[0])
        seconds["spark"].append(timed(in_spark)[0])
    rates = {name: spread([data.events / one for one in taken]) for name, taken in seconds.items()}
    return {
        "subscriptions": len(data.workload),
        "events": data.events,
        "plain_events_per_s": rates["plain"],
        "spark_events_per_s": rates["spark"],
        "fraction": rates["spark"]["median"] / rates["plain"]["median"],
        "equal": equal,
    }


def first_match(spark: SparkSession, data: Data) -> Record:
    """Time a task, from its first line to its first match, in a worker that has not seen the index."""
    from pubmatch_spark.publish import ref_of

    fresh = data.path / "fresh"  # a copy, which nobody has open
    shutil.copytree(data.path / "versions", fresh)
    ref = ref_of(fresh, 1)
    ref.check()

    def timed_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pubmatch_spark.match import pairs_of

        start = time.perf_counter()
        for batch in batches:
            for pairs in pairs_of(batch, ref, _ID, None):
                seconds = time.perf_counter() - start
                yield pa.record_batch({"seconds": [seconds], "pairs": [pairs.num_rows]})
                return

    job_s, rows = timed(data.frame(spark).mapInArrow(timed_task, "seconds double, pairs long").collect)
    return {
        "index_bytes": ref.files["index.pubmatch"][0],
        "task_s": rows[0].seconds if rows else None,
        "job_s": job_s,
    }


def shared_memory(spark: SparkSession, data: Data) -> Record:
    """Let two workers match with the same index at the same time, and sum up what its mapping takes.

    The proportional size divides a page among the processes that map it: with one copy in memory all of them
    together have the size of the file.
    """
    from pubmatch_spark.publish import ref_of

    ref = ref_of(data.path / "fresh", 1)

    def resident(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os

        from pubmatch_bench.spark import mapping_of
        from pubmatch_spark.match import pairs_of

        for batch in batches:
            for _ in pairs_of(batch, ref, _ID, None):
                pass
        time.sleep(2.0)  # until the other one has mapped it too
        sizes = mapping_of(os.path.join(ref.directory, "index.pubmatch"))
        yield pa.record_batch({name: [value] for name, value in {"pid": os.getpid(), **sizes}.items()})

    columns = "pid long, rss long, pss long, anonymous long"
    rows = data.frame(spark).repartition(_CORES).mapInArrow(resident, columns).collect()
    return {
        "workers": len({row.pid for row in rows}),
        "index_bytes": ref.files["index.pubmatch"][0],
        "resident_bytes_of_each": [row.rss for row in rows],
        "proportional_bytes_of_all": sum(row.pss for row in rows),
        "copied_bytes_of_all": sum(row.anonymous for row in rows),
    }


def mapping_of(path: str) -> dict[str, int]:
    """The bytes of a mapped file that this process has resident, its share of them, and its own copies."""
    sizes = {"rss": 0, "pss": 0, "anonymous": 0}
    ours = False
    with open("/proc/self/smaps", encoding="utf-8") as lines:
        for line in lines:
            name, _, rest = line.partition(":")
            if "-" in name.split(" ")[0]:
                ours = line.rstrip().endswith(path)
            elif ours and name.lower() in sizes:
                sizes[name.lower()] += int(rest.split()[0]) * 1024
    return sizes


@contextmanager
def _session() -> Iterator[SparkSession]:
    """A session of our own, or the one that is running already."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    settings = {
        "spark.driver.memory": "4g",
        "spark.driver.maxResultSize": "0",
        "spark.sql.execution.arrow.maxRecordsPerBatch": BATCH,
    }
    spark = ps.session(f"local[{_CORES}]", **settings)
    try:
        yield spark
    finally:
        spark.stop()


def _data(name: str, folder: Path, scale: float, subscriptions: int, events: int) -> Data:
    """Generate a workload, publish its boxes and write boxes and events to Parquet."""
    workload = make(name, scale * subscriptions / spec_of(name).size, opt.SUBSCRIPTION_SEED)
    count = max(100, round(events * scale))
    dims = range(workload.dims)
    columns = {"key": np.arange(len(workload))}
    for place in dims:
        columns[f"x{place}_min"] = workload.lower[:, place].astype(np.float64)
        columns[f"x{place}_max"] = workload.upper[:, place].astype(np.float64)
    matcher = pm.Matcher(pm.Schema(**{f"x{place}": pm.Number() for place in dims}))
    matcher.subscribe_many(columns)
    folder.mkdir(parents=True)
    ref = ps.publish(matcher, folder / "versions", 1)
    points = workload.events(count, opt.EVENT_SEED).astype(np.float64)
    pq.write_table(pa.table(columns), folder / "boxes.parquet")
    table = pa.table({_ID: np.arange(count), **{f"x{place}": points[:, place] for place in dims}})
    pq.write_table(table, folder / "events.parquet", row_group_size=BATCH)
    return Data(workload, ref, folder, count)


def _same_pairs(one: pa.Table, other: pa.Table) -> bool:
    """Whether two tables hold the same pairs, in whatever order."""

    def ordered(table: pa.Table) -> Any:
        events, keys = (column.to_numpy() for column in table.columns)
        order = np.lexsort((keys, events))
        return np.stack([events[order], keys[order]])

    return np.array_equal(ordered(one), ordered(other))
