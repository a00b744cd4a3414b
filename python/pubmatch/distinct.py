"""Different rows of a boolean matrix, found by packing each into few machine words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["distinct_rows"]


def distinct_rows(
    flags: NDArray[np.bool_],
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """The different rows of `flags` as packed bits, the first of each, and which of them every row is.

    Examples
    --------
    >>> import numpy as np
    >>> packed, first, place = distinct_rows(np.array([[True, False], [False, True], [True, False]]))
    >>> len(packed), first.tolist(), place.tolist()
    (2, [1, 0], [1, 0, 1])
    """
    rows, width = flags.shape
    words = np.zeros((rows, max(-(-width // 64), 1) * 8), np.uint8)
    words[:, : -(-width // 8)] = np.packbits(flags, axis=1)
    packed = words.view(np.uint64)
    if rows == 1:
        alone = np.zeros(1, np.int64)
        return packed.ravel() if packed.shape[1] == 1 else packed, alone, alone
    # Sorting single words is many times faster than sorting rows.
    single = packed.ravel() if packed.shape[1] == 1 else packed
    distinct, first, place = np.unique(single, axis=0, return_index=True, return_inverse=True)
    return distinct, first, place.ravel()
