"""`bench spark`: the matcher inside Spark, against Spark's own range join and against plain Python.

One session, one machine. For every workload: how many times as long Spark takes to join the same events and
boxes by comparing them (`spark_join`); which part of plain Python's events per second is left when one task
matches the same batches of the same file; how soon after its start a task that opens the index hands out its
first match, for the first workload with an index of 500 MB; how much memory two workers take that map the
same index; and how shards of it spread the events (`spark_shards`).
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

import pubmatch_spark as ps
from pubmatch_bench import options as opt
from pubmatch_bench.record import Record, new_record, version_of
from pubmatch_bench.spark_data import BATCH, CORES, ID, Data, bench_session, make_data, same_pairs
from pubmatch_bench.spark_join import SEDONA, range_join
from pubmatch_bench.spark_shards import SHARDS, sharded
from pubmatch_bench.timing import spread, timed
from pubmatch_bench.workloads import spec_of
from pubmatch_spark.publish import ref_of
from pubmatch_spark.worker_cache import opened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pubmatch_spark.publish import IndexRef

DEFAULT_WORKLOADS = "W1,W2,W3"
DEFAULT_ROUNDS = 5
PEERS = ("sedona",)
JOIN_SUBSCRIPTIONS, JOIN_EVENTS = 100_000, 10_000
SUBSCRIPTIONS, EVENTS = 1_000_000, 100_000
INDEX_BYTES = 500_000_000
"""The index whose first match is timed."""


def run(options: opt.Options, notify: opt.Notify) -> Record:
    """Measure all chosen workloads and return the record."""
    record = new_record(
        "spark",
        quick=options.quick,
        parameters=options.parameters("workloads", "peers", "rounds", "scale")
        | {"batch": BATCH, "cores": CORES, "shards": SHARDS},
        seeds=opt.SEEDS,
    )
    record["versions"] |= {library: version_of(library) for library in ("pyspark", "pyarrow")}
    conf = SEDONA if "sedona" in options.peers else {}
    with bench_session(conf) as spark, TemporaryDirectory(prefix="pubmatch-bench-") as folder:
        for name in options.workloads:
            tell = opt.part(notify, name, options)
            record["results"].append(measure(spark, name, options, Path(folder) / name, tell))
    return record


def measure(spark: SparkSession, name: str, options: opt.Options, folder: Path, notify: opt.Notify) -> Record:
    """Measure one workload."""
    spec = spec_of(name)
    notify("range join", 0.0)
    small = make_data(name, folder / "join", options.scale, JOIN_SUBSCRIPTIONS, JOIN_EVENTS)
    joined = range_join(spark, small, options.rounds, "sedona" in options.peers)
    notify("shards", 0.4)
    shards = sharded(spark, small, folder / "shards")
    notify("build", 0.5)
    data = make_data(name, folder / "match", options.scale, SUBSCRIPTIONS, EVENTS)
    notify("plain Python", 0.6)
    plain = against_plain(spark, data, options.rounds)
    memory = shared_memory(spark, data)
    if name == options.workloads[0]:
        notify("build", 0.8)
        data = _large(name, folder / "large", options.scale, data)
    notify("first match", 0.95)
    return {
        "workload": spec.name,
        "about": spec.about,
        "dims": spec.dims,
        "range_join": joined,
        "shards": shards,
        "plain": plain,
        "memory": memory,
        "first_match": first_match(spark, data),
    }


def _large(name: str, folder: Path, scale: float, data: Data) -> Data:
    """The same workload with an index of `INDEX_BYTES` at scale 1."""
    per_subscription = data.ref.files["index.pubmatch"][0] / len(data.workload)
    return make_data(name, folder, scale, round(INDEX_BYTES / per_subscription), BATCH)


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
            parts.append(pa.table({ID: ids, "key": found.column("key")}))
        return pa.concat_tables(parts)

    def in_spark() -> None:
        frame.write.format("noop").mode("overwrite").save()

    equal = same_pairs(frame.toArrow(), in_python())
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
    """Time a task, from its first line to its first match, in a worker that has not seen the index.

    Twice: with the file in the system's page cache, where `publish` has just left it, and after the system
    was asked to drop it.
    """
    times: Record = {"index_bytes": data.ref.files["index.pubmatch"][0]}
    for name in ("cached", "from_disk"):
        ref = _copied(data, name)
        if name == "from_disk":
            drop_pages(Path(ref.directory))
        task_s, job_s = _first_pairs(spark, data, ref)
        times |= {f"{name}_task_s": task_s, f"{name}_job_s": job_s}
    return times


def _copied(data: Data, name: str) -> IndexRef:
    """The same version in files of their own, which no process has open."""
    shutil.copytree(data.path / "versions", data.path / name)
    ref = ref_of(data.path / name, 1)
    ref.check()
    return ref


def _first_pairs(spark: SparkSession, data: Data, ref: IndexRef) -> tuple[float | None, float]:
    def timed_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pubmatch_spark.match import pairs_of

        start = time.perf_counter()
        for batch in batches:
            for pairs in pairs_of(batch, ref, ID, None):
                seconds = time.perf_counter() - start
                yield pa.record_batch({"seconds": [seconds], "pairs": [pairs.num_rows]})
                return

    job_s, rows = timed(data.frame(spark).mapInArrow(timed_task, "seconds double, pairs long").collect)
    return (rows[0].seconds if rows else None), job_s


def drop_pages(directory: Path) -> None:
    """Ask the system to drop the files of a directory from its page cache."""
    for path in directory.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def shared_memory(spark: SparkSession, data: Data) -> Record:
    """Let two workers match with the same index at the same time, and sum up what its mapping takes.

    The proportional size divides a page among the processes that map it: with one copy in memory all of them
    together have the size of the file.
    """
    ref = _copied(data, "shared")

    def resident(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os

        from pubmatch_bench.spark import mapping_of
        from pubmatch_spark.match import pairs_of

        for batch in batches:
            for _ in pairs_of(batch, ref, ID, None):
                pass
        time.sleep(2.0)  # until the other one has mapped it too
        sizes = mapping_of(os.path.join(ref.directory, "index.pubmatch"))
        yield pa.record_batch({name: [value] for name, value in {"pid": os.getpid(), **sizes}.items()})

    columns = "pid long, rss long, pss long, anonymous long"
    rows = data.frame(spark).repartition(CORES).mapInArrow(resident, columns).collect()
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
