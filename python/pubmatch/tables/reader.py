"""What all readers of table files share: batches of the size asked for, errors that name the file."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa

from pubmatch.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

__all__ = ["TableReader", "rebatched", "telling"]


@contextlib.contextmanager
def telling(path: Path) -> Iterator[None]:
    """Turn what pyarrow says about a file into a `FormatError` that names it."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: a column's name is not UTF-8 ({error})") from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise FormatError(f"{path}: {error}") from None
    except pa.ArrowException as error:
        raise FormatError(f"{path}: {error}") from None


class TableReader(ABC):
    """A file of rows whose columns are known.

    Attributes
    ----------
    path : Path
        The file.
    schema : pyarrow.Schema
        All its columns.
    fraction : float
        How much of the file the batches handed out so far are, from 0 to 1, about.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        twice = [name for name, count in Counter(schema.names).items() if count > 1]
        if twice:
            raise FormatError(f"{path}: column {twice[0]!r} appears twice")
        self.path = path
        self.schema = schema
        self.fraction = 0.0

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """The rows from the beginning, `rows` at a time, the last time perhaps fewer.

        Parameters
        ----------
        columns : sequence of str
            The columns wanted, of those in `schema`; without any, one is read for the number of rows.
        rows : int
            At least 1.
        """
        wanted = list(columns) or self.schema.names[:1]
        if not wanted:
            return
        self.fraction = 0.0
        with telling(self.path):
            yield from rebatched((pa.Table.from_batches([part]) for part in self._parts(wanted, rows)), rows)
        self.fraction = 1.0

    def read(self) -> pa.Table:
        """All rows and columns, in memory."""
        with telling(self.path):
            names = self.schema.names
            parts = list(self._parts(names, 1 << 16)) if names else []
            return pa.Table.from_batches(parts, self.schema)

    @abstractmethod
    def _parts(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Record batches of `columns`, in this order, as they come; about `rows` at a time where possible."""


def rebatched(parts: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The same rows in tables of `rows` rows, the last of fewer.

    Examples
    --------
    >>> parts = [pa.table({"x": [1, 2, 3]}), pa.table({"x": [4]}), pa.table({"x": [5]})]
    >>> [part.column("x").to_pylist() for part in rebatched(parts, 2)]
    [[1, 2], [3, 4], [5]]
    """
    waiting: list[pa.Table] = []
    count = 0
    for part in parts:
        start = 0
        while count + part.num_rows - start >= rows:
            taken = rows - count
            yield pa.concat_tables([*waiting, part.slice(start, taken)])
            waiting, count, start = [], 0, start + taken
        if start < part.num_rows:
            waiting.append(part.slice(start))
            count += part.num_rows - start
    if waiting:
        yield pa.concat_tables(waiting)
