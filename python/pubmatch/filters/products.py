"""Where a filter is true, as a union of products of regions.

A product says for some attributes which region they lie in, the others being free. A filter has four sets of
events: where it is true, where it is false, and the complements of both, which differ from each other by the
events for which SQL says NULL. NOT exchanges them, AND and OR intersect and unite them, so no set is ever
complemented except on a single axis.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any, TypeAlias

from pubmatch.errors import FilterError
from pubmatch.filters.axes import Axis, axis_of
from pubmatch.filters.expressions import And, Filter, Literal, Not, Or, TruthTest
from pubmatch.filters.patterns import prefix_end
from pubmatch.filters.predicates import Between, Compare, Condition, Flag, In, IsNull, Prefix
from pubmatch.filters.regions import (
    ABSENT,
    EMPTY,
    EVERYTHING,
    FIRST,
    PRESENT,
    TOP,
    Region,
    complement,
    intersection,
    is_subset,
    span,
    union,
)
from pubmatch.schema import Schema
from pubmatch.shown import shown_text
from pubmatch.timestamps import to_micros

__all__ = ["Product", "TooManyBoxes", "is_within", "meet", "products", "too_many"]

Product: TypeAlias = dict[str, Region]

_MOST = (256, 1024)  # products looked at together before a filter counts as too large, by its limit


class _Asked(Enum):
    TRUE = "true"
    FALSE = "false"
    NOT_TRUE = "not true"
    NOT_FALSE = "not false"


_NEGATED = {
    _Asked.TRUE: _Asked.FALSE,
    _Asked.FALSE: _Asked.TRUE,
    _Asked.NOT_TRUE: _Asked.NOT_FALSE,
    _Asked.NOT_FALSE: _Asked.NOT_TRUE,
}


class TooManyBoxes(FilterError):
    """A filter falls into more boxes than are allowed."""


def too_many(limit: int, filter: Filter | str) -> TooManyBoxes:
    """The error for a filter that falls into more than `limit` boxes.

    Examples
    --------
    >>> print(too_many(1, "price <> 10"))
    the filter needs more than 1 box: price <> 10
    """
    boxes = "1 box" if limit == 1 else f"{limit} boxes"
    return TooManyBoxes(f"the filter needs more than {boxes}: {shown_text(str(filter))}")


def products(bound: Filter, schema: Schema, limit: int) -> list[Product]:
    """Products whose union is where `bound`, a filter bound to `schema`, is true.

    Examples
    --------
    >>> from pubmatch.filters import parse
    >>> from pubmatch.schema import Integer, Schema
    >>> schema = Schema(x=Integer())
    >>> products(parse("x = 1 OR x = 2").bind(schema), schema, limit=64)
    [{'x': ((2, 1), (2, 3))}]
    """
    return _Solver(bound, schema, limit).solve(bound, _Asked.TRUE)


def meet(left: Product, right: Product) -> Product | None:
    """What lies in both; None if nothing does.

    Examples
    --------
    >>> meet({"x": ABSENT}, {"x": PRESENT}) is None
    True
    """
    found = dict(left)
    for name, region in right.items():
        if name in found:
            region = intersection(found[name], region)
            if not region:
                return None
        found[name] = region
    return found


def is_within(inner: Product, outer: Product) -> bool:
    """Whether `outer` holds all of `inner`.

    Examples
    --------
    >>> is_within({"x": ABSENT, "y": PRESENT}, {"x": ABSENT})
    True
    """
    for name, region in outer.items():
        own = inner.get(name)
        if own is None or not is_subset(own, region):
            return False
    return True


class _Solver:
    """Sets of one filter's parts, each computed once."""

    def __init__(self, root: Filter, schema: Schema, limit: int) -> None:
        self._root = root
        self._schema = schema
        self._limit = limit
        self._most = max(limit, _MOST[0], min(4 * limit, _MOST[1]))
        self._axes: dict[str, Axis] = {}
        self._known: dict[tuple[int, _Asked], list[Product]] = {}

    def solve(self, node: Filter, asked: _Asked) -> list[Product]:
        key = (id(node), asked)
        if key not in self._known:
            self._known[key] = self._solve(node, asked)
        return self._known[key]

    def _solve(self, node: Filter, asked: _Asked) -> list[Product]:
        if isinstance(node, Not):
            return self.solve(node.part, _NEGATED[asked])
        if isinstance(node, And | Or):
            sets = []
            for part in node.parts:
                sets.append(self.solve(part, asked))
            together = isinstance(node, And) == (asked in (_Asked.TRUE, _Asked.NOT_FALSE))
            return self._intersect(sets) if together else self._unite(sets)
        if isinstance(node, TruthTest):
            return self._tested(node, asked in (_Asked.TRUE, _Asked.NOT_FALSE))
        if isinstance(node, Literal):
            true = {_Asked.TRUE: node.value is True, _Asked.FALSE: node.value is False}
            true |= {_Asked.NOT_TRUE: node.value is not True, _Asked.NOT_FALSE: node.value is not False}
            return [{}] if true[asked] else []
        if not isinstance(node, Condition):
            raise FilterError(f"not a filter: {node!r}")
        return self._leaf(node, asked)

    def _tested(self, node: TruthTest, holds: bool) -> list[Product]:
        part = node.part
        if node.value is None:
            if holds:
                return self._intersect(
                    [self.solve(part, _Asked.NOT_TRUE), self.solve(part, _Asked.NOT_FALSE)]
                )
            return self._unite([self.solve(part, _Asked.TRUE), self.solve(part, _Asked.FALSE)])
        if node.value:
            return self.solve(part, _Asked.TRUE if holds else _Asked.NOT_TRUE)
        return self.solve(part, _Asked.FALSE if holds else _Asked.NOT_FALSE)

    def _leaf(self, node: Condition, asked: _Asked) -> list[Product]:
        axis = self._axes.get(node.name)
        if axis is None:
            axis = self._axes[node.name] = axis_of(self._schema[node.name])
        true, false = _regions(node, axis)
        if asked is _Asked.TRUE:
            region = true
        elif asked is _Asked.FALSE:
            region = false
        else:
            region = complement(true if asked is _Asked.NOT_TRUE else false)
        if region == EVERYTHING:
            return [{}]
        return [{node.name: region}] if region else []

    def _unite(self, sets: Iterable[list[Product]]) -> list[Product]:
        return self._simplified([product for each in sets for product in each])

    def _intersect(self, sets: list[list[Product]]) -> list[Product]:
        found: list[Product] = [{}]
        for each in sorted(sets, key=len):  # single products first: they narrow the others
            if len(found) * len(each) > 16 * self._most:
                raise too_many(self._limit, self._root)
            met = [meet(left, right) for left in found for right in each]
            found = [product for product in met if product is not None]
            if len(found) > 1:
                found = self._simplified(found)
        return found

    def _simplified(self, found: list[Product]) -> list[Product]:
        """The same set: products that differ in one attribute merged, those inside others left out."""
        before = len(found) + 1
        while 1 < len(found) < before:
            before = len(found)
            for name in dict.fromkeys(name for product in found for name in product):
                found = _merged_along(name, found)
            if len(found) > self._most:
                raise too_many(self._limit, self._root)
            found = _outermost(found)
        return found


