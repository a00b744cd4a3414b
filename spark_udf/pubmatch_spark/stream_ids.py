"""The ids of events that come in many files: of one type from the first file on, which is remembered."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from pubmatch.cli.event_files import id_column_of
from pubmatch.cli.event_ids import plain
from pubmatch.errors import ArgumentError, FormatError, SchemaError, file_access_error
from pubmatch_spark.version_pins import write_json

if TYPE_CHECKING:
    from pubmatch.tables import TableReader

__all__ = ["StreamIds", "ids_in", "remember_ids", "remembered_ids"]

# Arrow's type of ids, what it is called, and Spark's name of it. Naive times are UTC, as everywhere.
_TYPES = {
    "integers": (pa.int64(), "bigint"),
    "texts": (pa.string(), "string"),
    "numbers": (pa.float64(), "double"),
    "booleans": (pa.bool_(), "boolean"),
    "dates": (pa.date32(), "date"),
    "times": (pa.timestamp("us", "UTC"), "timestamp"),
}


@dataclass(frozen=True, slots=True)
class StreamIds:
    """The column of ids, and what all its values are: a key of `_TYPES`."""

    column: str
    kind: str

    @property
    def arrow_type(self) -> pa.DataType:
        """Arrow's type of the ids."""
        return _TYPES[self.kind][0]

    @property
    def spark_type(self) -> str:
        """Spark's name of the type of the ids."""
        return _TYPES[self.kind][1]

    def of(self, batch: pa.Table, path: str) -> pa.Array:
        """The ids of a batch of a file.

        Raises
        ------
        SchemaError
            They are not what the ids of this stream are.
        """
        column = batch.column(self.column)
        try:
            values = column.cast(plain(column.type)).cast(self.arrow_type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise SchemaError(
                f"{path}: column {self.column!r} is {column.type}, but the ids of this stream are "
                f"{self.kind}: {error}"
            ) from None
        return pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], self.arrow_type)


def ids_in(events: TableReader, column: str, text: bool = False) -> StreamIds:
    """The ids of a stream whose first file this is.

    Parameters
    ----------
    events : TableReader
        The file.
    column : str
        The column of ids.
    text : bool
        Whether they are taken as texts, whatever they look like.
    """
    id_column_of(events, column)
    if text:
        return StreamIds(column, "texts")
    kind = plain(events.schema.field(column).type)
    tests = {
        "integers": pa.types.is_integer,
        "numbers": pa.types.is_floating,
        "booleans": pa.types.is_boolean,
        "dates": pa.types.is_date,
        "times": pa.types.is_timestamp,
    }
    if pa.types.is_time(kind):
        raise SchemaError(f"{events.path}: column {column!r} is {kind}, which Spark does not have")
    return StreamIds(column, next((name for name, test in tests.items() if test(kind)), "texts"))


def remembered_ids(checkpoint: str, column: str, text: bool) -> StreamIds | None:
    """The ids that a stream with this checkpoint had so far; None if it is a new one.

    Raises
    ------
    ArgumentError
        They were others than asked for now.
    """
    path = _path(checkpoint)
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        found = StreamIds(document["column"], document["kind"])
        if found.kind not in _TYPES:
            raise ValueError(f"unknown kind of ids {found.kind!r}")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise file_access_error(error, path) from None
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path}: {error}") from None
    if found.column != column or (text and found.kind != "texts"):
        raise ArgumentError(
            f"checkpoint {checkpoint} belongs to a stream whose ids are the {found.kind} in {found.column!r}"
        )
    return found


def remember_ids(checkpoint: str, ids: StreamIds) -> None:
    """Note the ids of a new stream."""
    path = _path(checkpoint)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError as error:
        raise file_access_error(error, path) from None
    write_json(path, {"column": ids.column, "kind": ids.kind})


def _path(checkpoint: str) -> str:
    return os.path.join(checkpoint, "pubmatch", "ids.json")
