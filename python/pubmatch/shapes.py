"""Filters understood shape by shape, so that equal shapes are understood once.

Templates with a plan are turned into boxes in columns (`plans`, `conjunctions`); all others go through the
parser row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pubmatch.conjunctions import Comparisons
from pubmatch.encoding.bounds import check_boxes, encode_boxes, strings_in
from pubmatch.errors import FilterError
from pubmatch.filters import boxes, parse
from pubmatch.plans import plan_of, simple_attributes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pubmatch.attributes import AttributeType
    from pubmatch.encoding.labels import Labels
    from pubmatch.filter_texts import FilterTexts
    from pubmatch.filters.sides import Side
    from pubmatch.plans import Plan
    from pubmatch.schema import Schema

__all__ = ["Prepared", "Shapes"]


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
    _schema: Schema
    _comparisons: Comparisons
    _boxes: list[Mapping[str, Side]]

    def encode(self, labels: Mapping[str, Labels]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The bounds of all boxes, in the order of `owner`."""
        lower, upper = self._comparisons.encode(labels)
        if not self._boxes:
            return lower, upper
        parsed = encode_boxes(self._boxes, self._schema, labels)
        return np.concatenate([lower, parsed[0]]), np.concatenate([upper, parsed[1]])


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
        self._plans: dict[str, Plan | None] = {}
        self._simple: dict[str, AttributeType] | None = None

    def prepare(self, texts: FilterTexts, collect: bool = False) -> Prepared:
        """Understand filters; bad ones are noted and left out, and unless `collect` the first is the last."""
        comparisons = Comparisons(self._schema, texts, [self._plan(template) for template in texts.templates])
        refused: dict[int, FilterError] = {}
        owners: list[int] = []
        slow: list[Mapping[str, Side]] = []
        for row in np.flatnonzero(~comparisons.planned).tolist():
            try:
                found = self._parsed(texts.text(row))
            except FilterError as error:
                refused[row] = error
                if not collect:
                    break
                continue
            owners += [row] * len(found)
            slow += found
        owner = np.concatenate([comparisons.owner, np.array(owners, np.int64)])
        kept = np.arange(len(texts))
        if refused:
            kept = np.delete(kept, list(refused))
            owner = np.searchsorted(kept, owner)
            texts = texts.take(kept)
        strings = comparisons.strings()
        for name, words in strings_in(slow, self._schema).items():
            strings.setdefault(name, set()).update(words)
        return Prepared(texts, kept, refused, owner, strings, self._schema, comparisons, slow)

    def _plan(self, template: str) -> Plan | None:
        if template not in self._plans:
            if self._simple is None:
                self._simple = simple_attributes(self._schema)
            self._plans[template] = plan_of(template, self._simple, self._max_boxes)
        return self._plans[template]

    def _parsed(self, text: str) -> tuple[Mapping[str, Side], ...]:
        """The boxes of one filter."""
        found = boxes(parse(text, self._schema), self._schema, self._max_boxes)
        if not found:
            raise FilterError(f"no event can satisfy {text}")
        check_boxes(found, self._schema)
        return found