def _outermost(found: list[Product]) -> list[Product]:
    """Those that lie inside no other."""
    kept: list[Product] = []
    for product in found:
        if not any(is_within(product, other) for other in kept):
            kept = [other for other in kept if not is_within(other, product)]
            kept.append(product)
    return kept


def _merged_along(name: str, found: list[Product]) -> list[Product]:
    """`found`, with those united that differ in attribute `name` only."""
    groups: dict[Any, list[Region]] = {}
    rests: dict[Any, Product] = {}
    for product in found:
        rest = {other: region for other, region in product.items() if other != name}
        key = frozenset(rest.items())
        groups.setdefault(key, []).append(product.get(name, EVERYTHING))
        rests[key] = rest
    result: list[Product] = []
    for key, regions in groups.items():
        region = union(regions) if len(regions) > 1 else regions[0]
        result.append(rests[key] if region == EVERYTHING else {**rests[key], name: region})
    return result


def _regions(node: Condition, axis: Axis) -> tuple[Region, Region]:
    """Where a condition is true and where it is false."""
    if isinstance(node, IsNull):
        return ABSENT, PRESENT
    if isinstance(node, Flag):
        return _comparison(axis, "=", True)
    if isinstance(node, Compare):
        return _comparison(axis, node.symbol, _value(node.value))
    if isinstance(node, Between):
        above, below = _comparison(axis, ">=", _value(node.low)), _comparison(axis, "<=", _value(node.high))
        return intersection(above[0], below[0]), union((above[1], below[1]))
    if isinstance(node, Prefix):
        end = prefix_end(node.text)
        true = span(axis.before(node.text), TOP if end is None else axis.before(end))
        return true, _present_without(true)
    if isinstance(node, In):
        values = [_value(value) for value in node.values]
        true = union(span(axis.before(value), axis.after(value)) for value in values if value is not None)
        return true, EMPTY if None in values else _present_without(true)
    raise FilterError(f"not a condition: {node!r}")


def _comparison(axis: Axis, symbol: str, value: Any) -> tuple[Region, Region]:
    if value is None:
        return EMPTY, EMPTY
    before, after = axis.before(value), axis.after(value)
    spans = {
        "<": (FIRST, before),
        "<=": (FIRST, after),
        ">": (after, TOP),
        ">=": (before, TOP),
        "=": (before, after),
        "<>": (before, after),
    }
    true = span(*spans[symbol])
    false = _present_without(true)
    return (false, true) if symbol == "<>" else (true, false)


def _present_without(region: Region) -> Region:
    return intersection(PRESENT, complement(region))


def _value(constant: Any) -> Any:
    return to_micros(constant) if hasattr(constant, "tzinfo") else constant
