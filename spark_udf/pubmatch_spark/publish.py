"""Versions of a matcher on disk: immutable directories that executors map.

`publish(matcher, path, 7)` makes the directory `path/v000007`: the files of `pubmatch.published` and
`manifest.json`, which tells size and SHA-256 of each. It is written under a temporary name and renamed, so
that a version is complete or not there. An `IndexRef` names one version by its manifest's own SHA-256 and is
all that travels to executors; `IndexRef.check` compares everything with the disk, on the driver, before a job
starts.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pubmatch.arrays import checked_integer, checked_path
from pubmatch.errors import (
    ArgumentError,
    ArgumentTypeError,
    FormatError,
    MissingFileError,
    PubmatchError,
    file_access_error,
)
from pubmatch.matcher import Matcher
from pubmatch.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "MANIFEST",
    "IndexRef",
    "checked_ref",
    "checked_root",
    "latest",
    "publish",
    "ref_of",
    "shipped_name",
    "version_name",
    "versions",
]

MANIFEST = "manifest.json"
_FORMAT = 1
_NAME = re.compile(r"v(\d{6,})")
_verified: dict[str, tuple[Any, ...]] = {}
"""What the files looked like when their checksums were last found right, by path."""


@dataclass(frozen=True, slots=True)
class IndexRef:
    """One published version: small, picklable, and never changing.

    Attributes
    ----------
    path : str
        The directory of all versions, as given to `publish`, absolute.
    version : int
        Which one.
    schema : Schema
        The attributes of events.
    subscriptions : int
        How many there are.
    key_type : {"string", "int64"}
        The type of keys in results.
    files : mapping
        Name → (bytes, SHA-256).
    digest : str
        SHA-256 of the manifest.
    """

    path: str
    version: int
    schema: Schema
    subscriptions: int
    key_type: str
    files: Mapping[str, tuple[int, str]] = field(repr=False, hash=False)
    digest: str = field(repr=False)

    @property
    def directory(self) -> str:
        """Where the files of this version are."""
        return os.path.join(self.path, version_name(self.version))

    @property
    def nbytes(self) -> int:
        """How many bytes the files have."""
        return sum(size for size, _ in self.files.values())

    def check(self) -> None:
        """Compare size and checksum of every file with the manifest.

        A file that has not been touched since it was found right is not read again.

        Raises
        ------
        FormatError
            A file was changed, or (as `MissingFileError`) is gone.
        """
        if ref_of(self.path, self.version).digest != self.digest:
            raise FormatError(f"{self.directory}: the manifest is not the one this reference was made from")
        for name, (size, checksum) in self.files.items():
            _check_file(os.path.join(self.directory, name), size, checksum)


def publish(matcher: Matcher, path: str | os.PathLike[str], version: int) -> IndexRef:
    """Write the state of a matcher as a new version.

    Parameters
    ----------
    matcher : Matcher
        The subscriptions; those that come later do not change the version.
    path : path-like
        The directory of all versions, on a filesystem the executors see; made if it is not there. Where they
        see none, `ship` sends the files along.
    version : int
        A number above that of every version there; the highest one is current.

    Returns
    -------
    IndexRef
        What `match` and the others take.

    Raises
    ------
    ArgumentError
        The version is not above the current one.
    FileAccessError
        The directory cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import pubmatch as pm
    >>> matcher = pm.Matcher(pm.Schema(price=pm.Number()))
    >>> matcher.subscribe("cheap", "price < 10")
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     ref = publish(matcher, directory, version=1)
    ...     ref.version, ref.subscriptions, latest(directory) == ref
    (1, 1, True)
    """
    if not isinstance(matcher, Matcher):
        raise ArgumentTypeError(f"a pubmatch.Matcher is published, got {type(matcher).__name__}")
    number = _checked_version(version)
    root = checked_root(path)
    temporary = None
    try:
        os.makedirs(root, exist_ok=True)
        _check_newer(root, number)
        temporary = tempfile.mkdtemp(prefix=f".{version_name(number)}-", dir=root)
        os.chmod(temporary, 0o755)
        _write(matcher, temporary, number)
        try:
            os.rename(temporary, os.path.join(root, version_name(number)))
        except OSError:
            _check_newer(root, number)  # somebody else was quicker
            raise
        temporary = None
        _sync(root)
    except OSError as error:
        if isinstance(error, PubmatchError):
            raise
        raise file_access_error(error, root) from None
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
    return ref_of(root, number)


def versions(path: str | os.PathLike[str]) -> list[int]:
    """The versions there are in a directory, ascending; none if there is no such directory."""
    root = checked_root(path)
    try:
        names = os.listdir(root)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise file_access_error(error, root) from None
    numbers = [int(found.group(1)) for name in names if (found := _NAME.fullmatch(name))]
    return sorted(number for number in numbers if version_name(number) in names)


def latest(path: str | os.PathLike[str]) -> IndexRef:
    """The current version of a directory: the highest.

    Raises
    ------
    MissingFileError
        There is none.
    """
    known = versions(path)
    if not known:
        raise MissingFileError(2, "No version was published (pubmatch publish makes one)", checked_root(path))
    return ref_of(path, known[-1])


def ref_of(path: str | os.PathLike[str], version: int) -> IndexRef:
    """The reference to a version that was published before; files are not read, only the manifest is."""
    root, number = checked_root(path), _checked_version(version)
    name = os.path.join(root, version_name(number), MANIFEST)
    try:
        with open(name, "rb") as file:
            data = file.read()
    except OSError as error:
        raise file_access_error(error, name) from None
    try:
        return _from_manifest(root, number, data)
    except (PubmatchError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FormatError(f"{name}: not the manifest of version {number}: {error}") from None


def checked_ref(ref: object) -> IndexRef:
    """`ref`, if it is one and its files are as they were published."""
    if not isinstance(ref, IndexRef):
        raise ArgumentTypeError(f"a reference made by publish is needed, got {type(ref).__name__}")
    ref.check()
    return ref


def checked_root(path: str | os.PathLike[str]) -> str:
    """`path` as an absolute path of the file system."""
    name = checked_path(path)
    if re.match(r"[A-Za-z][\w+.-]*:/", name):
        raise ArgumentError(f"path must be in a mounted file system, since files are mapped; got {name!r}")
    if not name:
        raise ArgumentError("path must not be empty")
    return os.path.abspath(name)


def version_name(version: int) -> str:
    """The directory of a version.

    Examples
    --------
    >>> version_name(7)
    'v000007'
    """
    return f"v{version:06d}"


def shipped_name(ref: IndexRef, name: str) -> str:
    """The name a file of `ref` has among Spark's files, where those of all versions lie together."""
    return f"pubmatch-{ref.digest[:32]}-{name}"


