"""The columns of a DataFrame of subscriptions, checked on the driver, before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pubmatch.errors import ArgumentError, ArgumentTypeError, SchemaError
from pubmatch.schema import Number, Schema, checked_schema
from pubmatch_spark.event_frame import named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["FILTER", "KEY", "SubscriptionFrame", "read_subscription_frame"]

KEY, FILTER = "key", "filter"
_SIDES = ("_min", "_max")
_WHOLE = ("tinyint", "smallint", "int", "bigint")


@dataclass(frozen=True, slots=True)
class SubscriptionFrame:
    """What of a DataFrame is sent to the matcher.

    Attributes
    ----------
    rows : DataFrame
        The key, and the filter or the bounds.
    schema : Schema
        The attributes, given or found.
    key_type : {"string", "int64"}
        The type of keys in results.
    """

    rows: DataFrame
    schema: Schema
    key_type: str


def read_subscription_frame(subscriptions: DataFrame, schema: Schema | None) -> SubscriptionFrame:
    """The columns of `subscriptions` that a matcher needs.

    Raises
    ------
    ArgumentError
        A column is not there, or means nothing.
    SchemaError
        There are filters and no schema, or a bound has the wrong type.
    """
    if not hasattr(subscriptions, "mapInArrow") or not hasattr(subscriptions, "columns"):
        raise ArgumentTypeError(
            f"subscriptions must be a Spark DataFrame, got {type(subscriptions).__name__}"
        )
    if subscriptions.isStreaming:
        raise ArgumentTypeError("subscriptions must not be a stream: shards are built once")
    names = subscriptions.columns
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ArgumentError(f"subscriptions have more than one column {twice[0]!r}")
    if KEY not in names:
        raise ArgumentError(f"subscriptions have no column {KEY!r}; there are {', '.join(names)}")
    kind = _key_type(subscriptions.schema[KEY].dataType.simpleString())
    if FILTER in names:
        if schema is None:
            raise SchemaError(f"the column {FILTER!r} needs a schema, to tell what its attributes are")
        wanted = [KEY, FILTER, *_bounds(names, checked_schema(schema))]
    else:
        schema = _schema_of(subscriptions) if schema is None else checked_schema(schema)
        wanted = [KEY, *_all_bounds(names, schema)]
    return SubscriptionFrame(subscriptions.select(*map(named, wanted)), schema, kind)


def _key_type(kind: str) -> str:
    if kind in _WHOLE:
        return "int64"
    if kind == "string":
        return kind
    raise ArgumentTypeError(f"column {KEY!r} is {kind}: keys are strings or integers")


def _bounds(names: list[str], schema: Schema) -> list[str]:
    known = {f"{name}{side}" for name in schema.names for side in _SIDES}
    found = [name for name in names if name in known]
    if found and FILTER in names:
        raise ArgumentError(
            f"subscriptions have the column {FILTER!r} of filters and the column {found[0]!r} of bounds"
        )
    return found


def _all_bounds(names: list[str], schema: Schema) -> list[str]:
    """All columns but the key, each of which must be a bound."""
    found = _bounds(names, schema)
    strange = [name for name in names if name != KEY and name not in found]
    if strange:
        raise ArgumentError(
            f"subscriptions have no column {FILTER!r}, and the column {strange[0]!r} is no bound: expected "
            "<attribute>_min or <attribute>_max"
        )
    if not found:
        raise ArgumentError(f"subscriptions have neither a column {FILTER!r} nor columns of bounds")
    return found


def _schema_of(subscriptions: DataFrame) -> Schema:
    """The attributes that have bounds, as Numbers, in the order of the columns."""
    attributes: dict[str, Number] = {}
    for field in subscriptions.schema.fields:
        name, side = field.name[:-4], field.name[-4:]
        if side not in _SIDES or not name or field.name == KEY:
            continue
        kind = field.dataType.simpleString()
        if kind not in ("double", "float", *_WHOLE, "void"):
            raise SchemaError(
                f"column {field.name!r} is {kind}: bounds of other types than numbers need a schema"
            )
        attributes[name] = Number()
    if not attributes:
        raise ArgumentError(f"subscriptions have neither a column {FILTER!r} nor columns of bounds")
    return Schema(**attributes)
