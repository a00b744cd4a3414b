"""`Schema`: the attributes events have, in order, each with a type and perhaps a domain.

The types say what a value is and how it is ordered; filters and events are checked against them. Every
type writes itself as JSON, so that a schema travels with saved matchers and to other processes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pubmatch.attributes import (
    ATTRIBUTE_TYPES,
    AttributeType,
    Boolean,
    Category,
    Integer,
    Number,
    Timestamp,
)
from pubmatch.errors import SchemaError

__all__ = [
    "AttributeType",
    "Boolean",
    "Category",
    "Integer",
    "Number",
    "Schema",
    "Timestamp",
    "checked_schema",
]


class Schema:
    """Named, typed attributes in a fixed order; immutable.

    Parameters
    ----------
    **attributes : Number, Integer, Category, Boolean or Timestamp
        At least one. A name is any non-empty string; `Schema(**{"unit price": Number()})` works too.

    Examples
    --------
    >>> schema = Schema(price=Number(), symbol=Category())
    >>> schema
    Schema(price=Number(domain=None), symbol=Category(domain=None))
    >>> schema.names
    ('price', 'symbol')
    >>> "price" in schema, len(schema), schema["symbol"]
    (True, 2, Category(domain=None))
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    __slots__ = ("_attributes",)
    _attributes: dict[str, AttributeType]

    def __init__(self, /, **attributes: AttributeType) -> None:
        if not attributes:
            raise SchemaError("a schema needs at least one attribute")
        for name, attribute in attributes.items():
            _check_name(name)
            if isinstance(attribute, type) and issubclass(attribute, AttributeType):
                raise SchemaError(f"attribute {name!r} is the class {attribute.__name__}: write it with ()")
            if type(attribute) not in ATTRIBUTE_TYPES.values():
                known = ", ".join(kind.__name__ for kind in ATTRIBUTE_TYPES.values())
                raise SchemaError(f"attribute {name!r} must be one of {known}, got {attribute!r}")
        object.__setattr__(self, "_attributes", dict(attributes))

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names, in order."""
        return tuple(self._attributes)

    def with_attributes(self, /, **more: AttributeType) -> Schema:
        """A new schema with more attributes at the end.

        Examples
        --------
        >>> Schema(price=Number()).with_attributes(halted=Boolean()).names
        ('price', 'halted')
        """
        for name in more:
            if name in self._attributes:
                raise SchemaError(f"attribute {name!r} is there already, as {self._attributes[name]!r}")
        return Schema(**self._attributes, **more)

    def to_json(self) -> str:
        """The schema as JSON text that `from_json` reads.

        Examples
        --------
        >>> Schema(price=Number(domain=(0, 9))).to_json()
        '{"version": 1, "attributes": [{"name": "price", "type": "number", "domain": [0.0, 9.0]}]}'
        """
        rows = [{"name": name, **attribute.to_dict()} for name, attribute in self._attributes.items()]
        return json.dumps({"version": 1, "attributes": rows})

    @classmethod
    def from_json(cls, text: str | bytes) -> Schema:
        """The schema that `to_json` wrote.

        Examples
        --------
        >>> Schema.from_json('{"version": 1, "attributes": [{"name": "x", "type": "integer"}]}')
        Schema(x=Integer(domain=None))
        """
        if not isinstance(text, str | bytes | bytearray):
            raise SchemaError(f"a schema is read from JSON text, got {type(text).__name__}")
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SchemaError(f"not JSON: {error}") from None
        if not isinstance(document, dict) or not isinstance(document.get("attributes"), list):
            raise SchemaError('the JSON of a schema is {"version": 1, "attributes": [...]}')
        if document.get("version") != 1:
            raise SchemaError(f"this release reads schemas of version 1, got {document.get('version')!r}")
        attributes: dict[str, AttributeType] = {}
        for position, row in enumerate(document["attributes"]):
            name, attribute = _from_row(position, row)
            if name in attributes:
                raise SchemaError(f"attribute {name!r} appears twice, the second time at position {position}")
            attributes[name] = attribute
        return cls(**attributes)

    @classmethod
    def from_arrow(cls, arrow_schema: Any) -> Schema:
        """The schema of a table's columns, from a `pyarrow.Schema` or what exports one.

        Floats become `Number`, integers `Integer`, strings and dictionaries of strings `Category`, booleans
        `Boolean`, timestamps and dates `Timestamp`. Any other column is an error that names it.

        Examples
        --------
        >>> import pyarrow as pa
        >>> Schema.from_arrow(pa.schema({"price": pa.float64(), "symbol": pa.string()}))
        Schema(price=Number(domain=None), symbol=Category(domain=None))
        """
        import pyarrow as pa

        if not isinstance(arrow_schema, pa.Schema):
            try:
                arrow_schema = pa.schema(arrow_schema)
            except (TypeError, ValueError, pa.ArrowException) as error:
                raise SchemaError(f"not an Arrow schema: {arrow_schema!r} ({error})") from None
        attributes: dict[str, AttributeType] = {}
        for field in arrow_schema:
            if field.name in attributes:
                raise SchemaError(f"column {field.name!r} appears twice")
            attributes[field.name] = _from_arrow_type(field.name, field.type)
        return cls(**attributes)

    def __getitem__(self, name: str) -> AttributeType:
        try:
            return self._attributes[name]
        except (KeyError, TypeError):
            known = ", ".join(self._attributes)
            raise SchemaError(f"unknown attribute {name!r}; there are {known}") from None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._attributes

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        return tuple(self._attributes.items()) == tuple(other._attributes.items())

    def __hash__(self) -> int:
        return hash(tuple(self._attributes.items()))

    def __repr__(self) -> str:
        if all(name.isidentifier() for name in self._attributes):
            return f"Schema({', '.join(f'{name}={kind!r}' for name, kind in self._attributes.items())})"
        return f"Schema(**{self._attributes!r})"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a schema cannot be changed ({name}); with_attributes makes a new one")

    def __reduce__(self) -> tuple[Any, ...]:
        return Schema.from_json, (self.to_json(),)


def checked_schema(schema: object) -> Schema:
    """`schema`, if it is one.

    Examples
    --------
    >>> checked_schema({"price": "number"})
    Traceback (most recent call last):
    ...
    pubmatch.errors.SchemaError: a pubmatch.Schema is needed, got dict
    """
    if not isinstance(schema, Schema):
        raise SchemaError(f"a pubmatch.Schema is needed, got {type(schema).__name__}")
    return schema


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name or "\x00" in name:
        raise SchemaError(f"an attribute's name must be a non-empty string without NUL, got {name!r}")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise SchemaError(f"an attribute's name must be valid Unicode, got {name!r}") from None


def _from_row(position: int, row: object) -> tuple[str, AttributeType]:
    if not isinstance(row, dict) or not isinstance(row.get("name"), str):
        raise SchemaError(f"attribute {position} of the JSON must be an object with a name, got {row!r}")
    name = row["name"]
    kind = ATTRIBUTE_TYPES.get(row["type"]) if isinstance(row.get("type"), str) else None
    if kind is None:
        raise SchemaError(f"attribute {name!r} has the unknown type {row.get('type')!r}")
    surplus = set(row) - {"name", "type"} - (set() if kind is Boolean else {"domain"})
    if surplus:
        raise SchemaError(f"attribute {name!r} has the unknown key {min(surplus)!r}")
    try:
        return name, kind(**({"domain": row["domain"]} if "domain" in row else {}))
    except SchemaError as error:
        raise SchemaError(f"attribute {name!r}: {error}") from None


def _from_arrow_type(name: str, arrow_type: Any) -> AttributeType:
    from pyarrow import types

    values = arrow_type.value_type if types.is_dictionary(arrow_type) else arrow_type
    if types.is_string(values) or types.is_large_string(values) or types.is_string_view(values):
        return Category()
    if types.is_floating(arrow_type):
        return Number()
    if types.is_integer(arrow_type):
        return Integer()
    if types.is_boolean(arrow_type):
        return Boolean()
    if types.is_timestamp(arrow_type) or types.is_date(arrow_type):
        return Timestamp()
    raise SchemaError(f"column {name!r} has the type {arrow_type}, which no attribute type takes")
