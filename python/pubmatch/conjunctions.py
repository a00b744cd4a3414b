"""The boxes of many filters at once, from the plans of their templates.

`Comparisons` turns the literals of all rows into columns, one per attribute and operator. It only takes what
is certain: whatever is unusual about a literal sends the row to the parser, which knows all of SQL and words
the errors.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pubmatch.encoding.axes import LARGEST_BOUND, LOWEST, encode_integers
from pubmatch.encoding.bounds import unconstrained
from pubmatch.errors import ArgumentError
from pubmatch.filters.patterns import prefix_end
from pubmatch.literal_columns import LiteralColumns
from pubmatch.schema import Category, Integer, Number
from pubmatch.timestamps import parse_timestamp, to_micros

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pubmatch.encoding.labels import Labels
    from pubmatch.filter_texts import FilterTexts
    from pubmatch.plans import Plan
    from pubmatch.schema import Schema

__all__ = ["Comparisons"]

_INTEGER = re.compile(r"-?[0-9]+\Z")
_EXACT = 2.0**53
# Upper bounds come first: where there is no lower one, any value will do that is not missing.
_ORDER = ("<", "<=", "like", "=", ">", ">=")


class _Words(NamedTuple):
    """Bounds that are strings: for each box the place of its word."""

    name: str
    op: str
    boxes: NDArray[np.int64]
    words: list[str]
    places: NDArray[np.int64]


class Comparisons:
    """The boxes of all rows whose templates have plans.

    Parameters
    ----------
    schema : Schema
        The attributes.
    texts : FilterTexts
        The filters.
    plans : sequence of (Plan or None)
        The plan of each of the texts' templates.

    Attributes
    ----------
    planned : ndarray of bool
        The rows that need no parser.
    """

    def __init__(self, schema: Schema, texts: FilterTexts, plans: Sequence[Plan | None]) -> None:
        self._schema = schema
        box_counts = np.array([len(plan.boxes) if plan else 0 for plan in plans], np.int64)
        counts = box_counts[texts.template_of]
        self.planned = counts > 0
        self._row_of = np.repeat(np.arange(len(texts)), counts)
        self._words: list[_Words] = []
        self._lower, self._upper = unconstrained(len(self._row_of), schema)
        if len(self._row_of):
            self._convert(texts, plans, np.cumsum(counts) - counts)

    @property
    def owner(self) -> NDArray[np.int64]:
        """The row of each box."""
        return self._row_of[self.planned[self._row_of]]

    def strings(self) -> dict[str, set[str]]:
        """The strings that need labels, by attribute."""
        found: dict[str, set[str]] = {}
        for name, _, boxes, words, places in self._words:
            used = np.unique(places[self.planned[self._row_of[boxes]]]).tolist()
            if used:
                found.setdefault(name, set()).update(words[place] for place in used)
        return found

    def encode(self, labels: Mapping[str, Labels]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The bounds of the boxes, in the order of `owner`."""
        for name, op, boxes, words, places in self._words:
            is_open = op in ("<", ">")
            bound = labels[name].upper if op in ("<", "<=") else labels[name].lower
            known = np.array([bound(word, is_open) for word in words], np.float64)
            self._put(name, op, boxes, known[places])
        kept = self.planned[self._row_of]
        if kept.all():
            return self._lower, self._upper
        return self._lower[kept], self._upper[kept]

    def _convert(
        self, texts: FilterTexts, plans: Sequence[Plan | None], first_box: NDArray[np.int64]
    ) -> None:
        literals = LiteralColumns(texts)
        apart = [number for number, plan in enumerate(plans) if plan and plan.apart]
        values = np.zeros(len(literals)) if apart else None
        first_literal = np.cumsum(texts.literal_counts()) - texts.literal_counts()
        columns = _columns(texts.template_of, plans, first_box, first_literal)
        for (name, op), (boxes, places) in sorted(columns.items(), key=lambda one: _ORDER.index(one[0][1])):
            kind = self._schema[name]
            if isinstance(kind, Category):
                words, numbers = literals.distinct(places)
                good = self._take_words(name, op, boxes, words, numbers)
                found = numbers.astype(np.float64)
            else:
                found, good = _positions(literals, places, kind, op)
                self._put(name, op, boxes, found)
            self.planned[self._row_of[boxes[~good]]] = False
            if values is not None and op == "=":
                values[places] = found
        for name in {name for name, _ in columns}:
            dimension = self._schema.names.index(name)
            crossed = self._lower[:, dimension] > self._upper[:, dimension]
            self.planned[self._row_of[crossed]] = False
        if values is not None:
            self._check_apart(texts, plans, apart, values, first_literal)

    def _put(self, name: str, op: str, boxes: NDArray[np.int64], positions: NDArray[np.float64]) -> None:
        """Narrow boxes to one side of `positions`."""
        dimension = self._schema.names.index(name)
        if op in ("<", "<=", "="):
            self._upper[boxes, dimension] = positions
        self._lower[boxes, dimension] = LOWEST if op in ("<", "<=") else positions

    def _take_words(
        self, name: str, op: str, boxes: NDArray[np.int64], literals: list[str], places: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Keep string bounds until there are labels, and tell which are fit for it."""
        words = [literal[1:-1].replace("''", "'") for literal in literals]
        fit = [literal[0] == "'" and _is_text(literal) for literal in literals]
        if op == "like":
            ends = [_end_of_prefix(word) for word in words]
            fit = [good and end is not None for good, end in zip(fit, ends, strict=True)]
            self._words.append(_Words(name, "<", boxes, [end or "" for end in ends], places))
            self._words.append(_Words(name, ">=", boxes, [word[:-1] for word in words], places))
        else:
            if op != "=":  # nothing is less than the empty string, so its bounds are special
                fit = [good and word != "" for good, word in zip(fit, words, strict=True)]
            self._words.append(_Words(name, op, boxes, words, places))
        return np.array(fit, np.bool_)[places]

    def _check_apart(
        self,
        texts: FilterTexts,
        plans: Sequence[Plan | None],
        numbers: Sequence[int],
        values: NDArray[np.float64],
        first_literal: NDArray[np.int64],
    ) -> None:
        """Leave rows to the parser whose IN holds a value twice, or neighbours, which are one box."""
        order = np.argsort(texts.template_of, kind="stable")
        sorted_numbers = texts.template_of[order]
        for number in numbers:
            rows = order[slice(*np.searchsorted(sorted_numbers, [number, number + 1]))]
            for name, places in plans[number].apart:  # type: ignore[union-attr]
                listed = np.sort(values[first_literal[rows][:, None] + np.array(places)], axis=1)
                low, high = listed[:, :-1], listed[:, 1:]
                kind = self._schema[name]
                if isinstance(kind, Number):
                    fine = np.nextafter(low, math.inf) < high
                elif isinstance(kind, Category):
                    fine = low < high
                else:
                    fine = (high - low > 1) & (np.abs(low) < _EXACT) & (np.abs(high) < _EXACT)
                self.planned[rows[~fine.all(axis=1)]] = False


def _columns(
    template_of: NDArray[np.int32],
    plans: Sequence[Plan | None],
    first_box: NDArray[np.int64],
    first_literal: NDArray[np.int64],
) -> dict[tuple[str, str], tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """For every attribute and operator the boxes it bounds and the literals it does so with."""
    number_of: dict[tuple[str, str], int] = {}
    entries = [
        (box, literal, number_of.setdefault((name, op), len(number_of)))
        for plan in plans
        if plan
        for box, comparisons in enumerate(plan.boxes)
        for name, op, literal in comparisons
    ]
    table = np.array(entries, np.int64)
    sizes = np.array([sum(map(len, plan.boxes)) if plan else 0 for plan in plans], np.int64)
    starts = np.cumsum(sizes) - sizes
    counts = sizes[template_of]
    ends = np.cumsum(counts)
    entry = np.repeat(starts[template_of] - ends + counts, counts)
    entry += np.arange(len(entry))
    boxes = np.repeat(first_box, counts) + table[entry, 0]
    places = np.repeat(first_literal, counts) + table[entry, 1]
    numbers = table[:, 2].astype(np.uint16)[entry]
    order = np.argsort(numbers, kind="stable")
    cuts = np.searchsorted(numbers[order], np.arange(1, len(number_of)))
    parts = zip(np.split(boxes[order], cuts), np.split(places[order], cuts), strict=True)
    return dict(zip(number_of, parts, strict=True))


def _positions(
    literals: LiteralColumns, places: NDArray[np.int64], kind: Any, op: str
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Positions on the axis, and which literals were fit for it."""
    if isinstance(kind, Number):
        numbers = literals.floats(places) + 0.0
        good = np.abs(numbers) < -LOWEST
        towards = {"<": -math.inf, ">": math.inf}.get(op)
        if towards is not None:
            with np.errstate(all="ignore"):  # the neighbour of 0 is a number, too
                numbers = np.nextafter(numbers, towards)
        return numbers, good
    words, codes = literals.distinct(places)
    convert = _integer if isinstance(kind, Integer) else _microseconds
    whole = [convert(word) for word in words]
    good = np.array([number is not None for number in whole], np.bool_)
    step = {"<": -1, ">": 1}.get(op, 0)
    positions = encode_integers(np.array([(number or 0) + step for number in whole], np.int64))
    return positions[codes], good[codes]


def _end_of_prefix(pattern: str) -> str | None:
    """The first string after all that a LIKE pattern means; None if it is not simply a prefix."""
    prefix = pattern[:-1]
    if not pattern.endswith("%") or not prefix or "%" in prefix or "_" in prefix:
        return None
    return prefix_end(prefix)


def _is_text(literal: str) -> bool:
    """Whether the literal is valid Unicode, as the parser demands."""
    return literal.isascii() or not any("\ud800" <= character <= "\udfff" for character in literal)


def _integer(literal: str) -> int | None:
    if _INTEGER.match(literal) is None or len(literal) > 20:
        return None
    number = int(literal)
    return number if abs(number) < LARGEST_BOUND else None


def _microseconds(literal: str) -> int | None:
    if literal[0] != "'":
        return None
    try:
        return to_micros(parse_timestamp(literal[1:-1]))
    except ArgumentError:
        return None
