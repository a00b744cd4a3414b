"""A matcher as one file: a checked head, the sections it names, the index last.

    magic (16 bytes) | version (uint32) | CRC-32 of the head (uint32) | its length (uint64) | head | sections

All numbers are little-endian. The head is JSON: name, length and CRC-32 of every section, in order and
without gaps; one of them is padding, so that the index begins at a multiple of `_ALIGNMENT` bytes. Sections
are JSON, int32 or int64 numbers, UTF-8 bytes, and for the index what `Index.to_bytes` gives. Nothing in a
file is ever executed.
"""

from __future__ import annotations

import json
import os
import struct
import tempfile
import zlib
from array import array
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from pubmatch.arrays import checked_flag, checked_path
from pubmatch.encoding.labels import Labels
from pubmatch.errors import FormatError, PubmatchError, file_access_error
from pubmatch.filter_store import FilterStore, numbers_in
from pubmatch.index import Index
from pubmatch.keys import FIRST_SHARED, KeyTable, checked_key
from pubmatch.schema import Category, Schema
from pubmatch.subscriptions import Snapshot, Subscriptions, ids_by_slot

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["is_matcher_file", "matcher_bytes", "matcher_from_bytes", "read_matcher", "write_matcher"]

_MAGIC = b"\x89PMMATCHER\r\n\x1a\n\0\0"
_VERSION = 1
_START = struct.Struct("<16sIIQ")
_ALIGNMENT = 4096
_FILTERS = ("templates", "template_of", "ends", "literals")
_SECTIONS = (
    "schema", "settings", "keys", "live", "shared", *_FILTERS, "combinations", "combination_of", "labels",
    "padding", "index",
)  # fmt: skip


def write_matcher(subscriptions: Subscriptions, path: str | os.PathLike[str]) -> None:
    """Write all of a matcher to `path`: to a temporary name, synced, then renamed."""
    name = checked_path(path)
    data = matcher_bytes(subscriptions)
    target = os.path.realpath(name)
    temporary = None
    try:
        if os.path.exists(target) and not os.path.isfile(target):
            with open(
                target, "wb", buffering=0
            ) as device:  # a directory refuses; a rename would replace a device
                device.write(data)
            return
        mode = os.stat(target).st_mode & 0o7777 if os.path.exists(target) else 0o666 & ~_umask()
        if os.path.exists(target) and not os.access(target, os.W_OK):
            raise PermissionError(13, "Permission denied")
        descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".", suffix=".tmp")
        with open(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        temporary = None
        _sync_directory(os.path.dirname(target))
    except OSError as error:
        raise file_access_error(error, name) from None
    finally:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)


def is_matcher_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as the file of a matcher does; False if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def read_matcher(path: str | os.PathLike[str], mmap: bool, verify: bool) -> Subscriptions:
    """The subscriptions in the file `path`."""
    name = checked_path(path)
    checked_flag("mmap", mmap)
    verified = checked_flag("verify", verify)
    try:
        with open(name, "rb") as file:
            data = file.read()
    except OSError as error:
        raise file_access_error(error, name) from None
    try:
        return matcher_from_bytes(data, verified)
    except FormatError as error:
        raise FormatError(f"{name}: {error}") from None


def matcher_bytes(subscriptions: Subscriptions) -> bytes:
    """All of a matcher as the bytes of its file."""
    with subscriptions.lock:
        sections = _sections(subscriptions)
    sections["padding"] = b"\0" * _ALIGNMENT  # of the head's final length, once its size is known
    head = _head(sections)
    before = _START.size + len(head) + sum(map(len, sections.values())) - len(sections["index"]) - _ALIGNMENT
    sections["padding"] = b"\0" * (-before % _ALIGNMENT)
    head = _head(sections).ljust(
        len(head)
    )  # JSON may end in blanks: the padding's length is shorter to write
    start = _START.pack(_MAGIC, _VERSION, zlib.crc32(head), len(head))
    return b"".join([start, head, *(sections[name] for name in _SECTIONS)])


