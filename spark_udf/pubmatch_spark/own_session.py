"""A session for one command: what Java and Spark write to stderr is kept aside, and read when they fail."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import warnings
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from pubmatch.errors import PubmatchError
from pubmatch_spark.session import QUIET_LOGGING, session
from pubmatch_spark.spark_errors import told_in_short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

__all__ = ["own_session", "reason_in"]

# A line of Spark's log, or what Java says of an exception that ended it.
_REASON = re.compile(r"(?: ERROR \w+: |^Exception in thread \"main\" [\w.$]+: )(.+)$", re.MULTILINE)


@contextmanager
def own_session(master: str | None, **conf: Any) -> Iterator[SparkSession]:
    """A session that is stopped at the end of a command; or the one that is running already.

    Java's first lines, Spark's log and remarks on versions do not reach the terminal, where a command shows
    its progress and its errors, each in one line.

    Parameters
    ----------
    master, **conf
        As for `session`.

    Raises
    ------
    JavaError
        There is no Java of version 17 or newer.
    PubmatchError
        Spark does not start.
    """
    from pyspark.sql import SparkSession

    with warnings.catch_warnings(), tempfile.TemporaryFile() as log:
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        running = SparkSession.getActiveSession()
        if running is not None:
            yield running
            return
        started = _started(master, {**QUIET_LOGGING, **conf}, log)
        try:
            yield started
        finally:
            started.stop()


def reason_in(log: str) -> str | None:
    r"""The first error that a log tells, if it tells one.

    Examples
    --------
    >>> reason_in("WARNING: ...\n24/05/01 10:00:00 ERROR StandaloneSchedulerBackend: All masters are gone.\n")
    'All masters are gone.'
    """
    found = _REASON.search(log)
    return found.group(1) if found else None


def _started(master: str | None, conf: dict[str, Any], log: IO[bytes]) -> SparkSession:
    try:
        with _stderr_to(log), told_in_short():
            return session(master, **conf)
    except PubmatchError as error:
        log.seek(0)
        reason = reason_in(log.read().decode(errors="replace"))
        if reason is None:
            raise
        raise PubmatchError(f"Spark does not start: {reason}") from error


@contextmanager
def _stderr_to(file: IO[bytes]) -> Iterator[None]:
    """Let processes that are started now, Java among them, write their stderr to a file."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        os.dup2(file.fileno(), 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
