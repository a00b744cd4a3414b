"""Events of any kind as named columns: lists of dicts, dicts of arrays, pandas, Polars, Arrow, PyCapsule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pubmatch.encoding.columns import Column, column_of
from pubmatch.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["EventColumns", "event_columns", "rereadable", "table_columns"]


@dataclass(frozen=True, slots=True)
class EventColumns:
    """How many events there are, and the columns that were asked for and found."""

    rows: int
    columns: Mapping[str, Column]


def event_columns(events: Any, names: Iterable[str]) -> EventColumns:
    """The columns `names` of `events`; those that are not there are left out, others are ignored.

    Examples
    --------
    >>> found = event_columns([{"price": 1.5}, {"price": None, "more": 1}], ["price", "symbol"])
    >>> found.rows, list(found.columns)
    (2, ['price'])
    """
    if isinstance(events, list | tuple):
        return _from_dicts(events, names)
    rows, columns = table_columns(events, names, "events")
    return EventColumns(rows, {name: column_of(values, name) for name, values in columns.items()})


def table_columns(table: Any, names: Iterable[str] | None, what: str) -> tuple[int, dict[str, Any]]:
    """The number of rows and the columns of a table, in whatever arrays it keeps them.

    Parameters
    ----------
    table : dict of arrays, pandas or Polars frame, Arrow table or record batch, or anything with PyCapsule
        The table.
    names : iterable of str, optional
        The columns wanted, others are not looked at; by default all.
    what : str
        The argument's name, for messages.
    """
    if isinstance(table, Mapping):
        return _from_mapping(table, names, what)
    if _is_pandas(table):
        labels = list(table.columns)
        wanted = labels if names is None else list(names)
        twice = [name for name in wanted if labels.count(name) > 1]
        if twice:
            raise ArgumentError(f"{what} has more than one column {twice[0]!r}")
        return len(table), {name: table[name] for name in wanted if name in labels}
    if hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"):
        return _from_arrow(table, names, what)
    rows = "a list of dicts, " if what == "events" else ""
    raise ArgumentTypeError(
        f"{what} must be {rows}a dict of arrays, a pandas or Polars frame, an Arrow table or "
        f"have the Arrow PyCapsule interface, got {type(table).__name__}"
    )


def rereadable(table: Any) -> Any:
    """`table`, or its rows as an Arrow table if it can be read only once."""
    if isinstance(table, list | tuple | Mapping) or _is_pandas(table) or _is_polars(table):
        return table
    if not hasattr(table, "__arrow_c_stream__"):
        return table
    import pyarrow as pa

    return table if isinstance(table, pa.Table | pa.RecordBatch) else _as_arrow(table, "events")


def _is_polars(table: Any) -> bool:
    return type(table).__module__.partition(".")[0] == "polars" and type(table).__name__ == "DataFrame"


def _is_pandas(table: Any) -> bool:
    return type(table).__module__.partition(".")[0] == "pandas" and hasattr(table, "columns")


def _from_dicts(events: Sequence[Any], names: Iterable[str]) -> EventColumns:
    for row, event in enumerate(events):
        if not isinstance(event, Mapping):
            raise ArgumentTypeError(f"events must be dicts, got {type(event).__name__} at row {row}")
    columns = {}
    for name in names:
        values = [event.get(name) for event in events]
        if any(value is not None for value in values):
            columns[name] = column_of(values, name)
    return EventColumns(len(events), columns)


def _from_mapping(
    table: Mapping[Any, Any], names: Iterable[str] | None, what: str
) -> tuple[int, dict[str, Any]]:
    wanted = list(table) if names is None else [name for name in names if name in table]
    rows: int | None = None
    first = None
    for name in [*wanted, *table]:
        values = table[name]
        if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__"):
            if name not in wanted:
                continue
            hint = "; one event is written [event]" if what == "events" else ""
            raise ArgumentTypeError(
                f"{what} is a dict, so column {name!r} must be an array or a list, got "
                f"{type(values).__name__}{hint}"
            )
        length = _length(values)
        if rows is None:
            rows, first = length, name
        elif length != rows:
            raise ArgumentError(f"{what} has {rows} rows in column {first!r} but {length} in column {name!r}")
    return rows or 0, {name: table[name] for name in wanted}


def _length(values: Any) -> int:
    try:
        return len(values)
    except TypeError:  # a zero-dimensional array
        raise ArgumentTypeError(f"a column must have one dimension, got {values!r}") from None


def _from_arrow(table: Any, names: Iterable[str] | None, what: str) -> tuple[int, dict[str, Any]]:
    import pyarrow as pa

    if names is not None and _is_polars(table):
        wanted = set(names)
        present = [name for name in table.columns if name in wanted]
        if not present:
            return len(table), {}
        table = table.select(present)
    if not isinstance(table, pa.Table | pa.RecordBatch):
        table = _as_arrow(table, what)
    labels = table.schema.names
    places = {name: place for place, name in enumerate(labels)}
    columns = {}
    for name in labels if names is None else names:
        if name not in places:
            continue
        if len(places) < len(labels) and labels.count(name) > 1:
            raise ArgumentError(f"{what} has more than one column {name!r}")
        columns[name] = table.column(places[name])
    return table.num_rows, columns


def _as_arrow(table: Any, what: str) -> Any:
    import pyarrow as pa

    try:
        return pa.table(table) if hasattr(table, "__arrow_c_stream__") else pa.record_batch(table)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ArgumentTypeError(f"{what} cannot be read as an Arrow table: {error}") from None
