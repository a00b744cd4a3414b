"""The cuts of many filters of one template, in columns: for each attribute one row per filter.

Numbers are their own columns. The cuts of other attributes are few different ones, so a column holds their
places in a sorted table, and only the table is converted, checked and given labels.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pubmatch.encoding.axes import LOWEST
from pubmatch.encoding.bounds import bounds_of
from pubmatch.filters.regions import FIRST, TOP
from pubmatch.filters.sides import Side
from pubmatch.schema import Category, Number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pubmatch.encoding.labels import Labels
    from pubmatch.filters.regions import Cut
    from pubmatch.literal_columns import LiteralColumns
    from pubmatch.literal_cuts import LiteralCuts
    from pubmatch.literal_uses import Use

    Column = NDArray[Any]

__all__ = ["CutColumns", "cut_columns"]

_AFTER = {"<": (False,), ">=": (False,), "<=": (True,), ">": (True,), "between": (False, True)}


class CutColumns(Protocol):
    """The cuts that the literals of an attribute make in each row."""

    columns: list[Column]  # ascending as the cuts are
    ends: Any  # two numbers: what stands for the first cut and for the last
    good: NDArray[np.bool_]  # the rows that need no parser
    ways: dict[int, NDArray[np.int64]]  # how the patterns are read, by the number of their use

    def cut(self, number: int, row: int) -> Cut:
        """A cut of a row."""

    def strings(self, start: Column | None, stop: Column | None) -> set[str]:
        """The strings that need labels if these are bounds."""

    def bounds(
        self, start: Column | None, stop: Column | None, labels: Labels | None
    ) -> tuple[NDArray[np.float64] | float, NDArray[np.float64] | float]:
        """The positions of bounds; None is the first cut as a start, the last as a stop."""


def cut_columns(
    uses: Sequence[tuple[int, Use]],
    cuts: LiteralCuts,
    literals: LiteralColumns,
    first_literal: NDArray[np.int64],
) -> CutColumns:
    """The cuts of one attribute.

    Parameters
    ----------
    uses : sequence of (int, Use)
        The conditions on it, with their numbers.
    cuts : LiteralCuts
        What converts its literals.
    literals : LiteralColumns
        The literals of all filters.
    first_literal : ndarray of int64
        The place of each row's first literal.
    """
    kind = _NumberCuts if isinstance(cuts.kind, Number) else _ListedCuts
    return kind(uses, cuts, literals, first_literal)


class _NumberCuts:
    """Cuts of a Number are floats, those at the ends of its domain infinite."""

    ends = (-math.inf, math.inf)

    def __init__(
        self,
        uses: Sequence[tuple[int, Use]],
        cuts: LiteralCuts,
        literals: LiteralColumns,
        first_literal: NDArray[np.int64],
    ) -> None:
        self.columns: list[Column] = []
        self.good = np.ones(len(first_literal), np.bool_)
        self.ways: dict[int, NDArray[np.int64]] = {}
        self._low: float
        self._high: float
        self._low, self._high = cuts.kind.domain or self.ends
        # Of the two ways to write `x <= low` the axis takes the shorter, which is a point or not.
        least = math.nextafter(self._low, math.inf) + 0.0
        self._first_is_point = cuts.kind.domain is not None and not cuts.axis.upper(least)[1]
        for _, use in uses:
            self._add(use, literals, first_literal)

    def _add(self, use: Use, literals: LiteralColumns, first_literal: NDArray[np.int64]) -> None:
        if use.op in ("like", "starts_with") or any(use.times):
            self.good[:] = False
        values = [literals.floats(first_literal + number) + 0.0 for number in use.literals]
        for column in values:
            self.good &= (np.abs(column) < -LOWEST) & (column >= self._low) & (column <= self._high)
        if use.op == "in" and len(values) > 1:
            values = list(np.sort(np.array(values), axis=0))
        if use.op == "between":
            self.columns += [self._cuts(values[0], False), self._cuts(values[1], True)]
            return
        for column in values:
            self.columns += [self._cuts(column, after) for after in _AFTER.get(use.op, (False, True))]

    def _cuts(self, values: Column, after: bool) -> Column:
        if after:
            with np.errstate(all="ignore"):  # the neighbour of 0 is a number, too
                values = np.nextafter(values, math.inf) + 0.0
        if self._low == -math.inf:
            return values
        return np.where(values <= self._low, -math.inf, np.where(values > self._high, math.inf, values))

    def cut(self, number: int, row: int) -> Cut:
        value = float(self.columns[number][row])
        return (2, value) if math.isfinite(value) else TOP if value > 0 else FIRST

    def strings(self, start: Column | None, stop: Column | None) -> set[str]:
        return set()

    def bounds(self, start: Column | None, stop: Column | None, labels: Labels | None) -> tuple[Any, Any]:
        lower: Any = LOWEST if start is None else start
        upper: Any = math.inf
        if stop is not None:
            with np.errstate(all="ignore"):
                upper = np.nextafter(stop, -math.inf)
            if start is None and self._first_is_point:
                lower = np.where(upper == self._low, upper, LOWEST)
        elif start is not None and self._high < math.inf:
            upper = np.where(start == self._high, start, math.inf)
        return lower, upper


class _ListedCuts:
    """Cuts that are places in a sorted table of those that occur."""

    def __init__(
        self,
        uses: Sequence[tuple[int, Use]],
        cuts: LiteralCuts,
        literals: LiteralColumns,
        first_literal: NDArray[np.int64],
    ) -> None:
        self.good = np.ones(len(first_literal), np.bool_)
        self.ways: dict[int, NDArray[np.int64]] = {}
        self._cuts = cuts
        found: list[tuple[list[list[Cut]], NDArray[np.int64]]] = []
        for number, use in uses:
            found += self._read(number, use, literals, first_literal)
        self._table: list[Cut] = sorted(
            {FIRST, TOP, *(cut for rows, _ in found for row in rows for cut in row)}
        )
        place_of = {cut: place for place, cut in enumerate(self._table)}
        self.ends = (0, len(self._table) - 1)
        self.columns: list[Column] = []
        for rows, codes in found:
            places = np.array([[place_of[cut] for cut in row] for row in rows], np.int64)
            self._append(places[codes])

    def _read(
        self, number: int, use: Use, literals: LiteralColumns, first_literal: NDArray[np.int64]
    ) -> list[tuple[list[list[Cut]], NDArray[np.int64]]]:
        """For each set of columns the cuts of every different literal, and which of them each row has."""
        if use.op in ("like", "starts_with"):
            return [self._read_patterns(number, use, literals, first_literal)]
        several = len(use.times) > 1
        found = []
        for place, time in zip(use.literals, use.times, strict=True):
            words, codes = literals.distinct(first_literal + place)
            sides = _AFTER.get(use.op, (False, True))
            if use.op == "between":
                sides = sides[place - use.first :][:1]
            rows, good = [], np.ones(len(words), np.bool_)
            for word_number, word in enumerate(words):
                value = self._cuts.value(word, time, several)
                row = [] if value is None else [self._cuts.cut(value, after) for after in sides]
                good[word_number] = value is not None and self._cuts.are_exact(row)
                rows.append(row if good[word_number] else [FIRST] * len(sides))
            self.good &= good[codes]
            found.append((rows, codes))
        return [_stacked(found)] if use.op == "in" else found

    def _read_patterns(
        self, number: int, use: Use, literals: LiteralColumns, first_literal: NDArray[np.int64]
    ) -> tuple[list[list[Cut]], NDArray[np.int64]]:
        words, codes = literals.distinct(first_literal + use.first)
        tuples = [(word,) for word in words]
        if len(use.times) > 1:
            escapes, escape_codes = literals.distinct(first_literal + use.first + 1)
            pairs, codes = np.unique(codes * len(escapes) + escape_codes, return_inverse=True)
            tuples = [(words[pair // len(escapes)], escapes[pair % len(escapes)]) for pair in pairs.tolist()]  # type: ignore[misc]
        read = [self._cuts.of_pattern(use.op, one) for one in tuples]
        self.good &= np.array([one is not None for one in read], np.bool_)[codes]
        self.ways[number] = np.array([one[0] if one else 0 for one in read], np.int64)[codes]
        return [one[1] if one else [FIRST, FIRST] for one in read], codes

    def _append(self, places: NDArray[np.int64]) -> None:
        """Add columns, given row by row; those of several values of IN sorted, each start before its stop."""
        if places.ndim == 3:
            places = np.sort(places, axis=1).reshape(len(places), -1)
        self.columns += list(places.T)

    def cut(self, number: int, row: int) -> Cut:
        return self._table[int(self.columns[number][row])]

    def strings(self, start: Column | None, stop: Column | None) -> set[str]:
        if not isinstance(self._cuts.kind, Category):
            return set()
        used: set[Any] = set()
        for column, side in ((start, self._cuts.axis.lower), (stop, self._cuts.axis.upper)):
            if column is not None:
                used.update(side(self._table[place][1])[0] for place in np.unique(column).tolist())
        return used

    def bounds(self, start: Column | None, stop: Column | None, labels: Labels | None) -> tuple[Any, Any]:
        axis = self._cuts.axis
        lower: Any = LOWEST
        upper: Any = math.inf
        if start is not None:
            used, codes = np.unique(start, return_inverse=True)
            values = [self._table[place][1] for place in used.tolist()]
            lower = self._positions([axis.lower(value) for value in values], labels, 0)[codes]
            if stop is None:
                last = np.array([axis.after(value) == TOP for value in values], np.bool_)[codes]
                upper = np.where(last, lower, math.inf)
        if stop is not None:
            used, codes = np.unique(stop, return_inverse=True)
            limits = [axis.upper(self._table[place][1]) for place in used.tolist()]
            upper = self._positions(limits, labels, 1)[codes]
            if start is None:
                first = [not is_open and axis.before(value) == FIRST for value, is_open in limits]
                lower = np.where(np.array(first, np.bool_)[codes], upper, LOWEST)
        return lower, upper

    def _positions(
        self, limits: list[tuple[Any, bool]], labels: Labels | None, which: int
    ) -> NDArray[np.float64]:
        sides = (
            [Side(lower=value, lower_open=is_open) for value, is_open in limits]
            if which == 0
            else [Side(upper=value, upper_open=is_open) for value, is_open in limits]
        )
        return np.array([bounds_of(side, self._cuts.kind, labels)[which] for side in sides], np.float64)


def _stacked(
    found: list[tuple[list[list[Cut]], NDArray[np.int64]]],
) -> tuple[list[list[Cut]], NDArray[np.int64]]:
    """Columns of equal kind as one, with codes of two dimensions."""
    rows: list[list[Cut]] = []
    codes = []
    for some, own in found:
        codes.append(own + len(rows))
        rows += some
    return rows, np.stack(codes, axis=1)
