"""DuckDB on one thread: the boxes as columns of a table, one query per batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubmatch_bench.peers.protocol import Csr, Peer, PeerUnavailable
from pubmatch_bench.workloads import FloatArray

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class DuckdbPeer(Peer):
    """A union of one range predicate per event.

    The other ways to ask are a range join of events and boxes, and one prepared statement per event; this one
    keeps a batch in one query and lets each event's predicates shrink the candidates column by column.
    """

    name = "duckdb"
    about = "one query per batch, a union of range predicates, one thread"

    def version(self) -> str:
        """Return the library's version."""
        try:
            import duckdb
        except ImportError as error:
            raise PeerUnavailable("duckdb is not installed") from error
        return duckdb.__version__

    def build(self, lower: FloatArray, upper: FloatArray) -> None:
        """Make a table of one row per box, two columns per dimension."""
        import duckdb

        columns: dict[str, npt.NDArray[Any]] = {"id": np.arange(len(lower), dtype=np.int64)}
        for d in range(lower.shape[1]):
            columns |= {f"l{d}": lower[:, d].copy(), f"u{d}": upper[:, d].copy()}
        try:
            self._database: DuckDBPyConnection = duckdb.connect(config={"threads": 1})
            self._database.register("columns", columns)
            self._database.execute("CREATE TABLE box AS SELECT * FROM columns")
            self._database.unregister("columns")
        except duckdb.Error as error:
            raise PeerUnavailable(f"duckdb refused the boxes: {error}") from error

    def prepare(self, points: FloatArray) -> str:
        """Write the query."""
        return " UNION ALL ".join(
            f"SELECT {event} AS event, id FROM box WHERE " + " AND ".join(self._inside(point))
            for event, point in enumerate(points)
        )

    @staticmethod
    def _inside(point: FloatArray) -> list[str]:
        # repr of a double is exact, and so is the way back to FLOAT: no event is rounded.
        literals = [f"{value!r}::FLOAT" for value in point.tolist()]
        return [f"l{d} <= {value} AND u{d} >= {value}" for d, value in enumerate(literals)]

    def match(self, prepared: str) -> Any:
        """Run the query and fetch its result."""
        return self._database.execute(prepared).fetchnumpy()

    def csr(self, answer: Any, n_events: int) -> Csr:
        """Group the (event, id) rows by event."""
        return Csr.from_pairs(answer["event"], answer["id"], n_events)
