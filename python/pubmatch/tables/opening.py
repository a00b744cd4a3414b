"""`open_table`: the reader for a file, chosen by its suffix."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pubmatch.tables.formats import format_of

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Mapping

    import pyarrow as pa

    from pubmatch.tables.reader import TableReader

__all__ = ["open_table"]


def open_table(
    path: str | os.PathLike[str],
    types: Mapping[str, pa.DataType] | None = None,
    verbatim: Collection[str] = (),
) -> TableReader:
    r"""Open a Parquet, Arrow IPC, CSV or JSON lines file.

    Parameters
    ----------
    path : path-like
        The file; its suffix tells the format.
    types : mapping, optional
        In files of text, the types of columns that are not to be inferred.
    verbatim : collection of str
        In files of text, columns of names, which are read as integers or as the strings that are written.

    Raises
    ------
    FormatError
        The file is not what its suffix says.
    ArgumentError
        The suffix is not known.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     file = Path(directory) / "events.csv"
    ...     _ = file.write_text("price,symbol\n10,IBM\n12.5,AMD\n")
    ...     reader = open_table(file)
    ...     prices = [batch.column("price").to_pylist() for batch in reader.batches(["price"], rows=1)]
    >>> reader.schema.types, prices
    ([DataType(double), DataType(string)], [[10.0], [12.5]])
    """
    from pubmatch.tables.columnar_files import ArrowReader, ParquetReader
    from pubmatch.tables.csv_files import CsvReader
    from pubmatch.tables.json_files import JsonReader

    file = Path(path)
    format = format_of(file)
    if format == "parquet":
        return ParquetReader(file)
    if format == "arrow":
        return ArrowReader(file)
    return (CsvReader if format == "csv" else JsonReader)(file, types or {}, verbatim)
