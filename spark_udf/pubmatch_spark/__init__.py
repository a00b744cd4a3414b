"""The pubmatch matcher inside Spark executors; install ``pubmatch[spark]`` to use it.

Importing the package is quick: pyspark, pyarrow and Java are asked for by the functions that use them.
"""

from __future__ import annotations

from pubmatch_spark.aggregate import aggregate, dependent
from pubmatch_spark.calculations import Calculation
from pubmatch_spark.java import JavaError, ensure_java
from pubmatch_spark.match import match, match_udf
from pubmatch_spark.publish import IndexRef, latest, publish, ref_of, versions
from pubmatch_spark.session import session
from pubmatch_spark.shard_manifest import ShardManifest
from pubmatch_spark.shards import ShardReport, build_shards, explain, match_sharded
from pubmatch_spark.ship import ship, ship_packages
from pubmatch_spark.streaming import match_stream

__all__ = [
    "Calculation",
    "IndexRef",
    "JavaError",
    "ShardManifest",
    "ShardReport",
    "aggregate",
    "build_shards",
    "dependent",
    "ensure_java",
    "explain",
    "latest",
    "match",
    "match_sharded",
    "match_stream",
    "match_udf",
    "publish",
    "ref_of",
    "session",
    "ship",
    "ship_packages",
    "versions",
]
