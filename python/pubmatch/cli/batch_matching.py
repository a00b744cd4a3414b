"""One batch of events to rows (event_id, subscription), the step that all engines share.

Without typer, since executors of Spark need it too.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from pubmatch.cli.event_ids import DEFAULT_ID, ids_of
from pubmatch.cli.response_times import ResponseTimes
from pubmatch.errors import PubmatchError

if TYPE_CHECKING:
    from pubmatch.index import Order
    from pubmatch.matcher_result import MatcherResult

    class Matching(Protocol):
        """A `Matcher`, or one that was published."""

        def match(self, events: pa.Table, *, order: Order, threads: int) -> MatcherResult:
            """Find the keys of every event."""


__all__ = ["BatchMatching", "Totals"]


@dataclass(slots=True)
class Totals:
    """What was found so far, and how fast."""

    events: int = 0
    matches: int = 0
    match_s: float = 0.0
    times: ResponseTimes = field(default_factory=ResponseTimes)

    def add(self, other: Totals) -> None:
        """Count what another part of the events gave."""
        self.events += other.events
        self.matches += other.matches
        self.match_s += other.match_s
        self.times.merge(other.times)


@dataclass(frozen=True, slots=True)
class BatchMatching:
    """How the events of a file are matched.

    Attributes
    ----------
    file : str
        Its name, which errors begin with.
    id_column : str or None
        The column of ids; None numbers the rows.
    id_type, key_type : pyarrow.DataType
        The types of the two columns of the result.
    order, threads
        As for `Matcher.match`.
    """

    file: str
    id_column: str | None
    id_type: pa.DataType
    key_type: pa.DataType
    order: Order
    threads: int

    @property
    def schema(self) -> pa.Schema:
        """The columns of the result."""
        return pa.schema({DEFAULT_ID: self.id_type, "subscription": self.key_type})

    def rows(self, matcher: Matching, batch: pa.Table, first: int, totals: Totals) -> pa.Table:
        """Match a batch that begins with row `first` of the file, and count it in `totals`.

        Raises
        ------
        PubmatchError
            A value cannot be taken; rows in the message are counted from the batch's first.
        """
        began = time.perf_counter()
        try:
            result = matcher.match(batch, order=self.order, threads=self.threads)
        except PubmatchError as error:
            told = f"{self.file}: in the batch that begins with row {first}: {error}"
            raise PubmatchError(told) from error
        totals.match_s += time.perf_counter() - began
        found = result.to_arrow()
        ids = ids_of(batch, self.id_column, self.id_type, first).take(found.column("event"))
        totals.events += batch.num_rows
        totals.matches += found.num_rows
        totals.times.add(np.asarray(result.response_s))
        return pa.table([ids, found.column("key")], self.schema)
