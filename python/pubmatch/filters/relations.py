"""Covering and intersection of filters: what routing asks about subscriptions and advertisements."""

from __future__ import annotations

from pubmatch.errors import FilterError
from pubmatch.filters.covering import is_covered
from pubmatch.filters.expressions import Filter
from pubmatch.filters.products import Product, meet, products
from pubmatch.filters.sql import as_filter
from pubmatch.schema import Schema, checked_schema

__all__ = ["covers", "intersects"]

_LIMIT = 128  # products of one filter


def covers(a: Filter | str, b: Filter | str, schema: Schema) -> bool:
    """Whether every event that satisfies `b` satisfies `a`; exact.

    Examples
    --------
    >>> from pubmatch.schema import Integer, Schema
    >>> schema = Schema(x=Integer())
    >>> covers("x > 1 OR x < 5", "x IS NOT NULL", schema), covers("x > 1", "x >= 1", schema)
    (True, False)
    """
    outer = _products(a, schema)
    for inner in _products(b, schema):
        covered = is_covered(inner, outer)
        if covered is None:
            raise FilterError("the filters have too many parts to tell whether one covers the other")
        if not covered:
            return False
    return True


def intersects(a: Filter | str, b: Filter | str, schema: Schema) -> bool:
    """Whether some event can satisfy both `a` and `b`; exact.

    Examples
    --------
    >>> from pubmatch.schema import Integer, Schema
    >>> schema = Schema(x=Integer())
    >>> intersects("x > 3", "x < 4", schema), intersects("x > 3", "x < 5", schema)
    (False, True)
    """
    right = _products(b, schema)
    for left in _products(a, schema):
        for other in right:
            if meet(left, other) is not None:
                return True
    return False


def _products(filter: Filter | str, schema: Schema) -> list[Product]:
    bound = as_filter(filter).bind(checked_schema(schema))
    return products(bound, schema, _LIMIT)
