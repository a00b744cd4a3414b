"""Keys and the slots they stand for.

A subscription is a slot, a small integer that is never given to another one; the key table knows the key of
every slot. Results hold slots and the table, and name keys only when asked. The table only grows, so a result
stays readable while subscriptions come and go.

The index's ids are slots where a subscription is a single box. The boxes of a subscription with several
have ids from `FIRST_SHARED` on, and the table knows their slots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pubmatch.errors import ArgumentError, ArgumentTypeError
from pubmatch.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["FIRST_SHARED", "Key", "KeyTable", "checked_key", "checked_keys"]

Key = str | int

FIRST_SHARED = 1 << 40
"""The first id of boxes that share a subscription."""

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


def checked_key(key: Any) -> Key:
    """`key` as a plain str or int.

    Examples
    --------
    >>> checked_key("ibm-cheap")
    'ibm-cheap'
    >>> checked_key(2.5)
    Traceback (most recent call last):
    pubmatch.errors.ArgumentTypeError: a key must be a string or an integer, got 2.5
    """
    if type(key) is str or isinstance(key, str):
        if not key.isascii():
            try:
                key.encode()
            except UnicodeEncodeError:
                raise ArgumentError(f"key {key!r} holds a lone surrogate, which no file can hold") from None
        return str(key)
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        number = int(key)
        if not _INT64_MIN <= number <= _INT64_MAX:
            raise ArgumentError(f"key {shown(number)} does not fit int64")
        return number
    raise ArgumentTypeError(f"a key must be a string or an integer, got {shown(key)}")


class KeyTable:
    """The keys of slots 0, 1, 2, … and the slots of shared ids; append-only.

    One writer at a time appends, any number of threads read.

    Examples
    --------
    >>> import numpy as np
    >>> table = KeyTable()
    >>> table.extend(["a", "b", 7])
    0
    >>> table.take(np.array([2, 0])).tolist()
    [7, 'a']
    """

    __slots__ = ("_arrow", "_ascending", "_keys", "_objects", "_shared", "_shared_count", "_strings")

    def __init__(self, keys: Iterable[Key] = (), shared: NDArray[np.int64] | None = None) -> None:
        self._keys: list[Key] = list(keys)
        self._strings = _count_strings(self._keys)
        self._shared = np.empty(0, np.int64) if shared is None else shared
        self._shared_count = len(self._shared)
        # Files of release 0.1.0 may hold them in another order.
        self._ascending = bool((self._shared[1:] >= self._shared[:-1]).all())
        self._objects: NDArray[Any] = np.empty(0, object)
        self._arrow: pa.Array | None = None

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, slot: int) -> Key:
        return self._keys[slot]

    @property
    def nbytes(self) -> int:
        """About how much memory the table takes."""
        return 64 * len(self._keys) + self._shared.nbytes + self._objects.nbytes

    def extend(self, keys: Sequence[Key]) -> int:
        """Append `keys` and return the slot of the first."""
        first = len(self._keys)
        self._strings += _count_strings(keys)
        self._keys.extend(keys)
        return first

    def share(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """New ids for boxes of the given slots, which ascend and are later than all before."""
        count = self._shared_count
        if count + len(slots) > len(self._shared):
            grown = np.empty(max(2 * len(self._shared), count + len(slots), 64), np.int64)
            grown[:count] = self._shared[:count]
            self._shared = grown
        self._shared[count : count + len(slots)] = slots
        self._shared_count = count + len(slots)
        return FIRST_SHARED + np.arange(count, count + len(slots), dtype=np.int64)

    @property
    def shared(self) -> NDArray[np.int64]:
        """The slots of all shared ids given so far."""
        return self._shared[: self._shared_count]

    def ids_of(self, slot: int) -> NDArray[np.int64]:
        """The ids of a slot's boxes.

        Examples
        --------
        >>> table = KeyTable(["a", "b"])
        >>> (table.share(np.array([1, 1])) - FIRST_SHARED).tolist(), table.ids_of(0).tolist()
        ([0, 1], [0])
        >>> (table.ids_of(1) - FIRST_SHARED).tolist()
        [0, 1]
        """
        shared = self.shared
        if self._ascending:
            places = np.arange(*shared.searchsorted([slot, slot + 1]))
        else:
            places = np.flatnonzero(shared == slot)
        return places + FIRST_SHARED if len(places) else np.array([slot], np.int64)

    def slots_of(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The slot of each id."""
        several = ids >= FIRST_SHARED
        if not several.any():
            return ids
        slots = ids.copy()
        slots[several] = self._shared[ids[several] - FIRST_SHARED]
        return slots

    def listed(self, slots: NDArray[np.int64]) -> list[Key]:
        """The keys of `slots`."""
        keys = self._keys
        return [keys[slot] for slot in slots.tolist()]

    def take(self, slots: NDArray[np.int64]) -> NDArray[Any]:
        """The keys of `slots`: an int64 array if all keys of the table are integers, else one of objects."""
        dtype = object if self._strings else np.int64
        if 4 * len(slots) < len(self._keys):
            taken: NDArray[Any] = np.empty(len(slots), dtype)
            taken[:] = self.listed(slots)
            return taken
        objects = self._objects
        if len(objects) < len(self._keys) or objects.dtype != dtype:
            keys = list(self._keys)
            objects = np.empty(len(keys), dtype)
            objects[:] = keys
            self._objects = objects
        picked: NDArray[Any] = objects[slots]
        return picked

    def take_arrow(self, slots: NDArray[np.int64]) -> pa.Array:
        """The keys of `slots` as Arrow strings, or int64 if all keys are integers.

        In a table with keys of both types integers are written as strings.
        """
        import pyarrow as pa

        if 4 * len(slots) < len(self._keys):
            return self._as_arrow(self.listed(slots))
        known = self._arrow
        if known is None or len(known) < len(self._keys) or known.type != self._arrow_type():
            known = self._as_arrow(list(self._keys))
            self._arrow = known
        return known.take(pa.array(slots))

    def _arrow_type(self) -> pa.DataType:
        import pyarrow as pa

        return pa.string() if self._strings else pa.int64()

    def _as_arrow(self, keys: list[Key]) -> pa.Array:
        import pyarrow as pa

        kind = self._arrow_type()
        if 0 < self._strings < len(self._keys):
            return pa.array([str(key) for key in keys], kind)
        return pa.array(keys, kind)


def checked_keys(keys: list[Any]) -> list[Key]:
    """`keys` as plain strings and integers, each checked as by `checked_key`.

    Examples
    --------
    >>> checked_keys(["a", 7])
    ['a', 7]
    """
    types = set(map(type, keys))
    if types == {int} and _INT64_MIN <= min(keys) <= max(keys) <= _INT64_MAX:
        return keys
    if types == {str} and all(map(str.isascii, keys)):
        return keys
    return [checked_key(key) for key in keys]


def _count_strings(keys: Iterable[Key]) -> int:
    return list(map(type, keys)).count(str)
