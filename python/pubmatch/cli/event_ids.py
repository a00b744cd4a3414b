"""The column `event_id` of results: of which types it can be, and its values for a batch of events.

Without typer, since executors of Spark need it too.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

__all__ = ["DEFAULT_ID", "can_be_id", "ids_of", "plain"]

DEFAULT_ID = "event_id"
"""The column of ids, if no other is named."""


def can_be_id(kind: pa.DataType) -> bool:
    """Whether every format can write values of a type.

    Examples
    --------
    >>> can_be_id(pa.string()), can_be_id(pa.list_(pa.int64()))
    (True, False)
    """
    types = pa.types
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    time = types.is_timestamp(kind) or types.is_date(kind) or types.is_time(kind)
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    return bool(text or time or number or types.is_null(kind))


def plain(kind: pa.DataType) -> pa.DataType:
    """The type in which ids are written: neither by dictionary nor as views, which some formats lack.

    Examples
    --------
    >>> plain(pa.dictionary(pa.int8(), pa.string()))
    DataType(string)
    """
    values = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.large_string() if pa.types.is_string_view(values) else values


def ids_of(batch: pa.Table, id_column: str | None, id_type: pa.DataType, first: int) -> pa.Array:
    """The ids of a batch whose first row has the number `first` in its file."""
    if id_column is None:
        return pa.array(np.arange(first, first + batch.num_rows))
    ids = batch.column(id_column).cast(id_type).combine_chunks()
    return pa.concat_arrays(ids.chunks) if isinstance(ids, pa.ChunkedArray) else ids
