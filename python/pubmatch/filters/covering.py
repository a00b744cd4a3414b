"""Whether a union of products holds another one: what is outside the first must be in the rest."""

from __future__ import annotations

from collections.abc import Sequence

from pubmatch.filters.products import Product, is_within, meet
from pubmatch.filters.regions import EVERYTHING, complement, intersection

__all__ = ["is_covered"]

_MOST_STEPS = 200_000


def is_covered(inner: Product, cover: Sequence[Product], most_steps: int = _MOST_STEPS) -> bool | None:
    """Whether the union of `cover` holds all of `inner`; None if that took more than `most_steps`.

    Examples
    --------
    >>> low, high = ((2, 0), (2, 5)), ((2, 5), (2, 9))
    >>> is_covered({"x": ((2, 1), (2, 8))}, [{"x": low}, {"x": high}])
    True
    """
    near = [product for product in cover if meet(inner, product) is not None]
    if any(is_within(inner, product) for product in near):
        return True
    pending = [(inner, 0)]
    steps = 0
    while pending:
        rest, position = pending.pop()
        while position < len(near) and meet(rest, near[position]) is None:
            position += 1
            steps += 1
        if position == len(near):
            return False
        steps += 1
        if steps > most_steps:
            return None
        pending += [(piece, position + 1) for piece in _outside(rest, near[position])]
    return True


def _outside(rest: Product, product: Product) -> list[Product]:
    """Disjoint products that make up what of `rest` is not in `product`."""
    pieces: list[Product] = []
    for name, region in product.items():
        own = rest.get(name, EVERYTHING)
        beyond = intersection(own, complement(region))
        if beyond:
            pieces.append({**rest, name: beyond})
            rest = {**rest, name: intersection(own, region)}
    return pieces
