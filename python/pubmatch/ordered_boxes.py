"""The boxes of many filters at once, template by template and order by order (see `cut_orders`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pubmatch.cut_columns import cut_columns
from pubmatch.cut_orders import refused
from pubmatch.encoding.axes import ABSENT
from pubmatch.encoding.bounds import bounds_of, unconstrained
from pubmatch.errors import FilterError
from pubmatch.filters.axes import side
from pubmatch.filters.regions import BOTTOM, FIRST
from pubmatch.literal_columns import LiteralColumns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pubmatch.cut_columns import CutColumns
    from pubmatch.cut_orders import Bound, CutOrders, Template
    from pubmatch.encoding.labels import Labels
    from pubmatch.filter_texts import FilterTexts
    from pubmatch.schema import Schema

__all__ = ["OrderedBoxes"]

_LARGEST_CODE = 2**62


class _Block(NamedTuple):
    """One box of each of some rows: for every attribute the columns of its bounds, cut to these rows."""

    rows: NDArray[np.int64]
    sides: list[tuple[str, CutColumns | None, Any, Any]]


class OrderedBoxes:
    r"""The boxes of rows whose templates are known.

    Parameters
    ----------
    schema : Schema
        The attributes.
    orders : CutOrders
        What knows the boxes of each template and order.
    texts : FilterTexts
        The filters.
    collect : bool
        Whether all rows that are refused are wanted, or only the first.

    Attributes
    ----------
    refused : dict
        The errors of rows that are no filter, by row.

    Examples
    --------
    >>> from pubmatch.cut_orders import CutOrders
    >>> from pubmatch.schema import Number, Schema
    >>> from pubmatch.text_splitting import split_texts
    >>> schema = Schema(x=Number())
    >>> boxes = OrderedBoxes(schema, CutOrders(schema, 64), split_texts(["NOT x > 1", "NOT x > 7"]), True)
    >>> boxes.take(boxes.orders.template("NOT x > \0"), np.array([0, 1])).tolist()
    []
    >>> boxes.encode({})[1]
    array([[1.],
           [7.]])
    """

    def __init__(self, schema: Schema, orders: CutOrders, texts: FilterTexts, collect: bool) -> None:
        self.orders = orders
        self.refused: dict[int, FilterError] = {}
        self._schema = schema
        self._texts = texts
        self._collect = collect
        self._blocks: list[_Block] = []
        counts = texts.literal_counts()
        self._first_literal = np.cumsum(counts) - counts
        self._literals: LiteralColumns | None = None

    @property
    def owner(self) -> NDArray[np.int64]:
        """The row of each box."""
        return np.concatenate([np.empty(0, np.int64), *(block.rows for block in self._blocks)])

    def strings(self) -> dict[str, set[str]]:
        """The strings that need labels, by attribute."""
        found: dict[str, set[str]] = {}
        for block in self._blocks:
            for name, cuts, start, stop in block.sides:
                if cuts is not None:
                    words = cuts.strings(_column(start), _column(stop))
                    if words:
                        found.setdefault(name, set()).update(words)
        return found

    def encode(self, labels: Mapping[str, Labels]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The bounds of the boxes, in the order of `owner`."""
        lower, upper = unconstrained(sum(len(block.rows) for block in self._blocks), self._schema)
        dimension_of = {name: dimension for dimension, name in enumerate(self._schema.names)}
        first = 0
        for block in self._blocks:
            rows = slice(first, first + len(block.rows))
            first = rows.stop
            for name, cuts, start, stop in block.sides:
                bounds = self._bounds(name, cuts, start, stop, labels.get(name))
                lower[rows, dimension_of[name]], upper[rows, dimension_of[name]] = bounds
        return lower, upper

    def _bounds(
        self, name: str, cuts: CutColumns | None, start: Any, stop: Any, labels: Labels | None
    ) -> tuple[Any, Any]:
        if stop is FIRST:
            return ABSENT, ABSENT
        if cuts is None or (_column(start) is None and _column(stop) is None):
            return bounds_of(side(self.orders.cuts(name).axis, start, stop), self._schema[name], labels)
        low, high = cuts.bounds(_column(start), _column(stop), labels)
        return (ABSENT if start is BOTTOM else low), high

    def take(self, template: Template, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Find the boxes of rows of one template, and return the rows that are for the parser."""
        if self._literals is None:
            self._literals = LiteralColumns(self._texts)
        uses = list(enumerate(template.uses))
        columns = {
            name: cut_columns(
                [(number, use) for number, use in uses if use.name == name],
                self.orders.cuts(name),
                self._literals,
                self._first_literal[rows],
            )
            for name in template.names
        }
        good = np.ones(len(rows), np.bool_)
        for cuts in columns.values():
            good &= cuts.good
        left = [rows[~good]]
        places = np.flatnonzero(good)
        if len(places):
            left += self._grouped(template, columns, rows, places)
        return np.concatenate(left)

    def _grouped(
        self,
        template: Template,
        columns: Mapping[str, CutColumns],
        rows: NDArray[np.int64],
        places: NDArray[np.int64],
    ) -> list[NDArray[np.int64]]:
        """Find the boxes of the rows at `places`, and return those that are for the parser."""
        ways = {number: way for cuts in columns.values() for number, way in cuts.ways.items()}
        ranks = {name: _ranks([c[places] for c in cuts.columns], cuts.ends) for name, cuts in columns.items()}
        parts = [way[places] for way in ways.values()] + [rank for own in ranks.values() for rank in own]
        left = []
        for group in _groups(parts, len(places)):
            first = group[0]
            row = int(rows[places[first]])
            key = (
                tuple(
                    int(ways[number][places[first]]) if number in ways else 0
                    for number in range(len(template.uses))
                ),
                *(tuple(int(rank[first]) for rank in own) for own in ranks.values()),
            )
            known = {
                name: [cuts.cut(number, int(places[first])) for number in range(len(cuts.columns))]
                for name, cuts in columns.items()
            }
            solution = self.orders.solution(template, key, self._texts.row(row)[1], known)
            own_rows = rows[places[group]]
            if solution is None:
                left.append(own_rows)
            elif solution.refusal is not None:
                self._refuse(own_rows, solution.refusal)
            else:
                self._emit(solution.boxes, columns, own_rows, places[group])
        return left

    def _refuse(self, rows: NDArray[np.int64], refusal: str) -> None:
        for row in (rows if self._collect else rows[:1]).tolist():
            self.refused[row] = refused(refusal, self._texts.text(row))

    def _emit(
        self,
        boxes: Sequence[Mapping[str, tuple[Bound, Bound]]],
        columns: Mapping[str, CutColumns],
        rows: NDArray[np.int64],
        places: NDArray[np.int64],
    ) -> None:
        for box in boxes:
            sides: list[tuple[str, CutColumns | None, Any, Any]] = []
            for name, bounds in box.items():
                cuts = columns.get(name)
                taken = [
                    cuts.columns[bound][places] if cuts is not None and isinstance(bound, int) else bound
                    for bound in bounds
                ]
                sides.append((name, cuts, taken[0], taken[1]))
            self._blocks.append(_Block(rows, sides))


def _column(bound: Any) -> Any:
    """A column of cuts, None for one that is always the same."""
    return bound if isinstance(bound, np.ndarray) else None


def _ranks(columns: list[NDArray[Any]], ends: tuple[float, float]) -> list[NDArray[np.int64]]:
    """The rank of each cut among those of its row, as `order_of` gives it, and that of the axis's end."""
    if len(columns) == 1:
        rank = (columns[0] > ends[0]).astype(np.int64)
        return [rank, rank + (columns[0] < ends[1])]
    matrix = np.stack(columns, axis=1)
    order = np.argsort(matrix, axis=1, kind="stable")
    ascending = np.take_along_axis(matrix, order, axis=1)
    steps = np.empty(matrix.shape, np.int64)
    steps[:, 0] = ascending[:, 0] > ends[0]
    steps[:, 1:] = ascending[:, 1:] > ascending[:, :-1]
    dense = np.cumsum(steps, axis=1)
    ranks = np.empty_like(dense)
    np.put_along_axis(ranks, order, dense, axis=1)
    return [*ranks.T, dense[:, -1] + (ascending[:, -1] < ends[1])]


def _groups(parts: Sequence[NDArray[np.int64]], count: int) -> list[NDArray[np.int64]]:
    """The rows from 0 to `count` whose parts are all equal, together."""
    codes, size = np.zeros(count, np.int64), 1
    for part in parts:
        least = int(part.min())
        width = int(part.max()) - least + 1
        if width == 1:
            continue
        if size * width > _LARGEST_CODE:
            known, codes = np.unique(codes, return_inverse=True)
            size = len(known)
        codes = codes * width + (part - least)
        size *= width
    if size == 1:
        return [np.arange(count)]
    order = np.argsort(codes, kind="stable")
    ends = np.flatnonzero(np.diff(codes[order])) + 1
    return np.split(order, ends)
