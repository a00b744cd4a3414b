"""A matcher as one file: a checked head, the sections it names, the index last.

    magic (16 bytes) | version (uint32) | CRC-32 of the head (uint32) | its length (uint64) | head | sections

All numbers are little-endian. The head is JSON: name, length and CRC-32 of every section, in order and
without gaps; one of them is padding, so that the index begins at a multiple of `_ALIGNMENT` bytes. Sections
are JSON, int32 or int64 numbers, UTF-8 bytes, and for the index what `Index.to_bytes` gives. Nothing in a
file is ever executed.
"""

from __future__ import annotations

import io
import json
import os
import struct
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from pubmatch.arrays import checked_flag, checked_path
from pubmatch.encoding.labels import Labels
from pubmatch.errors import FormatError, PubmatchError, file_access_error
from pubmatch.filter_store import FilterStore, numbers_in
from pubmatch.index import Index
from pubmatch.keys import FIRST_SHARED, KeyTable, checked_keys
from pubmatch.schema import Category, Schema
from pubmatch.shown import shown
from pubmatch.subscriptions import Later, Snapshot, Subscriptions, collector_paused
from pubmatch.whole_files import replace_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pubmatch.keys import Key

__all__ = ["is_matcher_file", "matcher_bytes", "matcher_from_bytes", "read_matcher", "write_matcher"]

_MAGIC = b"\x89PMMATCHER\r\n\x1a\n\0\0"
_VERSION = 1
_START = struct.Struct("<16sIIQ")
_ALIGNMENT = 4096
_LONGEST_HEAD = 1 << 16
_FILTERS = ("templates", "template_of", "ends", "literals")
_SECTIONS = (
    "schema", "settings", "keys", "live", "shared", *_FILTERS, "combinations", "combination_of", "labels",
    "padding", "index",
)  # fmt: skip


def write_matcher(subscriptions: Subscriptions, path: str | os.PathLike[str]) -> None:
    """Write all of a matcher to `path`: to a temporary name, synced, then renamed."""
    name = checked_path(path)  # before long work
    replace_file(name, matcher_bytes(subscriptions))


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
            return _read(file, verified)
    except FormatError as error:
        raise FormatError(f"{name}: {error}") from None
    except OSError as error:
        raise file_access_error(error, name) from None


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
    return _read(io.BytesIO(data), verify)


def _read(file: BinaryIO, verify: bool) -> Subscriptions:
    try:
        with collector_paused():
            return _subscriptions(_split(file, verify))
    except (FormatError, OSError):
        raise
    except (PubmatchError, ValueError, TypeError, LookupError, OverflowError, RecursionError) as error:
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


def _split(file: BinaryIO, verify: bool) -> dict[str, bytes]:
    """The sections of a file whose head is sound and names exactly what follows."""
    if not file.seekable():
        file = io.BytesIO(file.read())
    start = file.read(_START.size)
    if len(start) < _START.size or not start.startswith(_MAGIC):
        raise FormatError("not a matcher file")
    _, version, checksum, length = _START.unpack(start)
    if version != _VERSION:
        raise FormatError(f"version {version} of the matcher file; this release reads version {_VERSION}")
    head = file.read(length) if length <= _LONGEST_HEAD else b""
    if len(head) != length or zlib.crc32(head) != checksum:
        raise FormatError("the head is damaged")
    rows = _checked_rows(json.loads(head)["sections"], _rest(file))
    sections = {}
    for name, size, checksum in rows:
        section = file.read(size)
        if len(section) != size:
            raise FormatError(
                f"the section {name!r} has {len(section)} bytes, which are not what the head says"
            )
        # The index verifies its own checksum.
        if name != "index" and (verify or name == "padding") and zlib.crc32(section) != checksum:
            raise FormatError(f"the section {name!r} is damaged")
        sections[name] = section
    if file.read(1):
        raise FormatError("there are more bytes than the head says")
    return sections


