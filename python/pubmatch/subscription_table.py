"""Tables of subscriptions: keys with filter texts, or keys with columns of bounds.

Bounds become filter texts, so that both kinds of table are understood, kept and refused in one way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pubmatch.bound_columns import bound_texts
from pubmatch.encoding.events import table_columns
from pubmatch.errors import ArgumentError, ArgumentTypeError, FilterError, PubmatchError
from pubmatch.filter_texts import MARK
from pubmatch.keys import checked_key, checked_keys
from pubmatch.shown import shown
from pubmatch.text_splitting import split_column, split_texts

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    from pubmatch.filter_texts import FilterTexts
    from pubmatch.keys import Key
    from pubmatch.schema import Schema
    from pubmatch.shapes import Prepared, Shapes

__all__ = ["Refusal", "SubscriptionTable", "read_subscriptions", "refusals_table"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that was not taken."""

    row: int
    key: Any
    filter: str | None
    error: PubmatchError


@dataclass(frozen=True, slots=True, eq=False)
class _BadKey:
    """What a row has for a key and cannot be one."""

    value: Any
    error: PubmatchError


@dataclass(frozen=True, slots=True)
class SubscriptionTable:
    """The rows of a table; where a key is bad in itself, the error stands in its place."""

    keys: list[Key | _BadKey]
    texts: FilterTexts
    bad_filters: dict[int, PubmatchError]

    def prepare(
        self, shapes: Shapes, taken: Mapping[Key, int], collect: bool
    ) -> tuple[list[Key], Prepared, list[Refusal]]:
        """The keys and filters to be added and what was refused; unless `collect`, a refusal is raised.

        Parameters
        ----------
        shapes : Shapes
            What understands the filters.
        taken : mapping
            The other subscriptions by their keys.
        collect : bool
            Whether to go on after a bad row.
        """
        keys, good, refused = self._checked(taken, collect)
        prepared = shapes.prepare(self.texts if good is None else self.texts.take(good), collect)
        for place, error in prepared.refused.items():
            refused[place if good is None else int(good[place])] = error
        refusals = [self._refusal(row, refused[row]) for row in sorted(refused)]
        if refusals and not collect:
            first = refusals[0]
            raise type(first.error)(f"row {first.row}, key {shown(first.key)}: {first.error}") from None
        if prepared.refused:
            keys = [keys[place] for place in prepared.kept.tolist()]
        return keys, prepared, refusals

    def _checked(
        self, taken: Mapping[Key, int], collect: bool
    ) -> tuple[list[Key], NDArray[np.int64] | None, dict[int, PubmatchError]]:
        """Look at all but the filters: the good rows' keys, these rows (None for all), the others' errors.

        Unless `collect`, rows after the first error are not looked at.
        """
        if not self.bad_filters and taken.keys().isdisjoint(self.keys):
            distinct = dict.fromkeys(self.keys)
            if len(distinct) == len(self.keys) and not any(type(key) is _BadKey for key in self.keys):
                return self.keys, None, {}  # type: ignore[return-value]
        refused: dict[int, PubmatchError] = {}
        seen: dict[Key, int] = {}
        for row, key in enumerate(self.keys):
            error = _row_error(key, self.bad_filters.get(row), taken, seen)
            if error is None and not isinstance(key, _BadKey):
                seen[key] = row
                continue
            refused[row] = error  # type: ignore[assignment]
            if not collect:
                break
        return list(seen), np.fromiter(seen.values(), np.int64, len(seen)), refused

    def _refusal(self, row: int, error: PubmatchError) -> Refusal:
        text = None if row in self.bad_filters else self.texts.text(row)
        key = self.keys[row]
        return Refusal(row, key.value if isinstance(key, _BadKey) else key, text, error)


