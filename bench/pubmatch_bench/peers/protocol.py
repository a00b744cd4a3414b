"""What every competitor of a benchmark looks like, pubmatch itself included.

Only `match` is timed. `prepare` (turning float32 points into whatever the library wants) and `csr` (turning
its answer into the common form) run outside the timed part, which is generous to the peers, never to
pubmatch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pubmatch_bench.workloads import FloatArray

IdArray = npt.NDArray[np.int64]


class PeerUnavailable(Exception):
    """The peer cannot run here: its message says why in a few words."""


@dataclass(frozen=True)
class Csr:
    """Ids per event: event `i` has `ids[offsets[i]:offsets[i + 1]]`, in any order."""

    offsets: IdArray
    ids: IdArray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def from_counts(cls, counts: npt.NDArray[Any], ids: npt.NDArray[Any]) -> Csr:
        """Make it from the number of ids per event and the ids, event by event."""
        offsets = np.zeros(len(counts) + 1, dtype=np.int64)
        np.cumsum(counts, out=offsets[1:])
        return cls(offsets, np.asarray(ids, dtype=np.int64))

    @classmethod
    def from_pairs(cls, events: npt.NDArray[Any], ids: npt.NDArray[Any], n_events: int) -> Csr:
        """Make it from (event, id) pairs in any order."""
        order = np.argsort(events, kind="stable")
        return cls.from_counts(np.bincount(events, minlength=n_events), ids[order])

    def head(self, n_events: int) -> Csr:
        """Return the first `n_events` events."""
        return Csr(self.offsets[: n_events + 1], self.ids[: self.offsets[n_events]])

    def same_sets(self, other: Csr) -> bool:
        """Tell whether each event has the same ids, each once, whatever their order."""
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self._sorted(), other._sorted())

    def _sorted(self) -> IdArray:
        events = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        return self.ids[np.lexsort((self.ids, events))]


class Peer(ABC):
    """One competitor. Build once, then match batches."""

    name: ClassVar[str]
    """How it is called in options and tables."""

    about: ClassVar[str]
    """Which of the library's calls is timed."""

    def refuses(self, dims: int) -> str | None:
        """Say why the peer cannot serve this number of dimensions; None if it can."""
        return None

    @abstractmethod
    def version(self) -> str:
        """Return the library's version; raise `PeerUnavailable` if it cannot run here."""

    @abstractmethod
    def build(self, lower: FloatArray, upper: FloatArray) -> None:
        """Load the boxes; the ids are their rows."""

    @abstractmethod
    def match(self, prepared: Any) -> Any:
        """Find the ids of all boxes that contain each point: the timed call."""

    @abstractmethod
    def csr(self, answer: Any, n_events: int) -> Csr:
        """Turn an answer of `match` into the common form."""

    def prepare(self, points: FloatArray) -> Any:
        """Turn points into the form `match` takes."""
        return points


class FiniteSpace:
    """A finite stand-in for unbounded boxes, for libraries that cannot compute with infinity.

    Infinite sides end far outside all finite ones, and points are clipped to the same limits. A point beyond
    every finite bound meets the same boxes as one at the limit, so the answers stay exact. They are
    far so that trees packed by centres keep unbounded sides apart from bounded ones.
    """

    _FAR = 1e9

    def __init__(self, lower: FloatArray, upper: FloatArray) -> None:
        largest = max(float(np.abs(side[np.isfinite(side)]).max(initial=1)) for side in (lower, upper))
        self._limit = np.float32(min(self._FAR * largest, float(np.finfo(np.float32).max)))

    def clip(self, values: FloatArray) -> FloatArray:
        """Bring bounds or points inside the limits."""
        return np.clip(values, -self._limit, self._limit)
