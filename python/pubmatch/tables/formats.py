"""Which suffix means which format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pubmatch.errors import ArgumentError

if TYPE_CHECKING:
    import os

    Format = Literal["parquet", "arrow", "csv", "jsonl"]

__all__ = ["SUFFIXES", "format_of"]

SUFFIXES: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}


def format_of(path: str | os.PathLike[str]) -> Format:
    """The format that the suffix of `path` names, in either case.

    Examples
    --------
    >>> format_of("flights.CSV")
    'csv'
    >>> format_of("flights.xlsx")
    Traceback (most recent call last):
    ...
    pubmatch.errors.ArgumentError: flights.xlsx: a table's name must end in .parquet, .arrow, .csv or .jsonl
    """
    found = SUFFIXES.get(Path(path).suffix.lower())
    if found is None:
        raise ArgumentError(f"{path}: a table's name must end in .parquet, .arrow, .csv or .jsonl")
    return found
