"""Box queries: which boxes meet, contain or lie inside a given box."""

from __future__ import annotations

import numpy as np
import oracle
import pytest

import pubmatch as pm

pytestmark = pytest.mark.oracle

BOXES = 1300
QUERIES = 40
RELATIONS = {
    "intersecting": oracle.intersects,
    "covering": oracle.covers,
    "covered": oracle.lies_inside,
}


def make_queries(lower: oracle.Array, upper: oracle.Array) -> tuple[oracle.Array, oracle.Array]:
    """Boxes that meet, touch, contain and lie inside the given ones: copies, points, grown, shifted, all."""
    rng = np.random.default_rng(9)
    chosen = rng.integers(0, len(lower), QUERIES)
    below, above = lower[chosen].astype(float), upper[chosen].astype(float)
    middle = np.clip(below, -2, 2) / 2 + np.clip(above, -2, 2) / 2
    inside = np.arange(QUERIES) % 5 == 1
    below[inside], above[inside] = middle[inside], middle[inside]
    around = np.arange(QUERIES) % 5 == 2
    with np.errstate(over="ignore"):
        below[around], above[around] = (
            np.nextafter(below[around], -np.inf),
            np.nextafter(above[around], np.inf),
        )
    beside = np.arange(QUERIES) % 5 == 3
    below[beside], above[beside] = above[beside], np.maximum(above[beside] + 1, above[beside])
    below[0], above[0] = -np.inf, np.inf
    return np.minimum(below, above), np.maximum(below, above)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", oracle.BOXES)
@pytest.mark.parametrize("dims", [1, 2, 5, 20])
@pytest.mark.parametrize("layout", oracle.LAYOUTS)
def test_box_queries_match_brute_force(relation: str, kind: str, dims: int, layout: str) -> None:
    lower, upper = oracle.make_boxes(kind, BOXES, dims)
    ids = np.arange(BOXES) * 3 - 100
    index = pm.Index.build(lower, upper, ids, params=oracle.LAYOUTS[layout])
    below, above = make_queries(lower, upper)
    result = getattr(index, relation)(below, above)
    hits = RELATIONS[relation](lower, upper, below, above)
    assert hits.any()
    assert len(result) == QUERIES
    assert oracle.rows_in(result) == oracle.rows_of(hits, ids)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("layout", oracle.LAYOUTS)
@pytest.mark.parametrize("dims", [1, 5])
def test_box_queries_after_updates(relation: str, layout: str, dims: int) -> None:
    lower, upper = oracle.make_boxes("sparse", BOXES, dims)
    index = pm.Index(dims=dims, params=oracle.LAYOUTS[layout])
    for piece in np.array_split(np.arange(BOXES), 5):
        index.insert(lower[piece], upper[piece])
    index.delete(np.arange(0, BOXES, 2))
    below, above = make_queries(lower, upper)
    hits = RELATIONS[relation](lower[1::2], upper[1::2], below, above)
    assert oracle.rows_in(getattr(index, relation)(below, above)) == oracle.rows_of(
        hits, np.arange(1, BOXES, 2)
    )


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("layout", oracle.LAYOUTS)
def test_float64_queries_of_a_float32_index_are_not_rounded(relation: str, layout: str) -> None:
    lower, upper = oracle.make_boxes("uniform", BOXES, 2, "float32")
    index = pm.Index.build(lower, upper, params=oracle.LAYOUTS[layout])
    below, above = make_queries(lower, upper)
    # Off the boxes' own bounds by less than float32 can tell: smaller, larger, and wholly behind them.
    low, high = lower.astype(float), upper.astype(float)
    below[:10], above[:10] = np.nextafter(low[:10], np.inf), np.nextafter(high[:10], -np.inf)
    below[10:20], above[10:20] = np.nextafter(low[10:20], -np.inf), np.nextafter(high[10:20], np.inf)
    below[20:30], above[20:30] = np.nextafter(high[20:30], np.inf), high[20:30] * (1 + 2.0**-50)
    hits = RELATIONS[relation](lower, upper, below, above)
    rounded = RELATIONS[relation](lower, upper, below.astype(np.float32), above.astype(np.float32))
    assert (hits != rounded).any(), "rounding would change nothing here"
    assert oracle.rows_in(getattr(index, relation)(below, above)) == oracle.rows_of(hits, np.arange(BOXES))


@pytest.mark.parametrize("relation", RELATIONS)
def test_one_box_none_and_an_empty_index(relation: str) -> None:
    ask = getattr(pm.Index.build([[0.0, 0.0]], [[2.0, 2.0]], [7]), relation)
    assert [ids.tolist() for ids in ask([0.0, 0.0], [2.0, 2.0])] == [[7]]
    assert len(ask(np.empty((0, 2)), np.empty((0, 2)))) == 0
    assert oracle.rows_in(getattr(pm.Index(dims=2), relation)([[0, 0], [1, 1]], [[3, 3], [1, 1]])) == [[], []]


@pytest.mark.parametrize("relation", RELATIONS)
def test_bad_query_boxes_are_refused_with_place(relation: str) -> None:
    ask = getattr(pm.Index.build([[0.0, 0.0]], [[2.0, 2.0]]), relation)
    with pytest.raises(pm.ArgumentError, match=r"row 1, dimension 0.*\(1\.0 < 5\.0\)"):
        ask([[0, 0], [5, 0]], [[1, 1], [1, 1]])
    with pytest.raises(pm.ArgumentError, match=r"(?i)nan.*row 0, dimension 1"):
        ask([[0, np.nan]], [[1, 1]])
    with pytest.raises(pm.ArgumentError, match=r"\(1, 2\).*\(2, 2\)"):
        ask([[0, 0]], [[1, 1], [1, 1]])
    with pytest.raises(pm.ArgumentError, match=r"\(1, 3\)"):
        ask([[0, 0, 0]], [[1, 1, 1]])
