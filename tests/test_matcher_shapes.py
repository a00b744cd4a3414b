"""Shapes and literals: what is understood in columns is what the parser understands."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pubmatch.conjunctions import plan_of, simple_attributes
from pubmatch.encoding.labels import Labels
from pubmatch.errors import PubmatchError
from pubmatch.filter_store import FilterStore, filled
from pubmatch.matcher import Matcher
from pubmatch.schema import Boolean, Category, Integer, Number, Schema, Timestamp
from pubmatch.shapes import Shapes, split_text

SCHEMA = Schema(
    price=Number(), x2=Number(), volume=Integer(), symbol=Category(), halted=Boolean(), at=Timestamp(),
    **{"unit 1": Number(), "order": Number(), "Cap": Number()},
)  # fmt: skip
LIMITED = Schema(price=Number(domain=(0, 10)), volume=Integer())

TEXTS = [
    "price > 10",
    "price >= -1.5e3",
    "price<-.5",
    "price <= 5.",
    "price = 0",
    "price = -0.0",
    "price > - 5",
    "price BETWEEN 10 AND 20",
    "price between -3 and 1e1 and volume > 3",
    "price BETWEEN 20 AND 10",
    "price > 1 AND price < 2",
    "price > 1 AND price > 2",
    "price > 5 AND price < 5",
    "price >= 5 AND price <= 5",
    "(price > 1)",
    "(price > 1) AND (volume < 7)",
    "(price > 1 AND volume < 7)",
    "((price > 1))",
    "(price > 1",
    "x2 = 3",
    "x2=3",
    "x2 > 1 AND price > 2 AND volume = 3 AND symbol = 'a'",
    "price > 1_000",
    "price > 0x10",
    "volume > 3",
    "volume < 3",
    "volume >= 2.5",
    "volume > 2.5",
    "volume = 2.0",
    "volume = 2.5",
    "volume > 1e3",
    "volume > 9007199254740993",
    "volume < -9007199254740993",
    "volume > 9223372036854775807",
    "volume <= 9223372036854775807",
    "volume > 4611686018427387904",
    "volume > 99999999999999999999999",
    "volume BETWEEN 3 AND 4",
    "volume > 3 AND volume < 4",
    "volume > 1 AND volume < 3",
    "volume = '3'",
    "volume BETWEEN 2.5 AND 9007199254740993",
    "symbol = 'a'",
    "symbol = 'O''Hara'",
    "symbol = ''",
    "symbol < ''",
    "symbol <= ''",
    "symbol > ''",
    "symbol < 'b'",
    "symbol >= 'b'",
    "symbol > 'b' AND symbol < 'd'",
    "symbol BETWEEN 'd' AND 'b'",
    "symbol = 5",
    "symbol = 'é'",
    "symbol = 'a -- b'",
    "symbol = 'a' -- b",
    "symbol = 'a' /* 5 */",
    "symbol = E'a\\nb'",
    "symbol = 'a\\nb'",
    "symbol = 'a",
    "symbol = 'it''s' AND price > 5",
    "symbol LIKE 'a%'",
    "symbol IN ('a', 'b')",
    "symbol <> 'a'",
    "symbol = 'a' AND symbol = 'a'",
    "symbol = 'a' OR symbol = 'b'",
    "symbol = $$a$$",
    "symbol = 'a\ud800'",
    "at > '2026-01-01'",
    "at = '2026-01-01 10:00:00+02:00'",
    "at > DATE '2026-01-01'",
    "at < 'soon'",
    "at > 5",
    "at >= TIMESTAMP '2026-01-01 00:00:00' AND at < TIMESTAMP '2026-01-02 00:00:00'",
    "at BETWEEN '2026-01-01' AND '2026-01-02'",
    "halted",
    "NOT halted",
    "halted = TRUE",
    "halted >= FALSE",
    '"unit 1" > 5',
    '"unit 1" > 5 AND price < 1',
    "unit 1 > 5",
    '"order" > 5',
    "order > 5",
    "Cap > 5",
    "cap > 5",
    "CAP > 5",
    '"Cap" > 5',
    "prize > 5",
    "5 < price",
    "5 < price AND 3 > volume",
    "1 <= price AND price <= 2",
    "price > 1e400",
    "price > 1.7976931348623157e308",
    "price < -1.7976931348623157e308",
    "price >= 1.7976931348623157e+308",
    "price > 0.1000000000000000055511151231257827021181583404541015625",
    "price > 1; DROP",
    "price > ?",
    "price > :a",
    "price > 1 AND",
    "AND price > 1",
    "price 1 > 2",
    "price > 1 2",
    "",
    "price - 5 > 3",
    "price -5 > 3",
    "price > 3 - 1",
    "price > --5",
    "price > 5--6",
    "price > +5",
    "TRUE",
    "FALSE",
    "1 = 1",
    "price IS NULL",
    "price IS NOT NULL AND volume > 5",
    "NOT price > 5",
    "price != 3",
    "price == 3",
    "price\n>\t10\nAND\n volume\n <5",
    "PRICE > 10",
    "price > 10 and volume < 5 AND halted",
    '"price" > 10',
    "price > 10AND volume < 3",
    "symbol='a'AND price>3",
    "price > 'x2'",
    "price BETWEEN 1 AND 2 AND x2 BETWEEN 3 AND 4",
    "price BETWEEN 1 AND 2 OR x2 BETWEEN 3 AND 4",
    "price NOT BETWEEN 1 AND 2",
    "price BETWEEN SYMMETRIC 3 AND 1",
]


def one_by_one(texts: list[str], schema: Schema) -> tuple[Matcher, dict[int, PubmatchError]]:
    """The slow way, through the parser alone."""
    matcher = Matcher(schema)
    refused: dict[int, PubmatchError] = {}
    for row, text in enumerate(texts):
        try:
            matcher.subscribe(row, text)
        except PubmatchError as error:
            refused[row] = error
    return matcher, refused


class ParserOnly(Shapes):
    """Shapes that recognise none."""

    def _plan(self, template: str) -> None:
        return None


def encoded(shapes: Shapes, texts: list[str]) -> tuple[Any, Any, Any, Any]:
    """Owner, bounds and errors of many texts, boxes in one order."""
    prepared = shapes.prepare([split_text(text) for text in texts], collect=True)
    names = {name for name in SCHEMA if isinstance(SCHEMA[name], Category)}
    labels = {name: Labels.of(prepared.strings.get(name, ())) for name in names}
    lower, upper = prepared.encode(labels)
    rows = prepared.kept[prepared.owner].tolist()
    found = sorted(zip(rows, lower.tolist(), upper.tolist(), strict=True))
    return (
        found,
        prepared.strings,
        {row: str(error) for row, error in prepared.refused.items()},
        prepared.rows,
    )


@pytest.mark.parametrize("schema", [SCHEMA, LIMITED], ids=["schema", "domains"])
def test_columns_and_parser_give_the_same_boxes(schema: Schema) -> None:
    texts = [text for text in TEXTS * 2 if "\0" not in text]
    assert encoded(Shapes(schema, 64), texts) == encoded(ParserOnly(schema, 64), texts)


NUMBERS = st.sampled_from(
    ["0", "-0", "1", "-1", "2.5", "-2.5", "1e0", "3", "9007199254740993", "-7.", ".5", "1E-3"]
)
WORDS = st.sampled_from(["''", "'a'", "'b'", "'it''s'", "'2026-01-01'", "'é'"])
PREDICATES = st.builds(
    lambda name, op, literal, space: f"{name}{space}{op}{space}{literal}",
    st.sampled_from(["price", "volume", "symbol", "at", "x2", "halted"]),
    st.sampled_from(["<", "<=", ">", ">=", "=", "<>"]),
    NUMBERS | WORDS,
    st.sampled_from(["", " "]),
) | st.builds(
    lambda name, low, high: f"{name} BETWEEN {low} AND {high}",
    st.sampled_from(["price", "volume", "symbol", "at"]),
    NUMBERS | WORDS,
    NUMBERS | WORDS,
)
CONJUNCTIONS = st.lists(PREDICATES, min_size=1, max_size=3).map(" AND ".join)


@settings(max_examples=150)
@given(st.lists(CONJUNCTIONS, min_size=1, max_size=12))
def test_random_conjunctions_in_columns(texts: list[str]) -> None:
    assert encoded(Shapes(SCHEMA, 64), texts) == encoded(ParserOnly(SCHEMA, 64), texts)


def test_the_simple_ones_are_recognised() -> None:
    for text in (
        "price > 1 AND x2 <= 2 AND symbol = 'a'",
        "price BETWEEN -1 AND 2e3",
        "(volume > 3) AND at < '2026-01-01'",
    ):
        template, literals = split_text(text)
        plan = plan_of(template, simple_attributes(SCHEMA))
        assert plan is not None
        assert sorted(comparison.literal for comparison in plan) == list(range(len(literals)))
    for text in (
        "price > 1 OR x2 < 3",
        "price <> 1",
        "halted = TRUE",
        "price > 1 AND price > 2",
        "symbol IN ('a')",
    ):
        assert plan_of(split_text(text)[0], simple_attributes(SCHEMA)) is None


@pytest.mark.parametrize("text", [text for text in TEXTS if "\0" not in text])
def test_template_and_literals_are_the_text(text: str) -> None:
    store = FilterStore()
    store.extend([split_text(text), split_text("price > 1")])
    store.append(*split_text(text))
    assert filled(*split_text(text)) == store.text(0) == store.text(2) == text
    again = FilterStore.from_arrays(store.to_arrays(), 3)
    assert [again.text(slot) for slot in range(3)] == [text, "price > 1", text]


def test_many_are_the_same_as_one_by_one() -> None:
    slow, refused = one_by_one(TEXTS, SCHEMA)
    fast = Matcher(SCHEMA)
    told = fast.subscribe_many({"key": range(len(TEXTS)), "filter": TEXTS}, on_error="collect")
    assert told.column("row").to_pylist() == told.column("key").to_pylist() == sorted(refused)
    for row, error in zip(told.column("row").to_pylist(), told.column("error").to_pylist(), strict=True):
        expected = str(refused[row]).removeprefix(f"subscription {row}: ")
        assert error == expected.encode("utf-8", "backslashreplace").decode()
    assert fast.keys() == slow.keys()
    assert [fast.filter_of(key) for key in fast] == [slow.filter_of(key) for key in slow]
    events = make_events()
    assert [sorted(keys) for keys in fast.match(events)] == [sorted(keys) for keys in slow.match(events)]
    filters = {key: slow.filter_of(key).bind(SCHEMA) for key in slow}
    for event, keys in zip(events, fast.match(events), strict=True):
        assert sorted(keys) == [key for key, filter in filters.items() if filter.matches(event) is True]


def make_events() -> list[dict[str, Any]]:
    rng = np.random.default_rng(8)
    pools: dict[str, list[Any]] = {
        "price": [None, math.nan, -5.0, -0.0, 0.5, 1.5, 3.0, 5.0, 10.0, 15.0, math.inf, -math.inf, 1e300],
        "x2": [None, 1.0, 3.0, 3.5],
        "volume": [None, 2, 3, 4, 6, 2**53 + 1, 2**53, 2**62, -(2**63), 2**63 - 1],
        "symbol": [None, "", "a", "b", "c", "O'Hara", "é", "zz", "it's", "a\\nb"],
        "halted": [None, True, False],
        "at": [None, dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 1, 8), dt.datetime(2025, 1, 1)],
        "unit 1": [None, 6.0],
        "order": [None, 6.0],
        "Cap": [None, 6.0],
    }
    return [{name: pool[rng.integers(len(pool))] for name, pool in pools.items()} for _ in range(300)]
