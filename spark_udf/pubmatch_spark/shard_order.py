"""The line on which subscriptions are put before it is cut into shards.

Every subscription gets a code; neighbours on the line should be wanted by the same events.

- "zorder": the bits of its centre in the few most telling dimensions, interleaved (Z-order). Centres are
  counted in quantiles of the events, so that a bit halves the events, not the axis.
- "clusters": the attribute combination it constrains, attributes that many constrain first, then the
  Z-order of its centre within the attributes of that very combination.
- "hash": no order; the key's hash decides.

A side that takes more than half of the events hardly tells them apart: its centre does not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["WAYS", "ShardOrder", "order_of"]

WAYS = ("zorder", "clusters", "hash")

_BITS = 8  # of a centre in one dimension
_OPEN = (1 << _BITS) - 1  # the bucket of sides that do not tell events apart
_CUTS = 256
_COMBINATION_BITS = 16


@dataclass(frozen=True, slots=True)
class ShardOrder:
    """What is needed to place any subscription on the line; small enough to be sent everywhere.

    Attributes
    ----------
    by : {"zorder", "clusters", "hash"}
        The kind of line.
    dims : (m,) array of int64
        The dimensions looked at, the first decides first.
    cuts : (m, 256) array
        Quantiles of the events in these dimensions, ascending.
    """

    by: str
    dims: NDArray[np.int64]
    cuts: Floats

    def codes(self, lower: Floats, upper: Floats) -> NDArray[np.uint64]:
        """The place of each box on the line.

        Examples
        --------
        >>> import numpy as np
        >>> events = np.random.default_rng(1).random((500, 2))
        >>> lower = np.array([[0.1, 0.1], [0.8, 0.1], [0.1, 0.11]])
        >>> codes = order_of("zorder", lower, lower + 0.05, events, shards=2).codes(lower, lower + 0.05)
        >>> bool(abs(int(codes[0]) - int(codes[2])) < abs(int(codes[0]) - int(codes[1])))
        True
        """
        if self.by == "hash" or not len(self.dims):
            return np.zeros(len(lower), np.uint64)
        buckets = np.empty((len(lower), len(self.dims)), np.uint64)
        for place, dimension in enumerate(self.dims.tolist()):
            buckets[:, place] = _buckets(lower[:, dimension], upper[:, dimension], self.cuts[place])
        if self.by == "zorder":
            return _interleaved(buckets)
        constrained = _constrained(lower, upper)[:, self.dims]
        combination = np.zeros(len(lower), np.uint64)
        for place in range(min(_COMBINATION_BITS, len(self.dims))):
            bit = np.uint64(63 - place)
            combination |= (~constrained[:, place]).astype(np.uint64) << bit
        # The buckets of a subscription's own attributes, in the same order in every one of its combination.
        own = np.argsort(~constrained, axis=1, kind="stable")[:, : (64 - _COMBINATION_BITS) // _BITS]
        inner = _interleaved(np.take_along_axis(buckets, own, axis=1))
        return combination | (inner >> np.uint64(_COMBINATION_BITS))


def order_of(by: str, lower: Floats, upper: Floats, events: Floats, shards: int) -> ShardOrder:
    """The line for a sample of boxes and of events.

    Parameters
    ----------
    by : {"zorder", "clusters", "hash"}
        The kind of line.
    lower, upper : (n, dims) arrays
        Boxes.
    events : (k, dims) array
        Points like those to be matched.
    shards : int
        How many shards there will be: each doubling makes one more dimension useful.
    """
    dims = lower.shape[1]
    if by == "hash" or not len(lower) or not len(events):
        return ShardOrder(by, np.empty(0, np.int64), np.empty((0, _CUTS)))
    ordered = np.sort(events, axis=0)
    # np.quantile would interpolate between infinities, which stand for missing values.
    cuts = ordered[np.linspace(0, len(ordered) - 1, _CUTS).astype(int)].T
    mass = np.stack([_mass(lower[:, one], upper[:, one], cuts[one]) for one in range(dims)])
    if by == "zorder":
        telling = np.argsort(mass.mean(axis=1), kind="stable")
        useful = telling[mass.mean(axis=1)[telling] < 1.0]
        count = min(64 // _BITS, max(1, (shards - 1).bit_length() + 1))
        chosen = useful[:count]
    else:
        frequency = _constrained(lower, upper).mean(axis=0)
        common = np.argsort(-frequency, kind="stable")
        chosen = common[frequency[common] > 0.0]
    return ShardOrder(by, chosen.astype(np.int64), cuts[chosen])


def _constrained(lower: Floats, upper: Floats) -> NDArray[np.bool_]:
    return (lower > -np.inf) | (upper < np.inf)


def _ranks(lower: Floats, upper: Floats, cuts: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many cuts lie below each box's side, and how many not above it."""
    return np.searchsorted(cuts, lower, side="left"), np.searchsorted(cuts, upper, side="right")


def _mass(lower: Floats, upper: Floats, cuts: Floats) -> Floats:
    """The share of events inside each side."""
    first, last = _ranks(lower, upper, cuts)
    return (last - first) / len(cuts)


def _buckets(lower: Floats, upper: Floats, cuts: Floats) -> NDArray[np.uint64]:
    first, last = _ranks(lower, upper, cuts)
    middle = (first + last) * (_OPEN - 1) // (2 * len(cuts))
    return np.where(last - first > len(cuts) // 2, _OPEN, middle).astype(np.uint64)


def _interleaved(buckets: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The bits of all columns in turn, the highest first, at the top of 64 bits."""
    codes = np.zeros(len(buckets), np.uint64)
    target = 63
    for bit in range(_BITS - 1, -1, -1):
        for column in range(buckets.shape[1]):
            codes |= ((buckets[:, column] >> np.uint64(bit)) & np.uint64(1)) << np.uint64(target)
            target -= 1
    return codes
