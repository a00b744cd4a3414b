"""Filters against DuckDB, and their boxes against themselves."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from filter_strategies import (
    SCHEMA,
    SMALL,
    SMALL_LITERALS,
    DuckOracle,
    filter_texts,
    filters,
    in_box,
    sample_rows,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from pubmatch.errors import FilterError
from pubmatch.filters import Filter, boxes, covers, intersects, parse

ROWS = sample_rows(60, seed=1)
# All events of SMALL there are, up to the order of the numbers between its constants.
EVERY_SMALL: list[dict[str, Any]] = [
    dict(zip(SMALL, values, strict=True))
    for values in itertools.product(
        [None, 0, 1, 2, 3, 4], [None, "A", "AB", "B"], [None, False, True], [None, 0.0, 0.25, 0.5, 0.75, 1.0]
    )
]


@pytest.fixture(scope="module")
def duck() -> Iterator[DuckOracle]:
    oracle = DuckOracle(ROWS)
    yield oracle
    oracle.close()


@given(st.lists(filter_texts(), min_size=8, max_size=8))
@settings(max_examples=120)
def test_truth_is_what_duckdb_says(duck: DuckOracle, texts: list[str]) -> None:
    parsed = [parse(text) for text in texts]
    bound = [each.bind(SCHEMA) for each in parsed]
    written = [str(each) for each in bound]
    truths = duck.truths([*texts, *map(str, parsed), *written])
    for position, (text, unbound, each) in enumerate(zip(texts, parsed, bound, strict=True)):
        expected = truths[position]
        assert [unbound.matches(row) for row in ROWS] == expected, text
        assert [each.matches(row) for row in ROWS] == expected, text
        assert truths[position + len(texts)] == expected, str(unbound)
        assert truths[position + 2 * len(texts)] == expected, written[position]


@given(filters())
@settings(max_examples=400)
def test_text_parses_back(each: Filter) -> None:
    bound = each.bind(SCHEMA)
    for written in (each, bound):
        again = parse(str(written))
        assert again == written
        assert hash(again) == hash(written)
        assert str(again) == str(written)
    assert bound.bind(SCHEMA) == bound
    assert each.attributes == bound.attributes <= set(SCHEMA)


@given(filters())
@settings(max_examples=400)
def test_boxes_hold_where_the_filter_is_true(each: Filter) -> None:
    normal = boxes(each, SCHEMA, max_boxes=1024)
    if len(normal) > 64:
        with pytest.raises(FilterError, match="more than 64 boxes"):
            boxes(each, SCHEMA)
    for row in ROWS:
        assert any(in_box(box, row) for box in normal) == (each.matches(row) is True)
    for box in normal:
        for side in box.values():
            assert not (side.absent and side.lower is not None)
            assert side.values or (side.absent and side.upper is None)


@given(filters(SMALL_LITERALS))
@settings(max_examples=300)
def test_boxes_over_a_small_domain(each: Filter) -> None:
    true = [event for event in EVERY_SMALL if each.matches(event) is True]
    normal = boxes(each, SMALL)
    assert [event for event in EVERY_SMALL if any(in_box(box, event) for box in normal)] == true
    assert (normal == ()) == (true == [])
    assert (normal == ({},)) == (true == EVERY_SMALL)
    for left_out in range(len(normal)):
        rest = normal[:left_out] + normal[left_out + 1 :]
        assert any(not any(in_box(box, event) for box in rest) for event in true)


@given(filters(SMALL_LITERALS, max_leaves=5), filters(SMALL_LITERALS, max_leaves=5))
@settings(max_examples=400)
def test_covers_and_intersects_are_what_they_say(a: Filter, b: Filter) -> None:
    inside_a = [a.matches(event) is True for event in EVERY_SMALL]
    inside_b = [b.matches(event) is True for event in EVERY_SMALL]
    pairs = list(zip(inside_a, inside_b, strict=True))
    assert covers(a, b, SMALL) == all(in_a for in_a, in_b in pairs if in_b)
    assert intersects(a, b, SMALL) == any(in_a and in_b for in_a, in_b in pairs)
    assert covers(a | b, a, SMALL)
    assert covers(a, a & b, SMALL)


@given(filters(max_leaves=4), filters(max_leaves=4))
@settings(max_examples=200)
def test_relations_agree_with_samples(a: Filter, b: Filter) -> None:
    in_both = [row for row in ROWS if a.matches(row) and b.matches(row)]
    only_b = [row for row in ROWS if b.matches(row) and not a.matches(row)]
    if in_both:
        assert intersects(a, b, SCHEMA)
    if only_b:
        assert not covers(a, b, SCHEMA)
    assert intersects(a, b, SCHEMA) == (boxes(a & b, SCHEMA, max_boxes=1024) != ())
