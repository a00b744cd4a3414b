"""Parquet and Arrow IPC: files that say themselves which columns they have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from pubmatch.tables.reader import TableReader, telling

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["ArrowReader", "ParquetReader"]

_ARROW_MAGIC = b"ARROW1"


class ParquetReader(TableReader):
    """A Parquet file, read by row groups and pages."""

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        with path.open("rb"):  # what the system refuses is told in its own words
            pass
        with telling(path):
            self._file = pq.ParquetFile(path, page_checksum_verification=True)
            super().__init__(path, self._file.schema_arrow)

    def _parts(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        total = max(self._file.metadata.num_rows, 1)
        done = 0
        for part in self._file.iter_batches(batch_size=rows, columns=columns):
            done += part.num_rows
            self.fraction = done / total
            yield part.select(columns)


class ArrowReader(TableReader):
    """An Arrow IPC file, mapped into memory, or an IPC stream."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._is_file = file.read(len(_ARROW_MAGIC)) == _ARROW_MAGIC
            self._size = max(file.seek(0, 2), 1)
        with telling(path), pa.OSFile(str(path)) as source:
            opened = pa.ipc.open_file(source) if self._is_file else pa.ipc.open_stream(source)
            super().__init__(path, opened.schema)

    def _parts(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        return self._mapped(columns) if self._is_file else self._streamed(columns)

    def _mapped(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(str(self.path)) as source:
            opened = pa.ipc.open_file(source)
            total = opened.num_record_batches
            for place in range(total):
                self.fraction = (place + 1) / total
                part = opened.get_batch(place)
                part.validate()
                yield part.select(columns)

    def _streamed(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        with pa.OSFile(str(self.path)) as source:
            for part in pa.ipc.open_stream(source):
                self.fraction = min(source.tell() / self._size, 1.0)
                part.validate()
                yield part.select(columns)