def matcher_from_bytes(data: bytes, verify: bool = True) -> Subscriptions:
    """The subscriptions in the bytes of a file.

    Raises
    ------
    FormatError
        The bytes are foreign, newer, truncated or corrupted.
    """
    try:
        return _subscriptions(_split(data, verify))
    except FormatError:
        raise
    except (PubmatchError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise FormatError(f"the matcher's sections contradict each other: {error}") from None


def _sections(books: Subscriptions) -> dict[str, bytes]:
    snapshot = books.snapshot
    labels = {name: labels.to_lists() for name, labels in snapshot.labels.items()}
    return {
        "schema": snapshot.schema.to_json().encode(),
        "settings": _json({"max_boxes": books.max_boxes, "slots": len(snapshot.keys)}),
        "keys": _json([snapshot.keys[slot] for slot in range(len(snapshot.keys))]),
        "live": np.fromiter(books.slot_of.values(), np.int64, len(books.slot_of)).tobytes(),
        "shared": snapshot.keys.shared.tobytes(),
        **books.store.to_arrays(),
        "combinations": _json([combination.hex() for combination in books.combinations]),
        "combination_of": np.array(books.combination_of, np.int32).tobytes(),
        "labels": _json(labels),
        "index": snapshot.index.to_bytes(),
    }


def _head(sections: dict[str, bytes]) -> bytes:
    rows = [[name, len(sections[name]), zlib.crc32(sections[name])] for name in _SECTIONS]
    return _json({"sections": rows})


def _split(data: bytes, verify: bool) -> dict[str, bytes]:
    """The sections of a file whose head is sound and names exactly what follows."""
    if len(data) < _START.size or not data.startswith(_MAGIC):
        raise FormatError("not a matcher file")
    _, version, checksum, length = _START.unpack_from(data)
    if version != _VERSION:
        raise FormatError(f"version {version} of the matcher file; this release reads version {_VERSION}")
    head = data[_START.size : _START.size + length]
    if len(head) != length or zlib.crc32(head) != checksum:
        raise FormatError("the head is damaged")
    rows = json.loads(head)["sections"]
    if [row[0] for row in rows] != list(_SECTIONS):
        raise FormatError("the head names other sections than this release knows")
    begin = _START.size + length
    if begin + sum(row[1] for row in rows) != len(data):
        raise FormatError(f"{len(data)} bytes are not what the head says")
    sections = {}
    for name, size, checksum in rows:
        section = data[begin : begin + size]
        if (verify or name == "padding") and zlib.crc32(section) != checksum:
            raise FormatError(f"the section {name!r} is damaged")
        sections[name] = section
        begin += size
    return sections


def _subscriptions(sections: dict[str, bytes]) -> Subscriptions:
    schema = Schema.from_json(sections["schema"])
    settings = json.loads(sections["settings"])
    count, max_boxes = settings["slots"], settings["max_boxes"]
    if type(count) is not int or type(max_boxes) is not int or max_boxes < 1:
        raise FormatError(f"bad settings {settings}")
    given = json.loads(sections["keys"])
    keys = [checked_key(key) for key in given]
    if len(keys) != count:
        raise FormatError(f"{len(keys)} keys for {count} slots")
    shared = _int64(sections["shared"])
    live = _int64(sections["live"])
    _check_slots(live, count, unique=True)
    _check_slots(shared, count, unique=False)
    books = Subscriptions(schema, max_boxes)
    books.store = FilterStore.from_arrays({name: sections[name] for name in _FILTERS}, count)
    books.slot_of = {keys[slot]: slot for slot in live.tolist()}
    if len(books.slot_of) != len(live):
        raise FormatError("a key has two subscriptions")
    combinations = [bytes.fromhex(combination) for combination in json.loads(sections["combinations"])]
    books.combinations = {combination: number for number, combination in enumerate(combinations)}
    numbers = numbers_in(sections["combination_of"], np.int32, count)
    _check_slots(numbers, len(combinations), unique=False)
    books.combination_of = array("i", numbers.tolist())
    index = Index.from_bytes(sections["index"])
    _adopt_ids(books, index, live, shared)
    labels = _labels(json.loads(sections["labels"]), schema)
    books.snapshot = Snapshot(schema, index, labels, KeyTable(keys, shared.copy()))
    return books


def _adopt_ids(
    books: Subscriptions, index: Index, live: NDArray[np.int64], shared: NDArray[np.int64]
) -> None:
    """Note the ids of subscriptions with several boxes, after checking that the index has the right ids."""
    dims = index.dims
    if dims != len(books.snapshot.schema) or index.dtype != np.float64:
        raise FormatError(
            f"the index has {dims} dimensions of {index.dtype}, the schema has other attributes"
        )
    of_living = np.flatnonzero(np.isin(shared, live))
    books.shared_ids = ids_by_slot(shared[of_living], of_living + FIRST_SHARED)
    single = live[~np.isin(live, shared)]
    wanted = np.sort(np.concatenate([single, of_living + FIRST_SHARED]))
    found = np.sort(index.intersecting(np.full(dims, -np.inf), np.full(dims, np.inf)).ids)
    if not np.array_equal(wanted, found):
        raise FormatError("the index has other boxes than the subscriptions")


def _labels(document: Any, schema: Schema) -> dict[str, Labels]:
    names = [name for name in schema.names if isinstance(schema[name], Category)]
    if not isinstance(document, dict) or list(document) != names:
        raise FormatError("labels are kept for other attributes than the schema's")
    return {name: Labels.from_lists(*document[name]) for name in names}


def _check_slots(slots: NDArray[Any], count: int, unique: bool) -> None:
    if len(slots) and not 0 <= int(slots.min()) <= int(slots.max()) < count:
        raise FormatError(f"a number is not from 0 to {count - 1}")
    if unique and len(np.unique(slots)) != len(slots):
        raise FormatError("a slot appears twice")


def _int64(data: bytes) -> NDArray[np.int64]:
    return numbers_in(data, np.int64, len(data) // 8)


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_directory(directory: str) -> None:
    """Make the new name last; a directory that cannot be opened or synced is left to the system."""
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
