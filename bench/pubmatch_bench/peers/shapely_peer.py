"""shapely's STRtree (GEOS): 2-D only, queried in bulk."""

from __future__ import annotations

from typing import Any

from pubmatch_bench.peers.protocol import Csr, FiniteSpace, Peer, PeerUnavailable
from pubmatch_bench.workloads import FloatArray


class ShapelyPeer(Peer):
    """`STRtree.query` without a predicate: the envelope of a rectangle is the rectangle, so that is exact."""

    name = "shapely"
    about = "STRtree.query, points as geometries made beforehand"

    def refuses(self, dims: int) -> str | None:
        """Refuse all but two dimensions."""
        return None if dims == 2 else "2-D only"

    def version(self) -> str:
        """Return the library's version."""
        try:
            import shapely
        except ImportError as error:
            raise PeerUnavailable("shapely is not installed") from error
        return str(shapely.__version__)

    def build(self, lower: FloatArray, upper: FloatArray) -> None:
        """Pack a tree of rectangles."""
        import shapely

        self._space = FiniteSpace(lower, upper)
        low, high = self._space.clip(lower), self._space.clip(upper)
        self._tree = shapely.STRtree(shapely.box(low[:, 0], low[:, 1], high[:, 0], high[:, 1]))

    def prepare(self, points: FloatArray) -> Any:
        """Make point geometries."""
        import shapely

        return shapely.points(self._space.clip(points))

    def match(self, prepared: Any) -> Any:
        """Query all points at once."""
        return self._tree.query(prepared)

    def csr(self, answer: Any, n_events: int) -> Csr:
        """Group the (event, id) pairs by event."""
        return Csr.from_pairs(answer[0], answer[1], n_events)
