"""Tables of subscriptions: keys with filter texts, or keys with columns of bounds.

Bounds become filter texts, so that both kinds of table are understood, kept and refused in one way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pubmatch.encoding.columns import column_of
from pubmatch.encoding.events import table_columns
from pubmatch.encoding.points import checked_values
from pubmatch.errors import ArgumentError, ArgumentTypeError, FilterError, PubmatchError
from pubmatch.filter_store import MARK, filled
from pubmatch.filters.predicates import name_text
from pubmatch.keys import checked_key
from pubmatch.schema import Boolean, Category, Number, Timestamp
from pubmatch.shapes import split_texts
from pubmatch.timestamps import from_micros, timestamp_text

if TYPE_CHECKING:
    from collections.abc import Container

    import pyarrow as pa

    from pubmatch.encoding.columns import Column
    from pubmatch.keys import Key
    from pubmatch.schema import Schema
    from pubmatch.shapes import Prepared, Row, Shapes

__all__ = ["Refusal", "SubscriptionTable", "read_subscriptions", "refusals_table"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that was not taken."""

    row: int
    key: Any
    filter: str | None
    error: PubmatchError


@dataclass(frozen=True, slots=True)
class _BadKey:
    """What a row has for a key and cannot be one."""

    value: Any
    error: PubmatchError


@dataclass(frozen=True, slots=True)
class SubscriptionTable:
    """The rows of a table; where a key or a filter is bad in itself, the error stands in its place."""

    keys: list[Key | _BadKey]
    filters: list[Row | PubmatchError]

    def prepare(
        self, shapes: Shapes, taken: Container[Key], collect: bool
    ) -> tuple[list[Key], Prepared, list[Refusal]]:
        """The keys and filters to be added and what was refused; unless `collect`, a refusal is raised.

        Parameters
        ----------
        shapes : Shapes
            What understands the filters.
        taken : container
            Keys that other subscriptions have.
        collect : bool
            Whether to go on after a bad row.
        """
        refused: dict[int, PubmatchError] = {}
        seen: dict[Key, int] = {}
        good: list[int] = []
        for row, (key, filter) in enumerate(zip(self.keys, self.filters, strict=True)):
            error = _row_error(key, filter, taken, seen)
            if error is None and not isinstance(key, _BadKey):
                seen[key] = row
                good.append(row)
                continue
            refused[row] = error  # type: ignore[assignment]
            if not collect:
                break
        prepared = shapes.prepare([self.filters[row] for row in good], collect)  # type: ignore[misc]
        refused.update((good[place], error) for place, error in prepared.refused.items())
        refusals = [self._refusal(row, refused[row]) for row in sorted(refused)]
        if refusals and not collect:
            first = refusals[0]
            raise type(first.error)(f"row {first.row}, key {first.key!r}: {first.error}") from None
        keys = list(seen)
        return [keys[place] for place in prepared.kept.tolist()], prepared, refusals

    def _refusal(self, row: int, error: PubmatchError) -> Refusal:
        filter = self.filters[row]
        text = None if isinstance(filter, PubmatchError) else filled(*filter)
        key = self.keys[row]
        return Refusal(row, key.value if isinstance(key, _BadKey) else key, text, error)


def _row_error(
    key: Key | _BadKey, filter: Row | PubmatchError, taken: Container[Key], seen: dict[Key, int]
) -> PubmatchError | None:
    """What is wrong with a row before its filter is looked at; duplicates count the rows taken so far."""
    if isinstance(key, _BadKey):
        return key.error
    if isinstance(filter, PubmatchError):
        return filter
    if key in taken:
        return ArgumentError(f"key {key!r} is taken")
    if key in seen:
        return ArgumentError(f"key {key!r} has row {seen[key]} already")
    return None


def read_subscriptions(table: Any, key: str, filter: str, schema: Schema) -> SubscriptionTable:
    """The rows of a table of subscriptions, as `Matcher.subscribe_many` describes it."""
    for argument, value in (("key", key), ("filter", filter)):
        if not isinstance(value, str):
            raise ArgumentTypeError(f"{argument} must be the name of a column, got {value!r}")
    rows, columns = table_columns(table, None, "table")
    if key not in columns:
        raise ArgumentError(f"table has no column {key!r} of keys; its columns are {_listed(columns)}")
    keys = [_key(value) for value in _objects(columns.pop(key))]
    bounds = {f"{name}_{side}": (name, side) for name in schema.names for side in ("min", "max")}
    if filter in columns:
        both = [name for name in columns if name in bounds and name != filter]
        if both:
            raise ArgumentError(
                f"table has the column {filter!r} of filters and the column {both[0]!r} of bounds"
            )
        return SubscriptionTable(keys, _text_rows(_objects(columns[filter])))
    for name in columns:
        if name not in bounds:
            raise ArgumentError(
                f"table has no column {filter!r} of filters, and the column {name!r} is no bound: expected "
                "<attribute>_min or <attribute>_max"
            )
    if not columns:
        raise ArgumentError(f"table has neither a column {filter!r} of filters nor columns of bounds")
    return SubscriptionTable(keys, _bound_rows(columns, bounds, schema, rows))