def _checked_rows(rows: Any, rest: int) -> list[tuple[str, int, int]]:
    """The head's rows (name, bytes, CRC-32), if the bytes behind the head can be what they describe."""
    if not isinstance(rows, list):
        raise FormatError("the head has no list of sections")
    for row in rows:
        if not isinstance(row, list) or list(map(type, row)) != [str, int, int]:
            raise FormatError(f"the head has {shown(row)} for a section's name, bytes and checksum")
        if row[1] < 0:
            raise FormatError(f"the section {shown(row[0])} has {shown(row[1])} bytes in the head")
    if [row[0] for row in rows] != list(_SECTIONS):
        raise FormatError("the head names other sections than this release knows")
    size = sum(row[1] for row in rows)
    if size > rest:
        raise FormatError(f"there are {rest} bytes of sections, fewer than the {shown(size)} the head says")
    return [tuple(row) for row in rows]


def _rest(file: BinaryIO) -> int:
    """How many bytes are left to read."""
    place = file.tell()
    end = file.seek(0, os.SEEK_END)
    file.seek(place)
    return end - place


def _subscriptions(sections: dict[str, bytes]) -> Subscriptions:
    index = Index.from_bytes(sections.pop("index"))
    schema = Schema.from_json(sections["schema"])
    settings = json.loads(sections["settings"])
    count, max_boxes = settings["slots"], settings["max_boxes"]
    if type(count) is not int or type(max_boxes) is not int or max_boxes < 1:
        raise FormatError(f"bad settings {settings}")
    keys = checked_keys(json.loads(sections["keys"]))
    if len(keys) != count:
        raise FormatError(f"{len(keys)} keys for {count} slots")
    shared = _int64(sections["shared"])
    live = _int64(sections["live"])
    _check_slots(live, count)
    _check_slots(shared, count)
    _check_ids(index, schema, count, live, shared)
    books = Subscriptions(schema, max_boxes)
    filters = {name: sections[name] for name in _FILTERS}
    books.postpone(Later(len(live), lambda: (_slot_of(keys, live), FilterStore.from_arrays(filters, count))))
    combinations = [bytes.fromhex(combination) for combination in json.loads(sections["combinations"])]
    books.combinations = {combination: number for number, combination in enumerate(combinations)}
    _check_slots(numbers_in(sections["combination_of"], np.int32, count), len(combinations))
    books.combination_of.frombytes(sections["combination_of"])
    labels = _labels(json.loads(sections["labels"]), schema)
    books.snapshot = Snapshot.of(schema, index, labels, KeyTable(keys, shared.copy()))
    return books


def _slot_of(keys: list[Key], live: NDArray[np.int64]) -> dict[Key, int]:
    slots = live.tolist()
    found = dict(zip(map(keys.__getitem__, slots), slots, strict=True))
    if len(found) != len(slots):
        raise FormatError("a key has two subscriptions")
    return found


def _check_ids(
    index: Index, schema: Schema, count: int, live: NDArray[np.int64], shared: NDArray[np.int64]
) -> None:
    """Refuse an index that does not have exactly the boxes of the living subscriptions."""
    dims = index.dims
    if dims != max(len(schema), 1) or index.dtype != np.float64:
        raise FormatError(
            f"the index has {dims} dimensions of {index.dtype}, the schema has other attributes"
        )
    alive, several = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    alive[live], several[shared] = True, True
    wanted = np.concatenate([alive & ~several, alive[shared]])
    ids = index.intersecting(np.full(dims, -np.inf), np.full(dims, np.inf)).ids
    places = np.where(ids < FIRST_SHARED, ids, ids - (FIRST_SHARED - count))
    found = np.zeros(len(wanted), np.bool_)
    fits = (ids >= 0) & (places < len(wanted)) & ((ids < count) | (ids >= FIRST_SHARED))
    found[places[fits]] = True
    if not fits.all() or len(ids) != np.count_nonzero(found) or not np.array_equal(wanted, found):
        raise FormatError("the index has other boxes than the subscriptions")


def _labels(document: Any, schema: Schema) -> dict[str, Labels]:
    names = [name for name in schema.names if isinstance(schema[name], Category)]
    if not isinstance(document, dict) or list(document) != names:
        raise FormatError("labels are kept for other attributes than the schema's")
    return {name: Labels.from_lists(*document[name]) for name in names}


def _check_slots(slots: NDArray[Any], count: int) -> None:
    if len(slots) and not 0 <= int(slots.min()) <= int(slots.max()) < count:
        raise FormatError(f"a number is not from 0 to {count - 1}")


def _int64(data: bytes) -> NDArray[np.int64]:
    return numbers_in(data, np.int64, len(data) // 8)


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
