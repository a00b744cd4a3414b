"""Filter texts as shapes and literals, so that equal shapes are understood once.

A text is split into its template, with every literal taken out, and its literals. Templates that are simple
conjunctions are turned into boxes in columns (`conjunctions`); all others go through the parser row by row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pubmatch.conjunctions import Comparison, Comparisons, plan_of, simple_attributes
from pubmatch.encoding.bounds import check_boxes, encode_boxes, strings_in, unconstrained
from pubmatch.errors import FilterError
from pubmatch.filter_store import MARK, filled
from pubmatch.filters import boxes, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from pubmatch.attributes import AttributeType
    from pubmatch.encoding.labels import Labels
    from pubmatch.filters.sides import Side
    from pubmatch.schema import Schema

    Row = tuple[str, tuple[str, ...]]

__all__ = ["Prepared", "Shapes", "split_text", "split_texts"]

# A string, or a number that is no part of a word. The first character alone is sought, which is quick; what
# it was decides how to go on.
_LITERAL = re.compile(
    r"([-'.0-9](?:(?<=')[^']*(?:''[^']*)*'"
    r"|(?<![\w.$'].)(?:(?<=[0-9])[0-9]*\.?[0-9]*|(?<=\.)[0-9]+|(?<=-)(?:[0-9]+\.?[0-9]*|\.[0-9]+))"
    r"(?:[eE][+-]?[0-9]+)?(?![\w.])))",
    re.DOTALL,
)
# What may hide literals, or change how one is read: quoted names, comments, escapes, prefixed strings.
_OPAQUE = re.compile(rf"[\"$`\\';?:]|--|/\*|-\s*{MARK}|\w{MARK}")


def split_text(text: str) -> Row:
    r"""Template and literals of a filter text; the whole text and no literals where that is not certain.

    Examples
    --------
    >>> split_text("price > -1.5e3 AND symbol = 'O''Hara' AND x2 = 3")
    ('price > \x00 AND symbol = \x00 AND x2 = \x00', ('-1.5e3', "'O''Hara'", '3'))
    >>> split_text('"unit 1" = 5')
    ('"unit 1" = 5', ())
    """
    return split_texts([text])[0]


def split_texts(texts: Iterable[str]) -> list[Row]:
    """Template and literals of many texts, with one string for equal templates."""
    known: dict[str, str | None] = {}
    found: list[Row] = []
    for text in texts:
        if MARK in text:
            raise FilterError(f"a filter must not hold the null character: {text!r}")
        parts = _LITERAL.split(text)
        template = MARK.join(parts[::2])
        if template not in known:
            known[template] = None if _OPAQUE.search(template) is not None else template
        shared = known[template]
        # Tuples of strings, for the garbage collector soon stops looking at them.
        found.append((text, ()) if shared is None else (shared, tuple(parts[1::2])))
    return found


@dataclass(slots=True)
class Prepared:
    """Filters understood and checked, to be encoded as soon as their strings have labels.

    Attributes
    ----------
    rows : list of (template, literals)
        The filters that were taken.
    kept : ndarray of int64
        Which of the given filters these are.
    refused : dict
        The errors of the others, by row.
    owner : ndarray of int64
        For each box the number of its filter in `rows`.
    strings : dict
        The strings that need labels, by attribute.
    """

    rows: list[Row]
    kept: NDArray[np.int64]
    refused: dict[int, FilterError]
    owner: NDArray[np.int64]
    strings: dict[str, set[str]]
    _schema: Schema
    _comparisons: Comparisons
    _boxes: list[Mapping[str, Side]]

    def encode(self, labels: Mapping[str, Labels]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The bounds of all boxes, in the order of `owner`."""
        lower, upper = unconstrained(len(self.owner), self._schema)
        self._comparisons.fill(lower, upper, labels)
        if self._boxes:
            first = len(self.owner) - len(self._boxes)
            lower[first:], upper[first:] = encode_boxes(self._boxes, self._schema, labels)
        return lower, upper


class Shapes:
    """What is known of the templates met so far, for one schema.

    Examples
    --------
    >>> from pubmatch.schema import Number, Schema
    >>> shapes = Shapes(Schema(price=Number()), max_boxes=64)
    >>> prepared = shapes.prepare([split_text("price < 10"), split_text("price <> 3")])
    >>> prepared.owner
    array([0, 1, 1])
    """

    def __init__(self, schema: Schema, max_boxes: int) -> None:
        self._schema = schema
        self._max_boxes = max_boxes
        self._plans: dict[str, tuple[Comparison, ...] | None] = {}
        self._simple: dict[str, AttributeType] | None = None

    def prepare(self, rows: Sequence[Row], collect: bool = False) -> Prepared:
        """Understand filters; bad ones are noted and left out, and unless `collect` the first is the last."""
        comparisons = self._planned(rows)
        refused: dict[int, FilterError] = {}
        owners: list[int] = []
        slow: list[Mapping[str, Side]] = []
        for row in np.flatnonzero(~comparisons.planned).tolist():
            try:
                found = self._parsed(*rows[row])
            except FilterError as error:
                refused[row] = error
                if not collect:
                    break
                continue
            owners += [row] * len(found)
            slow += found
        owner = np.concatenate([np.flatnonzero(comparisons.planned), np.array(owners, np.int64)])
        kept = np.arange(len(rows))
        if refused:
            kept = np.delete(kept, list(refused))
            owner = np.searchsorted(kept, owner)
        strings = comparisons.strings()
        for name, words in strings_in(slow, self._schema).items():
            strings.setdefault(name, set()).update(words)
        taken = [rows[row] for row in kept.tolist()] if refused else list(rows)
        return Prepared(taken, kept, refused, owner, strings, self._schema, comparisons, slow)

    def _planned(self, rows: Sequence[Row]) -> Comparisons:
        """The rows whose templates are simple, gathered in columns."""
        groups: dict[str, list[int]] = {}
        for row, (template, _) in enumerate(rows):
            groups.setdefault(template, []).append(row)
        comparisons = Comparisons(self._schema, len(rows))
        for template, members in groups.items():
            plan = self._plan(template)
            if plan is not None:
                literals = [rows[row][1] for row in members]
                comparisons.gather(plan, np.array(members, np.int64), literals)
        comparisons.convert()
        return comparisons

    def _plan(self, template: str) -> tuple[Comparison, ...] | None:
        if template not in self._plans:
            if self._simple is None:
                self._simple = simple_attributes(self._schema)
            self._plans[template] = plan_of(template, self._simple)
        return self._plans[template]

    def _parsed(self, template: str, literals: Sequence[str]) -> tuple[Mapping[str, Side], ...]:
        """The boxes of one filter."""
        text = filled(template, literals)
        found = boxes(parse(text, self._schema), self._schema, self._max_boxes)
        if not found:
            raise FilterError(f"no event can satisfy {text}")
        check_boxes(found, self._schema)
        return found
