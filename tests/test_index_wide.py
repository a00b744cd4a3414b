"""Wide boxes, where events match most of a leaf: entries that need no verification are taken without one.

A box is sure to contain an event when it may match the buckets on both sides of the event's bucket. What
could go wrong lies at the borders: events on bounds, beyond all bounds, without an attribute, and boxes put
in later whose bounds lie outside everything the buckets were cut from.
"""

from __future__ import annotations

import numpy as np
import oracle
import pytest

import pubmatch as pm

pytestmark = pytest.mark.oracle

BOXES = 3000


def wide_boxes(dims: int, dtype: str, seed: int) -> tuple[oracle.Array, oracle.Array]:
    """Sides of 0.7 on a grid of 200 steps; a third of them open on one side or on both."""
    rng = np.random.default_rng(seed)
    lower = (rng.integers(0, 60, (BOXES, dims)) / 200).astype(dtype)
    upper = lower + np.asarray(140 / 200, dtype)
    open_below, open_above = rng.random((2, BOXES, dims)) < 0.3
    return np.where(open_below, -np.inf, lower).astype(dtype), np.where(open_above, np.inf, upper).astype(
        dtype
    )


def border_points(lower: oracle.Array, upper: oracle.Array, dtype: str) -> oracle.Array:
    """Events on bounds, a hair beside them, beyond all of them, and without some attributes."""
    rng = np.random.default_rng(5)
    dims = lower.shape[1]
    points = rng.integers(-4, 205, (160, dims)) / 200
    rows = rng.integers(0, BOXES, (40, dims))
    bounds = np.where(
        rng.random((40, dims)) < 0.5, lower[rows, np.arange(dims)], upper[rows, np.arange(dims)]
    )
    points[:40] = np.where(np.isfinite(bounds), bounds, 0.5)
    points[40:60] = np.nextafter(points[20:40], 2.0)
    points[60:80] = np.nextafter(points[20:40], -2.0)
    points[80:90] = rng.choice([-np.inf, np.inf, -1e30, 1e30, 0.5], (10, dims))
    points[90:120][rng.random((30, dims)) < 0.2] = np.nan
    return points.astype(dtype)


def assert_exact(index: pm.Index, lower: oracle.Array, upper: oracle.Array, ids: oracle.Array) -> None:
    for dtype in oracle.DTYPES:
        points = border_points(lower, upper, dtype)
        hits = oracle.contains(lower, upper, points)
        assert hits.sum(1).max() > BOXES / 4, "events that match little would not test what is sure"
        for order in ("fifo", "sjf"):
            assert oracle.rows_in(index.match(points, order=order)) == oracle.rows_of(hits, ids)
        assert index.count(points).tolist() == hits.sum(1).tolist()


@pytest.mark.parametrize("dims", [4, 9, 20])
@pytest.mark.parametrize("dtype", oracle.DTYPES)
def test_wide_boxes_match_brute_force(dims: int, dtype: str) -> None:
    lower, upper = wide_boxes(dims, dtype, seed=dims)
    # With few dimensions more boxes match, with many fewer: narrow them down to events that match much.
    keep = np.arange(dims) < 6
    lower[:, ~keep], upper[:, ~keep] = np.where(lower[:, ~keep] > 0.25, lower[:, ~keep], -np.inf), np.inf
    index = pm.Index.build(lower, upper, params=pm.Params(node_kernel="bitmap"))
    assert_exact(index, lower, upper, np.arange(BOXES))


@pytest.mark.parametrize("dtype", oracle.DTYPES)
def test_boxes_outside_all_buckets_put_in_later(dtype: str) -> None:
    """Their bounds fall in the outermost buckets, with events on either side of them."""
    lower, upper = wide_boxes(5, dtype, seed=1)
    index = pm.Index.build(lower, upper, params=pm.Params(node_kernel="bitmap"))
    gone = np.arange(BOXES) % 7 == 3
    index.delete(np.flatnonzero(gone))
    rng = np.random.default_rng(2)
    new = int(gone.sum())
    lower[gone] = rng.choice([-9.0, -0.015, 0.0], (new, 5))
    upper[gone] = rng.choice([1.0, 1.015, 9.0], (new, 5))
    index.insert(lower[gone], upper[gone], np.flatnonzero(gone))
    index.check()
    assert_exact(index, lower, upper, np.arange(BOXES))
