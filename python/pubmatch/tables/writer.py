"""`table_writer`: rows into an open file, batch by batch."""

from __future__ import annotations

import contextlib
import json
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pubmatch.tables.formats import Format

__all__ = ["json_lines", "table_writer"]

_GROUP_ROWS = 1 << 20


@contextlib.contextmanager
def table_writer(file: IO[bytes], format: Format, schema: pa.Schema) -> Iterator[Callable[[pa.Table], None]]:
    r"""Write tables of one schema to a file; yields the function that takes them.

    The file is complete when the block ends, and stays open. Small tables are gathered, so that row groups
    and record batches have a useful size.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> with table_writer(file, "csv", pa.schema({"x": pa.int64()})) as write:
    ...     write(pa.table({"x": [1, 2]}))
    ...     write(pa.table({"x": [3]}))
    >>> file.getvalue()
    b'"x"\n1\n2\n3\n'
    """
    waiting: list[pa.Table] = []
    with _sink(file, format, schema) as put:

        def flush() -> None:
            if waiting:
                put(pa.concat_tables(waiting))
                waiting.clear()

        def write(table: pa.Table) -> None:
            if format in ("csv", "jsonl"):
                _check_times(table)
            waiting.append(table.cast(schema))
            if sum(part.num_rows for part in waiting) >= _GROUP_ROWS:
                flush()

        yield write
        flush()


def _check_times(table: pa.Table) -> None:
    """Refuse times that have no text; Arrow would write a remark in their place."""
    for name, column in zip(table.schema.names, table.columns, strict=True):
        if pa.types.is_timestamp(column.type):
            strange = pc.match_substring(column.cast(pa.string()), "out of range")
            if pc.any(strange).as_py():
                raise pa.ArrowInvalid(f"column {name!r} has a time in a year that text cannot hold")


@contextlib.contextmanager
def _sink(file: IO[bytes], format: Format, schema: pa.Schema) -> Iterator[Callable[[pa.Table], Any]]:
    if format == "jsonl":
        yield lambda table: file.write(json_lines(table))
        return
    if format == "parquet":
        import pyarrow.parquet as pq

        with pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as parquet:
            yield parquet.write_table
    elif format == "arrow":
        with pa.ipc.new_file(file, schema) as arrow:
            yield arrow.write_table
    else:
        from pyarrow import csv

        with csv.CSVWriter(file, schema) as text:
            yield text.write_table


def json_lines(table: pa.Table) -> bytes:
    r"""The rows as JSON objects, one per line; times in ISO 8601, NaN and missing values as null.

    Examples
    --------
    >>> json_lines(pa.table({"x": [1.5, None], "name": ["a", 'b"']}))
    b'{"x": 1.5, "name": "a"}\n{"x": null, "name": "b\\""}\n'
    """
    if not table.num_rows:
        return b""
    parts: list[Any] = []
    for place, (name, column) in enumerate(zip(table.schema.names, table.columns, strict=True)):
        before = ("{" if place == 0 else ", ") + json.dumps(name) + ": "
        parts += [_text(before), _json_texts(column, name)]
    return _joined(pc.binary_join_element_wise(*parts, _text("}\n"), _text("")))


def _text(value: str) -> pa.Scalar:
    return pa.scalar(value, pa.large_string())


def _joined(texts: pa.LargeStringArray) -> bytes:
    """All texts one after another, which is how Arrow keeps them."""
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[[texts.offset, texts.offset + len(texts)]]
    joined: bytes = data.slice(ends[0], ends[1] - ends[0]).to_pybytes()
    return joined


def _json_texts(column: pa.ChunkedArray, name: str) -> pa.Array:
    """Every value as JSON writes it; each different one is written once."""
    if pa.types.is_timestamp(column.type):  # Python's own times have fewer years, and no nanoseconds
        column = pc.replace_substring(column.cast(pa.string()), " ", "T")
    codes = column.dictionary_encode("encode").combine_chunks()
    codes = codes if isinstance(codes, pa.DictionaryArray) else pa.concat_arrays(codes.chunks)
    try:
        values = codes.dictionary.to_pylist()
    except UnicodeDecodeError:
        raise pa.ArrowInvalid(f"column {name!r} has strings that are not UTF-8") from None
    words = pa.array(list(map(_json_text, values)), pa.large_string())
    return words.take(codes.indices)


def _json_text(value: Any) -> str:
    if value is None or value != value:
        return "null"
    return json.dumps(value.isoformat() if hasattr(value, "isoformat") else value)
