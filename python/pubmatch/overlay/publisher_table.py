"""The publishers of one type: ids in ascending order, names beside them.

One sorted array answers all the core network asks (how many, which, in which range) by binary search, and
holds ten million publishers in 160 MB. Who owns a publisher follows from the nodes, so nothing has to be
carried about when nodes come and go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pubmatch.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    IdArray = NDArray[np.int64]
    NameArray = NDArray[Any]

__all__ = ["PublisherTable", "name_array"]


def name_array(names: Any) -> NameArray:
    """Return names as int64 if all are integers, otherwise as Python objects, each a str or an int.

    Examples
    --------
    >>> name_array(["gauge-1", "gauge-2"])
    array(['gauge-1', 'gauge-2'], dtype=object)
    """
    single = isinstance(names, str) or not np.iterable(names)
    try:
        array = np.asarray([names] if single else names)
    except ValueError as error:
        raise ArgumentError(f"names must be one-dimensional: {error}") from None
    if array.ndim != 1:
        raise ArgumentError(f"names must be one-dimensional, got shape {array.shape}")
    if array.dtype.kind in "iu" and array.dtype != np.uint64:
        return array.astype(np.int64)  # a copy: what the caller does to his array later must not count
    if array.dtype.kind == "U" and not single and isinstance(names, np.ndarray):
        return array.astype(object)
    # A list that mixes kinds: numpy would have turned its integers into text.
    listed = [names] if single else names.tolist() if isinstance(names, np.ndarray) else list(names)
    for place, name in enumerate(listed):
        if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
            raise ArgumentTypeError(f"a publisher's name must be a str or an int, got {name!r} at {place}")
    objects = np.empty(len(listed), dtype=object)
    objects[:] = [int(name) if isinstance(name, np.integer) else name for name in listed]
    return objects


class PublisherTable:
    """Publishers of one type, sorted by id; of equal ids, in order of registration.

    Publishers added one by one wait unsorted until somebody asks, so that a million calls of `add` do not
    sort a million times.

    Examples
    --------
    >>> table = PublisherTable()
    >>> table.add(name_array(["b", "a"]), np.array([9, 4]))
    >>> table.ids, table.names
    (array([4, 9]), array(['a', 'b'], dtype=object))
    """

    def __init__(self) -> None:
        self._ids: IdArray = np.empty(0, np.int64)
        self._names: NameArray = np.empty(0, np.int64)
        self._waiting: list[tuple[NameArray, IdArray]] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, names: NameArray, ids: IdArray) -> None:
        """Add publishers; `names` and `ids` have equal lengths and belong to the table from now on."""
        self._waiting.append((names, ids))
        self._count += len(ids)

    @property
    def ids(self) -> IdArray:
        """The ids, ascending."""
        self._settle()
        return self._ids

    @property
    def names(self) -> NameArray:
        """The names, in the order of `ids`."""
        self._settle()
        return self._names

    def _settle(self) -> None:
        if not self._waiting:
            return
        names = [self._names, *(names for names, _ in self._waiting)] if len(self._ids) else []
        names = names or [names for names, _ in self._waiting]
        ids = [self._ids, *(ids for _, ids in self._waiting)]
        kind = np.dtype(np.int64) if all(each.dtype == np.int64 for each in names) else np.dtype(object)
        joined = names[0].astype(kind, copy=False) if len(names) == 1 else _joined(names, kind)
        numbers = np.concatenate(ids) if len(ids) > 2 or len(ids[0]) else ids[1]
        if not bool(np.all(numbers[:-1] <= numbers[1:])):
            order = np.argsort(numbers, kind="stable")
            numbers, joined = numbers[order], joined[order]
        self._ids, self._names = numbers, joined
        self._waiting.clear()


def _joined(arrays: list[NameArray], kind: np.dtype[Any]) -> NameArray:
    return np.concatenate([each.astype(kind, copy=False) for each in arrays])