def refusals_table(refused: list[Refusal]) -> pa.Table:
    """The refused rows as an Arrow table."""
    import pyarrow as pa

    keys = [refusal.key for refusal in refused]
    whole = all(type(key) is int for key in keys) and bool(keys)
    return pa.table(
        {
            "row": pa.array([refusal.row for refusal in refused], pa.int64()),
            "key": pa.array(
                keys if whole else [_shown(key) for key in keys], pa.int64() if whole else pa.string()
            ),
            "filter": pa.array([_shown(refusal.filter) for refusal in refused], pa.string()),
            "error": pa.array([_shown(str(refusal.error)) for refusal in refused], pa.string()),
        }
    )


def _shown(value: Any) -> str | None:
    """`value` as text that Arrow can hold."""
    return None if value is None else str(value).encode("utf-8", "backslashreplace").decode()


def _listed(columns: dict[str, Any]) -> str:
    return ", ".join(map(repr, columns)) or "none"


def _objects(values: Any) -> list[Any]:
    """A column's values as Python objects, None where missing."""
    if isinstance(values, list | tuple):
        return list(values)
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, method):
            found: list[Any] = getattr(values, method)()
            return found
    return list(values)


def _key(value: Any) -> Key | _BadKey:
    if type(value) is str and value.isascii():
        return value
    try:
        return checked_key(value)
    except PubmatchError as error:
        return _BadKey(value, error)


def _text_rows(texts: list[Any]) -> list[Row | PubmatchError]:
    rows: list[Row | PubmatchError] = [_text_error(text) for text in texts]  # type: ignore[misc]
    good = [place for place, error in enumerate(rows) if error is None]
    for place, row in zip(good, split_texts(texts[place] for place in good), strict=True):
        rows[place] = row
    return rows


def _text_error(text: Any) -> FilterError | None:
    if isinstance(text, str):
        return (
            None if MARK not in text else FilterError(f"a filter must not hold the null character: {text!r}")
        )
    missing = text is None or text != text
    return FilterError("there is no filter" if missing else f"a filter must be text, got {text!r}")


def _bound_rows(
    columns: dict[str, Any], bounds: dict[str, tuple[str, str]], schema: Schema, rows: int
) -> list[Row | PubmatchError]:
    """The filter of each row: one comparison per bound that is there."""
    comparisons: list[list[str]] = [[] for _ in range(rows)]
    literals: list[list[str]] = [[] for _ in range(rows)]
    ordered = [title for title in bounds if title in columns]
    for title in ordered:
        name, side = bounds[title]
        column = column_of(columns[title], title)
        symbol = ">=" if side == "min" else "<="
        part = f"{name_text(name)} {symbol} {MARK}"
        present, texts = _literals(column, schema[name], title, side)
        for row, text in zip(present, texts, strict=True):
            comparisons[row].append(part)
            literals[row].append(text)
    return [
        (" AND ".join(parts), tuple(texts)) if parts else ("TRUE", ())
        for parts, texts in zip(comparisons, literals, strict=True)
    ]


def _literals(column: Column, kind: Any, title: str, side: str) -> tuple[list[int], list[str]]:
    """The rows that have a bound, and the bounds as SQL writes them."""
    if column.kind == "empty":
        return [], []
    values = checked_values(column, kind, title)
    present = np.ones(len(column), np.bool_) if column.missing is None else ~column.missing
    if column.kind == "float":
        # As on the index, an infinite bound is none.
        present = (
            present & ~np.isnan(column.values) & (column.values != (-np.inf if side == "min" else np.inf))
        )
    rows = np.flatnonzero(present)
    found = values[rows].tolist()
    if isinstance(kind, Category):
        words = ["'" + word.replace("'", "''") + "'" for word in column.words or ()]
        texts = [words[place] for place in found]
    elif isinstance(kind, Timestamp):
        texts = [f"'{timestamp_text(from_micros(value))}'" for value in found]
    elif isinstance(kind, Boolean):
        texts = ["TRUE" if value else "FALSE" for value in found]
    elif isinstance(kind, Number):
        texts = [_number_text(value) for value in found]
    else:
        texts = [str(value) for value in found]
    return rows.tolist(), texts


def _number_text(value: float) -> str:
    """A literal that is read as this double; infinities are left to the parser to refuse."""
    text = repr(value)
    return text if "e" in text or "n" in text else text + "e0"
