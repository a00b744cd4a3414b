"""Brute force in numpy, sharing nothing with the index, and the boxes and points the tests try it on.

Boxes are closed. A NaN coordinate is an absent attribute: only a side of (-inf, inf) takes it. float32 values
are widened to float64, which is exact, so every comparison below is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import pubmatch as pm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Rows = list[list[int]]

LAYOUTS = {
    "auto": pm.Params(),
    "compare": pm.Params(node_kernel="compare"),
    "bitmap": pm.Params(node_kernel="bitmap"),
    "paper": pm.Params(node_capacity=10, leaf_capacity=20, node_kernel="compare"),
}
# Capacities so small that a few dozen boxes make several levels, splits and condensing.
SMALL_LAYOUTS = {
    "auto": pm.Params(node_capacity=4, leaf_capacity=4),
    "rstar": pm.Params(node_capacity=4, leaf_capacity=4, node_kernel="compare", split="rstar"),
    "quadratic": pm.Params(node_capacity=4, leaf_capacity=5, node_kernel="compare", split="quadratic"),
    "bitmap": pm.Params(node_capacity=4, leaf_capacity=6, node_kernel="bitmap", buckets=4, fill=0.5),
}
DTYPES = ("float32", "float64")


def contains(lower: Array, upper: Array, points: Array) -> NDArray[np.bool_]:
    """Whether box j contains point i, as an (i, j) matrix."""
    hit = np.ones((len(points), len(lower)), bool)
    for low, high, column in zip(*_columns(lower, upper), _wide(points).T, strict=True):
        value = column[:, None]
        free = (low == -np.inf) & (high == np.inf)
        hit &= ((low <= value) & (value <= high)) | (np.isnan(value) & free)
    return hit


def intersects(lower: Array, upper: Array, below: Array, above: Array) -> NDArray[np.bool_]:
    """Whether box j meets the given box i."""
    return _box_relation(lower, upper, below, above, lambda low, high, a, b: (low <= b) & (a <= high))


def covers(lower: Array, upper: Array, below: Array, above: Array) -> NDArray[np.bool_]:
    """Whether box j contains the given box i."""
    return _box_relation(lower, upper, below, above, lambda low, high, a, b: (low <= a) & (b <= high))


def lies_inside(lower: Array, upper: Array, below: Array, above: Array) -> NDArray[np.bool_]:
    """Whether box j lies inside the given box i."""
    return _box_relation(lower, upper, below, above, lambda low, high, a, b: (a <= low) & (high <= b))


def rows_of(hits: NDArray[np.bool_], ids: Array) -> Rows:
    """The ids of each row of a hit matrix, ascending."""
    return [np.sort(np.asarray(ids)[hit]).tolist() for hit in hits]


def rows_in(matches: pm.Matches) -> Rows:
    """The ids of each row of a result, ascending; an id reported twice stays, and so differs."""
    return [np.sort(ids).tolist() for ids in matches]


def _box_relation(
    lower: Array, upper: Array, below: Array, above: Array, related: Callable[..., NDArray[np.bool_]]
) -> NDArray[np.bool_]:
    hit = np.ones((len(below), len(lower)), bool)
    for low, high, a, b in zip(*_columns(lower, upper), *_columns(below, above), strict=True):
        hit &= related(low, high, a[:, None], b[:, None])
    return hit


def _wide(values: Array) -> NDArray[np.float64]:
    return np.asarray(values).astype(np.float64)


def _columns(lower: Array, upper: Array) -> tuple[Sequence[Array], Sequence[Array]]:
    return list(_wide(lower).T), list(_wide(upper).T)


def _uniform(rng: np.random.Generator, n: int, dims: int) -> tuple[Array, Array]:
    # Wide sides in many dimensions, so that some boxes still match.
    share = 0.5 ** (3 / dims)
    lower = rng.random((n, dims)) * (1 - share)
    return lower, lower + share * rng.random((n, dims)) ** 0.2


def _sparse(rng: np.random.Generator, n: int, dims: int) -> tuple[Array, Array]:
    lower, upper = _uniform(rng, n, dims)
    constrained = rng.random((n, dims)) < min(1.0, 3 / dims)
    lower, upper = np.where(constrained, lower, -np.inf), np.where(constrained, upper, np.inf)
    # Some sides are open at one end only, and some boxes take everything.
    lower[rng.random((n, dims)) < 0.1] = -np.inf
    upper[rng.random((n, dims)) < 0.1] = np.inf
    lower[:2], upper[:2] = -np.inf, np.inf
    return lower, upper


def _skewed(rng: np.random.Generator, n: int, dims: int) -> tuple[Array, Array]:
    centre = np.exp(3 * rng.standard_normal((n, 1))) + 0.01 * rng.standard_normal((n, dims))
    half = np.exp(2 * rng.standard_normal((n, dims)))
    return centre - half, centre + half


def _duplicates(rng: np.random.Generator, n: int, dims: int) -> tuple[Array, Array]:
    lower, upper = _uniform(rng, 7, dims)
    chosen = rng.integers(0, 7, n)
    return lower[chosen], upper[chosen]


def _zero_width(rng: np.random.Generator, n: int, dims: int) -> tuple[Array, Array]:
    lower = rng.integers(0, 3, (n, dims)) / 2.0
    upper = np.where(rng.random((n, dims)) < 0.7, lower, lower + 0.5)
    return lower, upper


def _touching(rng: np.random.Generator, n: int, dims: int) -> tuple[Array, Array]:
    lower = rng.integers(0, 4, (n, dims)).astype(float)
    return lower, lower + rng.integers(1, 4, (n, dims))


def _extreme(rng: np.random.Generator, n: int, dims: int) -> tuple[Array, Array]:
    # Exact in float32 as well: its smallest denormal, smallest normal and largest number.
    values = [-np.inf, -3.4028234663852886e38, -1.0, -(2.0**-126), -(2.0**-149), -0.0]
    ladder = np.array([*values, 0.0, 2.0**-149, 2.0**-148, 2.0**-126, 1.0, 3.4028234663852886e38, np.inf])
    first, second = rng.integers(0, len(ladder), (2, n, dims))
    free = rng.random((n, dims)) < 1 - min(1.0, 3 / dims)
    lower, upper = ladder[np.minimum(first, second)], ladder[np.maximum(first, second)]
    return np.where(free, -np.inf, lower), np.where(free, np.inf, upper)


BOXES = {
    "uniform": _uniform,
    "sparse": _sparse,
    "skewed": _skewed,
    "duplicates": _duplicates,
    "zero_width": _zero_width,
    "touching": _touching,
    "extreme": _extreme,
}


def make_boxes(kind: str, n: int, dims: int, dtype: str = "float64", seed: int = 1) -> tuple[Array, Array]:
    """`n` boxes of a named kind, (n, dims) each."""
    lower, upper = BOXES[kind](np.random.default_rng([seed, n, dims]), n, dims)
    return lower.astype(dtype), upper.astype(dtype)


def make_points(lower: Array, upper: Array, n: int, dtype: str = "float64", seed: int = 2) -> Array:
    """`n` points that are hard for these boxes: inside, on the bounds, next to them, infinite, absent."""
    rng = np.random.default_rng([seed, n])
    count, dims = lower.shape
    shape = (n, dims)
    low = np.nan_to_num(lower.astype(float), neginf=-2.0, posinf=2.0)
    high = np.nan_to_num(upper.astype(float), neginf=-2.0, posinf=2.0)
    chosen = rng.integers(0, count, n)
    # A third well inside a box, so that every kind of box has matches; a third on corners and bounds.
    calm = np.arange(n) % 3 == 0
    where = np.where(calm[:, None], rng.choice([0.25, 0.5], shape), rng.choice([0.0, 0.5, 1.0], shape))
    points = low[chosen] * (1 - where) + high[chosen] * where
    on_bound = (rng.random(shape) < 0.2) & ~calm[:, None]
    points[on_bound] = lower[chosen].astype(float)[on_bound]
    points = points.astype(dtype)
    wild = (np.arange(n) % 3 == 2)[:, None]
    towards = points.dtype.type(np.inf) * rng.choice([-1, 1], shape).astype(dtype)
    with np.errstate(over="ignore", under="ignore"):
        points = np.where((rng.random(shape) < 0.5 / dims) & wild, np.nextafter(points, towards), points)
    for value, share in ((np.nan, 0.5), (np.inf, 0.3), (-np.inf, 0.3), (-0.0, 0.3)):
        points[(rng.random(shape) < share / dims) & wild] = value
    points[2:3] = np.nan
    return points
