"""Every layout, dtype, order, level, thread count and kernel gives exactly what brute force gives."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pubmatch as pm

pytestmark = pytest.mark.oracle

DIMS = (1, 2, 3, 5, 12, 20, 40)
# Enough for two bitmap blocks and several levels of the small trees.
BOXES = 1300
POINTS = 60


def built(kind: str, dims: int, dtype: str, layout: str) -> tuple[pm.Index, oracle.Array, oracle.Array]:
    lower, upper = oracle.make_boxes(kind, BOXES, dims, dtype)
    return pm.Index.build(lower, upper, params=oracle.LAYOUTS[layout]), lower, upper


@pytest.mark.parametrize("kind", oracle.BOXES)
@pytest.mark.parametrize("dims", DIMS)
@pytest.mark.parametrize("layout", oracle.LAYOUTS)
@pytest.mark.parametrize("dtype", oracle.DTYPES)
def test_built_index_matches_brute_force(kind: str, dims: int, layout: str, dtype: str) -> None:
    index, lower, upper = built(kind, dims, dtype, layout)
    for point_dtype in oracle.DTYPES:
        points = oracle.make_points(lower, upper, POINTS, point_dtype)
        hits = oracle.contains(lower, upper, points)
        assert hits.any(), "points that match nothing would test nothing"
        assert oracle.rows_in(index.match(points)) == oracle.rows_of(hits, np.arange(BOXES))
        assert index.count(points).tolist() == hits.sum(1).tolist()
    index.check()


@pytest.mark.parametrize("kind", oracle.BOXES)
@pytest.mark.parametrize("dims", [1, 2, 5, 12])
@pytest.mark.parametrize("layout", oracle.LAYOUTS)
def test_grown_index_matches_brute_force(kind: str, dims: int, layout: str) -> None:
    """Inserted in pieces, a third deleted, the holes filled: the tree of updates, not of the builder."""
    lower, upper = oracle.make_boxes(kind, BOXES, dims)
    ids = np.random.default_rng(3).permutation(10 * BOXES)[:BOXES] - 5 * BOXES
    index = pm.Index(dims=dims, params=oracle.LAYOUTS[layout])
    for piece in np.array_split(np.arange(BOXES), 9):
        index.insert(lower[piece], upper[piece], ids[piece])
    points = oracle.make_points(lower, upper, POINTS)
    gone = np.arange(BOXES) % 3 == 1
    assert index.delete(ids[gone]) == gone.sum()
    index.check()
    expected = oracle.rows_of(oracle.contains(lower[~gone], upper[~gone], points), ids[~gone])
    assert oracle.rows_in(index.match(points)) == expected
    index.insert(lower[gone], upper[gone], ids[gone])
    index.check()
    assert oracle.rows_in(index.match(points)) == oracle.rows_of(oracle.contains(lower, upper, points), ids)


@pytest.mark.parametrize("layout", oracle.LAYOUTS)
@pytest.mark.parametrize(("dims", "kind"), [(2, "uniform"), (5, "sparse"), (12, "uniform"), (20, "sparse")])
def test_order_level_threads_and_sort_change_nothing(layout: str, dims: int, kind: str) -> None:
    index, lower, upper = built(kind, dims, "float32", layout)
    points = oracle.make_points(lower, upper, 150, "float32")
    expected = oracle.rows_of(oracle.contains(lower, upper, points), np.arange(BOXES))
    for order in ("fifo", "sjf"):
        for level in ("auto", *range(1, index.height + 1)):
            for threads in (1, 2, 3):
                result = index.match(points, order=order, level=level, threads=threads)
                assert oracle.rows_in(result) == expected, (order, level, threads)
                result = index.match(points, order=order, level=level, threads=threads, sort=True)
                assert [ids.tolist() for ids in result] == expected, (order, level, threads, "sorted")
    for threads in (1, 2, 3):
        assert index.count(points, threads=threads).tolist() == [len(row) for row in expected]


@pytest.mark.parametrize("layout", oracle.LAYOUTS)
@pytest.mark.parametrize("dims", [2, 12])
def test_float64_points_between_float32_neighbours(layout: str, dims: int) -> None:
    """A float64 point is compared as it is: just outside a float32 bound is outside."""
    lower, upper = oracle.make_boxes("uniform", BOXES, dims, "float32")
    index = pm.Index.build(lower, upper, params=oracle.LAYOUTS[layout])
    inside = upper[:POINTS].astype(np.float64)
    outside = np.nextafter(inside, np.inf)
    assert (outside.astype(np.float32) == upper[:POINTS]).all(), "rounding would hide the difference"
    for points, own in ((inside, True), (outside, False), (np.nextafter(inside, -np.inf), True)):
        rows = oracle.rows_in(index.match(points))
        assert rows == oracle.rows_of(oracle.contains(lower, upper, points), np.arange(BOXES))
        assert all((number in row) is own for number, row in enumerate(rows))


@pytest.mark.parametrize(("dims", "kind"), [(2, "uniform"), (12, "uniform"), (12, "skewed"), (20, "sparse")])
@pytest.mark.parametrize("dtype", oracle.DTYPES)
def test_large_index_before_and_after_a_third_is_replaced(dims: int, kind: str, dtype: str) -> None:
    """Dozens of bitmap blocks and several groups of attributes, which the small cases cannot have."""
    n = 20_000
    lower, upper = oracle.make_boxes(kind, n, dims, dtype)
    points = oracle.make_points(lower, upper, 90)
    index = pm.Index.build(lower, upper)
    expected = oracle.rows_of(oracle.contains(lower, upper, points), np.arange(n))
    assert oracle.rows_in(index.match(points)) == expected
    gone = np.arange(0, n, 3)
    lower[gone], upper[gone] = oracle.make_boxes(kind, len(gone), dims, dtype, seed=5)
    assert index.delete(gone) == len(gone)
    for piece in np.array_split(gone, 7):
        index.insert(lower[piece], upper[piece], piece)
    index.check()
    expected = oracle.rows_of(oracle.contains(lower, upper, points), np.arange(n))
    assert oracle.rows_in(index.match(points, threads=2)) == expected


@pytest.mark.parametrize("layout", oracle.LAYOUTS)
def test_large_batches(layout: str) -> None:
    index, lower, upper = built("uniform", 3, "float64", layout)
    points = oracle.make_points(lower, upper, 20_000)
    hits = oracle.contains(lower, upper, points)
    for threads in (1, 3):
        result = index.match(points, threads=threads, sort=True)
        events, ids = np.nonzero(hits)
        assert np.array_equal(result.pairs()[0], events)
        assert np.array_equal(result.pairs()[1], ids)


@pytest.mark.parametrize("layout", oracle.LAYOUTS)
@pytest.mark.parametrize("dims", [1, 4, 255])
def test_empty_index_and_empty_batch(layout: str, dims: int) -> None:
    empty = pm.Index(dims=dims, params=oracle.LAYOUTS[layout])
    one = pm.Index.build(
        np.full((1, dims), -np.inf), np.full((1, dims), np.inf), params=oracle.LAYOUTS[layout]
    )
    points = np.array([np.zeros(dims), np.full(dims, np.nan), np.full(dims, np.inf)])
    assert (len(empty), empty.height) == (0, 1)
    assert oracle.rows_in(empty.match(points)) == [[], [], []]
    assert oracle.rows_in(one.match(points)) == [[0], [0], [0]]
    for index in (empty, one):
        for threads in (1, 2):
            nothing = index.match(points[:0], threads=threads)
            assert len(nothing) == 0
            assert nothing.offsets.tolist() == [0]
        assert index.count(points[:0]).shape == index.estimate(points[:0]).shape == (0,)
        assert list(index.stream(points[:0])) == []
        index.check()


@pytest.mark.parametrize("layout", oracle.LAYOUTS)
@pytest.mark.parametrize("kind", ["sparse", "skewed"])
def test_a_sample_of_events_changes_the_tree_not_the_results(layout: str, kind: str) -> None:
    lower, upper = oracle.make_boxes(kind, BOXES, 6)
    points = oracle.make_points(lower, upper, 200)
    expected = oracle.rows_of(oracle.contains(lower, upper, points), np.arange(BOXES))
    for sample in (points[:100], points[:1].astype(np.float32), points[:0]):
        index = pm.Index.build(lower, upper, params=oracle.LAYOUTS[layout], sample=sample)
        index.check()
        assert oracle.rows_in(index.match(points)) == expected


@pytest.mark.parametrize(
    "params",
    [
        pm.Params(fill=0.5),
        pm.Params(fill=1.0),
        pm.Params(node_kernel="bitmap", buckets=4),
        pm.Params(node_kernel="bitmap", buckets=128),
        pm.Params(node_kernel="bitmap", node_capacity=4, leaf_capacity=4),
        pm.Params(node_kernel="compare", split="quadratic"),
        pm.Params(node_capacity=512, leaf_capacity=512),
        pm.Params(node_capacity=4, leaf_capacity=4),
    ],
    ids=str,
)
@pytest.mark.parametrize("dims", [2, 7])
def test_every_knob_keeps_the_results(params: pm.Params, dims: int) -> None:
    lower, upper = oracle.make_boxes("sparse", BOXES, dims)
    index = pm.Index.build(lower[:-200], upper[:-200], params=params)
    index.insert(lower[-200:], upper[-200:])
    index.check()
    assert index.params == params
    points = oracle.make_points(lower, upper, POINTS)
    expected = oracle.rows_of(oracle.contains(lower, upper, points), np.arange(BOXES))
    assert oracle.rows_in(index.match(points)) == expected


COORDINATES = st.sampled_from(
    [
        -np.inf,
        -1.5,
        -1.0,
        -(2.0**-149),
        -5e-324,
        -0.0,
        0.0,
        5e-324,
        2.0**-149,
        1.0,
        1.0 + 2.0**-52,
        1.5,
        np.inf,
    ]
)


@given(data=st.data(), layout=st.sampled_from(sorted(oracle.SMALL_LAYOUTS)), dims=st.integers(1, 5))
@settings(max_examples=150)
def test_awkward_coordinates(data: st.DataObject, layout: str, dims: int) -> None:
    n = data.draw(st.integers(0, 40), "boxes")
    corners = data.draw(hnp.arrays(np.float64, (2, n, dims), elements=COORDINATES), "corners")
    points = data.draw(hnp.arrays(np.float64, (6, dims), elements=COORDINATES | st.just(np.nan)), "points")
    lower, upper = corners.min(0), corners.max(0)
    index = pm.Index.build(lower, upper, params=oracle.SMALL_LAYOUTS[layout])
    index.check()
    assert oracle.rows_in(index.match(points)) == oracle.rows_of(
        oracle.contains(lower, upper, points), np.arange(n)
    )
