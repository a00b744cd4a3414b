"""Subscribing, unsubscribing, replacing, explaining: what a matcher's methods promise."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest

from pubmatch.errors import ArgumentError, ArgumentTypeError, FilterError, PubmatchError, SchemaError
from pubmatch.filters import attr, parse
from pubmatch.matcher import Matcher
from pubmatch.schema import Boolean, Category, Integer, Number, Schema, Timestamp

SCHEMA = Schema(price=Number(), volume=Integer(), symbol=Category(), halted=Boolean(), at=Timestamp())
EVENTS: list[dict[str, Any]] = [
    {"price": 12.5, "volume": 100, "symbol": "IBM", "halted": False, "at": dt.datetime(2026, 1, 1)},
    {"price": 25.0, "volume": 2**53 + 1, "symbol": "AMD", "halted": True},
    {"price": None, "volume": 2**53, "symbol": "HP"},
    {},
]
FILTERS: dict[str | int, str] = {
    "range": "price BETWEEN 10 AND 20",
    "in": "symbol IN ('IBM', 'AMD')",
    "not": "symbol <> 'IBM'",
    "not in": "symbol NOT IN ('IBM', 'X')",
    "null": "price IS NULL",
    "not null": "price IS NOT NULL",
    "all": "TRUE",
    "both": "price <= 20 OR price > 20",
    "exact": "volume > 9007199254740992",
    "flag": "halted",
    "no flag": "NOT halted",
    "prefix": "symbol LIKE 'I%'",
    "time": "at >= '2026-01-01' AND at < '2026-01-02'",
    "either": "price < 15 OR symbol = 'HP' OR volume > 50",
    7: "price > 20 AND halted",
}
EXPECTED = [
    {"range", "in", "not null", "all", "both", "no flag", "prefix", "time", "either"},
    {"in", "not", "not in", "not null", "all", "both", "exact", "flag", "either", 7},
    {"not", "not in", "null", "all", "either"},
    {"null", "all"},
]


def filled_matcher() -> Matcher:
    matcher = Matcher(SCHEMA)
    for key, text in FILTERS.items():
        matcher.subscribe(key, text)
    return matcher


def state_of(matcher: Matcher) -> Any:
    """All that can be seen of a matcher."""
    stats = matcher.stats()
    stats.pop("index")
    rows = [sorted(map(str, keys)) for keys in matcher.match(EVENTS)]
    return rows, matcher.keys(), [matcher.filter_of(key) for key in matcher], stats, matcher.schema


def test_matches_are_those_of_sql() -> None:
    matcher = filled_matcher()
    result = matcher.match(EVENTS)
    assert [set(keys) for keys in result] == EXPECTED
    assert [len(keys) for keys in result] == [len(keys) for keys in EXPECTED], "a key is reported once"
    for event, keys in zip(EVENTS, EXPECTED, strict=True):
        assert {key for key in matcher if matcher.filter_of(key).bind(SCHEMA).matches(event) is True} == keys


def test_expressions_and_text_are_the_same() -> None:
    matcher = Matcher(SCHEMA)
    expression = (attr("price") > 10) & ~(attr("symbol") == "O'Hara") | attr("at").is_null()
    matcher.subscribe("expression", expression)
    matcher.subscribe("text", str(expression))
    matcher.subscribe("flag", attr("halted"))
    assert matcher.filter_of("expression") == matcher.filter_of("text") == expression
    events = [{"price": 11.0, "symbol": "IBM", "at": dt.datetime(2026, 1, 1)}, {"halted": True}]
    assert [sorted(keys) for keys in matcher.match(events)] == [
        ["expression", "text"],
        ["expression", "flag", "text"],
    ]


def test_size_keys_and_membership() -> None:
    matcher = filled_matcher()
    assert len(matcher) == len(FILTERS)
    assert matcher.keys() == list(matcher) == list(FILTERS)
    assert "range" in matcher
    assert 7 in matcher
    assert np.int64(7) in matcher
    for strange in ("7", 8, 7.5, None, True, [], "\ud800"):
        assert strange not in matcher
    assert repr(Matcher(Schema(x=Number()))) == (
        "Matcher(Schema(x=Number(domain=None)), max_boxes=64, subscriptions=0)"
    )


def test_filters_come_back_as_they_were() -> None:
    matcher = filled_matcher()
    for key, text in FILTERS.items():
        assert matcher.filter_of(key) == parse(text)
    with pytest.raises(ArgumentError, match="there is no subscription 'gone'"):
        matcher.filter_of("gone")


def test_unsubscribe() -> None:
    matcher = filled_matcher()
    assert matcher.unsubscribe("either") is True
    assert matcher.unsubscribe("either") is False
    assert matcher.unsubscribe("never") is False
    assert [set(keys) for keys in matcher.match(EVENTS)] == [keys - {"either"} for keys in EXPECTED]
    matcher.subscribe("either", "price = 25")
    assert ["either" in keys for keys in matcher.match(EVENTS)] == [False, True, False, False]


def test_replace() -> None:
    matcher = filled_matcher()
    matcher.subscribe("either", "price IS NULL AND symbol IS NULL", replace=True)
    matcher.subscribe("range", "price > 20 OR symbol = 'HP'", replace=True)
    matcher.subscribe("new", "halted", replace=True)
    found = matcher.match(EVENTS)
    assert ["either" in keys for keys in found] == [False, False, False, True]
    assert ["range" in keys for keys in found] == [False, True, True, False]
    assert ["new" in keys for keys in found] == [False, True, False, False]
    assert len(matcher) == len(FILTERS) + 1


BAD: dict[str, tuple[Any, Any, type[PubmatchError], str]] = {
    "unknown attribute": ("k", "prize > 10", FilterError, "subscription 'k': unknown attribute 'prize'"),
    "wrong type": ("k", "price > 'x'", FilterError, "subscription 'k': .*price"),
    "no SQL": ("k", "price >", FilterError, "subscription 'k': "),
    "never true": ("k", "price > 5 AND price < 5", FilterError, "subscription 'k': no event can satisfy"),
    "never true by type": ("k", "volume > 3 AND volume < 4", FilterError, "no event can satisfy"),
    "too many boxes": ("k", " OR ".join(f"price = {n}" for n in range(200)), FilterError, "boxes"),
    "beyond": ("k", f"volume > {2**62 + 2**61 + 2**60}", FilterError, "only compared exactly up to"),
    "beyond by one": (
        "k",
        f"volume <> {2**63 - 1}",
        FilterError,
        f"with {2**63 - 1}, .*: volume <> {2**63 - 1}",
    ),
    "null character": ("k", "symbol = '\0'", FilterError, "null character"),
    "no filter": ("k", None, ArgumentTypeError, "a filter must be text or an expression, got NoneType"),
    "taken": ("range", "price > 1", ArgumentError, "key 'range' is taken; replace=True"),
    "float key": (1.5, "price > 1", ArgumentTypeError, "a key must be a string or an integer, got 1.5"),
    "boolean key": (True, "price > 1", ArgumentTypeError, "a key must be a string or an integer, got True"),
    "no key": (None, "price > 1", ArgumentTypeError, "a key must be a string or an integer"),
    "huge key": (2**63, "price > 1", ArgumentError, "does not fit int64"),
    "surrogate": ("\ud800", "price > 1", ArgumentError, "lone surrogate"),
}


@pytest.mark.parametrize("case", BAD)
def test_refusals_change_nothing(case: str) -> None:
    key, filter, kind, message = BAD[case]
    matcher = filled_matcher()
    before = state_of(matcher)
    with pytest.raises(kind, match=message):
        matcher.subscribe(key, filter)
    assert state_of(matcher) == before


def test_a_refused_replacement_keeps_the_old_one() -> None:
    matcher = filled_matcher()
    before = state_of(matcher)
    with pytest.raises(FilterError):
        matcher.subscribe("range", "price > 1 AND price < 0", replace=True)
    with pytest.raises(ArgumentTypeError, match="replace must be True or False"):
        matcher.subscribe("range", "price > 1", replace=1)  # type: ignore[arg-type]
    assert state_of(matcher) == before


def test_bad_matchers_are_refused() -> None:
    with pytest.raises(SchemaError):
        Matcher({"price": "number"})  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="at most 255 attributes, got 256"):
        Matcher(Schema(**{f"x{n}": Number() for n in range(256)}))
    with pytest.raises(ArgumentError, match="max_boxes must be at least 1, got 0"):
        Matcher(SCHEMA, max_boxes=0)


def test_max_boxes() -> None:
    matcher = Matcher(SCHEMA, max_boxes=2)
    matcher.subscribe("two", "price < 1 OR price > 2")
    with pytest.raises(FilterError, match="2 boxes"):
        matcher.subscribe("three", "price < 1 OR price > 2 OR symbol = 'x'")
    assert (matcher.max_boxes, len(matcher)) == (2, 1)


def test_explain() -> None:
    matcher = filled_matcher()
    found = matcher.explain(EVENTS[1], "range")
    assert (found.matched, found.truth, found.failed) == (False, False, [("price BETWEEN 10 AND 20", 25.0)])
    assert str(found) == "not matched\n  price BETWEEN 10 AND 20: the event has 25.0"
    found = matcher.explain(EVENTS[2], "range")
    assert (found.matched, found.truth, found.failed) == (False, None, [("price BETWEEN 10 AND 20", None)])
    found = matcher.explain(EVENTS[0], "range")
    assert (found.matched, found.truth, found.failed, str(found)) == (True, True, [], "matched")
    assert matcher.explain(EVENTS[0], "not").failed == [("symbol <> 'IBM'", "IBM")]
    assert matcher.explain(EVENTS[3], "either").failed == [
        ("price < 15", None),
        ("symbol = 'HP'", None),
        ("volume > 50", None),
    ]
    matcher.subscribe("nested", "NOT (price > 20 AND (symbol = 'AMD' OR volume < 5)) AND NOT halted")
    assert matcher.explain(EVENTS[1], "nested").failed == [
        ("NOT (price > 20)", 25.0),
        ("NOT (symbol = 'AMD')", "AMD"),
        ("NOT halted", True),
    ]


@pytest.mark.parametrize("event", EVENTS)
def test_explain_agrees_with_match(event: dict[str, Any]) -> None:
    matcher = filled_matcher()
    keys = matcher.match([event])[0]
    for key in matcher:
        found = matcher.explain(event, key)
        assert found.matched == (key in keys)
        assert found.matched == (found.truth is True)
        assert found.matched == (not found.failed)


def test_explain_refuses() -> None:
    matcher = filled_matcher()
    with pytest.raises(ArgumentError, match="there is no subscription 'gone'"):
        matcher.explain({}, "gone")
    with pytest.raises(SchemaError, match="column 'price' is str"):
        matcher.explain({"price": "cheap"}, "range")
    with pytest.raises(ArgumentTypeError, match="an event must be a dict"):
        matcher.explain([{}], "range")  # type: ignore[arg-type]


def test_covering() -> None:
    matcher = Matcher(SCHEMA)
    filters = {
        "wide": "price BETWEEN 0 AND 100",
        "narrow": "price BETWEEN 40 AND 60",
        "all": "TRUE",
        "split": "price < 50 OR price >= 50 AND volume > 3",
        "quarters": "(price < 5 AND volume < 5) OR (price >= 5 AND price < 10 AND volume < 6)",
        "names": "symbol >= 'B' AND symbol < 'D'",
        "prefix": "symbol LIKE 'C%'",
        "present": "price IS NOT NULL",
    }
    for key, text in filters.items():
        matcher.subscribe(key, text)
    asked = {
        "price BETWEEN 40 AND 60": {"wide", "narrow", "all", "present"},
        "price BETWEEN 45 AND 55 AND volume > 10": {"wide", "narrow", "all", "split", "present"},
        "price BETWEEN 1 AND 9 AND volume < 5": {"wide", "all", "split", "quarters", "present"},
        "price < 49": {"all", "split", "present"},
        "symbol = 'CA'": {"all", "names", "prefix"},
        "symbol > 'B' AND symbol < 'Bx'": {"all", "names"},
        "symbol = 'A'": {"all"},
        "price IS NULL": {"all"},
        "price = 50 OR price = 51": {"wide", "narrow", "all", "present"},
    }
    for text, keys in asked.items():
        assert set(matcher.covering(text)) == keys, text
        assert set(matcher.covering(parse(text))) == keys
    with pytest.raises(FilterError, match="no event satisfies"):
        matcher.covering("price > 1 AND price < 1")
    with pytest.raises(FilterError, match="prize"):
        matcher.covering("prize > 1")


def test_stats() -> None:
    matcher = Matcher(SCHEMA)
    assert matcher.stats()["subscriptions"] == matcher.stats()["boxes"] == 0
    matcher.subscribe_many({"key": range(50), "filter": [f"price > {n} AND volume < 5" for n in range(50)]})
    matcher.subscribe("other", "symbol = 'a' OR symbol = 'c' OR volume = 2")
    stats = matcher.stats()
    assert (stats["subscriptions"], stats["boxes"], stats["attribute_combinations"]) == (51, 53, 2)
    assert stats["boxes_per_subscription"] == 53 / 51
    assert stats["shapes"] == 2
    assert stats["nbytes"] > stats["index"]["bytes"] > 0
    matcher.unsubscribe("other")
    assert matcher.stats()["attribute_combinations"] == 1


def test_add_attributes() -> None:
    matcher = filled_matcher()
    before = [sorted(map(str, keys)) for keys in matcher.match(EVENTS)]
    matcher.add_attributes(city=Category(), rank=Number())
    assert matcher.schema.names == (*SCHEMA.names, "city", "rank")
    assert [sorted(map(str, keys)) for keys in matcher.match(EVENTS)] == before
    matcher.subscribe("city", "city = 'Bonn' AND price < 20")
    assert "city" in matcher.match([{**EVENTS[0], "city": "Bonn"}])[0]
    with pytest.raises(SchemaError, match="'price' is there already"):
        matcher.add_attributes(price=Number())
    with pytest.raises(SchemaError, match="at most 255"):
        matcher.add_attributes(**{f"x{n}": Number() for n in range(300)})
    assert matcher.schema.names == (*SCHEMA.names, "city", "rank")


def test_a_result_outlives_its_subscriptions() -> None:
    matcher = filled_matcher()
    result = matcher.match(EVENTS)
    for key in list(matcher):
        matcher.unsubscribe(key)
    matcher.add_attributes(more=Number())
    matcher.subscribe("first", "TRUE")
    assert [set(keys) for keys in result] == EXPECTED
    assert list(matcher.match(EVENTS)) == [["first"]] * 4


def test_slots_are_used_up_and_made_anew() -> None:
    matcher = Matcher(Schema(x=Number(), s=Category()))
    matcher.subscribe("stays", "x > 5 OR s = 'a'")
    slots = []
    for number in range(9000):
        matcher.subscribe("moves", f"x = {number}", replace=True)
        slots.append(len(matcher._subscriptions.snapshot.keys))
    assert max(slots) < 5000, "dead slots are given up in time"
    assert [sorted(keys) for keys in matcher.match([{"x": 8999.0}, {"x": 8998.0}, {"s": "a"}])] == [
        ["moves", "stays"],
        ["stays"],
        ["stays"],
    ]
