"""Some rows of a file of events, read where a task runs: any range of a Parquet or Arrow file.

Files of text and Arrow streams can only be read from their beginning; `seekable` makes an Arrow file of them
first.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from pubmatch.tables import format_of
from pubmatch.tables.reader import rebatched, telling

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pubmatch.tables import TableReader

__all__ = ["count_rows", "read_rows", "seekable"]

_ARROW_MAGIC = b"ARROW1"


def seekable(events: TableReader, columns: Sequence[str], rows: int, folder: Path) -> Path:
    """A file with the `columns` of `events` that can be read from any row on; the same one if it is so.

    Parameters
    ----------
    events : TableReader
        The file.
    columns : sequence of str
        What is needed of it.
    rows : int
        Rows per record batch of a new file.
    folder : Path
        Where a new file goes.
    """
    if format_of(events.path) == "parquet" or _is_arrow_file(events.path):
        return events.path.absolute()
    target = folder / "events.arrow"
    schema = pa.schema([events.schema.field(name) for name in columns or events.schema.names[:1]])
    with pa.OSFile(str(target), "wb") as sink, pa.ipc.new_file(sink, schema) as file:
        for batch in events.batches(columns, rows):
            file.write_table(batch)
    return target


def count_rows(path: Path) -> int:
    """How many rows a file has that `seekable` gave."""
    with telling(path):
        if format_of(path) == "parquet":
            import pyarrow.parquet as pq

            return int(pq.read_metadata(path).num_rows)
        with pa.memory_map(str(path)) as source:
            file = pa.ipc.open_file(source)
            return sum(file.get_batch(place).num_rows for place in range(file.num_record_batches))


def read_rows(path: Path, columns: Sequence[str], first: int, rows: int, batch: int) -> Iterator[pa.Table]:
    """The rows from `first` on, `batch` at a time; without columns one is read for the number of rows.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow.parquet as pq
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "x.parquet"
    ...     pq.write_table(pa.table({"x": range(10)}), path, row_group_size=4)
    ...     [part.column("x").to_pylist() for part in read_rows(path, ["x"], 3, 5, 2)]
    [[3, 4], [5, 6], [7]]
    """
    with telling(path):
        parts = (_parquet if format_of(path) == "parquet" else _arrow)(
            path, list(columns), first, rows, batch
        )
        yield from rebatched((pa.Table.from_batches([part]) for part in parts), batch)


def _parquet(path: Path, columns: list[str], first: int, rows: int, batch: int) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path, page_checksum_verification=True)
    wanted = columns or file.schema_arrow.names[:1]
    sizes = [file.metadata.row_group(place).num_rows for place in range(file.metadata.num_row_groups)]
    groups, start = _overlapping(sizes, first, rows)
    read = file.iter_batches(batch_size=batch, row_groups=groups, columns=wanted)
    return _cut((part.select(wanted) for part in read), start, first, rows)


def _arrow(path: Path, columns: list[str], first: int, rows: int, batch: int) -> Iterator[pa.RecordBatch]:
    with pa.memory_map(str(path)) as source:
        file = pa.ipc.open_file(source)
        wanted = columns or file.schema.names[:1]
        sizes = [file.get_batch(place).num_rows for place in range(file.num_record_batches)]
        places, start = _overlapping(sizes, first, rows)
        yield from _cut(_checked(file, places, wanted), start, first, rows)


def _checked(
    file: pa.RecordBatchFileReader, places: list[int], columns: list[str]
) -> Iterator[pa.RecordBatch]:
    for place in places:
        part = file.get_batch(place)
        part.validate()
        yield part.select(columns)


def _overlapping(sizes: Sequence[int], first: int, rows: int) -> tuple[list[int], int]:
    """Which of parts with these sizes have some of the rows, and the row with which those begin."""
    places: list[int] = []
    begin, start = 0, first
    for place, size in enumerate(sizes):
        if begin < first + rows and begin + size > first:
            start = start if places else begin
            places.append(place)
        begin += size
    return places, start


def _cut(parts: Iterable[pa.RecordBatch], start: int, first: int, rows: int) -> Iterator[pa.RecordBatch]:
    """Of parts that begin with row `start`, the rows asked for."""
    for part in parts:
        low, high = max(first - start, 0), min(first + rows - start, part.num_rows)
        if low < high:
            yield part.slice(low, high - low)
        start += part.num_rows
        if start >= first + rows:
            return


def _is_arrow_file(path: Path) -> bool:
    if format_of(path) != "arrow":
        return False
    with path.open("rb") as file:
        return file.read(len(_ARROW_MAGIC)) == _ARROW_MAGIC
