"""The same events and boxes joined by Spark itself, by Apache Sedona where it is loaded, and by pubmatch.

Spark is left to choose its plan: one side is small enough for it to broadcast, and it compares every event
with every box, on all cores. A join of many seconds warms its code up by itself. Jobs of a fraction of a
second are given as long to do so as the join takes, and the first of them is reported too. All hand their
pairs to the driver, and those of every run are compared.
"""

from __future__ import annotations

import math
import time
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

import numpy as np

import pubmatch_spark as ps
from pubmatch_bench.record import Record
from pubmatch_bench.spark_data import CORES, ID, Data, same_pairs
from pubmatch_bench.timing import spread, timed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SEDONA", "load_sedona", "range_join"]

SEDONA = {
    "spark.jars.packages": "org.apache.sedona:sedona-spark-shaded-4.0_2.13:1.8.0,"
    "org.datasyslab:geotools-wrapper:1.8.0-33.1"
}
"""What loads Apache Sedona from Maven Central: the release for the newest Spark that has one."""

_MATCHES_PER_ROUND = 5


def range_join(spark: SparkSession, data: Data, rounds: int, sedona: bool) -> Record:
    """Time the joins once and `match` a few times in every round, in turn.

    Parameters
    ----------
    spark : SparkSession
        The session all run in.
    data : Data
        Boxes and events.
    rounds : int
        How often.
    sedona : bool
        Whether Sedona is to be measured too, which is done in two dimensions.
    """
    events = data.frame(spark).repartition(CORES).cache()
    events.count()
    boxes = _bounded(data.boxes(spark), data.workload.dims).cache()
    boxes.count()
    jobs = {"spark": _compared(events, boxes, data.workload.dims)}
    missing = load_sedona(spark) if sedona and data.workload.dims == 2 else None
    if sedona and data.workload.dims == 2 and missing is None:
        jobs["sedona"] = _by_sedona(events, boxes)
    plans = {name: _join_of(job) for name, job in jobs.items()}
    match = ps.match(events, data.ref)
    first_s, found = timed(match.toArrow)
    seconds: dict[str, list[float]] = {name: [] for name in ("match", *jobs)}
    equal = dict.fromkeys(jobs, True)
    for number in range(rounds):
        for name, job in jobs.items():
            taken, wanted = timed(job.toArrow)
            seconds[name].append(taken)
            equal[name] &= same_pairs(found, wanted)
        if number == 0:
            _warm_up(match, seconds["spark"][0])
        for _ in range(_MATCHES_PER_ROUND):
            taken, again = timed(match.toArrow)
            seconds["match"].append(taken)
            equal["spark"] &= same_pairs(found, again)
    events.unpersist()
    boxes.unpersist()
    peers = [
        {
            "peer": name,
            "plan": plans[name],
            "join_s": spread(seconds[name]),
            "ratio": float(np.median(seconds[name]) / np.median(seconds["match"])),
            "equal": equal[name],
        }
        for name in jobs
    ]
    return {
        "subscriptions": len(data.workload),
        "events": data.events,
        "matches": len(found),
        "first_match_s": first_s,
        "match_s": spread(seconds["match"]),
        "peers": peers,
        "not_measured": {} if missing is None else {"sedona": missing},
    }


def _bounded(boxes: DataFrame, dims: int) -> DataFrame:
    """The boxes with infinite bounds instead of none, which Spark compares fastest, on all cores."""
    from pyspark.sql import functions

    infinite = {"min": -math.inf, "max": math.inf}
    bounds = [
        functions.coalesce(f"x{place}_{side}", functions.lit(value)).alias(f"x{place}_{side}")
        for place in range(dims)
        for side, value in infinite.items()
    ]
    return boxes.select("key", *bounds).repartition(CORES)


def _compared(events: DataFrame, boxes: DataFrame, dims: int) -> DataFrame:
    """Spark's own range join."""
    from pyspark.sql import functions

    inside = [
        functions.col(f"x{place}").between(functions.col(f"x{place}_min"), functions.col(f"x{place}_max"))
        for place in range(dims)
    ]
    return events.join(boxes, reduce(and_, inside)).select(ID, "key")


def _by_sedona(events: DataFrame, boxes: DataFrame) -> DataFrame:
    """Sedona's spatial join of points and rectangles, borders included."""
    rectangles = boxes.selectExpr("key", "ST_PolygonFromEnvelope(x0_min, x1_min, x0_max, x1_max) AS area")
    points = events.selectExpr(ID, "ST_Point(x0, x1) AS point")
    return points.join(rectangles, on=_sql("ST_Intersects(area, point)")).select(ID, "key")


def load_sedona(spark: SparkSession) -> str | None:
    """Make Sedona's functions known to the session; what keeps it from that, if something does."""
    from py4j.protocol import Py4JError

    jvm: Any = spark._jvm
    try:
        jvm.org.apache.sedona.spark.SedonaContext.create(spark._jsparkSession)
    except (Py4JError, TypeError) as error:  # a name that is no class is not callable
        lines = [line.removeprefix(": ") for line in str(error).splitlines()]
        return next((line for line in lines if "Error" in line or "Exception" in line), lines[0])
    return None


def _sql(text: str) -> Any:
    from pyspark.sql import functions

    return functions.expr(text)


def _join_of(frame: DataFrame) -> str:
    """The name of the join that Spark planned."""
    plan: str = frame._jdf.queryExecution().executedPlan().toString()
    lines = (line.lstrip(" +-:*()0123456789") for line in plan.splitlines())
    return next((line.split()[0] for line in lines if "Join" in line.partition("[")[0]), "unknown")


def _warm_up(match: DataFrame, seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        match.toArrow()
