"""Shards of a workload, by every way to divide: fan-out, balance, and the same pairs as one index finds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pubmatch_spark as ps
from pubmatch_bench import options as opt
from pubmatch_bench.record import Record
from pubmatch_bench.spark_data import Data, same_pairs
from pubmatch_bench.timing import timed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SHARDS", "sharded"]

SHARDS = 8
WAYS = ("zorder", "clusters", "hash")
_SAMPLED = 2_000


def sharded(spark: SparkSession, data: Data, folder: Path) -> list[Record]:
    """Build and match the shards of each way; sample events are drawn apart from those that are matched."""
    events = data.frame(spark).repartition(SHARDS)
    one = ps.match(events, data.ref).toArrow()
    points = data.workload.events(_SAMPLED, opt.WARM_UP_SEED)
    sample = spark.createDataFrame(
        [tuple(map(float, point)) for point in points],
        ", ".join(f"x{place} double" for place in range(data.workload.dims)),
    )
    records = []
    for way in WAYS:
        build_s, manifest = timed(
            ps.build_shards, data.boxes(spark), folder / way, shards=SHARDS, by=way, sample=sample
        )
        report = ps.explain(events, manifest)
        match_s, found = timed(ps.match_sharded(events, manifest).toArrow)
        records.append(
            {
                "by": way,
                "shards": len(manifest.shards),
                "build_s": build_s,
                "match_s": match_s,
                "fan_out": report.fan_out,
                "balance": report.balance,
                "equal": same_pairs(found, one),
            }
        )
    return records
