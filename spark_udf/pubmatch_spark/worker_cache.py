"""What a Python worker keeps open: each published version once per process, however many tasks it runs.

Functions sent to executors import this module there, which is why it holds the cache: a dictionary beside
them would travel with every task and always be empty. Of each family (the directory of the versions) the last
two that were used stay, so that old versions leave while a stream changes over.
"""

from __future__ import annotations

import gc
import hashlib
import os
import threading
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from pubmatch.errors import FormatError, MissingFileError
from pubmatch.published import FILES, PublishedMatcher
from pubmatch_spark.publish import MANIFEST, shipped_name

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from pubmatch_spark.publish import IndexRef

    Opened = TypeVar("Opened")

__all__ = ["cached", "opened"]

KEPT = 2
"""How many members of a family stay open."""

_lock = threading.Lock()
_families: dict[Hashable, dict[Hashable, Any]] = {}


def cached(family: Hashable, member: Hashable, load: Callable[[], Opened]) -> Opened:
    """What `load` gave when `member` was first asked for in this process, as long as it is kept.

    Examples
    --------
    >>> cached("an example", 1, lambda: "loaded")
    'loaded'
    >>> cached("an example", 1, lambda: "loaded again")
    'loaded'
    """
    with _lock:
        members = _families.setdefault(family, {})
        if member in members:
            found: Opened = members.pop(member)
        else:
            found = load()
        members[member] = found  # the last one used comes last
        while len(members) > KEPT:
            del members[next(iter(members))]
        return found


def opened(ref: IndexRef) -> PublishedMatcher:
    """The matcher of a published version, mapped from its directory or from what `ship` sent along.

    Raises
    ------
    FormatError
        The files are not those of `ref`, or (as `MissingFileError`) are in neither place.
    """
    return cached(ref.path, ref.digest, lambda: _open(ref))


def _open(ref: IndexRef) -> PublishedMatcher:
    paths = _in_directory(ref) or _among_spark_files(ref)
    if paths is None:
        raise MissingFileError(
            2, "This executor does not see the version; share the directory or call ship(ref)", ref.directory
        )
    for name, path in paths.items():
        if os.path.getsize(path) != ref.files[name][0]:
            raise FormatError(f"{path}: {os.path.getsize(path)} bytes, published were {ref.files[name][0]}")
    found = PublishedMatcher.open(paths)
    _keep_imports()
    return found


@cache
def _keep_imports() -> None:
    """Take what a worker has imported out of the garbage collector's sight, once.

    PySpark's daemon collects garbage after every task, and looking through all modules takes it 40 ms. None
    of them ever is garbage.
    """
    from pyspark import SparkFiles

    if SparkFiles._is_running_on_worker:
        gc.freeze()


def _in_directory(ref: IndexRef) -> dict[str, str] | None:
    """The files where they were published, if this process sees the very same version there."""
    try:
        with open(os.path.join(ref.directory, MANIFEST), "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return None
    paths = {name: os.path.join(ref.directory, name) for name in FILES}
    return paths if digest == ref.digest and all(map(os.path.exists, paths.values())) else None


def _among_spark_files(ref: IndexRef) -> dict[str, str] | None:
    from pyspark import SparkContext, SparkFiles

    if not SparkFiles._is_running_on_worker and SparkContext._active_spark_context is None:
        return None
    paths = {name: SparkFiles.get(shipped_name(ref, name)) for name in FILES}
    return paths if all(map(os.path.exists, paths.values())) else None
