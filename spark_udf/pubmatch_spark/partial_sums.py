"""What an executor makes of a batch of events: one row per subscription and pane of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pubmatch.errors import ArgumentError
from pubmatch_spark.match import CHUNK

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from pubmatch.keys import Key
    from pubmatch_spark.calculations import Calculation
    from pubmatch_spark.publish import IndexRef

__all__ = ["PartialSums", "partial_sums"]

_PAIRS = 1 << 20  # most pairs that are held before they are summed up


@dataclass(frozen=True, slots=True)
class PartialSums:
    """How to match and sum up a batch; travels to executors.

    Attributes
    ----------
    ref : IndexRef
        The subscriptions.
    time_col : str
        The column of times.
    pane_us : int
        How long a pane is.
    columns : tuple of str
        The columns that are calculated with, each once.
    of : tuple of keys or None
        The subscriptions of interest; None for all.
    marks : bool
        Whether each batch also sends its last time, under no subscription.
    """

    ref: IndexRef
    time_col: str
    pane_us: int
    columns: tuple[str, ...]
    of: tuple[Key, ...] | None
    marks: bool

    def of_batch(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """One row for each subscription and pane, more often only if there are very many pairs."""
        import pyarrow as pa

        place = batch.schema.get_field_index(self.time_col)
        if batch.column(place).null_count:
            batch = batch.filter(batch.column(place).is_valid())
        if not batch.num_rows:
            return
        times = batch.column(place).cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy()
        values = [_numbers(batch.column(batch.schema.get_field_index(name))) for name in self.columns]
        for rows, keys in self._pairs(batch):
            yield self._summed(keys, times[rows], [column.take(pa.array(rows)) for column in values])
        if self.marks:
            none = [column.slice(0, 1).filter(pa.array([False])) for column in values]
            yield self._mark(int(times.max()), none)

    def _pairs(self, batch: pa.RecordBatch) -> Iterator[tuple[NDArray[np.int64], pa.Array]]:
        """All matches as rows of the batch and keys, so many at a time that memory is no matter."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from pubmatch_spark.worker_cache import opened

        wanted = None if self.of is None else pa.array(self.of, _key_type(self.ref))
        rows: list[NDArray[np.int64]] = []
        keys: list[pa.Array] = []
        held = 0
        for positions, result in opened(self.ref).stream(batch, chunk=CHUNK):
            found = result.to_arrow()
            if wanted is not None:
                found = found.filter(pc.is_in(found.column("key"), value_set=wanted))
            if not found.num_rows:
                continue
            rows.append(positions[found.column("event").to_numpy()])
            keys.append(found.column("key").combine_chunks())
            held += found.num_rows
            if held >= _PAIRS:
                yield np.concatenate(rows), pa.concat_arrays(keys)
                rows, keys, held = [], [], 0
        if rows:
            yield np.concatenate(rows), pa.concat_arrays(keys)

    def _summed(self, keys: pa.Array, times: NDArray[np.int64], values: list[pa.Array]) -> pa.RecordBatch:
        import pyarrow as pa

        for name, column in zip(self.columns, values, strict=True):
            _check_sum(name, column)
        # numpy's floor division agrees with Spark's windows before 1970 too.
        columns = {"key": keys, "pane": times // self.pane_us, "time": times}
        columns |= {f"v{place}": column for place, column in enumerate(values)}
        wanted = [("time", "max"), ("time", "count")]
        for place in range(len(values)):
            wanted += [(f"v{place}", kind) for kind in ("count", "sum", "min", "max")]
        grouped = pa.table(columns).group_by(["key", "pane"], use_threads=False).aggregate(wanted)
        found = [grouped.column("key"), grouped.column("time_max").cast(pa.timestamp("us", "UTC"))]
        found += [grouped.column(f"{name}_{kind}") for name, kind in wanted[1:]]
        return _batch([column.combine_chunks() for column in found])

    def _mark(self, last_us: int, none: list[pa.Array]) -> pa.RecordBatch:
        """The row that tells the time of a batch's last event."""
        import pyarrow as pa

        key = pa.nulls(1, _key_type(self.ref))
        time = pa.array([last_us], pa.timestamp("us", "UTC"))
        numbers = [pa.array([0], pa.int64())]
        for column in none:
            numbers += [pa.array([0], pa.int64()), *(pa.nulls(1, column.type) for _ in range(3))]
        return _batch([key, time, *numbers])


def partial_sums(
    ref: IndexRef, time_col: str, pane_us: int, calculations: dict[str, Calculation], marks: bool
) -> PartialSums:
    """What executors need to know for `calculations`."""
    columns = dict.fromkeys(one.column for one in calculations.values() if one.column is not None)
    carried = [one.of for one in calculations.values()]
    of: tuple[Key, ...] | None = tuple(dict.fromkeys(key for keys in carried for key in keys or ()))
    if any(keys is None for keys in carried):
        of = None
    return PartialSums(ref, time_col, pane_us, tuple(columns), of, marks)


def _key_type(ref: IndexRef) -> pa.DataType:
    import pyarrow as pa

    return pa.int64() if ref.key_type == "int64" else pa.string()


def _numbers(column: pa.Array) -> pa.Array:
    """A column as int64, or as doubles with nulls for NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(column.type):
        return column.cast(pa.int64())
    doubles = column.cast(pa.float64())
    return pc.if_else(pc.is_nan(doubles), pa.scalar(None, pa.float64()), doubles)


def _check_sum(name: str, column: pa.Array) -> None:
    """Refuse integers whose sum might not fit; Spark itself refuses an overflow when it merges."""
    import pyarrow as pa

    if not pa.types.is_integer(column.type):
        return
    largest = np.abs(column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64)).max(initial=0.0)
    if largest * len(column) >= 2.0**63:
        raise ArgumentError(f"column {name!r}: the sum of values like {largest:.0f} does not fit 64 bits")


def _batch(columns: list[Any]) -> pa.RecordBatch:
    """Columns by position: the names are those of the result's type."""
    import pyarrow as pa

    names = ["subscription", "_pubmatch_time", "_pubmatch_events"]
    for place in range((len(columns) - 3) // 4):
        names += [f"{kind}{place}" for kind in ("n", "sum", "min", "max")]
    return pa.RecordBatch.from_arrays(columns, names=names)
