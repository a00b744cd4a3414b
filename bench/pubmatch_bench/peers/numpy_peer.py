"""Column filtering in numpy: what one writes without an index."""

from __future__ import annotations

from typing import Any

import numpy as np

from pubmatch_bench.peers.protocol import Csr, IdArray, Peer
from pubmatch_bench.workloads import FloatArray


class NumpyPeer(Peer):
    """Candidates shrink column by column, the most often constrained attribute first."""

    name = "numpy"
    about = "column by column, candidates shrinking"

    def version(self) -> str:
        """Return the library's version."""
        return np.__version__

    def build(self, lower: FloatArray, upper: FloatArray) -> None:
        """Copy the bounds column by column."""
        constrained = np.isfinite(lower) | np.isfinite(upper)
        self._columns = np.argsort(-constrained.sum(axis=0), kind="stable")
        # One contiguous array per side and column: each pass reads only what it compares.
        self._lower = np.ascontiguousarray(lower.T)
        self._upper = np.ascontiguousarray(upper.T)

    def match(self, prepared: FloatArray) -> list[IdArray]:
        """Filter for one point after the other."""
        return [self._match_one(point) for point in prepared]

    def _match_one(self, point: FloatArray) -> IdArray:
        first, *others = self._columns
        ids = np.flatnonzero((self._lower[first] <= point[first]) & (point[first] <= self._upper[first]))
        for column in others:
            value = point[column]
            ids = ids[(self._lower[column][ids] <= value) & (value <= self._upper[column][ids])]
        return ids

    def csr(self, answer: Any, n_events: int) -> Csr:
        """Join the arrays of all events."""
        ids = np.concatenate(answer) if answer else np.empty(0, dtype=np.int64)
        return Csr.from_counts(np.array([len(row) for row in answer], dtype=np.int64), ids)
