"""Filters in columns: many rows of one template, whatever it says, are what the parser makes of each."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pubmatch import shapes as shapes_module
from pubmatch.cut_orders import CutOrders, order_of
from pubmatch.encoding.labels import Labels
from pubmatch.errors import PubmatchError
from pubmatch.literal_uses import uses_of
from pubmatch.matcher import Matcher
from pubmatch.ordered_boxes import OrderedBoxes, _groups, _ranks
from pubmatch.schema import Boolean, Category, Integer, Number, Schema, Timestamp
from pubmatch.shapes import Shapes
from pubmatch.text_splitting import split_text, split_texts

SCHEMA = Schema(
    price=Number(),
    volume=Integer(),
    symbol=Category(),
    halted=Boolean(),
    at=Timestamp(),
    share=Number(domain=(0, 1)),
    hour=Integer(domain=(0, 3)),
    side=Category(domain=["A", "AB", "B"]),
    day=Timestamp(domain=("2026-01-01", "2026-01-03")),
    **{"Unit Price": Number()},
)
NUMBERS = [
    "0",
    "-0.0",
    "1",
    "1.0",
    "2.5",
    "-2.5",
    "1e0",
    "3",
    "1_000",
    "+2.5",
    ".5",
    "5e-324",
    "0.5000000000000001",
]
WHOLE = ["0", "1", "2", "3", "4", "-1", "9007199254740992", "9007199254740993", "2.5", "1.0", "1e0"]
WORDS = ["''", "'A'", "'AB'", "'B'", "'a'", "'it''s'", "'é'", "'A%'"]
MOMENTS = ["'2026-01-01'", "'2026-01-02'", "'2026-01-02 00:00:00.000001'", "'2026-01-02T02:00:00+02:00'"]
MOMENTS += ["DATE '2026-01-02'", "TIMESTAMP '2026-01-03 00:00:00'", "TIMESTAMPTZ '2026-01-02 01:00:00+01:00'"]
PATTERNS = ["'A%'", "'AB%'", "'%'", "'A'", "''", "'B%%'", "'\U0010ffff%'", "'it''s%'", "'a_'"]
ODD = [
    "'x'",
    "5",
    "1e400",
    "99999999999999999999",
    "4611686018427387904",
    "'2026-01-01 10:00:00.0000001'",
    "NULL",
]
LITERALS: dict[str, list[str]] = {
    "price": NUMBERS,
    '"Unit Price"': NUMBERS,
    "share": ["0", "1", "0.5", "0.25", "1e0", "5e-324", "0.9999999999999999"],
    "volume": WHOLE,
    "hour": ["0", "1", "2", "3", "1.5", "2.0"],
    "symbol": WORDS,
    "side": ["'A'", "'AB'", "'B'"],
    "at": MOMENTS,
    "day": MOMENTS,
}
NAMES = sorted(LITERALS)
TEXTUAL = ["symbol", "side"]


def predicates() -> st.SearchStrategy[str]:
    """Conditions in which `{name}` stands for a literal of that attribute, `{like}` for a pattern."""
    name = st.sampled_from(NAMES)
    slot = name.map(lambda one: (one, "{" + one.strip('"') + "}"))
    op = st.sampled_from(["<", "<=", ">", ">=", "=", "<>", "!=", "=="])
    denied = st.sampled_from(["", "NOT "])
    return (
        st.builds(lambda one, op: f"{one[0]} {op} {one[1]}", slot, op)
        | st.builds(lambda one, op: f"{one[1]} {op} {one[0]}", slot, op)
        | st.builds(lambda one, word: f"{one[0]} {word}BETWEEN {one[1]} AND {one[1]}", slot, denied)
        | st.builds(
            lambda one, word, count, null: (
                f"{one[0]} {word}IN ({', '.join([one[1]] * count + ['NULL'] * null)})"
            ),
            slot,
            denied,
            st.integers(1, 4),
            st.booleans(),
        )
        | st.builds(lambda one, word: f"{one[0]} IS {word}DISTINCT FROM {one[1]}", slot, denied)
        | st.builds(lambda one, word: f"{one[0]} IS {word}NULL", slot, denied)
        | st.builds(
            lambda one, word, escape: f"{one} {word}LIKE {{like}}{escape}",
            st.sampled_from(TEXTUAL),
            denied,
            st.sampled_from(["", "", " ESCAPE '%'", " ESCAPE '!'"]),
        )
        | st.builds("starts_with({}, {{symbol}})".format, st.sampled_from(TEXTUAL))
        | st.sampled_from(["halted", "NOT halted", "halted = TRUE", "halted <> FALSE", "halted IS NOT TRUE"])
        | st.sampled_from(["halted IN (TRUE, NULL)", "halted IS NULL", "TRUE", "FALSE", "NULL"])
    )


def combined(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(part, min_size=2, max_size=3)
    return (
        several.map(lambda parts: "(" + " AND ".join(parts) + ")")
        | several.map(lambda parts: "(" + " OR ".join(parts) + ")")
        | part.map(lambda one: f"NOT ({one})")
        | part.map(lambda one: f"({one}) IS NOT TRUE")
    )


TEMPLATES = st.recursive(predicates(), combined, max_leaves=4)


def filled_rows(template: str, count: int, seed: int, odd: float) -> list[str]:
    """The template with literals from small pools, so that equal and neighbouring ones are frequent."""
    chance = random.Random(seed)

    def literal(name: str) -> str:
        if chance.random() < odd:
            return chance.choice(ODD)
        pool = PATTERNS if name == "like" else LITERALS.get(name) or LITERALS[f'"{name}"']
        return chance.choice(pool)

    parts = [piece.partition("}") for piece in template.split("{")]
    return [parts[0][0] + "".join(literal(name) + rest for name, _, rest in parts[1:]) for _ in range(count)]


class ParserOnly(Shapes):
    """Shapes that recognise none."""

    def _plan(self, template: str) -> None:
        return None

    def _template(self, text: str) -> None:
        return None


def encoded(shapes: Shapes, texts: list[str], schema: Schema = SCHEMA) -> tuple[Any, ...]:
    """Owner and bounds of all boxes in one order, the strings in them, and the errors."""
    prepared = shapes.prepare(split_texts(texts), collect=True)
    names = {name for name in schema if isinstance(schema[name], Category)}
    labels = {name: Labels.of(prepared.strings.get(name, ())) for name in names}
    lower, upper = prepared.encode(labels)
    rows = prepared.kept[prepared.owner].tolist()
    found = sorted(zip(rows, lower.tolist(), upper.tolist(), strict=True))
    errors = {row: str(error) for row, error in prepared.refused.items()}
    return found, prepared.strings, errors, prepared.texts.literals.tobytes()


@settings(max_examples=80, deadline=None)
@given(TEMPLATES, st.integers(0, 2**32), st.sampled_from([0.0, 0.1]))
def test_many_rows_of_a_template_are_what_the_parser_says(template: str, seed: int, odd: float) -> None:
    texts = filled_rows(template, 40, seed, odd)
    expected = encoded(ParserOnly(SCHEMA, 16), texts)
    shapes = Shapes(SCHEMA, 16)
    assert encoded(shapes, texts) == expected
    assert encoded(shapes, texts) == expected  # once more, with what was learned
    for text in texts[:8]:
        assert encoded(shapes, [text]) == encoded(ParserOnly(SCHEMA, 16), [text])


@settings(max_examples=15, deadline=None)
@given(st.lists(TEMPLATES, min_size=1, max_size=4), st.integers(0, 2**32))
def test_tables_are_taken_as_row_by_row(templates: list[str], seed: int) -> None:
    """Keys, filters, errors and matches of a table and of single subscriptions are the same."""
    texts = [text for k, one in enumerate(templates) for text in filled_rows(one, 20, seed + k, 0.03)]
    random.Random(seed).shuffle(texts)
    single, refused = Matcher(SCHEMA), {}
    for row, text in enumerate(texts):
        try:
            single.subscribe(row, text)
        except PubmatchError as error:
            refused[row] = str(error).removeprefix(f"subscription {row}: ")
    many = Matcher(SCHEMA)
    told = many.subscribe_many(pa.table({"key": range(len(texts)), "filter": texts}), on_error="collect")
    assert isinstance(told, pa.Table)
    assert dict(zip(told["row"].to_pylist(), told["error"].to_pylist(), strict=True)) == refused
    assert many.keys() == single.keys()
    assert many.stats()["boxes"] == single.stats()["boxes"]
    events = some_events(seed)
    bound = {key: single.filter_of(key).bind(SCHEMA) for key in single}
    for event, keys, others in zip(events, many.match(events), single.match(events), strict=True):
        assert sorted(keys) == sorted(others)
        assert sorted(keys) == [key for key, each in bound.items() if each.matches(event) is True]


def some_events(seed: int) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    days = [np.datetime64(f"2026-01-0{day}T00:00:00", "us") + more for day in (1, 2, 3) for more in (0, 1)]
    pools: dict[str, list[Any]] = {
        "price": [None, -2.5, 0.0, 5e-324, 1.0, 2.5, 1000.0, float("inf"), float("-inf")],
        "Unit Price": [None, 0.5, 2.5],
        "share": [None, 0.0, 5e-324, 0.5, 1.0],
        "volume": [None, -1, 0, 1, 2, 3, 2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1],
        "hour": [None, 0, 1, 2, 3],
        "symbol": [None, "", "A", "AB", "ABC", "B", "é", "it's", "zz", "A%"],
        "side": [None, "A", "AB", "B"],
        "halted": [None, True, False],
        "at": [None, *days],
        "day": [None, *days[:5]],
    }
    return [{name: chance.choice(pool) for name, pool in pools.items()} for _ in range(60)]


@pytest.mark.parametrize(
    "text",
    [
        "NOT price > 1",
        "volume NOT IN (3, 5)",
        "symbol NOT IN ('a', 'b') AND price IS NULL",
        "price IS NOT NULL AND volume > 3",
        "halted AND volume > 3",
        "hour >= 2 AND NOT halted",
        "price < 1 OR price > 2",
        "symbol NOT LIKE 'a%' OR starts_with(symbol, 'ab')",
        "at >= DATE '2026-01-01' AND 5 > volume",
        '"Unit Price" > 5',
        "day <> '2026-01-02' AND side BETWEEN 'A' AND 'B'",
        "(price > 1 OR halted) IS NOT TRUE",
        "symbol LIKE 'a!%%' ESCAPE '!'",
        "price IS DISTINCT FROM 3",
    ],
)
def test_no_construct_is_left_to_the_parser(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a hundred rows of every construct one is parsed."""
    parsed: list[str] = []

    def counted(one: str, *more: Any) -> Any:
        parsed.append(one)
        return genuine(one, *more)

    genuine = CutOrders._solved.__globals__["parse"]
    monkeypatch.setitem(CutOrders._solved.__globals__, "parse", counted)
    monkeypatch.setattr(shapes_module, "parse", counted)
    prepared = Shapes(SCHEMA, 64).prepare(split_texts([text] * 100))
    assert not prepared.refused
    assert set(prepared.owner.tolist()) == set(range(100))
    assert len(parsed) <= 1


