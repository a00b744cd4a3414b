"""The schema of events in a file: given, or inferred from the columns that the subscriptions name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from pubmatch.errors import SchemaError
from pubmatch.schema import Boolean, Category, Schema, Timestamp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pubmatch.attributes import AttributeType

__all__ = ["bound_types", "column_types", "inferred_attributes", "json_column_types", "used_schema"]


def inferred_attributes(columns: pa.Schema) -> tuple[dict[str, AttributeType], dict[str, str]]:
    """The attributes that columns can be, and why the others can be none.

    Examples
    --------
    >>> columns = pa.schema({"price": pa.float64(), "tags": pa.list_(pa.string()), "note": pa.null()})
    >>> inferred_attributes(columns)
    ({'price': Number(domain=None)}, {'tags': 'list<item: string>', 'note': 'empty'})
    """
    attributes: dict[str, AttributeType] = {}
    others: dict[str, str] = {}
    for field in columns:
        if pa.types.is_null(field.type):
            others[field.name] = "empty"
            continue
        try:
            attributes[field.name] = Schema.from_arrow(pa.schema([field]))[field.name]
        except SchemaError:  # a type no attribute has, or a name such as the one of a frame's index, ""
            others[field.name] = str(field.type)
    return attributes, others


def used_schema(attributes: Mapping[str, AttributeType], subscriptions: pa.Table) -> Schema:
    """Of the attributes, of which there is at least one, those the subscriptions may name; all if none.

    A column that no filter names would cost reading and encoding, and there may be more than a matcher takes.

    Examples
    --------
    >>> attributes = inferred_attributes(pa.schema({"price": pa.float64(), "size": pa.int64()}))[0]
    >>> used_schema(attributes, pa.table({"key": [1], "filter": ["price < 10"]})).names
    ('price',)
    """
    used = {name: kind for name, kind in attributes.items() if _names(subscriptions, name)}
    return Schema(**(used or attributes))


def _names(subscriptions: pa.Table, name: str) -> bool:
    """Whether a filter may name the attribute; more than really do is harmless."""
    if "filter" not in subscriptions.schema.names:
        return any(f"{name}_{side}" in subscriptions.schema.names for side in ("min", "max"))
    texts = subscriptions.column("filter")
    if not pa.types.is_string(texts.type) and not pa.types.is_large_string(texts.type):
        return True  # refused later, or a type that is compared otherwise
    quoted = name.replace('"', '""')
    return bool(pc.any(pc.match_substring(texts, quoted, ignore_case=True)).as_py())


def column_types(schema: Schema) -> dict[str, pa.DataType]:
    """What to read columns of a text file as, where their look could mislead.

    Examples
    --------
    >>> from pubmatch.schema import Number
    >>> column_types(Schema(zip=Category(), price=Number()))
    {'zip': DataType(string)}
    """
    types = {Category: pa.string(), Boolean: pa.bool_()}
    return {name: types[type(schema[name])] for name in schema if type(schema[name]) in types}


def json_column_types(schema: Schema) -> dict[str, pa.DataType]:
    """As `column_types`, for JSON lines, where times are strings and fractions of seconds hide them."""
    times = {name: pa.timestamp("us") for name in schema if isinstance(schema[name], Timestamp)}
    return {name: kind for name, kind in column_types(schema).items() if pa.types.is_string(kind)} | times


def bound_types(attributes: Mapping[str, AttributeType]) -> dict[str, pa.DataType]:
    """What to read columns of bounds in a text file as, where their look could mislead."""
    names = [name for name, kind in attributes.items() if isinstance(kind, Category)]
    return {f"{name}_{side}": pa.string() for name in names for side in ("min", "max")}
