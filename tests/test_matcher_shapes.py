"""Shapes and literals: what is understood in columns is what the parser understands."""

from __future__ import annotations

import datetime as dt
import math
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pubmatch.encoding.labels import Labels
from pubmatch.errors import PubmatchError
from pubmatch.filter_store import FilterStore
from pubmatch.filter_texts import FilterTexts, filled
from pubmatch.matcher import Matcher
from pubmatch.plans import plan_of, simple_attributes
from pubmatch.schema import Boolean, Category, Integer, Number, Schema, Timestamp
from pubmatch.shapes import Shapes
from pubmatch.text_splitting import split_column, split_text, split_texts

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
    "price IN (1, 2.5, -3)",
    "price IN (1, 1)",
    "price IN (1, 1.0000000000000002)",
    "price IN (5, 'a')",
    "price IN (1, NULL)",
    "price NOT IN (1, 2)",
    "price in(7)and volume<>3",
    "volume IN (1, 2, 3)",
    "volume IN (1, 3, 5)",
    "volume IN (9007199254740993, 9007199254740995, 3)",
    "volume IN (1, 3) AND price IN (2, 4) AND symbol IN ('a', 'b')",
    "symbol IN ('a', 'c', 'O''Hara', '')",
    "symbol IN ('a', 'a')",
    "symbol IN ('a', 'b') AND symbol <> 'a'",
    "symbol IN ('a', 5)",
    "symbol IN ()",
    "at IN ('2026-01-01', '2026-01-02')",
    "price <> 3 AND volume <> 4 AND symbol <> 'b'",
    "symbol <> ''",
    "symbol <> 'a' AND price > 3 AND price < 4",
    "symbol LIKE 'a%' AND price > 3",
    "symbol LIKE 'a'",
    "symbol LIKE '%'",
    "symbol LIKE '%%'",
    "symbol LIKE 'a%%'",
    "symbol LIKE 'a_%'",
    "symbol LIKE 'a%b'",
    "symbol LIKE ''",
    "symbol LIKE 'O''%'",
    "symbol LIKE '\U0010ffff%'",
    "symbol LIKE '\ud7ff%'",
    "symbol LIKE 'a\ud800%'",
    "symbol LIKE 'a!%%' ESCAPE '!'",
    "price LIKE 'a%'",
    "price LIKE 5",
    "price > 10 OR volume < 5",
    "price > 10 OR volume < 5 OR symbol = 'a'",
    "price > 10 OR volume BETWEEN 7 AND 5",
    "price > 10 OR price < 5",
    "price > 10 OR price > 10 AND volume = 3",
    "price > 10 AND volume > 3 OR price > 10 AND x2 < 3",
    "price > 10 AND (volume > 3 OR x2 < 3)",
    "(price > 10 OR symbol = 'a') AND (volume > 3 OR x2 < 3)",
    "(price > 10 OR symbol = 'a') AND price < 20",
    "(price <> 10 OR symbol IN ('a', 'b')) AND volume = 3",
    "price IN (1, 2) AND volume > 3 OR price IN (2, 3) AND x2 < 3",
    "(price > 10 OR volume < 5",
    "price > 10 OR",
    "price > 10 OR OR volume < 5",
    "price > 10) OR (volume < 5",
    "()",
    "NOT (price > 10 OR volume < 5)",
    "(" * 30 + "price > 1" + ")" * 30,
    "price IN (" + ", ".join(map(str, range(0, 128, 2))) + ")",
    "price IN (" + ", ".join(map(str, range(0, 132, 2))) + ")",
    " AND ".join(f"({name} IN (1, 3, 5, 7, 9))" for name in ("price", "x2", "volume")),
    "price > 1.2.3",
    "price > .",
    "price > 1e",
    "price > 1e+",
    "price > 1E-3 AND x2 < 1e+3",
    "price > 5'a'",
    "price > 5\u00a0AND x2 < 3",
    "-1 < price",
    "price > 5 AND x2 = 10 AND",
    "price > 5 x2 < 10",
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

    def _template(self, text: str) -> None:
        return None


def encoded(shapes: Shapes, texts: FilterTexts, schema: Schema = SCHEMA) -> tuple[Any, Any, Any, Any]:
    """Owner, bounds and errors of many texts, boxes in one order."""
    prepared = shapes.prepare(texts, collect=True)
    names = {name for name in schema if isinstance(schema[name], Category)}
    labels = {name: Labels.of(prepared.strings.get(name, ())) for name in names}
    lower, upper = prepared.encode(labels)
    rows = prepared.kept[prepared.owner].tolist()
    found = sorted(zip(rows, lower.tolist(), upper.tolist(), strict=True))
    return (
        found,
        prepared.strings,
        {row: str(error) for row, error in prepared.refused.items()},
        [filled(*row) for row in prepared.texts.rows()],
    )


