"""What the measurements inside Spark share: a session, a workload as published version and Parquet files."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import pubmatch as pm
import pubmatch_spark as ps
from pubmatch_bench import options as opt
from pubmatch_bench.workloads import Workload, make, spec_of
from pubmatch_spark.own_session import own_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH = 10_000
"""Rows per Arrow batch, in Spark and outside."""

CORES = 2
ID = "event_id"
_MOST_PAIRS = 10_000_000
"""A workload with more matches than this gets fewer events."""


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

    def boxes(self, spark: SparkSession) -> DataFrame:
        """The subscriptions: key and bounds."""
        return spark.read.parquet(str(self.path / "boxes.parquet"))


def bench_session(conf: dict[str, Any]) -> AbstractContextManager[SparkSession]:
    """A session of our own, or the one that is running already."""
    settings = {
        "spark.driver.memory": "4g",
        "spark.driver.maxResultSize": "0",
        "spark.sql.execution.arrow.maxRecordsPerBatch": BATCH,
    }
    return own_session(f"local[{CORES}]", **settings, **conf)


def make_data(name: str, folder: Path, scale: float, subscriptions: int, events: int) -> Data:
    """Generate a workload, publish its boxes and write boxes and events to Parquet.

    Parameters
    ----------
    name : str
        The workload.
    folder : Path
        Where the files go.
    scale : float
        Factor on both numbers.
    subscriptions, events : int
        How many at scale 1.
    """
    spec = spec_of(name)
    workload = make(name, scale * subscriptions / spec.size, opt.SUBSCRIPTION_SEED)
    per_event = spec.matches_per_event * len(workload) / spec.size
    count = max(100, round(min(events * scale, _MOST_PAIRS / max(per_event, 1e-9))))
    dims = range(workload.dims)
    columns = {"key": pa.array(np.arange(len(workload)))}
    for place in dims:
        columns[f"x{place}_min"] = _bounds(workload.lower[:, place])
        columns[f"x{place}_max"] = _bounds(workload.upper[:, place])
    boxes = pa.table(columns)
    matcher = pm.Matcher(pm.Schema(**{f"x{place}": pm.Number() for place in dims}))
    matcher.subscribe_many(boxes)
    folder.mkdir(parents=True)
    ref = ps.publish(matcher, folder / "versions", 1)
    points = workload.events(count, opt.EVENT_SEED).astype(np.float64)
    pq.write_table(boxes, folder / "boxes.parquet")
    table = pa.table({ID: np.arange(count), **{f"x{place}": points[:, place] for place in dims}})
    pq.write_table(table, folder / "events.parquet", row_group_size=BATCH)
    return Data(workload, ref, folder, count)


def same_pairs(one: pa.Table, other: pa.Table) -> bool:
    """Whether two tables hold the same pairs, in whatever order.

    Examples
    --------
    >>> pairs = pa.table({"event_id": [1, 2], "key": [5, 6]})
    >>> same_pairs(pairs, pairs.take([1, 0])), same_pairs(pairs, pairs.slice(1))
    (True, False)
    """

    def ordered(table: pa.Table) -> Any:
        events, keys = (column.to_numpy() for column in table.columns)
        order = np.lexsort((keys, events))
        return np.stack([events[order], keys[order]])

    return np.array_equal(ordered(one), ordered(other))


def _bounds(values: Any) -> pa.Array:
    """Bounds as float64, null where there is none."""
    return pa.array(values.astype(np.float64), mask=np.isinf(values))
