"""A matcher's state as a few files that readers map: processes that match with it share one copy in memory.

A directory holds `index.pubmatch` (see `Index.save`), `keys.arrow` (the key of every slot, an Arrow file),
`shared.npy` (the slots of shared ids, see `pubmatch.keys`) and `labels.json` (the schema, and the labels of
its Category attributes). Filters are not among them: a reader matches, and cannot subscribe. Needs pyarrow.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from pubmatch.encoding.events import event_columns, rereadable
from pubmatch.encoding.labels import Labels
from pubmatch.encoding.points import encode_points
from pubmatch.errors import ArgumentError, FormatError, PubmatchError, file_access_error
from pubmatch.index import Index
from pubmatch.keys import FIRST_SHARED
from pubmatch.matcher_result import MatcherResult
from pubmatch.schema import Category, Schema

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from numpy.typing import NDArray

    from pubmatch.index import Level, Order
    from pubmatch.keys import Key
    from pubmatch.matcher import Matcher

__all__ = ["FILES", "MappedKeys", "PublishedMatcher", "write_published"]

INDEX, KEYS, SHARED, LABELS = "index.pubmatch", "keys.arrow", "shared.npy", "labels.json"
FILES = (INDEX, KEYS, SHARED, LABELS)
"""The names of the files."""


class MappedKeys:
    """The keys of slots as an Arrow array, which may lie in a mapped file; otherwise as `KeyTable`.

    Examples
    --------
    >>> import numpy as np, pyarrow
    >>> MappedKeys(pyarrow.array(["a", "b"]), np.empty(0, np.int64)).listed(np.array([1, 0]))
    ['b', 'a']
    """

    __slots__ = ("_keys", "_shared")

    def __init__(self, keys: pa.Array, shared: NDArray[np.int64]) -> None:
        self._keys = keys
        self._shared = shared

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def type(self) -> pa.DataType:
        """`pyarrow.string()` or, if all keys are integers, `pyarrow.int64()`."""
        return self._keys.type

    def slots_of(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The slot of each id."""
        several = ids >= FIRST_SHARED
        slots = ids.copy()
        slots[several] = self._shared[ids[several] - FIRST_SHARED]
        return slots

    def listed(self, slots: NDArray[np.int64]) -> list[Key]:
        """The keys of `slots`."""
        keys: list[Key] = self.take_arrow(slots).to_pylist()
        return keys

    def take(self, slots: NDArray[np.int64]) -> NDArray[Any]:
        """The keys of `slots` as an array of int64 or of strings."""
        taken: NDArray[Any] = self.take_arrow(slots).to_numpy(zero_copy_only=False)
        return taken

    def take_arrow(self, slots: NDArray[np.int64]) -> pa.Array:
        """The keys of `slots` as an Arrow array."""
        return self._keys.take(pa.array(slots))


class PublishedMatcher:
    """Matches as the matcher did when its state was written; immutable.

    Keys of both types come out as strings, as in `MatcherResult.to_arrow`.

    Examples
    --------
    >>> import tempfile
    >>> import pubmatch as pm
    >>> matcher = pm.Matcher(pm.Schema(price=pm.Number()))
    >>> matcher.subscribe("cheap", "price < 10")
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     write_published(matcher, directory)
    ...     reader = PublishedMatcher.open(directory)
    >>> list(reader.match({"price": [5.0, 50.0]}))
    [['cheap'], []]
    """

    __slots__ = ("_index", "_keys", "_labels", "_schema")

    def __init__(self, index: Index, keys: MappedKeys, labels: Mapping[str, Labels], schema: Schema) -> None:
        self._index = index
        self._keys = keys
        self._labels = labels
        self._schema = schema

    @classmethod
    def open(cls, directory: str | Mapping[str, str], verify: bool = False) -> Self:
        """Map the files of a directory.

        Parameters
        ----------
        directory : str or mapping
            Where `write_published` put them; or the path of each of `FILES`.
        verify : bool
            Verify the index's checksum, which reads all of the file.

        Raises
        ------
        FormatError
            A file is foreign or damaged, or (as `FileAccessError`) cannot be read.
        """
        paths = (
            {name: os.path.join(directory, name) for name in FILES}
            if isinstance(directory, str)
            else directory
        )
        index = Index.load(paths[INDEX], mmap=True, verify=verify)
        schema, labels = _read_labels(paths[LABELS])
        if index.dims != len(schema):
            raise FormatError(f"{paths[INDEX]}: {index.dims} dimensions for {len(schema)} attributes")
        return cls(index, MappedKeys(_read_keys(paths[KEYS]), _read_shared(paths[SHARED])), labels, schema)

    @property
    def schema(self) -> Schema:
        """The attributes."""
        return self._schema

    @property
    def index(self) -> Index:
        """The index; its ids are slots."""
        return self._index

    @property
    def keys(self) -> MappedKeys:
        """The keys of all slots, also of those whose subscription has gone."""
        return self._keys

    def match(
        self, events: Any, order: Order = "sjf", level: Level = "auto", threads: int = 1
    ) -> MatcherResult:
        """Find the keys of all subscriptions that each event satisfies; see `Matcher.match`."""
        matches = self._index.match(self._points(events), order=order, level=level, threads=threads)
        return MatcherResult(matches, self._keys)

    def stream(
        self, events: Any, chunk: int = 256, order: Order = "sjf", level: Level = "auto", threads: int = 1
    ) -> Generator[tuple[NDArray[np.int64], MatcherResult], None, None]:
        """Match, and hand results out while later events are still being matched; see `Matcher.stream`."""
        parts = self._index.stream(self._points(events), chunk, order=order, level=level, threads=threads)
        return ((positions, MatcherResult(part, self._keys)) for positions, part in parts)

    def _points(self, events: Any) -> NDArray[np.float64]:
        return encode_points(
            event_columns(rereadable(events), self._schema.names), self._schema, self._labels
        )


