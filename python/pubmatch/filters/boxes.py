"""The normal form of a filter: as few boxes as can be found whose union is where it is true.

Products of regions are cut into boxes; each box is then widened as far as the union allows, one limit after
the other, and boxes that the others already hold are left out. Boxes may overlap.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from pubmatch.errors import ArgumentError
from pubmatch.filters.axes import axis_of, side
from pubmatch.filters.covering import is_covered
from pubmatch.filters.expressions import Filter
from pubmatch.filters.products import Product, is_within, products, too_many
from pubmatch.filters.regions import BOTTOM, EVERYTHING, TOP, Cut, Region
from pubmatch.filters.sides import Side
from pubmatch.filters.sql import as_filter
from pubmatch.schema import Schema, checked_schema

__all__ = ["boxes", "contiguous_products"]

_MOST_STEPS = 5_000  # of one test whether the union holds a box; if it takes more, the box stays as it is
_MORE = 4  # so many times `max_boxes` may be there before the last step


def boxes(filter: Filter | str, schema: Schema, max_boxes: int = 64) -> tuple[dict[str, Side], ...]:
    """Boxes whose union is exactly the events for which the filter is true.

    Parameters
    ----------
    filter : Filter or str
        Bound to the schema or not.
    schema : Schema
        The attributes; a box mentions those it constrains, in this order.
    max_boxes : int
        A filter that needs more is refused.

    Returns
    -------
    tuple of dict
        No box for a contradiction; one empty box for what is true of every event.

    Examples
    --------
    >>> from pubmatch.schema import Integer, Schema
    >>> schema = Schema(x=Integer())
    >>> [(box["x"].lower, box["x"].upper) for box in boxes("x IN (1, 2, 3, 7)", schema)]
    [(1, 3), (7, 7)]
    >>> boxes("x > 3 AND x < 4", schema), boxes("x IS NULL OR x IS NOT NULL", schema)
    ((), ({},))
    """
    if isinstance(max_boxes, bool) or not isinstance(max_boxes, int) or max_boxes < 1:
        raise ArgumentError(f"max_boxes must be an integer of at least 1, got {max_boxes!r}")
    parts = contiguous_products(as_filter(filter).bind(checked_schema(schema)), schema, max_boxes)
    axes = {name: axis_of(schema[name]) for name in schema if any(name in part for part in parts)}
    return tuple(
        {name: side(axis, *part[name]) for name, axis in axes.items() if name in part} for part in parts
    )


def contiguous_products(bound: Filter, schema: Schema, max_boxes: int) -> list[Product]:
    """The boxes of a filter bound to `schema`, as products of one contiguous region per attribute.

    Every cut in them is a cut of one of the filter's conditions, and which ones are there depends on nothing
    but the order of these cuts along each axis.

    Examples
    --------
    >>> from pubmatch.filters import parse
    >>> from pubmatch.schema import Integer, Schema
    >>> schema = Schema(x=Integer())
    >>> contiguous_products(parse("x <> 3", schema), schema, 64)
    [{'x': ((1,), (2, 3))}, {'x': ((2, 4), (3,))}]
    """
    found = products(bound, schema, max_boxes)
    most = _MORE * max_boxes if len(found) > 1 else max_boxes
    if sum(_pieces(product) for product in found) > most:
        raise too_many(max_boxes, bound)
    parts = [box for product in found for box in _cut(product)]
    if len(found) > 1:
        parts = _fewest(parts)
    if len(parts) > max_boxes:
        raise too_many(max_boxes, bound)
    return parts


def _pieces(product: Product) -> int:
    return math.prod(len(region) // 2 for region in product.values())


def _cut(product: Product) -> list[Product]:
    """The boxes of a product: one contiguous piece of each region."""
    pieces = [[region[i : i + 2] for i in range(0, len(region), 2)] for region in product.values()]
    return [dict(zip(product, choice, strict=True)) for choice in itertools.product(*pieces)]


def _fewest(parts: list[Product]) -> list[Product]:
    """The same union in fewer boxes."""
    cuts = _cuts(parts)
    wide: list[Product] = []
    for part in parts:
        if any(is_within(part, other) for other in wide):
            continue
        widened = _widened(part, parts, cuts)
        wide = [other for other in wide if not is_within(other, widened)]
        wide.append(widened)
    position = len(wide) - 1
    while position >= 0:
        others = wide[:position] + wide[position + 1 :]
        if is_covered(wide[position], others, _MOST_STEPS):
            wide = others
        position -= 1
    return wide


def _cuts(parts: Sequence[Product]) -> dict[str, list[Cut]]:
    """Along every attribute the places where a box can end."""
    found: dict[str, set[Cut]] = {}
    for part in parts:
        for name, region in part.items():
            found.setdefault(name, {BOTTOM, TOP}).update(region)
    return {name: sorted(places) for name, places in found.items()}


def _widened(part: Product, union: Sequence[Product], cuts: dict[str, list[Cut]]) -> Product:
    """`part` with every side moved outwards as long as it stays inside the union."""
    for name in list(part):
        start, stop = part[name]
        places = cuts[name]
        low, high = places.index(start), places.index(stop)
        while low > 0 and _holds(union, part, name, (places[low - 1], places[low])):
            low -= 1
        while high < len(places) - 1 and _holds(union, part, name, (places[high], places[high + 1])):
            high += 1
        part = {**part, name: (places[low], places[high])}
        if part[name] == EVERYTHING:
            del part[name]
    return part


def _holds(union: Sequence[Product], part: Product, name: str, beyond: Region) -> bool:
    return bool(is_covered({**part, name: beyond}, union, _MOST_STEPS))
