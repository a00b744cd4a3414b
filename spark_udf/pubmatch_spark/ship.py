"""Sending along what executors lack: the files of a published version, or the packages themselves.

Both go through Spark's own file server, once per executor. The packages travel as one archive each, unpacked
under its own name where workers look for modules; a plain zip would not do, since native code is not imported
from one.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pubmatch.arrays import checked_path
from pubmatch.errors import ArgumentError, ArgumentTypeError, FormatError, file_access_error
from pubmatch_spark.publish import checked_ref, shipped_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from pubmatch_spark.publish import IndexRef

__all__ = ["PACKAGES", "ship", "ship_packages"]

PACKAGES = ("pubmatch", "pubmatch_spark")
"""What executors import; they need numpy and pyarrow besides, as Spark itself does."""

_shipped: set[tuple[str, str]] = set()
"""What was sent in which application: Spark refuses a second file of the same name."""


def ship(ref: IndexRef, spark: SparkSession | None = None) -> None:
    """Send the files of a version to all executors, for when they do not see the directory they lie in.

    Parameters
    ----------
    ref : IndexRef
        The version, which the driver sees.
    spark : SparkSession, optional
        By default the active one.

    Examples
    --------
    >>> ship(ref)  # doctest: +SKIP
    >>> match(events, ref).show()  # doctest: +SKIP
    """
    checked_ref(ref)
    context = _context(spark)
    mark = (context.applicationId, ref.digest)
    if mark in _shipped:
        return
    for name in ref.files:
        context.addFile(_renamed(os.path.join(ref.directory, name), shipped_name(ref, name)))
    _shipped.add(mark)


def ship_packages(spark: SparkSession | None = None, wheel: str | os.PathLike[str] | None = None) -> None:
    """Send the packages `pubmatch` and `pubmatch_spark` to executors that do not have them.

    Parameters
    ----------
    spark : SparkSession, optional
        By default the active one.
    wheel : path-like, optional
        A wheel of pubmatch built for the executors; by default the packages of this process are sent.

    Raises
    ------
    FormatError
        `wheel` is no wheel of pubmatch, or (as `FileAccessError`) cannot be read.

    Examples
    --------
    >>> ship_packages(spark, "pubmatch-0.1.0-cp311-cp311-linux_x86_64.whl")  # doctest: +SKIP
    """
    context = _context(spark)
    source = "" if wheel is None else os.path.abspath(checked_path(wheel))
    contents = _installed() if wheel is None else _from_wheel(source)
    mark = (context.applicationId, "packages")
    if mark in _shipped:
        raise ArgumentError("the packages were sent before; Spark does not replace what executors have")
    folder = tempfile.mkdtemp(dir=_folder())
    for package, files in contents.items():
        archive = os.path.join(folder, f"{package}.zip")
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            for name, data in sorted(files.items()):
                file.writestr(name, data)
        context.addArchive(f"{archive}#{package}")
    _shipped.add(mark)


def _context(spark: SparkSession | None) -> SparkContext:
    from pyspark.sql import SparkSession

    found: Any = SparkSession.getActiveSession() if spark is None else spark
    if found is None:
        raise ArgumentError("there is no active SparkSession; start one with session()")
    context = getattr(found, "sparkContext", None)
    if context is None:
        raise ArgumentTypeError(f"spark must be a SparkSession, got {type(found).__name__}")
    result: SparkContext = context
    return result


def _renamed(path: str, name: str) -> str:
    """A file under another name: Spark keeps names, and would follow a symbolic link."""
    target = os.path.join(_folder(), name)
    if os.path.exists(target):
        return target
    try:
        try:
            os.link(path, target)
        except OSError:  # another file system, or one without hard links
            shutil.copyfile(path, target)
    except OSError as error:
        raise file_access_error(error, path) from None
    return target


@cache
def _folder() -> str:
    """A folder for what is sent, which stays until this process ends."""
    folder = tempfile.mkdtemp(prefix="pubmatch-ship-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _installed() -> dict[str, dict[str, bytes]]:
    """The files of the packages as this process imports them."""
    import pubmatch
    import pubmatch_spark

    contents: dict[str, dict[str, bytes]] = {}
    for package, module in zip(PACKAGES, (pubmatch, pubmatch_spark), strict=True):
        top = Path(module.__file__ or "").parent
        contents[package] = {str(path.relative_to(top)): path.read_bytes() for path in _sources(top)}
    core = Path(pubmatch._core.__file__ or "")
    contents["pubmatch"].setdefault(core.name, core.read_bytes())  # an editable install keeps it elsewhere
    return contents


def _sources(top: Path) -> Iterator[Path]:
    return (path for path in top.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _from_wheel(path: str) -> dict[str, dict[str, bytes]]:
    """The files of the packages in a wheel."""
    contents: dict[str, dict[str, bytes]] = {package: {} for package in PACKAGES}
    try:
        with zipfile.ZipFile(path) as wheel:
            for name in wheel.namelist():
                package, _, rest = name.partition("/")
                if package in contents and rest and not name.endswith("/"):
                    contents[package][rest] = wheel.read(name)
    except OSError as error:
        raise file_access_error(error, path) from None
    except zipfile.BadZipFile as error:
        raise FormatError(f"{path}: not a wheel: {error}") from None
    for package, files in contents.items():
        if "__init__.py" not in files:
            raise FormatError(f"{path}: not a wheel of pubmatch: it has no package {package}")
    return contents
