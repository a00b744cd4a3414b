"""`MatcherResult`: the keys that matched each event."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from pubmatch.keys import FIRST_SHARED

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

    from pubmatch.keys import Key, KeyTable
    from pubmatch.matches import Matches
    from pubmatch.published import MappedKeys

__all__ = ["MatcherResult"]


class MatcherResult:
    """The subscriptions of each event, by key, each key once.

    Returned by `Matcher.match`, and in parts by `Matcher.stream`. Keys are looked up when they are asked for.

    Examples
    --------
    >>> from pubmatch.matcher import Matcher
    >>> from pubmatch.schema import Number, Schema
    >>> matcher = Matcher(Schema(price=Number()))
    >>> matcher.subscribe("cheap", "price < 10")
    >>> matcher.subscribe("odd", "price < 5 OR price > 100")
    >>> result = matcher.match([{"price": 7.0}, {"price": 3.0}, {"price": None}])
    >>> [sorted(keys) for keys in result]
    [['cheap'], ['cheap', 'odd'], []]
    >>> result.counts
    array([1, 2, 0])
    """

    __slots__ = ("_matches", "_rows", "_table")

    def __init__(self, matches: Matches, table: KeyTable | MappedKeys) -> None:
        self._matches = matches
        self._table = table
        self._rows: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many keys each event has."""
        return np.diff(self._slots()[0])

    @property
    def order(self) -> NDArray[np.int64]:
        """Positions of the events in the order in which they were processed."""
        return self._matches.order

    @property
    def level(self) -> int:
        """The Level at which the workloads were estimated."""
        return self._matches.level

    @property
    def response_s(self) -> NDArray[np.float64]:
        """Seconds from the start of the index's work to each event's completion, by position."""
        return self._matches.response_s

    @property
    def mean_response_s(self) -> float:
        """Mean of `response_s`; NaN if there was no event."""
        return self._matches.mean_response_s

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """All matches as two arrays of equal length: event position and key.

        The keys are int64 if the matcher has only integer keys, otherwise Python objects.
        """
        offsets, slots = self._slots()
        return _events(offsets), self._table.take(slots)

    def to_arrow(self) -> pa.Table:
        """All matches as an Arrow table of the columns `event` (position) and `key`; needs pyarrow.

        `key` is int64 if the matcher has only integer keys, otherwise a string; if it has keys of both types,
        integers are written as strings.
        """
        import pyarrow

        offsets, slots = self._slots()
        return pyarrow.table({"event": _events(offsets), "key": self._table.take_arrow(slots)})

    def to_pandas(self) -> pd.DataFrame:
        """All matches as a pandas frame of the columns `event` (position) and `key`; needs pandas."""
        import pandas

        events, keys = self.pairs()
        return pandas.DataFrame({"event": events, "key": keys})

    def __len__(self) -> int:
        return len(self._matches)

    def __getitem__(self, event: SupportsIndex) -> list[Key]:
        length = len(self)
        number = operator.index(event)
        if not -length <= number < length:
            raise IndexError(f"event {number} of {length}")
        number %= length
        if self._rows is None:  # one event alone takes no sorting
            slots = self._table.slots_of(self._matches[number])
            return self._table.listed(np.array(list(dict.fromkeys(slots.tolist())), np.int64))
        offsets, slots = self._rows
        return self._table.listed(slots[offsets[number] : offsets[number + 1]])

    def __iter__(self) -> Iterator[list[Key]]:
        offsets, slots = self._slots()
        bounds = offsets.tolist()
        for number in range(len(bounds) - 1):
            yield self._table.listed(slots[bounds[number] : bounds[number + 1]])

    def __repr__(self) -> str:
        offsets, _ = self._slots()
        return f"MatcherResult(events={len(self)}, matches={int(offsets[-1])}, level={self.level})"

    def _slots(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows of slots, each slot once; worked out when first asked for."""
        if self._rows is None:
            offsets, ids = self._matches.offsets, self._matches.ids
            if len(ids) and int(ids.max()) >= FIRST_SHARED:
                self._rows = _distinct(offsets, ids, self._table)
            else:
                self._rows = offsets, ids
        return self._rows


def _events(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))


def _distinct(
    offsets: NDArray[np.int64], ids: NDArray[np.int64], table: KeyTable | MappedKeys
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Slots instead of ids; of the boxes of one subscription that an event lies in only the first counts."""
    slots = table.slots_of(ids)
    shared = np.flatnonzero(ids >= FIRST_SHARED)
    events = np.searchsorted(offsets, shared, side="right") - 1
    # Events and slots are counted in memory, so their product fits 64 bits.
    pair = events * np.int64(len(table)) + slots[shared]
    _, first = np.unique(pair, return_index=True)
    if len(first) == len(shared):
        return offsets, slots
    kept = np.ones(len(ids), np.bool_)
    kept[shared] = False
    kept[shared[first]] = True
    before = np.concatenate([[0], np.cumsum(kept)])
    return before[offsets].astype(np.int64), slots[kept]