def encodings(texts: list[str], schema: Schema = SCHEMA, max_boxes: int = 64) -> list[Any]:
    """What comes of the texts through the parser, in small tables, and in one large one."""
    shapes = Shapes(schema, max_boxes)
    few = [encoded(shapes, FilterTexts.of_rows([split_text(text)]), schema) for text in texts]
    slow = [
        encoded(ParserOnly(schema, max_boxes), FilterTexts.of_rows([split_text(text)]), schema)
        for text in texts
    ]
    assert few == slow
    many = texts * (600 // len(texts) + 1)
    together = split_texts(many)
    assert [together.text(row) for row in range(len(many))] == many
    large = encoded(shapes, together, schema)
    assert large == encoded(ParserOnly(schema, max_boxes), together, schema)
    return slow


@pytest.mark.parametrize("schema", [SCHEMA, LIMITED], ids=["schema", "domains"])
@pytest.mark.parametrize("valid", [True, False], ids=["unicode", "surrogates"])
def test_columns_and_parser_give_the_same_boxes(schema: Schema, valid: bool) -> None:
    texts = [text for text in TEXTS if not valid or "\ud800" not in text]
    encodings(texts, schema)


def test_more_boxes_than_allowed_are_refused_as_by_the_parser() -> None:
    errors = [found[2] for found in encodings(["price IN (1, 3, 5)", "price <> 3", "price = 1"], max_boxes=2)]
    assert ["needs more than 2 boxes: price IN (1, 3, 5)" in str(error) for error in errors] == [
        True,
        False,
        False,
    ]


NUMBERS = st.sampled_from(
    ["0", "-0", "1", "-1", "2.5", "-2.5", "1e0", "3", "9007199254740993", "-7.", ".5", "1E-3"]
)
WORDS = st.sampled_from(["''", "'a'", "'b'", "'it''s'", "'2026-01-01'", "'é'"])
NAMES = ["price", "volume", "symbol", "at", "x2", "halted"]
PREDICATES = (
    st.builds(
        lambda name, op, literal, space: f"{name}{space}{op}{space}{literal}",
        st.sampled_from(NAMES),
        st.sampled_from(["<", "<=", ">", ">=", "=", "<>"]),
        NUMBERS | WORDS,
        st.sampled_from(["", " "]),
    )
    | st.builds(
        lambda name, low, high: f"{name} BETWEEN {low} AND {high}",
        st.sampled_from(NAMES[:4]),
        NUMBERS | WORDS,
        NUMBERS | WORDS,
    )
    | st.builds(
        lambda name, values: f"{name} IN ({', '.join(values)})",
        st.sampled_from(NAMES[:5]),
        st.lists(NUMBERS, min_size=1, max_size=4) | st.lists(WORDS, min_size=1, max_size=4),
    )
    | st.sampled_from(["symbol LIKE 'a%'", "symbol LIKE 'it''s%'", "symbol LIKE 'é'"])
)
CONJUNCTIONS = st.lists(PREDICATES, min_size=1, max_size=3).map(" AND ".join)
UNIONS = st.lists(CONJUNCTIONS, min_size=2, max_size=3).map(" OR ".join)
COMBINED = UNIONS | st.builds("({}) AND {}".format, UNIONS, PREDICATES)


@settings(max_examples=120, deadline=None)
@given(st.lists(CONJUNCTIONS | COMBINED, min_size=1, max_size=8))
def test_random_filters_in_columns(texts: list[str]) -> None:
    rows = split_texts(texts)
    shapes = Shapes(SCHEMA, 64)
    assert encoded(shapes, rows) == encoded(ParserOnly(SCHEMA, 64), rows)


@settings(max_examples=8, deadline=None)
@given(st.lists(CONJUNCTIONS | COMBINED, min_size=1, max_size=8))
def test_random_filters_in_large_tables(texts: list[str]) -> None:
    encodings(texts)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(st.sampled_from("ab1.9eE+-'\" $é=<()\n\\/*"), max_size=14), min_size=1, max_size=10))
def test_any_bytes_come_together_again(texts: list[str]) -> None:
    together = split_column(pa.array(texts))
    assert [together.text(row) for row in range(len(texts))] == texts
    for row in range(len(texts)):
        template, literals = together.row(row)
        bare = re.sub('"[^"]*"', "", template)
        assert not literals or not any(mark in bare for mark in ('"', "'", "$", "\\", "--", "/*"))


def test_the_simple_ones_are_recognised() -> None:
    for text in (
        "price > 1 AND x2 <= 2 AND symbol = 'a'",
        "price BETWEEN -1 AND 2e3",
        "(volume > 3) AND at < '2026-01-01'",
        "symbol IN ('a', 'b') AND price > 3",
        "price <> 1",
        "symbol LIKE 'a%'",
        "(price > 1 OR x2 < 3) AND volume = 7",
    ):
        template, literals = split_text(text)
        plan = plan_of(template, simple_attributes(SCHEMA))
        assert plan is not None
        used = {comparison.literal for box in plan.boxes for comparison in box}
        assert used == set(range(len(literals)))
    for text in (
        "price > 1 OR price < 3",
        "price > 1 OR price > 3 AND x2 < 3",
        "price > 1 OR x2 IS NULL",
        "halted = TRUE",
        "price > 1 AND price > 2",
        "symbol NOT IN ('a')",
    ):
        assert plan_of(split_text(text)[0], simple_attributes(SCHEMA)) is None


@pytest.mark.parametrize("text", [text for text in TEXTS if "\0" not in text])
def test_template_and_literals_are_the_text(text: str) -> None:
    store = FilterStore()
    store.extend(split_texts([text, "price > 1"]))
    store.extend(split_texts([text]))
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
