"""`Matches`: what matched, as compressed sparse rows over arrays the core owns."""

from __future__ import annotations

import itertools
import math
import operator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, SupportsIndex

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["Matches"]


class _Arrays(Protocol):
    """What a result consists of, whether the core made it or a pickle held it."""

    @property
    def offsets(self) -> NDArray[np.int64]: ...
    @property
    def ids(self) -> NDArray[np.int64]: ...
    @property
    def order(self) -> NDArray[np.int64]: ...
    @property
    def response_s(self) -> NDArray[np.float64]: ...
    @property
    def level(self) -> int: ...


class _Restored(NamedTuple):
    """The arrays of an unpickled result."""

    offsets: NDArray[np.int64]
    ids: NDArray[np.int64]
    order: NDArray[np.int64]
    response_s: NDArray[np.float64]
    level: int


class Matches:
    """The subscriptions of each event: row `i` is `ids[offsets[i]:offsets[i + 1]]`.

    Returned by `Index.match` and `Index.stream` with one row per event, by `Index.intersecting`,
    `Index.covering` and `Index.covered` with one row per given box. All arrays are read-only.

    Examples
    --------
    >>> import numpy as np, pubmatch as pm
    >>> index = pm.Index.build(lower=[[0.0], [2.0], [4.0]], upper=[[3.0], [5.0], [6.0]])
    >>> m = index.match(np.array([[2.5], [9.0], [4.5]]), sort=True)
    >>> m[0]
    array([0, 1])
    >>> m.counts
    array([2, 0, 2])
    >>> [ids.tolist() for ids in m]
    [[0, 1], [], [1, 2]]
    """

    __slots__ = ("_raw",)

    def __init__(self, raw: _Arrays) -> None:
        self._raw = raw

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each row begins in `ids`, and where the last one ends: int64, `len(self) + 1` entries."""
        return self._raw.offsets

    @property
    def ids(self) -> NDArray[np.int64]:
        """The matched ids of all rows, one row after the other."""
        return self._raw.ids

    @property
    def order(self) -> NDArray[np.int64]:
        """Positions of the events in the order in which they were processed."""
        return self._raw.order

    @property
    def response_s(self) -> NDArray[np.float64]:
        """Seconds from the start of the call to each event's completion, by position, taken in the core."""
        return self._raw.response_s

    @property
    def level(self) -> int:
        """The Level at which the workloads were estimated."""
        return self._raw.level

    @property
    def mean_response_s(self) -> float:
        """Mean of `response_s`; NaN if there was no event."""
        times = self._raw.response_s
        return float(times.mean()) if len(times) else math.nan

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many ids each row has."""
        return np.diff(self._raw.offsets)

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All matches as two arrays of equal length: row number and id.

        Examples
        --------
        >>> import pubmatch as pm
        >>> index = pm.Index.build(lower=[[0.0], [2.0]], upper=[[3.0], [5.0]])
        >>> index.match([[1.0], [2.5]], sort=True).pairs()
        (array([0, 1, 1]), array([0, 0, 1]))
        """
        return np.repeat(np.arange(len(self), dtype=np.int64), self.counts), self.ids

    def to_arrow(self) -> pa.Table:
        """All matches as an Arrow table of the int64 columns `event` (row number) and `id`; needs pyarrow."""
        import pyarrow

        events, ids = self.pairs()
        return pyarrow.table({"event": events, "id": ids})

    def __len__(self) -> int:
        return len(self._raw.offsets) - 1

    def __getitem__(self, row: SupportsIndex) -> NDArray[np.int64]:
        offsets = self._raw.offsets
        length = len(offsets) - 1
        number = operator.index(row)
        if not -length <= number < length:
            raise IndexError(f"row {number} of {length}")
        number %= length
        return self._raw.ids[offsets[number] : offsets[number + 1]]

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        ids = self._raw.ids
        bounds = self._raw.offsets.tolist()
        for begin, end in itertools.pairwise(bounds):
            yield ids[begin:end]

    def __repr__(self) -> str:
        return f"Matches(rows={len(self)}, ids={len(self.ids)}, level={self.level})"

    def __reduce__(self) -> tuple[Any, ...]:
        raw = self._raw
        return _restore, (raw.offsets, raw.ids, raw.order, raw.response_s, raw.level)


def _restore(
    offsets: NDArray[np.int64],
    ids: NDArray[np.int64],
    order: NDArray[np.int64],
    response_s: NDArray[np.float64],
    level: int,
) -> Matches:
    for array in (offsets, ids, order, response_s):
        array.flags.writeable = False
    return Matches(_Restored(offsets, ids, order, response_s, level))