def write_published(matcher: Matcher, directory: str) -> None:
    """Write the files of a matcher's state into a directory that exists.

    Raises
    ------
    FileAccessError
        The directory cannot be written.
    ArgumentError
        The keys are too many for one Arrow array: they take more than 2 GiB.
    """
    books = matcher._subscriptions
    try:
        with books.lock:
            snapshot = books.snapshot
            snapshot.index.save(os.path.join(directory, INDEX))
            keys = snapshot.keys.take_arrow(np.arange(len(snapshot.keys), dtype=np.int64))
            shared = snapshot.keys.shared.copy()
        if isinstance(keys, pa.ChunkedArray):
            raise ArgumentError(f"the {len(keys)} keys take more than 2 GiB; publish them in shards")
        table = pa.record_batch({"key": keys})
        path = os.path.join(directory, KEYS)
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as file:
            file.write_batch(table)
        np.save(os.path.join(directory, SHARED), shared, allow_pickle=False)
        lists = {name: labels.to_lists() for name, labels in snapshot.labels.items()}
        document = {"schema": json.loads(snapshot.schema.to_json()), "labels": lists}
        with open(os.path.join(directory, LABELS), "w", encoding="utf-8") as text:
            json.dump(document, text, separators=(",", ":"))
    except OSError as error:
        if isinstance(error, PubmatchError):
            raise
        raise file_access_error(error, directory) from None


def _read_keys(path: str) -> pa.Array:
    try:
        with pa.memory_map(path) as file:
            keys = pa.ipc.open_file(file).get_batch(0).column(0)
            keys.validate()
    except OSError as error:
        raise file_access_error(error, path) from None
    except (pa.ArrowException, IndexError) as error:
        raise FormatError(f"{path}: {error}") from None
    if keys.type not in (pa.string(), pa.int64()) or keys.null_count:
        raise FormatError(f"{path}: keys of type {keys.type} with {keys.null_count} nulls")
    return keys


def _read_shared(path: str) -> NDArray[np.int64]:
    try:
        shared = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise file_access_error(error, path) from None
    except (ValueError, EOFError) as error:
        raise FormatError(f"{path}: {error}") from None
    if shared.dtype != np.int64 or shared.ndim != 1:
        raise FormatError(f"{path}: an array of {shared.dtype} in {shared.ndim} dimensions")
    return np.asarray(shared)


def _read_labels(path: str) -> tuple[Schema, dict[str, Labels]]:
    try:
        with open(path, encoding="utf-8") as text:
            document = json.load(text)
        schema = Schema.from_json(json.dumps(document["schema"]))
        names = [name for name in schema.names if isinstance(schema[name], Category)]
        if list(document["labels"]) != names:
            raise FormatError(f"{path}: labels for other attributes than the schema's")
        return schema, {name: Labels.from_lists(*document["labels"][name]) for name in names}
    except OSError as error:
        raise file_access_error(error, path) from None
    except FormatError:
        raise
    except (PubmatchError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise FormatError(f"{path}: {error}") from None
