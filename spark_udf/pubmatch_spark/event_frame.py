"""The columns of a DataFrame of events, checked against a schema on the driver, before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pubmatch.errors import ArgumentError, ArgumentTypeError, SchemaError
from pubmatch.schema import Boolean, Category, Integer, Number, Timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType

    from pubmatch.schema import Schema

    Function = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

__all__ = ["EventFrame", "column_type", "mapped_in_arrow", "named", "read_frame"]

# Spark's names of the types each attribute takes, and how that is told.
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_NUMBERS = ("double", "float", *_WHOLE)
_TAKES: dict[type, tuple[tuple[str, ...], str]] = {
    Number: (_NUMBERS, "a Number takes floats and integers"),
    Integer: (_NUMBERS, "an Integer takes integers and whole floats"),
    Category: (("string",), "a Category takes strings"),
    Boolean: (("boolean",), "a Boolean takes booleans"),
    Timestamp: (("timestamp", "timestamp_ntz", "date"), "a Timestamp takes timestamps and dates"),
}
_ARRAYS = ("array<double>", "array<float>")


@dataclass(frozen=True, slots=True)
class EventFrame:
    """What of a DataFrame is sent to the matcher.

    Attributes
    ----------
    rows : DataFrame
        The id column first, if there is one, then the attributes, or the one array of them.
    id_type : DataType
        The type of the id column; void without one.
    array_col : str or None
        The column that holds all attributes in schema order; None if each has its own.
    """

    rows: DataFrame
    id_type: DataType
    array_col: str | None


def read_frame(
    events: DataFrame,
    schema: Schema,
    id_col: str | None,
    array_col: str | None = None,
    missing: str = "error",
    advise: bool = True,
) -> EventFrame:
    """The columns of `events` that matching needs.

    Parameters
    ----------
    events : DataFrame
        Batch or streaming.
    schema : Schema
        The attributes, found by name.
    id_col : str or None
        The column that names events in results; None if there are no results to name them in.
    array_col : str, optional
        A column of arrays of doubles: the attributes in schema order. By default the only column beside
        `id_col`, if it is one and no attribute is called so.
    missing : {"error", "absent"}
        What a column that is not there means.
    advise : bool
        Whether the error about such a column tells of `missing`, as it should where the user can give it.

    Raises
    ------
    SchemaError
        A column is not there, is there twice, or has a type its attribute does not take.
    """
    from pyspark.sql.types import NullType

    types = _types(events)
    if missing not in ("error", "absent"):
        raise ArgumentError(f"missing must be 'error' or 'absent', got {missing!r}")
    id_type = NullType() if id_col is None else _one_of(types, id_col, "id_col")
    array = _array_column(types, schema, id_col, array_col)
    if array is None:
        wanted = _attributes(types, schema, missing, advise)
    else:
        wanted = [array]
        _check_array_schema(schema, array)
    ids = [] if id_col is None else [id_col]
    names = [*ids, *(name for name in wanted if name != id_col)]
    return EventFrame(events.select(*map(named, names)), id_type, array)


def column_type(events: DataFrame, name: str, argument: str) -> DataType:
    """The type of the column that `argument` names.

    Raises
    ------
    SchemaError
        It is not there, or is there twice.
    """
    found: DataType = _one_of(_types(events), name, argument)
    return found


def named(name: str) -> Column:
    """The column of exactly that name, whatever characters it has."""
    from pyspark.sql import functions

    return functions.col(f"`{name.replace('`', '``')}`")


def mapped_in_arrow(rows: DataFrame, function: Function, result: StructType | str) -> DataFrame:
    """What `function` makes of the batches of `rows`, whatever characters the names of columns have.

    Spark's `mapInArrow` looks columns up by name and fails on names with dots or backticks.
    """
    names = rows.columns
    plain = rows.toDF(*(f"c{place}" for place in range(len(names))))

    def renamed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return function(batch.rename_columns(names) for batch in batches)

    return plain.mapInArrow(renamed, result)


def _types(events: DataFrame) -> dict[str, list[Any]]:
    """The types of all columns by name; Spark allows the same name twice."""
    if not hasattr(events, "mapInArrow") or not hasattr(events, "columns"):
        raise ArgumentTypeError(f"events must be a Spark DataFrame, got {type(events).__name__}")
    types: dict[str, list[Any]] = {}
    for field in events.schema.fields:
        types.setdefault(field.name, []).append(field.dataType)
    return types


def _one_of(types: dict[str, list[Any]], name: object, argument: str) -> Any:
    if not isinstance(name, str):
        raise ArgumentTypeError(f"{argument} must be the name of a column, got {name!r}")
    found = types.get(name, [])
    if len(found) != 1:
        raise SchemaError(f"{argument}: {_how_often(types, name)}")
    return found[0]


def _how_often(types: dict[str, list[Any]], name: str) -> str:
    if name in types:
        return f"events have {len(types[name])} columns {name!r}"
    return f"events have no column {name!r}; there are {', '.join(types)}"


def _array_column(
    types: dict[str, list[Any]], schema: Schema, id_col: str | None, array_col: str | None
) -> str | None:
    if array_col is not None:
        kind = _one_of(types, array_col, "array_col").simpleString()
        if kind not in _ARRAYS:
            raise SchemaError(f"array_col: column {array_col!r} is {kind}, expected array<double>")
        return array_col
    others = [name for name in types if name != id_col]
    if id_col is None and not any(name in types for name in schema.names):
        # There may be an id nevertheless.
        others = [name for name in others if types[name][0].simpleString() in _ARRAYS]
    if len(others) == 1 and others[0] not in schema and types[others[0]][0].simpleString() in _ARRAYS:
        return others[0]
    return None


def _check_array_schema(schema: Schema, array: str) -> None:
    for name in schema.names:
        if not isinstance(schema[name], Number | Integer):
            raise SchemaError(
                f"column {array!r} holds numbers, but attribute {name!r} is {schema[name].noun}: "
                "give each attribute a column"
            )


def _attributes(types: dict[str, list[Any]], schema: Schema, missing: str, advise: bool) -> list[str]:
    """The attributes that have a column, each of a type that fits."""
    absent = [name for name in schema.names if name not in types]
    if absent and missing == "error":
        advice = "; missing='absent' takes the attribute as absent in every event" if advise else ""
        raise SchemaError(f"{_how_often(types, absent[0])}{advice}")
    wanted = [name for name in schema.names if name in types]
    for name in wanted:
        kind = _one_of(types, name, "attribute").simpleString()
        accepted, rule = _TAKES[type(schema[name])]
        # A string may carry its collation; comparison is by code points in any case.
        if kind not in (*accepted, "void") and kind.partition(" ")[0] not in accepted:
            raise SchemaError(f"column {name!r} is {kind}: {rule}")
    return wanted