def _checked_version(version: object) -> int:
    number = checked_integer("version", version)
    if not 0 <= number < 2**63:
        raise ArgumentError(f"version must be from 0 to {2**63 - 1}, got {number}")
    return number


def _check_newer(root: str, version: int) -> None:
    known = versions(root)
    if known and version <= known[-1]:
        raise ArgumentError(f"version must be above {known[-1]}, the current one of {root}, got {version}")


def _write(matcher: Matcher, directory: str, version: int) -> None:
    from pubmatch.published import FILES, PublishedMatcher, write_published

    write_published(matcher, directory)
    written = PublishedMatcher.open(directory)
    files = {}
    for name in FILES:
        path = os.path.join(directory, name)
        files[name] = {"bytes": os.path.getsize(path), "sha256": _sha256(path)}
        _sync(path)
    manifest = {
        "format": _FORMAT,
        "version": version,
        "subscriptions": len(matcher),
        "key_type": str(written.keys.type),
        "schema": json.loads(written.schema.to_json()),
        "files": files,
    }
    path = os.path.join(directory, MANIFEST)
    with open(path, "w", encoding="utf-8") as text:
        json.dump(manifest, text, indent=1)
    _sync(path)
    _sync(directory)


def _from_manifest(root: str, version: int, data: bytes) -> IndexRef:
    from pubmatch.published import FILES

    document = json.loads(data)
    if document["format"] != _FORMAT:
        raise FormatError(f"format {document['format']!r}; this release reads format {_FORMAT}")
    if document["version"] != version:
        raise FormatError(f"it says version {document['version']!r}")
    if document["key_type"] not in ("string", "int64"):
        raise FormatError(f"unknown type of keys {document['key_type']!r}")
    files = {name: (row["bytes"], row["sha256"]) for name, row in document["files"].items()}
    if set(files) != set(FILES) or not all(type(size) is int for size, _ in files.values()):
        raise FormatError(f"it names the files {sorted(files)}")
    schema = Schema.from_json(json.dumps(document["schema"]))
    count = checked_integer("subscriptions", document["subscriptions"])
    digest = hashlib.sha256(data).hexdigest()
    return IndexRef(root, version, schema, count, document["key_type"], files, digest)


def _check_file(path: str, size: int, checksum: str) -> None:
    try:
        seen = os.stat(path)
        if seen.st_size != size:
            raise FormatError(f"{path}: {seen.st_size} bytes, the manifest says {size}")
        state = (seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, checksum)
        if _verified.get(path) == state:
            return
        found = _sha256(path)
    except OSError as error:
        if isinstance(error, PubmatchError):
            raise
        raise file_access_error(error, path) from None
    if found != checksum:
        raise FormatError(f"{path}: damaged, its checksum is not the manifest's")
    _verified[path] = state


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: str) -> None:
    """Make a file or directory last."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
