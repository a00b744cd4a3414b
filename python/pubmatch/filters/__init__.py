"""Filters: conditions on named attributes, as SQL text or Python expressions, with SQL's three truth values.

`parse` and `attr` make filters, `Filter.matches` tells their truth for an event, `boxes` their normal form,
`covers` and `intersects` how two of them are related.

Examples
--------
>>> from pubmatch.filters import attr, boxes, parse
>>> from pubmatch.schema import Number, Schema
>>> parse("price BETWEEN 10 AND 20") == attr("price").between(10, 20)
True
>>> len(boxes("price < 10 OR price > 20", Schema(price=Number())))
2
"""

from __future__ import annotations

from pubmatch.filters.attribute import Attribute, attr
from pubmatch.filters.boxes import boxes
from pubmatch.filters.expressions import MAX_DEPTH, Filter
from pubmatch.filters.relations import covers, intersects
from pubmatch.filters.sides import Side
from pubmatch.filters.sql import as_filter, parse

__all__ = [
    "MAX_DEPTH",
    "Attribute",
    "Filter",
    "Side",
    "as_filter",
    "attr",
    "boxes",
    "covers",
    "intersects",
    "parse",
]
