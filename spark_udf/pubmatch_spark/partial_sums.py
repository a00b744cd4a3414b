"""What an executor makes of a batch of events: one row per subscription and pane of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pubmatch_spark.exact_sums import DIGITS
from pubmatch_spark.match import CHUNK

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from pubmatch.keys import Key
    from pubmatch_spark.calculations import Calculation
    from pubmatch_spark.publish import IndexRef

__all__ = ["Part", "PartialSums", "partial_sums"]

_PAIRS = 1 << 20  # most pairs that are held before they are summed up

_NEEDS = {"count": ("count",), "sum": ("sum",), "mean": ("count", "sum"), "min": ("min",), "max": ("max",)}
"""What must be known of the parts of a whole to calculate each kind."""


class Part(NamedTuple):
    """A number that executors send for a column: "count" (of values), "sum", "min" or "max"."""

    column: str
    kind: str


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
    parts : tuple of Part
        The numbers that are needed, each once.
    of : tuple of keys or None
        The subscriptions of interest; None for all.
    marks : bool
        Whether each batch also sends its last time, under no subscription.
    """

    ref: IndexRef
    time_col: str
    pane_us: int
    parts: tuple[Part, ...]
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
        names = dict.fromkeys(part.column for part in self.parts)
        values = {name: _numbers(batch.column(batch.schema.get_field_index(name))) for name in names}
        for rows, keys in self._pairs(batch):
            taken = {name: column.take(pa.array(rows)) for name, column in values.items()}
            yield self._summed(keys, times[rows], taken)
        if self.marks:
            yield self._mark(int(times.max()), {name: column.type for name, column in values.items()})

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

    def _summed(
        self, keys: pa.Array, times: NDArray[np.int64], values: dict[str, pa.Array]
    ) -> pa.RecordBatch:
        import pyarrow as pa

        # numpy's floor division agrees with Spark's windows before 1970 too.
        columns = {"key": keys, "pane": times // self.pane_us, "time": times}
        types = [_type_of(part, values[part.column].type) for part in self.parts]
        for place, (part, kind) in enumerate(zip(self.parts, types, strict=True)):
            column = values[part.column]
            columns[f"v{place}"] = column.cast(kind) if part.kind == "sum" else column
        wanted = [("time", "max"), ("time", "count")]
        wanted += [(f"v{place}", part.kind) for place, part in enumerate(self.parts)]
        grouped = pa.table(columns).group_by(["key", "pane"], use_threads=False).aggregate(wanted)
        found = [grouped.column(f"{name}_{kind}") for name, kind in wanted]
        cast = [pa.timestamp("us", "UTC"), pa.int64(), *types]
        numbers = [column.cast(kind) for column, kind in zip(found, cast, strict=True)]
        return _batch([column.combine_chunks() for column in (grouped.column("key"), *numbers)])

    def _mark(self, last_us: int, types: dict[str, pa.DataType]) -> pa.RecordBatch:
        """The row that tells the time of a batch's last event."""
        import pyarrow as pa

        key = pa.nulls(1, _key_type(self.ref))
        time = pa.array([last_us], pa.timestamp("us", "UTC"))
        numbers = [pa.nulls(1, _type_of(part, types[part.column])) for part in self.parts]
        return _batch([key, time, pa.array([0], pa.int64()), *numbers])


def partial_sums(
    ref: IndexRef, time_col: str, pane_us: int, calculations: dict[str, Calculation], marks: bool
) -> PartialSums:
    """What executors need to know for `calculations`."""
    parts = [
        Part(one.column, kind)
        for one in calculations.values()
        if one.column is not None
        for kind in _NEEDS[one.kind]
    ]
    carried = [one.of for one in calculations.values()]
    of: tuple[Key, ...] | None = tuple(dict.fromkeys(key for keys in carried for key in keys or ()))
    if any(keys is None for keys in carried):
        of = None
    return PartialSums(ref, time_col, pane_us, tuple(dict.fromkeys(parts)), of, marks)


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


def _type_of(part: Part, column: pa.DataType) -> pa.DataType:
    """The type of a part of a column of that type: sums of integers are decimals."""
    import pyarrow as pa

    if part.kind == "count":
        return pa.int64()
    if part.kind == "sum" and pa.types.is_integer(column):
        return pa.decimal128(DIGITS, 0)
    return column


def _batch(columns: list[pa.Array]) -> pa.RecordBatch:
    """Columns by position: the names are those of the result's type."""
    import pyarrow as pa

    names = ["subscription", "_pubmatch_time", "_pubmatch_events"]
    names += [f"part{place}" for place in range(len(columns) - len(names))]
    return pa.RecordBatch.from_arrays(columns, names=names)
