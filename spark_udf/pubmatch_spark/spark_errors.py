"""What Spark and Java say at length, in one line."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pubmatch.errors import PubmatchError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["told_in_short", "what_failed"]

# An exception as Python or Java names it, at the beginning of a line: a.b.SomeError: what happened
_NAMED = re.compile(r"(?:[\w$]+\.)*[\w$]*(?:Error|Exception): (.*)")

_OURS = re.compile(r"pubmatch\.errors\.\w+: ")


@contextmanager
def told_in_short() -> Iterator[None]:
    """Turn what Spark raises into a `PubmatchError` of one line.

    Examples
    --------
    >>> with told_in_short():
    ...     pass
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise PubmatchError(what_failed(str(error))) from None


def what_failed(text: str) -> str:
    r"""The line of a report that says what happened: that of the Python that failed, else the first.

    Examples
    --------
    >>> what_failed("Traceback:\n  File x\npubmatch.errors.FormatError: a.arrow: damaged\n\nJVM stacktrace:")
    'a.arrow: damaged'
    >>> what_failed("Traceback:\n  File x\nZeroDivisionError: division by zero")
    'a worker failed: ZeroDivisionError: division by zero'
    >>> what_failed("It failed.\n: org.apache.spark.SparkException: Could not parse 'x'\n\tat SparkContext")
    "Spark: Could not parse 'x'"
    """
    report = re.split("JVM stacktrace|=== Streaming Query", text)[0]
    lines = [line.rstrip() for line in report.splitlines() if line.strip()]
    ours = [line for line in lines if _OURS.match(line)]
    if ours:
        return _OURS.sub("", ours[-1])  # it says itself what it is about
    if any(line.startswith("Traceback") for line in lines):
        return f"a worker failed: {[line for line in lines if not line.startswith((' ', chr(9)))][-1]}"
    for line in lines:
        found = _NAMED.match(line.removeprefix(": "))
        if found and found.group(1):
            return f"Spark: {found.group(1)}"
    return f"Spark: {lines[0] if lines else text}"
