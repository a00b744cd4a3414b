"""Which subscriptions cover a filter: what routing between brokers asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pubmatch.encoding.bounds import check_boxes, encode_boxes
from pubmatch.errors import FilterError
from pubmatch.filters import boxes, covers, parse
from pubmatch.keys import FIRST_SHARED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pubmatch.filters import Filter, Side
    from pubmatch.keys import Key
    from pubmatch.subscriptions import Subscriptions

__all__ = ["covering_keys"]


def covering_keys(subscriptions: Subscriptions, wanted: Filter) -> list[Key]:
    """The keys of the subscriptions that every event satisfying `wanted` satisfies; the lock must be held.

    A subscription of one box covers the filter if its box covers all of the filter's, which the index finds.
    Those of several boxes may cover a box only together: the ones that meet every box are asked exactly.
    """
    schema = subscriptions.snapshot.schema
    parts = boxes(wanted, schema, subscriptions.max_boxes)
    if not parts:
        raise FilterError(f"no event satisfies {wanted}")
    check_boxes(parts, schema, wanted)
    single, several = _candidates(subscriptions, parts)
    keys = subscriptions.snapshot.keys
    found = keys.listed(single)
    for slot in several.tolist():
        if covers(parse(subscriptions.store.text(slot)), wanted, schema):
            found.append(keys[slot])
    return found


def _candidates(
    subscriptions: Subscriptions, parts: tuple[Mapping[str, Side], ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Slots whose one box covers every part, and slots of several boxes that meet every part."""
    snapshot = subscriptions.snapshot
    lower, upper = encode_boxes(parts, snapshot.schema, snapshot.labels)
    single = [ids[ids < FIRST_SHARED] for ids in snapshot.index.covering(lower, upper)]
    meeting = [ids[ids >= FIRST_SHARED] for ids in snapshot.index.intersecting(lower, upper)]
    return _in_all(single), _in_all([snapshot.keys.slots_of(ids) for ids in meeting])


def _in_all(rows: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The numbers that every row has, each once, ascending."""
    common = np.unique(rows[0])
    for row in rows[1:]:
        common = np.intersect1d(common, row)
    return common
