"""What a matcher consists of: the snapshot that readers use, and the writer's books beside it.

Readers take one `Snapshot` and use nothing else. The index in it is updated in place, whole calls at a
time; all the rest is immutable or only grows. When labels are added, a new snapshot with them is published
*before* the first box that uses them is inserted. So a reader that finds the labels unchanged after matching
has seen no box with a label it did not know; one that finds them changed repeats its work.

A rebuild (labels have no room, attributes were added, or most slots are dead) makes everything anew beside
the old and publishes it as one snapshot; results made before keep their own key table.
"""

from __future__ import annotations

import gc
import sys
import threading
from array import array
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pubmatch.distinct import distinct_rows
from pubmatch.encoding.labels import Labels, LabelsExhausted
from pubmatch.encoding.single_event import SingleEvent
from pubmatch.errors import FilterError
from pubmatch.filter_store import FilterStore
from pubmatch.index import Index
from pubmatch.keys import KeyTable
from pubmatch.schema import Category
from pubmatch.shapes import Shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pubmatch.keys import Key
    from pubmatch.schema import Schema
    from pubmatch.shapes import Prepared

__all__ = ["Later", "Snapshot", "Subscriptions", "collector_paused"]

_INT_BYTES = 32  # of a Python integer
_DEAD_SLOTS = 4096  # so many, and twice the living ones, before all is made anew


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that a reader needs, in one consistent piece."""

    schema: Schema
    index: Index
    labels: Mapping[str, Labels]
    keys: KeyTable
    single: SingleEvent

    @classmethod
    def of(cls, schema: Schema, index: Index, labels: Mapping[str, Labels], keys: KeyTable) -> Snapshot:
        """A snapshot of these parts."""
        return cls(schema, index, labels, keys, SingleEvent(schema))


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the garbage collector from walking over millions of new strings, none of them garbage."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


class Later(NamedTuple):
    """Books that are made when they are wanted: how many subscriptions, and what makes them."""

    subscriptions: int
    make: Callable[[], tuple[dict[Key, int], FilterStore]]


class Subscriptions:
    """The subscriptions of a matcher, by slot.

    Every method but reading `snapshot` wants `lock` to be held.
    """

    def __init__(self, schema: Schema, max_boxes: int) -> None:
        self.lock = threading.RLock()
        self.max_boxes = max_boxes
        self.shapes = Shapes(schema, max_boxes)
        self._slot_of: dict[Key, int] = {}
        self._store = FilterStore()
        self._later: Later | None = None
        self.combinations: dict[bytes, int] = {}
        self.combination_of = array("i")
        self.snapshot = Snapshot.of(schema, _empty_index(schema), _labels(schema, {}), KeyTable())

    def __len__(self) -> int:
        later = self._later
        return len(self._slot_of) if later is None else later.subscriptions

    def postpone(self, later: Later) -> None:
        """Have `slot_of` and `store` made when they are first wanted, which matching never does."""
        self._later = later

    @property
    def slot_of(self) -> dict[Key, int]:
        """The slot of every key."""
        if self._later is not None:
            self._settle()
        return self._slot_of

    @property
    def store(self) -> FilterStore:
        """The filters of all slots."""
        if self._later is not None:
            self._settle()
        return self._store

    def _settle(self) -> None:
        with self.lock:
            if self._later is not None:
                self._slot_of, self._store = self._later.make()
                self._later = None

    @property
    def boxes(self) -> int:
        """How many boxes the subscriptions have."""
        return len(self.snapshot.index)

    @property
    def nbytes(self) -> int:
        """About how much memory the index and the books take, labels not counted."""
        places = sys.getsizeof(self.slot_of) + _INT_BYTES * len(self.slot_of)
        books = self.store.nbytes + self.snapshot.keys.nbytes + self.combination_of.itemsize * len(self.store)
        return self.snapshot.index.nbytes + books + places

    def add(self, keys: Sequence[Key], prepared: Prepared, replaced: Key | None = None) -> None:
        """Add the subscriptions of `prepared` under `keys`, none of which is taken but `replaced`."""
        if not keys:
            return
        lower, upper = self._encode(prepared)
        snapshot = self.snapshot
        first = snapshot.keys.extend(keys)
        self.store.extend(prepared.texts)
        self._note_combinations(lower, upper, prepared.owner, len(keys))
        ids = self._new_ids(first, prepared.owner, len(keys))
        if replaced is None:
            snapshot.index.insert(lower, upper, ids)
        else:
            snapshot.index.replace(snapshot.keys.ids_of(self.slot_of[replaced]), lower, upper, ids)
        self.slot_of.update(zip(keys, range(first, first + len(keys)), strict=True))
        self._compact()

    def remove(self, key: Key) -> bool:
        """Remove a subscription, if there is one of that key."""
        slot = self.slot_of.get(key)
        if slot is None:
            return False
        self.snapshot.index.delete(self.snapshot.keys.ids_of(slot))
        del self.slot_of[key]
        self._compact()
        return True

    def combination_count(self) -> int:
        """How many different sets of attributes the living subscriptions constrain."""
        slots = np.fromiter(self.slot_of.values(), np.int64, len(self.slot_of))
        return len(np.unique(np.array(self.combination_of, np.int32)[slots])) if len(slots) else 0

    def rebuild(self, schema: Schema, more_strings: Mapping[str, Iterable[str]] | None = None) -> None:
        """Make labels, slots and index anew from the filters, and publish them together."""
        with collector_paused():
            self.adopt(self._anew(schema, more_strings or {}))

    def _anew(self, schema: Schema, more_strings: Mapping[str, Iterable[str]]) -> Subscriptions:
        """The same subscriptions with fresh labels, which `more_strings` have too, slots and index."""
        fresh = Subscriptions(schema, self.max_boxes)
        slots = np.fromiter(self.slot_of.values(), np.int64, len(self.slot_of))
        prepared = fresh.shapes.prepare(self.store.texts(slots))
        if prepared.refused:  # only a damaged file holds what was never subscribed
            raise FilterError(f"a subscription has a bad filter: {next(iter(prepared.refused.values()))}")
        wanted = {name: set(strings) for name, strings in prepared.strings.items()}
        for name, strings in more_strings.items():
            wanted.setdefault(name, set()).update(strings)
        fresh.snapshot = replace(fresh.snapshot, labels=_labels(schema, wanted))
        fresh.add(list(self.slot_of), prepared)
        return fresh

    def adopt(self, other: Subscriptions) -> None:
        """Take over all of `other`, which nobody else uses; readers change over at once."""
        self.shapes, self.max_boxes = other.shapes, other.max_boxes
        self._slot_of, self._store, self._later = other._slot_of, other._store, other._later
        self.combinations, self.combination_of = other.combinations, other.combination_of
        self.snapshot = other.snapshot

    def _encode(self, prepared: Prepared) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The bounds of all boxes, after labels for all their strings are published."""
        snapshot = self.snapshot
        labels = dict(snapshot.labels)
        try:
            for name, strings in prepared.strings.items():
                labels[name] = labels[name].extended(strings)
        except LabelsExhausted:
            self.rebuild(snapshot.schema, prepared.strings)
        else:
            if any(labels[name] is not snapshot.labels[name] for name in prepared.strings):
                self.snapshot = replace(snapshot, labels=labels)
        return prepared.encode(self.snapshot.labels)

    def _new_ids(self, first: int, owner: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """An id for every box: its slot, or a shared one if the subscription has several boxes."""
        ids = owner + first
        if len(owner) == count:  # each has at least one
            return ids
        several = np.flatnonzero(np.bincount(owner)[owner] > 1)
        by_slot = several[np.argsort(owner[several], kind="stable")]
        ids[by_slot] = self.snapshot.keys.share(ids[by_slot])
        return ids

    def _note_combinations(
        self, lower: NDArray[np.float64], upper: NDArray[np.float64], owner: NDArray[np.int64], count: int
    ) -> None:
        """Remember which attributes each of the next `count` slots constrains."""
        constrained = (lower > -np.inf) | (upper < np.inf)
        if len(owner) == count:
            sets = constrained
        elif count == 1:
            sets = np.logical_or.reduce(constrained)[None]
        else:
            sets = np.zeros((count, lower.shape[1]), np.bool_)
            np.logical_or.at(sets, owner, constrained)
        distinct, _, place = distinct_rows(sets)
        numbers = [self.combinations.setdefault(row.tobytes(), len(self.combinations)) for row in distinct]
        self.combination_of.frombytes(np.array(numbers, np.int32)[place].tobytes())

    def _compact(self) -> None:
        dead = len(self.snapshot.keys) - len(self.slot_of)
        if dead > _DEAD_SLOTS and dead > 2 * len(self.slot_of):
            self.rebuild(self.snapshot.schema)


def _empty_index(schema: Schema) -> Index:
    return Index(dims=max(len(schema), 1))


def _labels(schema: Schema, strings: Mapping[str, Iterable[str]]) -> dict[str, Labels]:
    return {
        name: Labels.of(strings.get(name, ())) for name in schema.names if isinstance(schema[name], Category)
    }
