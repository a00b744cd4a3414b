"""Columns of bounds as filter texts: one comparison for every bound that is there.

A row's template follows from which bounds it has, and its literals are the bounds as SQL writes them. A bound
that no filter can have makes its row a bad one; a column of the wrong type is an error of the whole table.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from pubmatch.distinct import distinct_rows
from pubmatch.encoding.columns import column_of
from pubmatch.encoding.points import checked_values, has_values, row_error
from pubmatch.errors import FilterError
from pubmatch.filter_texts import MARK, SURROGATES, FilterTexts
from pubmatch.filters.predicates import name_text
from pubmatch.schema import Boolean, Category, Number, Timestamp
from pubmatch.timestamps import from_micros, timestamp_text, to_micros

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from pubmatch.encoding.columns import Column
    from pubmatch.errors import PubmatchError
    from pubmatch.schema import Schema

__all__ = ["bound_texts"]

_UNBOUNDED = {"min": -np.inf, "max": np.inf}
_FIRST_MOMENT = to_micros(datetime.min.replace(tzinfo=UTC))
_LAST_MOMENT = to_micros(datetime.max.replace(tzinfo=UTC))


def bound_texts(
    columns: Mapping[str, Any], bounds: Mapping[str, tuple[str, str]], schema: Schema, rows: int
) -> tuple[FilterTexts, dict[int, PubmatchError]]:
    r"""The filter of each row of a table of bounds, and the errors of rows that have a bad bound.

    Parameters
    ----------
    columns : mapping
        The columns by their titles, in the order of the comparisons.
    bounds : mapping
        The attribute of each title, and the side: "min" or "max".
    schema : Schema
        The attributes.
    rows : int
        How many rows there are.

    Examples
    --------
    >>> from pubmatch.schema import Number, Schema
    >>> columns = {"x_min": [1.5, None], "x_max": [2.5, 7.0]}
    >>> bounds = {"x_min": ("x", "min"), "x_max": ("x", "max")}
    >>> texts, errors = bound_texts(columns, bounds, Schema(x=Number()), 2)
    >>> texts.text(0), texts.text(1)
    ('x >= 1.5e0 AND x <= 2.5e0', 'x <= 7e0')
    """
    import pyarrow as pa

    present = np.zeros((rows, len(columns)), np.bool_, order="F")
    parts: list[str] = []
    literals = [pa.array([], pa.large_binary())]
    bad = _BadRows(rows)
    for place, (title, values) in enumerate(columns.items()):
        name, side = bounds[title]
        column = column_of(values, title)
        parts.append(f"{name_text(name)} {'>=' if side == 'min' else '<='} {MARK}")
        if has_values(column, schema[name]):
            known = checked_values(column, schema[name], title, bad.note)
            bad.check(column, known, schema[name], title, side)
            present[:, place] = there = _present(column, side) & ~bad.rows
            literals.append(_literals(known[there], schema[name], column.words))
    _, first, template_of = distinct_rows(present)
    templates = [
        " AND ".join(part for part, there in zip(parts, flags, strict=True) if there) or "TRUE"
        for flags in present[first].tolist()
    ]
    ends, data = _packed(pa.concat_arrays(literals), present)
    return FilterTexts(templates, template_of.astype(np.int32), ends, data), bad.errors


class _BadRows:
    """The rows that have a bound that no filter can have, and the first error of each."""

    def __init__(self, count: int) -> None:
        self.rows = np.zeros(count, np.bool_)
        self.errors: dict[int, PubmatchError] = {}

    def note(self, wrong: NDArray[np.bool_], column: Column, title: str, rule: str) -> None:
        """Take down the rows that are wrong: their values do not fit the attribute."""
        for row in np.flatnonzero(wrong).tolist():
            self.errors.setdefault(row, row_error(row, column, title, rule))
        self.rows |= wrong

    def _refuse(self, wrong: NDArray[np.bool_], column: Column, title: str, rule: str) -> None:
        """Take down the rows that are wrong: no filter compares with their values."""
        for row in np.flatnonzero(wrong).tolist():
            self.errors.setdefault(row, FilterError(str(row_error(row, column, title, rule))))
        self.rows |= wrong

    def check(self, column: Column, values: NDArray[Any], kind: Any, title: str, side: str) -> None:
        """Take down rows whose bound cannot be written as SQL."""
        if isinstance(kind, Number):
            wrong = np.isinf(column.values) if column.kind == "float" else np.zeros(len(column), np.bool_)
            wrong &= column.values != _UNBOUNDED[side]
            self._refuse(wrong, column, title, "is no bound that a value could reach")
        elif isinstance(kind, Timestamp):
            far = ((values < _FIRST_MOMENT) | (values > _LAST_MOMENT)) & ~column.is_missing()
            self._refuse(far, column, title, "lies outside the years 1 to 9999")
        elif column.words is not None and any(MARK in word for word in column.words):
            marked = np.array([MARK in word for word in column.words], np.bool_)
            self._refuse(marked[values] & ~column.is_missing(), column, title, "holds the null character")


def _packed(literals: pa.Array, present: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Literals that are given column by column, row by row with marks between those of one row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    counts = present.sum(axis=1)
    if not len(literals):
        return np.zeros(len(counts), np.int64), np.empty(0, np.uint8)
    numbers = np.empty(len(literals), np.int64)
    place, done = np.cumsum(counts) - counts, 0  # of each row's next literal, and how many have theirs
    for there in present.T:
        rows = np.flatnonzero(there)
        numbers[place[rows]] = np.arange(done, done + len(rows))
        place[rows] += 1
        done += len(rows)
    nothing, mark = pa.scalar(b"", pa.large_binary()), pa.scalar(MARK.encode(), pa.large_binary())
    marked = pc.binary_join_element_wise(literals.take(numbers), nothing, mark)
    literal_ends = np.frombuffer(marked.buffers()[1], np.int64)[1 : len(literals) + 1]
    data = np.frombuffer(marked.buffers()[2], np.uint8)[: literal_ends[-1]]
    last = np.cumsum(counts)[counts > 0] - 1
    kept = np.ones(len(data), np.bool_)
    kept[literal_ends[last] - 1] = False  # no mark after the last one of a row
    sizes = np.zeros(len(counts), np.int64)
    sizes[counts > 0] = np.diff(literal_ends[last], prepend=0) - 1
    return np.cumsum(sizes), data[kept]


def _present(column: Column, side: str) -> NDArray[np.bool_]:
    """The rows that have a bound."""
    present = np.ones(len(column), np.bool_) if column.missing is None else ~column.missing
    if column.kind == "float":
        # As on the index, an infinite bound is none.
        present &= ~np.isnan(column.values) & (column.values != _UNBOUNDED[side])
    return present


def _literals(values: NDArray[Any], kind: Any, words: Sequence[str] | None) -> pa.Array:
    """Bounds as SQL writes them, in UTF-8."""
    import pyarrow as pa

    if isinstance(kind, Number):
        return _number_literals(values)
    if isinstance(kind, Category):
        return _listed(["'" + word.replace("'", "''") + "'" for word in words or ()], values)
    if isinstance(kind, Boolean):
        return _listed(["FALSE", "TRUE"], values.astype(np.int64))
    if isinstance(kind, Timestamp):
        moments, places = np.unique(values, return_inverse=True)
        return _listed([f"'{timestamp_text(from_micros(micros))}'" for micros in moments.tolist()], places)
    return pa.array(values, pa.int64()).cast(pa.large_string()).cast(pa.large_binary())


def _listed(texts: list[str], places: NDArray[Any]) -> pa.Array:
    import pyarrow as pa

    known = pa.array([text.encode("utf-8", SURROGATES) for text in texts], pa.large_binary())
    return known.take(pa.array(places, pa.int64()))


def _number_literals(values: NDArray[np.float64]) -> pa.Array:
    """Literals that are read as exactly these doubles."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pa.array(values, pa.float64()).cast(pa.large_string())
    nothing, exponent = pa.scalar("", pa.large_string()), pa.scalar("e0", pa.large_string())
    as_is = pc.match_substring(texts, "e")
    with_exponent = pc.binary_join_element_wise(texts, nothing, exponent)
    if pc.any(as_is).as_py():
        with_exponent = pc.if_else(as_is, texts, with_exponent)
    return with_exponent.cast(pa.large_binary())
