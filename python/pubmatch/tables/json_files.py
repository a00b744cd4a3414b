"""JSON lines: one object per line; the types are inferred from the whole file before the first batch."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import json

from pubmatch.errors import FormatError
from pubmatch.tables.reader import TableReader, telling
from pubmatch.tables.type_joins import join_schemas

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

__all__ = ["JsonReader"]

BLOCK_BYTES = 1 << 20

# Between objects there is nothing but space: what else stands at the beginning or behind a brace, unless it
# goes on with the object around, is a value of its own. Strings may hold braces, so they are emptied first
# where anything is found.
_NO_OBJECT = re.compile(rb"(?:\A(?:\xef\xbb\xbf)?+|\})\s*([^\s{},\]])")
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


class JsonReader(TableReader):
    """A file of JSON objects, each on a line of its own; what an object lacks is missing.

    Parameters
    ----------
    path : Path
        The file.
    types : mapping
        The types of columns that are not to be inferred.
    verbatim : collection of str
        Columns of names, whose strings are never taken for times.
    """

    def __init__(self, path: Path, types: Mapping[str, pa.DataType], verbatim: Collection[str]) -> None:
        with path.open("rb") as file:
            self._size = max(file.seek(0, 2), 1)
        super().__init__(path, pa.schema([]))
        with telling(path):
            found = pa.schema([])
            for line, block in self._blocks():
                found = join_schemas(found, self._parsed(line, block, json.ParseOptions()).schema)
        columns = {field.name: types.get(field.name, field.type) for field in found}
        for name in verbatim:
            if name in columns and pa.types.is_timestamp(columns[name]):
                columns[name] = pa.string()
        self.schema = pa.schema(list(columns.items()))

    def _parts(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        wanted = pa.schema([self.schema.field(name) for name in columns])
        options = json.ParseOptions(explicit_schema=wanted, unexpected_field_behavior="ignore")
        for line, block in self._blocks():
            yield from self._parsed(line, block, options).select(columns).to_batches()

    def _parsed(self, line: int, block: bytes, options: json.ParseOptions) -> pa.Table:
        self._check_objects(line, block)
        # One block, for an object must not lie across two.
        whole = json.ReadOptions(block_size=len(block) + 1)
        try:
            return json.read_json(io.BytesIO(block), whole, options)
        except pa.ArrowException as error:
            raise FormatError(f"{self.path}: in the lines from {line}: {error}") from None

    def _check_objects(self, line: int, block: bytes) -> None:
        """Refuse what is no object: pyarrow takes a null for an event, and crashes if all lines are such."""
        if _NO_OBJECT.search(block) is None:
            return
        found = _NO_OBJECT.search(bare := _STRING.sub(b'""', block))
        if found is not None:
            number = line + bare.count(b"\n", 0, found.start(1))
            raise FormatError(f"{self.path}: line {number}: expected an object, which begins with {{")

    def _blocks(self) -> Iterator[tuple[int, bytes]]:
        """Whole lines, about `BLOCK_BYTES` at a time, and the number of the first of them."""
        line, rest = 1, b""
        with self.path.open("rb") as file:
            while True:
                more = file.read(BLOCK_BYTES)
                self.fraction = min(file.tell() / self._size, 1.0)
                end = more.rfind(b"\n") + 1
                if more and not end:
                    rest += more
                    continue
                block, rest = rest + more[:end], more[end:]
                if block.strip():
                    yield line, block
                if not more:
                    return
                line += block.count(b"\n")
