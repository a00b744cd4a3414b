"""`FilterSpace`: what the index says of filters is what the filters themselves say."""

from __future__ import annotations

import itertools
import random

import pytest
from filter_strategies import SMALL, SMALL_LITERALS, filter_texts
from hypothesis import given, settings
from hypothesis import strategies as st

import pubmatch as pm
from pubmatch.filters import boxes
from pubmatch.mobility import Event, FilterSpace

EVENTS = [
    Event({name: value for name, value in zip("xshz", values, strict=True) if value is not None})
    for values in itertools.product(
        (None, 0, 1, 2, 3, 4), (None, "A", "AB", "B"), (None, True, False), (None, 0.0, 0.25, 0.5, 1.0)
    )
]


def satisfiable(text: str) -> bool:
    try:
        return bool(boxes(text, SMALL))
    except pm.FilterError:
        return False


@pytest.mark.oracle
@settings(max_examples=60, deadline=None)
@given(st.lists(filter_texts(SMALL_LITERALS, 4).filter(satisfiable), min_size=2, max_size=6))
def test_relations_and_matches_equal_the_filters(texts: list[str]) -> None:
    space = FilterSpace(SMALL)
    filters = [pm.parse(text) for text in texts]
    half = len(filters) // 2
    space.add(filters[:half], filters[:half])
    ads = [space.ad(each) for each in filters]
    subs = [space.sub(each) for each in filters]
    assert ads == subs
    for (i, a), (j, b) in itertools.product(enumerate(filters), repeat=2):
        over, under = pm.covers(a, b, SMALL), pm.covers(b, a, SMALL)
        assert (ads[i] == ads[j]) == (over and under)
        assert space.covers(a, b) == over
        assert space.intersects(a, b) == pm.intersects(a, b, SMALL)
        if ads[i] != ads[j]:
            assert (ads[j] in space.subs.covered(ads[i])) == (ads[i] in space.subs.covering(ads[j])) == over
        assert (ads[j] in space.ads.meeting(ads[i])) == pm.intersects(a, b, SMALL)
    together = FilterSpace(SMALL)
    together.add(filters, filters)
    for one, many in ((space.ads, together.ads), (space.subs, together.subs)):
        for each in filters:
            a, b = space.ad(each), together.ad(each)
            for ask in ("covering", "covered", "meeting"):
                alone, prepared = getattr(one, ask)(a), getattr(many, ask)(b)
                assert {space.filters[c] for c in alone} == {together.filters[c] for c in prepared}
    bound = [each.bind(SMALL) for each in filters]
    for event in EVENTS[:: 1 + len(EVENTS) // 40]:
        wanted = {content for content, each in zip(subs, bound, strict=True) if each.matches(event) is True}
        assert space.matching(event) == wanted
        assert [space.matches(each, event) for each in filters] == [content in wanted for content in subs]


@pytest.mark.oracle
def test_large_integers_and_open_bounds_are_exact() -> None:
    schema = pm.Schema(n=pm.Integer(), x=pm.Number(), at=pm.Timestamp())
    space = FilterSpace(schema)
    big = [2**53 - 1, 2**53, 2**53 + 1, 2**60, 2**60 + 1, -(2**53) - 1]
    filters = [pm.parse(f"n {sign} {value}") for sign in ("<=", ">=", "=") for value in big]
    filters += [pm.parse(text) for text in ("x < 1", "x <= 1", "x > 1", "x IS NULL", "x >= 1", "NOT x < 1")]
    filters += [pm.parse("at >= '2026-01-01'"), pm.parse("at < '2026-01-01'")]
    subs = [space.sub(each) for each in filters]
    for a, b in itertools.product(filters, repeat=2):
        assert space.covers(a, b) == pm.covers(a, b, schema)
        assert space.intersects(a, b) == pm.intersects(a, b, schema)
    from datetime import datetime

    events = [Event(n=value) for value in (*big, 2**53 + 2, 0)]
    events += [Event(x=value) for value in (0.9999999999999999, 1.0, 1, 1.0000000000000002, None)]
    events += [Event(at=datetime(2026, 1, 1)), Event(at=datetime(2025, 12, 31, 23, 59, 59, 999999))]
    for event in events:
        wanted = {
            content
            for content, each in zip(subs, filters, strict=True)
            if each.bind(schema).matches(event) is True
        }
        assert space.matching(event) == wanted


def test_many_subscriptions_match_as_a_plain_table() -> None:
    rng = random.Random(3)
    space = FilterSpace(pm.Schema(price=pm.Number(), symbol=pm.Category()))
    filters = []
    for _ in range(1500):
        low = rng.random() * 100
        filters.append(pm.attr("price").between(low, low + 5) & (pm.attr("symbol") == f"S{rng.randrange(9)}"))
    space.add(subs=filters)
    for _ in range(50):
        event = Event(price=rng.random() * 100, symbol=f"S{rng.randrange(9)}")
        assert {space.filters[c] for c in space.matching(event)} == {
            each for each in filters if each.matches(event)
        }


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"x": "three"}, "attribute 'x' takes an integer, got 'three'"),
        ({"x": 2.5}, "attribute 'x' takes an integer, got 2.5"),
        ({"x": 9}, "attribute 'x' lies outside its domain, got 9"),
        ({"s": 3}, "attribute 's' takes a category, got 3"),
        ({"s": "C"}, "attribute 's' lies outside its domain, got 'C'"),
        ({"h": 1}, "attribute 'h' takes a boolean, got 1"),
        ({"z": True}, "attribute 'z' takes a number, got True"),
        ({"x": 2**70}, "attribute 'x' takes an integer, got 1180591620717411303424"),
        ({"z": [1, 2]}, "attribute 'z' takes a number, got"),
        ({"z": 10**400}, "attribute 'z' takes a number, got 1000"),
    ],
)
def test_events_that_do_not_fit(event: dict[str, object], message: str) -> None:
    space = FilterSpace(SMALL)
    space.sub(pm.parse("x = 1"))
    with pytest.raises(pm.SchemaError, match=message):
        space.matching(Event(event))


def test_filters_that_do_not_fit() -> None:
    space = FilterSpace(SMALL)
    with pytest.raises(pm.FilterError, match="no event satisfies"):
        space.ad(pm.parse("x = 1 AND x = 2"))
    with pytest.raises(pm.PubmatchError, match="nosuch"):
        space.sub(pm.parse("nosuch = 1"))
    assert len(space) == 0
    with pytest.raises(TypeError, match="schema must be a Schema"):
        FilterSpace({"x": 1})  # type: ignore[arg-type]


def test_forgotten_filters_leave_nothing_behind() -> None:
    space = FilterSpace(SMALL)
    kept = space.sub(pm.parse("x >= 1"))
    for value in (2, 3, 4):
        space.ad(pm.parse(f"x = {value}"))
        space.sub(pm.parse(f"x = {value} OR s = 'A'"))
    assert len(space) == 7
    assert space.keep([kept]) == 6
    assert len(space) == 1
    assert space.matching(Event(x=3)) == {kept}
    assert space.subs.covered(kept) == space.ads.meeting(kept) == ()
    again = space.sub(pm.parse("x = 3"))
    assert again < 7
    assert space.subs.covered(kept) == (again,)
    assert space.matching(Event(x=3)) == {kept, again}
