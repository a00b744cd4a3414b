"""Boxes from a table of bounds, for `pubmatch index build`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from pubmatch.cli.output import CommandError
from pubmatch.encoding.columns import column_of
from pubmatch.encoding.points import checked_values
from pubmatch.errors import SchemaError
from pubmatch.schema import Integer, Number
from pubmatch.tables import open_table

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["read_box_table"]

_SIDES = {"_min": -np.inf, "_max": np.inf}


def read_box_table(path: Path) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64] | None]:
    """Lower and upper bounds, infinite where missing, and the ids in the column `key` if there is one.

    The dimensions are the attributes in the order in which the table has them.
    """
    table = open_table(path).read()
    bounds = [name for name in table.schema.names if name != "key"]
    strange = [name for name in bounds if name[-4:] not in _SIDES]
    if strange or not bounds:
        raise CommandError(
            f"{path}: an index is built from columns <attribute>_min, <attribute>_max and key, "
            f"got {', '.join(map(repr, strange)) or 'no bounds'}"
        )
    dimension = {name: place for place, name in enumerate(dict.fromkeys(name[:-4] for name in bounds))}
    corners = {side: np.full((table.num_rows, len(dimension)), none) for side, none in _SIDES.items()}
    try:
        for name in bounds:
            values, missing = _numbers(table, name)
            corners[name[-4:]][~missing, dimension[name[:-4]]] = values[~missing]
        ids = _ids(table) if "key" in table.schema.names else None
    except SchemaError as error:
        raise CommandError(f"{path}: {error}") from error
    return corners["_min"], corners["_max"], ids


def _numbers(table: pa.Table, name: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """A column as float64, if that is exact, and which rows have no value."""
    column = column_of(table.column(name), name)
    if column.kind == "empty":
        return np.zeros(len(column)), np.ones(len(column), np.bool_)
    values = checked_values(column, Number(), name)
    missing = np.isnan(values)
    return values, missing if column.missing is None else missing | column.missing


def _ids(table: pa.Table) -> NDArray[np.int64]:
    column = column_of(table.column("key"), "key")
    if column.kind != "integer" or column.missing is not None:
        raise SchemaError(f"column 'key' is {column.type_name}: an index takes an integer for every box")
    return checked_values(column, Integer(), "key")