def test_literals_outside_known_conditions_are_for_the_parser() -> None:
    names = set(SCHEMA.names)
    for text in ("price > 1 AND 1 = 1", "volume + 1 > 3", "f(price, 3)", "prize > 3", "price > 1 > 2"):
        assert uses_of(split_text(text)[0], names) is None
    quoted = uses_of(split_text("\"Unit Price\" >= 5 AND NOT symbol IN ('\"a\"', 'b')")[0], names)
    assert quoted is not None
    assert [use[:3] for use in quoted] == [("Unit Price", ">=", 0), ("symbol", "in", 1)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), min_size=1, max_size=8))
def test_ranks_of_columns_are_those_of_rows(rows: list[list[int]]) -> None:
    matrix = np.array(rows, np.float64)
    matrix[matrix == -3], matrix[matrix == 3] = -np.inf, np.inf
    ranks = _ranks(list(matrix.T), (-np.inf, np.inf))
    for row, values in enumerate(matrix.tolist()):
        cuts = [(2, one) if np.isfinite(one) else (3,) if one > 0 else (1,) for one in values]
        assert tuple(rank[row] for rank in ranks) == order_of(cuts)
    groups = _groups(ranks, len(rows))
    orders = [tuple(rank[row] for rank in ranks) for row in range(len(rows))]
    assert sorted(row for group in groups for row in group.tolist()) == list(range(len(rows)))
    assert len(groups) == len(set(orders))
    assert all(len({orders[row] for row in group.tolist()}) == 1 for group in groups)


def test_a_first_refusal_is_the_first_row() -> None:
    texts = ["NOT price > 3"] * 30 + ["price > 3 AND NOT price > 2"] * 30 + ["price IN ("] + ["oops"] * 20
    for shapes in (Shapes(SCHEMA, 64), ParserOnly(SCHEMA, 64)):
        refused = shapes.prepare(split_texts(texts)).refused
        assert min(refused) == 30
        assert str(refused[30]) == "no event can satisfy price > 3 AND NOT price > 2"
    assert OrderedBoxes(SCHEMA, CutOrders(SCHEMA, 64), split_texts([]), True).owner.tolist() == []
