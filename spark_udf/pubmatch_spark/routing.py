"""Which shards an event can match in: a small index over the envelopes of pieces of shards.

Each shard is described by up to 64 envelopes, boxes around runs of its subscriptions along the line of
`shard_order`. An event outside all envelopes of a shard cannot match anything there. The envelopes of all
shards make one index, a megabyte or so, that is broadcast to every executor.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pubmatch.index import Index
from pubmatch_spark.shard_boxes import event_points
from pubmatch_spark.shard_plan import envelopes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pubmatch.encoding.labels import Labels
    from pubmatch.schema import Schema
    from pubmatch_spark.shard_boxes import Boxes
    from pubmatch_spark.shard_order import ShardOrder

__all__ = ["Routing", "pieces_of", "pieces_per_shard"]

_MOST_PIECES = 64
_ALL_PIECES = 8192


def pieces_per_shard(shards: int) -> int:
    """How many envelopes a shard may have, so that the whole table stays small.

    Examples
    --------
    >>> pieces_per_shard(4), pieces_per_shard(1024)
    (64, 8)
    """
    return max(2, min(_MOST_PIECES, _ALL_PIECES // shards))


def pieces_of(
    boxes: Boxes, order: ShardOrder, pieces: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """At most `pieces` envelopes that hold all of `boxes`, of which there is at least one."""
    line = np.argsort(order.codes(boxes.lower, boxes.upper), kind="stable")
    starts = np.linspace(0, len(line), min(pieces, len(line)), endpoint=False).astype(np.int64)
    return envelopes(boxes.lower[line], boxes.upper[line], starts)


@dataclass(frozen=True, slots=True)
class Routing:
    """The envelopes of all shards.

    Attributes
    ----------
    schema : Schema
        The attributes of events.
    labels : mapping
        The coarse labels of Category attributes.
    lower, upper : (n, dims) arrays
        The envelopes.
    shard_of : (n,) array of int64
        The shard of each envelope.
    shards : int
        How many shards there are.
    index : Index
        The envelopes, ids 0, 1, 2, …; made from the arrays.

    Examples
    --------
    >>> import numpy as np
    >>> import pubmatch as pm
    >>> lower, upper = np.array([[0.0], [5.0]]), np.array([[1.0], [6.0]])
    >>> routing = Routing(pm.Schema(x=pm.Number()), {}, lower, upper, np.array([0, 1]), 2)
    >>> routing.route({"x": [0.5, 5.5, 3.0]})
    (array([0, 1]), array([0, 1]))
    """

    schema: Schema
    labels: Mapping[str, Labels]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    shard_of: NDArray[np.int64]
    shards: int
    index: Index = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", Index.build(self.lower, self.upper))

    def route(self, events: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Events and shards they can match in, as two arrays: event position, shard; each pair once."""
        return self.route_points(event_points(events, self.schema, self.labels))

    def route_points(self, points: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The same for points on the shared axes."""
        event, piece = self.index.match(points, order="fifo").pairs()
        width = np.int64(max(self.shards, 1))
        pair = np.unique(event * width + self.shard_of[piece])
        return pair // width, pair % width
