"""CSV: the types are inferred from the whole file before the first batch is handed out.

The inference of pyarrow's own streaming reader ends with the first block: a column that is empty there, or
has whole numbers only, would fail later. So the file is gone through twice, and never held.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from pubmatch.tables.reader import TableReader, telling
from pubmatch.tables.type_joins import join_types

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

__all__ = ["CsvReader"]

BLOCK_BYTES = 1 << 20
_PARSE = csv.ParseOptions(newlines_in_values=True)


class CsvReader(TableReader):
    """A CSV file with a line of names.

    An empty field is missing; so is NA, NULL and the like in a column of numbers, times or booleans.

    Parameters
    ----------
    path : Path
        The file.
    types : mapping
        The types of columns that are not to be inferred.
    verbatim : collection of str
        Columns of names: int64 if every value is written as an integer writes itself, otherwise the text as
        it stands, so that "007" stays what it is.
    """

    def __init__(self, path: Path, types: Mapping[str, pa.DataType], verbatim: Collection[str]) -> None:
        with path.open("rb") as file:
            self._size = max(file.seek(0, 2), 1)
        with telling(path):
            with path.open("rb") as file:
                names = csv.open_csv(file, _blocks(), _PARSE).schema.names
            super().__init__(path, pa.schema([(name, types.get(name, pa.string())) for name in names]))
            unknown = [name for name in names if name not in types]
            found = dict.fromkeys(unknown, pa.null())
            for part in self._texts(unknown):
                for name in unknown:
                    kind = _verbatim(part.column(name)) if name in verbatim else _inferred(part.column(name))
                    found[name] = join_types(found[name], kind)
            self.schema = pa.schema([(name, types.get(name, found.get(name))) for name in names])

    def _parts(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        for part in self._opened({name: self.schema.field(name).type for name in columns}):
            arrays = [_without_blanks(array) for array in part.columns]
            yield pa.RecordBatch.from_arrays(arrays, names=columns)

    def _texts(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        return self._opened(dict.fromkeys(columns, pa.string())) if columns else iter(())

    def _opened(self, columns: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        convert = csv.ConvertOptions(column_types=columns, include_columns=list(columns))
        with self.path.open("rb") as file:
            for part in csv.open_csv(file, _blocks(), _PARSE, convert):
                self.fraction = min(file.tell() / self._size, 1.0)
                yield part


def _blocks() -> csv.ReadOptions:
    return csv.ReadOptions(block_size=BLOCK_BYTES)


def _inferred(texts: pa.Array) -> pa.DataType:
    """The type pyarrow's CSV reader gives to a column of these texts."""
    file = io.BytesIO()
    csv.write_csv(pa.table({"x": texts}), file)
    file.seek(0)
    # One block: inside a block pyarrow widens types by itself.
    whole = csv.ReadOptions(block_size=max(len(file.getbuffer()), 1) + 1)
    return csv.read_csv(file, whole, _PARSE).schema.field(0).type


def _verbatim(texts: pa.Array) -> pa.DataType:
    given = _without_blanks(texts)
    if given.null_count == len(given):
        return pa.null()
    try:
        same = pc.equal(given.cast(pa.int64()).cast(pa.string()), given)
    except pa.ArrowInvalid:
        return pa.string()
    return pa.int64() if pc.all(same).as_py() else pa.string()


def _without_blanks(array: pa.Array) -> pa.Array:
    """Text with null where there is nothing."""
    if not pa.types.is_string(array.type):
        return array
    return pc.if_else(pc.equal(array, ""), pa.scalar(None, array.type), array)
