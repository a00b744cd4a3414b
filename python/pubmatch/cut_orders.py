"""Boxes known by the order of the cuts that a filter's literals make.

Which boxes a filter falls into depends on its literals only by their order along each axis: where `x < a OR
x > b` is two boxes for some a and b, it is two boxes for all that have the same order. So one text of every
template and order is parsed. Its boxes, whose bounds are cuts of its literals, then stand for all the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pubmatch.errors import FilterError
from pubmatch.filter_texts import MARK, filled
from pubmatch.filters import parse
from pubmatch.filters.axes import side
from pubmatch.filters.boxes import contiguous_products
from pubmatch.filters.products import TooManyBoxes, too_many
from pubmatch.filters.regions import BOTTOM, FIRST, TOP
from pubmatch.literal_cuts import LiteralCuts
from pubmatch.literal_uses import uses_of
from pubmatch.schema import Boolean
from pubmatch.shown import shown_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pubmatch.filters.regions import Cut
    from pubmatch.filters.sides import Side
    from pubmatch.literal_uses import Use
    from pubmatch.schema import Schema

    Bound = int | Cut
    Key = tuple[tuple[int, ...], ...]

__all__ = ["CutOrders", "Solution", "Template", "order_of", "refused"]

_MOST = 1 << 16  # orders remembered of all templates together
_LONGEST = 1 << 16  # characters, and
_MOST_LITERALS = 256  # of a template that is worth it


class Template(NamedTuple):
    """What is known of a template: its text, the conditions that have literals, and their attributes."""

    text: str
    uses: tuple[Use, ...]
    names: tuple[str, ...]


class Solution(NamedTuple):
    """The boxes of all filters of one template and order.

    Attributes
    ----------
    boxes : tuple of dict
        For each attribute that is constrained start and stop: the number of a cut among those of the
        attribute's literals, or a cut that is always the same.
    refusal : str or None
        Why there are no boxes; `MARK` stands for the filter's text.
    """

    boxes: tuple[dict[str, tuple[Bound, Bound]], ...]
    refusal: str | None = None


def refused(refusal: str, text: str) -> FilterError:
    r"""The error of a filter that has no boxes, from why all of its template and order have none.

    Examples
    --------
    >>> print(refused("no event can satisfy \0", "price > 3 AND price < 2"))
    no event can satisfy price > 3 AND price < 2
    """
    return FilterError(refusal.replace(MARK, shown_text(text)))


def order_of(cuts: Sequence[Cut]) -> tuple[int, ...]:
    """The rank of each cut, equal ones having the same; last that of the end of the axis.

    Examples
    --------
    >>> order_of([(2, 7), (2, 3), (2, 7)])
    (2, 1, 2, 3)
    """
    ranks = {cut: rank for rank, cut in enumerate(sorted({FIRST, TOP, *cuts}))}
    return (*(ranks[cut] for cut in cuts), ranks[TOP])


class CutOrders:
    r"""The solutions of all templates and orders met so far, for one schema.

    Examples
    --------
    >>> from pubmatch.schema import Integer, Schema
    >>> orders = CutOrders(Schema(x=Integer()), max_boxes=64)
    >>> template = orders.template("NOT x IN (\0, \0)")
    >>> [(box["x"].lower, box["x"].upper) for box in orders.boxes(template, ("7", "3"))]
    [(None, 2), (4, 6), (8, None)]
    """

    def __init__(self, schema: Schema, max_boxes: int) -> None:
        self._schema = schema
        self._max_boxes = max_boxes
        self._templates: dict[str, Template | None] = {}
        self._solutions: dict[tuple[str, Key], Solution | None] = {}
        self._cuts: dict[str, LiteralCuts] = {}

    def template(self, text: str) -> Template | None:
        """What is known of a template; None if its filters are for the parser."""
        if text not in self._templates:
            if len(text) > _LONGEST or text.count(MARK) > _MOST_LITERALS:
                return None
            uses = uses_of(text, self._schema)
            if len(self._templates) >= _MOST:
                self._templates.clear()
            self._templates[text] = (
                None if uses is None else Template(text, uses, tuple(dict.fromkeys(use.name for use in uses)))
            )
        return self._templates[text]

    def cuts(self, name: str) -> LiteralCuts:
        """What turns literals into cuts of an attribute."""
        if name not in self._cuts:
            self._cuts[name] = LiteralCuts(name, self._schema)
        return self._cuts[name]

    def boxes(self, template: Template, literals: tuple[str, ...]) -> tuple[Mapping[str, Side], ...] | None:
        """The boxes of one filter; None if it is for the parser.

        Raises
        ------
        FilterError
            No event can satisfy it, or it needs too many boxes.
        """
        found: dict[str, list[Cut]] = {name: [] for name in template.names}
        ways = []
        for use in template.uses:
            read = self.cuts(use.name).of(use, literals[use.first : use.first + len(use.times)])
            if read is None:
                return None
            ways.append(read[0])
            found[use.name] += read[1]
        key = (tuple(ways), *(order_of(cuts) for cuts in found.values()))
        solution = self.solution(template, key, literals, found)
        if solution is None:
            return None
        if solution.refusal is not None:
            raise refused(solution.refusal, filled(template.text, literals))
        return tuple(
            {
                name: side(self.cuts(name).axis, _cut(start, found, name), _cut(stop, found, name))
                for name, (start, stop) in box.items()
            }
            for box in solution.boxes
        )

    def solution(
        self, template: Template, key: Key, literals: tuple[str, ...], cuts: Mapping[str, Sequence[Cut]]
    ) -> Solution | None:
        """The boxes of all filters of a template and order; None if they are for the parser.

        Parameters
        ----------
        template : Template
            The template.
        key : tuple
            How each pattern is read, then for each attribute the order of its cuts.
        literals, cuts
            Those of one such filter, by attribute.
        """
        known = (template.text, key)
        if known not in self._solutions:
            if len(self._solutions) >= _MOST:
                self._solutions.clear()
            self._solutions[known] = self._solved(filled(template.text, literals), cuts)
        return self._solutions[known]

    def _solved(self, text: str, cuts: Mapping[str, Sequence[Cut]]) -> Solution | None:
        try:
            parts = contiguous_products(parse(text, self._schema), self._schema, self._max_boxes)
        except TooManyBoxes:
            return Solution((), str(too_many(self._max_boxes, MARK)))
        except FilterError:
            return None
        if not parts:
            return Solution((), f"no event can satisfy {MARK}")
        numbers = {name: {cut: number for number, cut in enumerate(known)} for name, known in cuts.items()}
        boxes = []
        for part in parts:
            box: dict[str, tuple[Bound, Bound]] = {}
            for name in self._schema.names:
                if name not in part:
                    continue
                bounds = [self._bound(cut, name, numbers.get(name, {})) for cut in part[name]]
                if None in bounds:
                    return None
                box[name] = (bounds[0], bounds[1])  # type: ignore[assignment]
            boxes.append(box)
        return Solution(tuple(boxes))

    def _bound(self, cut: Cut, name: str, numbers: Mapping[Cut, int]) -> Bound | None:
        """The number of a cut, or itself if it does not depend on literals; None if its source is unknown."""
        if cut in (BOTTOM, FIRST, TOP):
            return cut
        if cut in numbers:
            return numbers[cut]
        return cut if isinstance(self._schema[name], Boolean) else None


def _cut(bound: Bound, cuts: Mapping[str, Sequence[Cut]], name: str) -> Cut:
    return cuts[name][bound] if isinstance(bound, int) else bound
