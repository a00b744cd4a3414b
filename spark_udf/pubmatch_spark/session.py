"""`session`: a quiet SparkSession with the settings the pipeline wants."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pubmatch.errors import ArgumentError, ArgumentTypeError
from pubmatch_spark.java import ensure_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["QUIET_LOGGING", "session"]

DEFAULTS = {
    "spark.app.name": "pubmatch",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    # Enough events per batch for shortest-job-first to pay, few enough for a first match to come early.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    # A crash of native code is told with its Python stack.
    "spark.python.worker.faulthandler.enabled": "true",
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
}
_LOG4J = Path(__file__).with_name("log4j2.properties").as_uri()
QUIET_LOGGING = {"spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOG4J}"}
"""Where nobody has set up logging: errors only, from the first line on."""

LOCAL_DEFAULTS = {
    "spark.ui.enabled": "false",
    **QUIET_LOGGING,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
"""Where driver and executors are one process, nobody else needs to reach it."""


def session(master: str | None = None, **conf: Any) -> SparkSession:
    """Start a SparkSession, or return the running one with `conf` applied.

    Parameters
    ----------
    master : str, optional
        Where Spark runs; by default what spark-submit was told, else `local[*]`.
    **conf
        Spark's settings by their dotted names, which win over the defaults of this package.

    Raises
    ------
    JavaError
        There is no Java of version 17 or newer.

    Examples
    --------
    >>> spark = session("local[2]", **{"spark.sql.shuffle.partitions": 4})  # doctest: +SKIP
    """
    if master is not None and (not isinstance(master, str) or not master):
        raise ArgumentTypeError(f"master must be a URL such as 'local[2]', got {master!r}")
    settings = {_checked_name(name): _text(name, value) for name, value in conf.items()}
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # spark-submit started Java, and knows the master
    if not submitted:
        ensure_java()
    where = master or settings.get("spark.master") or (None if submitted else "local[*]")
    local = where is not None and where.split("[")[0] == "local"
    # Workers would take the python3 of PATH, which need not have the packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if local:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    if where is not None:
        builder = builder.master(where)
    for name, value in {**DEFAULTS, **(LOCAL_DEFAULTS if local else {}), **settings}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _checked_name(name: str) -> str:
    if not name.startswith("spark."):
        raise ArgumentError(f"a setting of Spark has a name such as 'spark.executor.memory', got {name!r}")
    return name


def _text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise ArgumentTypeError(f"{name} must be text, a number or a boolean, got {value!r}")