def _row_error(
    key: Key | _BadKey, bad: PubmatchError | None, taken: Container[Key], seen: dict[Key, int]
) -> PubmatchError | None:
    """What is wrong with a row before its filter is looked at; duplicates count the rows taken so far."""
    if isinstance(key, _BadKey):
        return key.error
    if bad is not None:
        return bad
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
    keys = _keys(_objects(columns.pop(key), key))
    bounds = {f"{name}_{side}": (name, side) for name in schema.names for side in ("min", "max")}
    if filter in columns:
        both = [name for name in columns if name in bounds and name != filter]
        if both:
            raise ArgumentError(
                f"table has the column {filter!r} of filters and the column {both[0]!r} of bounds"
            )
        return SubscriptionTable(keys, *_filter_texts(columns[filter], filter))
    for name in columns:
        if name not in bounds:
            raise ArgumentError(
                f"table has no column {filter!r} of filters, and the column {name!r} is no bound: expected "
                "<attribute>_min or <attribute>_max"
            )
    if not columns:
        raise ArgumentError(f"table has neither a column {filter!r} of filters nor columns of bounds")
    ordered = {title: columns[title] for title in bounds if title in columns}
    return SubscriptionTable(keys, *bound_texts(ordered, bounds, schema, rows))


def refusals_table(refused: list[Refusal]) -> pa.Table:
    """The refused rows as an Arrow table."""
    import pyarrow as pa

    keys = [refusal.key for refusal in refused]
    whole = bool(keys) and all(type(key) is int and -(2**63) <= key < 2**63 for key in keys)
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
    if value is None:
        return None
    text = value if isinstance(value, str) else shown(value)
    return text.encode("utf-8", "backslashreplace").decode()


def _listed(columns: dict[str, Any]) -> str:
    return ", ".join(map(repr, columns)) or "none"


def _objects(values: Any, name: str) -> list[Any]:
    """A column's values as Python objects, None where missing."""
    if isinstance(values, list | tuple):
        return list(values)
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, method):
            try:
                found: list[Any] = getattr(values, method)()
            except UnicodeDecodeError:  # only Arrow's strings can fail so
                from pubmatch.encoding.arrow_columns import not_utf8, one_chunk

                raise not_utf8(one_chunk(values, name), name) from None
            return found
    return list(values)


def _keys(values: list[Any]) -> list[Key | _BadKey]:
    try:
        return checked_keys(values)  # type: ignore[return-value]
    except PubmatchError:
        return [_key(value) for value in values]


def _key(value: Any) -> Key | _BadKey:
    try:
        return checked_key(value)
    except PubmatchError as error:
        return _BadKey(value, error)


def _filter_texts(values: Any, name: str) -> tuple[FilterTexts, dict[int, PubmatchError]]:
    """The filters of a column, and the errors of those that are none, in whose place there is any other."""
    column = _text_column(values, name)
    if column is not None:
        return split_column(column), {}
    texts = _objects(values, name)
    errors: dict[int, PubmatchError] = {}
    for row, text in enumerate(texts):
        error = _text_error(text)
        if error is not None:
            errors[row] = error
            texts[row] = "TRUE"
    return split_texts(texts), errors


def _text_column(values: Any, name: str) -> pa.Array | None:
    """An Arrow column of texts, each of which can be split; None for others."""
    if type(values).__module__.partition(".")[0] != "pyarrow":
        return None
    import pyarrow as pa
    import pyarrow.compute as pc

    if not any(test(values.type) for test in (pa.types.is_string, pa.types.is_large_string)):
        return None
    if values.null_count or pc.any(pc.match_substring(values, MARK)).as_py():
        return None
    from pubmatch.encoding.arrow_columns import not_utf8, one_chunk

    column = one_chunk(values.cast(pa.large_string()), name)
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        raise not_utf8(column, name) from None
    return column


def _text_error(text: Any) -> FilterError | None:
    if isinstance(text, str):
        return (
            None if MARK not in text else FilterError(f"a filter must not hold the null character: {text!r}")
        )
    missing = text is None or text != text
    return FilterError("there is no filter" if missing else f"a filter must be text, got {shown(text)}")
