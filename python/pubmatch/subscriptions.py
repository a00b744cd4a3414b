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
from typing import TYPE_CHECKING

import numpy as np

from pubmatch.distinct import distinct_rows
from pubmatch.encoding.labels import Labels, LabelsExhausted
from pubmatch.errors import FilterError
from pubmatch.filter_store import FilterStore
from pubmatch.index import Index
from pubmatch.keys import KeyTable
from pubmatch.schema import Category
from pubmatch.shapes import Shapes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pubmatch.keys import Key
    from pubmatch.schema import Schema
    from pubmatch.shapes import Prepared

__all__ = ["Snapshot", "Subscriptions", "collector_paused", "ids_by_slot"]

_INT_BYTES = 32  # of a Python integer
_DEAD_SLOTS = 4096  # so many, and twice the living ones, before all is made anew


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that a reader needs, in one consistent piece."""

    schema: Schema
    index: Index
    labels: Mapping[str, Labels]
    keys: KeyTable


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


class Subscriptions:
    """The subscriptions of a matcher, by slot.

    Every method but reading `snapshot` wants `lock` to be held.
    """

    def __init__(self, schema: Schema, max_boxes: int) -> None:
        self.lock = threading.RLock()
        self.max_boxes = max_boxes
        self.shapes = Shapes(schema, max_boxes)
        self.slot_of: dict[Key, int] = {}
        self.store = FilterStore()
        self.shared_ids: dict[int, NDArray[np.int64]] = {}
        self.combinations: dict[bytes, int] = {}
        self.combination_of = array("i")
        self.snapshot = Snapshot(schema, _empty_index(schema), _labels(schema, {}), KeyTable())

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

    def ids_of(self, slot: int) -> NDArray[np.int64]:
        """The ids of a slot's boxes."""
        shared = self.shared_ids.get(slot)
        return np.array([slot], np.int64) if shared is None else shared

    def add(self, keys: Sequence[Key], prepared: Prepared, replaced: Key | None = None) -> None:
        """Add the subscriptions of `prepared` under `keys`, none of which is taken but `replaced`."""
        if not keys:
            return
        lower, upper = self._encode(prepared)
        snapshot = self.snapshot
        first = snapshot.keys.extend(keys)
        self.store.extend(prepared.texts)
        self._note_combinations(lower, upper, prepared.owner, len(keys))
        ids, shared = self._new_ids(first, prepared.owner)
        if replaced is None:
            snapshot.index.insert(lower, upper, ids)
        else:
            gone = self.slot_of[replaced]
            snapshot.index.replace(self.ids_of(gone), lower, upper, ids)
            self.shared_ids.pop(gone, None)
        self.shared_ids.update(shared)
        self.slot_of.update(zip(keys, range(first, first + len(keys)), strict=True))
        self._compact()

    def remove(self, key: Key) -> bool:
        """Remove a subscription, if there is one of that key."""
        slot = self.slot_of.get(key)
        if slot is None:
            return False
        self.snapshot.index.delete(self.ids_of(slot))
        del self.slot_of[key]
        self.shared_ids.pop(slot, None)
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
        self.shapes, self.max_boxes, self.store = other.shapes, other.max_boxes, other.store
        self.slot_of, self.shared_ids = other.slot_of, other.shared_ids
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

    def _new_ids(
        self, first: int, owner: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], dict[int, NDArray[np.int64]]]:
        """An id for every box: its slot, or a shared one if the subscription has several boxes."""
        ids = owner + first
        several = np.bincount(owner)[owner] > 1
        if not several.any():
            return ids, {}
        slots = ids[several]
        ids[several] = self.snapshot.keys.share(slots)
        return ids, ids_by_slot(slots, ids[several])

    def _note_combinations(
        self, lower: NDArray[np.float64], upper: NDArray[np.float64], owner: NDArray[np.int64], count: int
    ) -> None:
        """Remember which attributes each of the next `count` slots constrains."""
        constrained = (lower > -np.inf) | (upper < np.inf)
        if len(owner) == count:
            sets = constrained
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


def ids_by_slot(slots: NDArray[np.int64], ids: NDArray[np.int64]) -> dict[int, NDArray[np.int64]]:
    """The ids of each slot that occurs in `slots`."""
    if not len(slots):
        return {}
    order = np.argsort(slots, kind="stable")
    distinct, starts = np.unique(slots[order], return_index=True)
    return dict(zip(distinct.tolist(), np.split(ids[order], starts[1:]), strict=True))


def _empty_index(schema: Schema) -> Index:
    return Index(dims=max(len(schema), 1))


def _labels(schema: Schema, strings: Mapping[str, Iterable[str]]) -> dict[str, Labels]:
    return {
        name: Labels.of(strings.get(name, ())) for name in schema.names if isinstance(schema[name], Category)
    }
