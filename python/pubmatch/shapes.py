"""Filters understood shape by shape, so that equal shapes are understood once.

Three ways lead from texts to boxes. Simple templates have plans that need no parser at all, and all their
rows are converted together (`plans`, `conjunctions`). For others one text of every template and order of
literals is parsed: many rows of one template are then converted in columns (`ordered_boxes`), few of them one
by one (`cut_orders`). What is unusual goes through the parser row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pubmatch.conjunctions import Comparisons
from pubmatch.cut_orders import CutOrders
from pubmatch.encoding.bounds import check_boxes, encode_boxes, strings_in
from pubmatch.errors import FilterError
from pubmatch.filter_texts import filled
from pubmatch.filters import boxes, parse
from pubmatch.filters.products import TooManyBoxes, too_many
from pubmatch.ordered_boxes import OrderedBoxes
from pubmatch.plans import plan_of, simple_attributes
from pubmatch.shown import shown_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from pubmatch.attributes import AttributeType
    from pubmatch.cut_orders import Template
    from pubmatch.encoding.labels import Labels
    from pubmatch.filter_texts import FilterTexts
    from pubmatch.filters.sides import Side
    from pubmatch.plans import Plan
    from pubmatch.schema import Schema

    Row = tuple[str, tuple[str, ...]]

__all__ = ["Prepared", "Shapes"]

_FEW = 16  # rows that are not worth columns


class _Boxes(Protocol):
    """Boxes that wait for labels."""

    @property
    def owner(self) -> NDArray[np.int64]:
        """The row of each box."""

    def strings(self) -> dict[str, set[str]]:
        """The strings that need labels, by attribute."""

    def encode(self, labels: Mapping[str, Labels]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The bounds of the boxes, in the order of `owner`."""


@dataclass(slots=True)
class Prepared:
    """Filters understood and checked, to be encoded as soon as their strings have labels.

    Attributes
    ----------
    texts : FilterTexts
        The filters that were taken.
    kept : ndarray of int64
        Which of the given filters these are.
    refused : dict
        The errors of the others, by row.
    owner : ndarray of int64
        For each box the number of its filter in `texts`.
    strings : dict
        The strings that need labels, by attribute.
    """

    texts: FilterTexts
    kept: NDArray[np.int64]
    refused: dict[int, FilterError]
    owner: NDArray[np.int64]
    strings: dict[str, set[str]]
    _parts: Sequence[_Boxes]

    def encode(self, labels: Mapping[str, Labels]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The bounds of all boxes, in the order of `owner`."""
        bounds = [part.encode(labels) for part in self._parts]
        if len(bounds) == 1:
            return bounds[0]
        return np.concatenate([lower for lower, _ in bounds]), np.concatenate([upper for _, upper in bounds])


class _SingleBoxes:
    """The boxes of rows that were understood one by one."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._owners: list[int] = []
        self._boxes: list[Mapping[str, Side]] = []

    def add(self, row: int, found: Sequence[Mapping[str, Side]]) -> None:
        """Note the boxes of a row."""
        self._owners += [row] * len(found)
        self._boxes += found

    @property
    def owner(self) -> NDArray[np.int64]:
        return np.array(self._owners, np.int64)

    def strings(self) -> dict[str, set[str]]:
        return strings_in(self._boxes, self._schema)

    def encode(self, labels: Mapping[str, Labels]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return encode_boxes(self._boxes, self._schema, labels)


class Shapes:
    """What is known of the templates met so far, for one schema.

    Examples
    --------
    >>> from pubmatch.schema import Number, Schema
    >>> from pubmatch.text_splitting import split_texts
    >>> shapes = Shapes(Schema(price=Number()), max_boxes=64)
    >>> shapes.prepare(split_texts(["price < 10", "price <> 3"])).owner
    array([0, 1, 1])
    """

    def __init__(self, schema: Schema, max_boxes: int) -> None:
        self._schema = schema
        self._max_boxes = max_boxes
        self._orders = CutOrders(schema, max_boxes)
        self._plans: dict[str, Plan | None] = {}
        self._simple: dict[str, AttributeType] | None = None

    def prepare(self, texts: FilterTexts, collect: bool = False) -> Prepared:
        """Understand filters; bad ones are noted and left out, and unless `collect` the first is the last."""
        parts: list[_Boxes] = []
        refused: dict[int, FilterError] = {}
        rows: NDArray[np.int64] = np.arange(len(texts))
        if len(texts) > _FEW:
            comparisons = Comparisons(self._schema, texts, [self._plan(one) for one in texts.templates])
            ordered = OrderedBoxes(self._schema, self._orders, texts, collect)
            rows = self._ordered(ordered, texts, np.flatnonzero(~comparisons.planned))
            refused |= ordered.refused
            parts += [comparisons, ordered]
        single = _SingleBoxes(self._schema)
        refused |= self._one_by_one(single, texts, rows.tolist(), collect)
        parts.append(single)
        owner = np.concatenate([part.owner for part in parts])
        kept = np.arange(len(texts))
        if refused:
            kept = np.delete(kept, list(refused))
            owner = np.searchsorted(kept, owner)
            texts = texts.take(kept)
        strings: dict[str, set[str]] = {}
        for part in parts:
            for name, words in part.strings().items():
                strings.setdefault(name, set()).update(words)
        return Prepared(texts, kept, refused, owner, strings, parts)

    def _ordered(
        self, ordered: OrderedBoxes, texts: FilterTexts, rows: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Take rows of frequent templates in columns, and return the others, ascending."""
        if len(rows) <= _FEW:
            return rows
        numbers = texts.template_of[rows]
        order = np.argsort(numbers, kind="stable")
        ends = np.flatnonzero(np.diff(numbers[order])) + 1
        left = []
        for group in np.split(rows[order], ends):
            template = self._template(texts.templates[texts.template_of[group[0]]])
            if template is not None and len(group) > _FEW:
                group = ordered.take(template, group)
            left.append(group)
        return np.sort(np.concatenate(left))

    def _one_by_one(
        self, single: _SingleBoxes, texts: FilterTexts, rows: Iterable[int], collect: bool
    ) -> dict[int, FilterError]:
        refused: dict[int, FilterError] = {}
        for row in rows:
            try:
                single.add(row, self._boxes(texts.row(row)))
            except FilterError as error:
                refused[row] = error
                if not collect:
                    break
        return refused

    def _boxes(self, row: Row) -> Sequence[Mapping[str, Side]]:
        """The boxes of one filter."""
        template = self._template(row[0])
        known = None if template is None else self._orders.boxes(template, row[1])
        return self._parsed(filled(*row)) if known is None else known

    def _parsed(self, text: str) -> Sequence[Mapping[str, Side]]:
        """The boxes of one filter, from the parser."""
        filter = parse(text)
        try:
            found = boxes(filter, self._schema, self._max_boxes)
        except TooManyBoxes:
            raise too_many(self._max_boxes, text) from None  # as it was written
        if not found:
            raise FilterError(f"no event can satisfy {shown_text(text)}")
        check_boxes(found, self._schema, filter)
        return found

    def _template(self, text: str) -> Template | None:
        return self._orders.template(text)

    def _plan(self, template: str) -> Plan | None:
        if template not in self._plans:
            if self._simple is None:
                self._simple = simple_attributes(self._schema)
            self._plans[template] = plan_of(template, self._simple, self._max_boxes)
        return self._plans[template]
