"""PyPI's `rtree` (libspatialindex): stream-loaded, queried in bulk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubmatch_bench.peers.protocol import Csr, FiniteSpace, Peer, PeerUnavailable
from pubmatch_bench.workloads import FloatArray

if TYPE_CHECKING:
    from rtree.index import Index

DoubleArray = npt.NDArray[np.float64]


class RtreePeer(Peer):
    """`Index.intersection_v`, its bulk query; float64 is the only coordinate type it has."""

    name = "rtree"
    about = "Index.intersection_v, bulk loaded"
    index: Index

    def version(self) -> str:
        """Return the library's version."""
        try:
            import rtree
        except ImportError as error:
            raise PeerUnavailable("rtree is not installed") from error
        except OSError as error:
            raise PeerUnavailable(f"libspatialindex cannot be loaded ({error})") from error
        return rtree.__version__

    def build(self, lower: FloatArray, upper: FloatArray) -> None:
        """Bulk-load a tree of the clipped boxes."""
        from rtree.index import Index, Property

        self._space = FiniteSpace(lower, upper)
        boxes = (np.arange(len(lower), dtype=np.int64), *map(self.prepare, (lower, upper)))
        # An empty stream is an error to libspatialindex, hence the tree without one.
        self.index = Index(*([boxes] if len(lower) else []), properties=Property(dimension=lower.shape[1]))

    def prepare(self, points: FloatArray) -> DoubleArray:
        """Clip the points (or bounds) and widen them to float64."""
        return self._space.clip(points).astype(np.float64)

    def match(self, prepared: DoubleArray) -> Any:
        """Query all points at once."""
        return self.index.intersection_v(prepared, prepared)  # type: ignore[no-untyped-call]

    def csr(self, answer: Any, n_events: int) -> Csr:
        """Turn counts into offsets."""
        ids, counts = answer
        return Csr.from_counts(counts, ids)

    def insert(self, number: int, lower: DoubleArray, upper: DoubleArray) -> None:
        """Insert one prepared box."""
        self.index.insert(number, np.concatenate((lower, upper)))

    def delete(self, number: int, lower: DoubleArray, upper: DoubleArray) -> None:
        """Delete one prepared box; the library finds it by its coordinates."""
        self.index.delete(number, np.concatenate((lower, upper)))
