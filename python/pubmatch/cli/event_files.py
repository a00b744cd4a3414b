"""Files of events and their column of ids.

Without typer, since executors of Spark need it too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pubmatch.cli.event_ids import DEFAULT_ID, can_be_id, plain
from pubmatch.cli.event_schema import column_types, json_column_types
from pubmatch.errors import SchemaError
from pubmatch.tables import format_of, open_table

if TYPE_CHECKING:
    from pathlib import Path

    from pubmatch.schema import Schema
    from pubmatch.tables import TableReader

__all__ = ["id_column_of", "open_events"]


def open_events(path: Path, given: Schema | None, id_column: str | None) -> TableReader:
    """The events of a file; in files of text a given schema tells what columns are."""
    types = {}
    if given is not None:
        types = json_column_types(given) if format_of(path) == "jsonl" else column_types(given)
    return open_table(path, types, {DEFAULT_ID if id_column is None else id_column})


def id_column_of(events: TableReader, id_column: str | None) -> str | None:
    """The column of ids: the one named, or `event_id` if there is one.

    Raises
    ------
    SchemaError
        There is no column of that name, or no format can write its values.
    """
    name = DEFAULT_ID if id_column is None else id_column
    if name in events.schema.names:
        kind = events.schema.field(name).type
        if not can_be_id(plain(kind)):
            raise SchemaError(f"{events.path}: column {name!r} is {kind}, not an id")
        return name
    if id_column is not None:
        listed = ", ".join(events.schema.names) or "none"
        raise SchemaError(f"{events.path}: there is no column {name!r}; its columns are {listed}")
    return None
