"""The type of a column in a text file, from the types that its parts seem to have.

pyarrow infers types part by part; where a later part contradicts an earlier one the column is what holds
both: integers and floats are floats, dates and times are times, and anything else is text.
"""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types

__all__ = ["join_schemas", "join_types"]


def join_types(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type that holds what both hold, string if there is no better.

    Examples
    --------
    >>> join_types(pa.int64(), pa.float64()), join_types(pa.null(), pa.bool_())
    (DataType(double), DataType(bool))
    >>> join_types(pa.date32(), pa.timestamp("s")), join_types(pa.int64(), pa.bool_())
    (TimestampType(timestamp[s]), DataType(string))
    """
    if one == other:
        return one
    for date, time in ((one, other), (other, one)):
        if types.is_date(date) and types.is_timestamp(time):
            return time if time.tz is None else pa.string()
    try:
        fields = [pa.schema([pa.field("x", kind)]) for kind in (one, other)]
        return pa.unify_schemas(fields, promote_options="permissive").field(0).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.string()


def join_schemas(one: pa.Schema, other: pa.Schema) -> pa.Schema:
    """The columns of both, in the order in which they were met.

    Examples
    --------
    >>> parts = [pa.schema({"a": pa.int64()}), pa.schema({"b": pa.string(), "a": pa.null()})]
    >>> join_schemas(*parts).names
    ['a', 'b']
    """
    joined = {field.name: field.type for field in one}
    for field in other:
        before = joined.get(field.name)
        joined[field.name] = field.type if before is None else join_types(before, field.type)
    return pa.schema(list(joined.items()))
