"""pubmatch itself, through its public call."""

from __future__ import annotations

from typing import Any

import pubmatch as pm
from pubmatch_bench.peers.protocol import Csr, Peer
from pubmatch_bench.record import version_of
from pubmatch_bench.workloads import FloatArray


class PubmatchPeer(Peer):
    """`Index.match(points, threads=1)` on a bulk-loaded float32 index."""

    name = "pubmatch"
    about = "Index.match(points, threads=1)"
    index: pm.Index

    def version(self) -> str:
        """Return the package's version."""
        return version_of("pubmatch") or "not installed"

    def build(self, lower: FloatArray, upper: FloatArray) -> None:
        """Bulk-load an index."""
        self.index = pm.Index.build(lower, upper)

    def match(self, prepared: Any) -> Any:
        """Match the batch on one thread."""
        return self.index.match(prepared, threads=1)

    def csr(self, answer: Any, n_events: int) -> Csr:
        """Take the arrays as they are."""
        return Csr(answer.offsets, answer.ids)
