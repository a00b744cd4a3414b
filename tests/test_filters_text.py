"""Filters as text and as expressions: equality, truth of single cases, and errors that show the place."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from filter_strategies import in_box

from pubmatch.errors import ArgumentTypeError, FilterError, SchemaError
from pubmatch.filters import MAX_DEPTH, Filter, as_filter, attr, boxes, covers, intersects, parse
from pubmatch.filters.expressions import truth_test
from pubmatch.schema import Boolean, Category, Integer, Number, Schema, Timestamp

SCHEMA = Schema(price=Number(), volume=Integer(), symbol=Category(), halted=Boolean(), at=Timestamp())
price, volume, symbol, halted, at = (attr(name) for name in SCHEMA)
TEN = datetime(2026, 1, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("price > 10", price > 10),
        ("10 < price", price > 10),
        ("price != 0.1", price != 0.1),
        ("price = 0.10", price == Decimal("0.1")),
        ("price BETWEEN 1 AND 2.5", price.between(1, np.float32(2.5))),
        ("symbol NOT IN ('IBM', NULL)", ~symbol.isin(["IBM", None])),
        ("symbol LIKE 'AB%' OR symbol LIKE 'IBM'", symbol.startswith("AB") | symbol.like("IBM")),
        ("starts_with(symbol, '100%')", symbol.startswith("100%")),
        ("symbol LIKE '100!%%' ESCAPE '!'", symbol.startswith("100%")),
        ("price IS NOT NULL AND volume IS NULL", price.is_not_null() & volume.is_null()),
        ("halted AND NOT price > 1 AND volume < 2", halted & ~(price > 1) & (volume < 2)),
        ("NOT NOT halted OR (halted OR price = 1)", halted | (halted | (price == 1))),
        ("at >= TIMESTAMPTZ '2026-01-01 12:00:00+02:00'", at >= TEN),
        ("at < DATE '2026-01-01'", at < date(2026, 1, 1)),
        ("at = '2026-01-01'", at == "2026-01-01"),
        ("volume = 9007199254740993", volume == np.int64(2**53 + 1)),
        ('"price" > 1 -- a comment', price > 1),
        ("price IS NOT DISTINCT FROM NULL", price.is_null()),
    ],
)
def test_text_and_expression_are_the_same_filter(text: str, expression: Filter) -> None:
    parsed = parse(text)
    assert parsed == expression
    assert hash(parsed) == hash(expression)
    assert parse(str(expression)) == parsed
    assert boxes(text, SCHEMA) == boxes(expression, SCHEMA)
    assert pickle.loads(pickle.dumps(parsed)) == parsed


def test_a_bare_attribute_is_a_filter() -> None:
    assert as_filter(halted) == parse("halted")
    assert boxes(halted, SCHEMA) == boxes("halted = TRUE", SCHEMA)
    assert halted.matches({"halted": None}) is None
    assert str(halted) == "halted"
    assert pickle.loads(pickle.dumps(halted)).name == "halted"
    assert covers(halted, "halted AND price > 1", SCHEMA)
    assert not intersects(halted, ~halted, SCHEMA)


def test_true_and_one_are_different_constants() -> None:
    assert parse("halted = TRUE") != parse("halted = 1")
    assert parse("volume IN (1)") != parse("volume IN (TRUE)")
    assert parse("volume = 1") == parse("volume = 1.0")


@pytest.mark.parametrize(
    "missing", [None, float("nan"), np.float64("nan"), pd.NA, pd.NaT, np.datetime64("NaT")]
)
def test_missing_values_are_null(missing: Any) -> None:
    assert (price > 1).matches({"price": missing}) is None
    assert price.is_null().matches({"price": missing}) is True
    assert (~(price > 1)).matches({}) is None


@pytest.mark.parametrize(
    ("text", "value", "truth"),
    [
        ("x = 9007199254740993", 2**53 + 1, True),
        ("x = 9007199254740993", float(2**53), True),
        ("x > 9007199254740992.5", 2**53, False),
        ("x = 0.1", np.float64(0.1), True),
        ("x = 0.1", np.float32(0.1), False),
        ("x >= '2026-01-01'", np.datetime64("2026-01-01", "ns"), True),
        ("x < '2026-01-02'", pd.Timestamp("2026-01-02T01:00:00+02:00"), True),
        ("x = TIMESTAMP '2026-01-01 00:00:00'", date(2026, 1, 1), True),
        ("x", np.bool_(False), False),
        ("x = 'a'", np.str_("a"), True),
        ("x = 3", Decimal(3), True),
    ],
)
def test_values_of_many_types(text: str, value: Any, truth: bool) -> None:
    assert parse(text).matches({"x": value}) is truth


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("x > 1", {"x": "a"}),
        ("x > 'a'", {"x": 1}),
        ("x > 1", {"x": True}),
        ("x", {"x": 1}),
        ("x LIKE 'a%'", {"x": 1}),
        ("x > 1", {"x": [1]}),
        ("x > 'soon'", {"x": TEN}),
        ("x > '2026-01-01'", {"x": pd.Timestamp("2026-01-01 00:00:00.000000001")}),
    ],
)
def test_events_of_the_wrong_type_are_refused(text: str, event: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="attribute 'x' of the event"):
        parse(text).matches(event)


def test_unknown_names_show_their_place() -> None:
    with pytest.raises(FilterError) as caught:
        parse("prize > 10", SCHEMA)
    assert str(caught.value) == (
        "unknown attribute 'prize' at column 1\n  prize > 10\n  ^^^^^ did you mean 'price'?"
    )
    with pytest.raises(FilterError) as caught:
        parse("price > 1\n  AND 3 > volum", SCHEMA)
    assert str(caught.value).startswith(
        "unknown attribute 'volum' at line 2, column 11\n    AND 3 > volum\n            ^^^^^"
    )
    with pytest.raises(FilterError, match=r"^unknown attribute 'prize'; did you mean 'price'"):
        (attr("prize") > 1).bind(SCHEMA)
    with pytest.raises(FilterError) as caught:
        parse("price <> 1" + " AND price <> 2" * 1000 + " AND prize = 3", SCHEMA)
    assert max(map(len, str(caught.value).splitlines())) < 130


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("price > 'abc'", "'price' is a number and cannot be compared with 'abc'", "^^^^^^^^^^^^^"),
        ("volume = TRUE", "'volume' is an integer and cannot be compared with TRUE", "^" * 13),
        ("symbol = 5", "'symbol' is a category", "^" * 10),
        ("halted > 1", "'halted' is a boolean", "^" * 10),
        ("at > 5", "'at' is a timestamp", "^^^^^^"),
        ("at > 'soon'", "'soon' is not a time", "^" * 11),
        ("at > '2026-01-01 00:00:00.1234567'", "finer than a microsecond", "^" * 34),
        ("price", "'price' is a number and is no condition by itself", "^^^^^"),
        ("price LIKE 'A%'", "has no prefixes", "^" * 15),
        ("volume > 1e18", "write it as an integer", "^" * 13),
        ("volume IN (1.5, 9007199254740993)", "write several conditions", "^" * 33),
        ("volume IN (9007199254740992.5, 1e3)", "floats may round: write several", "^" * 35),
        ("volume NOT BETWEEN 1e0 AND 9007199254740992.5", "write several conditions", "^" * 45),
        ("volume IN (1.0000000000000001, 1e3)", "write several conditions", "^" * 35),
        ("price > -1.7976931348623157e308", "the lowest float64", "^" * 31),
        ("price > 1e400", "too large", "        ^^^^^"),
        ("price > ", "a constant expected, but the filter ends", "       ^"),
        ("", "a condition expected, but the filter ends", "^"),
        ("price > 1)", "AND, OR or the end expected, got '\\)'", "         ^"),
        ("(price > 1", "never closed", "^"),
        ("symbol = 'abc", "never closed", "         ^"),
        ("symbol LIKE 'A%B'", "a prefix followed by %", "            ^^^^^"),
        ("symbol LIKE '_B'", "a prefix followed by %", "            ^^^^"),
        ("symbol LIKE 'A!' ESCAPE '!'", "ends with its escape", "            ^^^^"),
        ("symbol ILIKE 'a'", "BETWEEN, IN or LIKE expected", "       ^^^^^"),
        ("price = volume", "not with each other", "        ^^^^^^"),
        ("price + 1 > 2", "expected, got '\\+'", "      ^"),
        ("abs(price) > 2", "function 'abs' is not supported", "^^^"),
        ("price IN ()", "a constant expected", "          ^"),
        ("t.price > 1", "plain names", " ^"),
        ("price > 1 > 2", "expected, got '>'", "          ^"),
        ("price > 10abc", "a number ends", "        ^^^"),
        ("1 = 1.5", "constants of these types", "^^^^^^^"),
        ("at = DATE '2026-01-01 10:00'", "a DATE is written", "     ^"),
        ("at = TIMESTAMP '2026-01-01 10:00:00+02'", "a TIMESTAMP has no offset", "     ^"),
        ("PRICE > 1", "unknown attribute 'PRICE'", "^^^^^ did you mean 'price'\\?"),
        ("price; DROP", "got ';'", "     ^"),
    ],
)
def test_errors_show_the_place(text: str, message: str, place: str) -> None:
    with pytest.raises(FilterError, match=message) as caught:
        parse(text, SCHEMA)
    line, carets = str(caught.value).splitlines()[-2:]
    assert line == f"  {text}"
    assert carets.startswith("  " + place.replace("\\", ""))


def test_constants_outside_the_domain_are_refused() -> None:
    schema = Schema(
        x=Number(domain=(0, 9)),
        s=Category(domain=["A", "B"]),
        t=Timestamp(domain=("2026-01-01", "2026-01-02")),
    )
    for text in ("x > 10", "s = 'C'", "s IN ('A', 'C')", "t > '2027-01-01'", "x BETWEEN -1 AND 5"):
        with pytest.raises(FilterError, match="domain of attribute"):
            parse(text, schema)
    assert boxes("x BETWEEN 0 AND 9 AND s IN ('A', 'B')", schema) == boxes(
        "x IS NOT NULL AND s IS NOT NULL", schema
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: price > float("nan"),
        lambda: price < float("inf"),
        lambda: price > -np.inf,
        lambda: price > Decimal("Infinity"),
        lambda: price > 10**400,
        lambda: price > volume,
        lambda: price > [1],
        lambda: price.isin([]),
        lambda: price.isin("abc"),
        lambda: price.isin(3),
        lambda: symbol == "\ud800",
        lambda: symbol.like("A%B"),
        lambda: symbol.like(3),
        lambda: symbol.startswith(3),
        lambda: at > np.datetime64("NaT"),
        lambda: attr(""),
        lambda: attr(3),
        lambda: parse("symbol = '\ud800'"),
    ],
)
def test_bad_constants_are_refused(make: Any) -> None:
    with pytest.raises(FilterError):
        make()


def test_filters_have_no_truth_of_their_own() -> None:
    with pytest.raises(TypeError, match=r"& \| ~"):
        bool(price > 1)
    with pytest.raises(TypeError, match="between"):
        1 < price < 2  # noqa: B015
    with pytest.raises(TypeError, match="& combines filters, got True"):
        (price > 1) & True
    for wrong in (None, 3, {"price": 1}):
        with pytest.raises(ArgumentTypeError):
            as_filter(wrong)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError):
        parse(b"price > 1")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError):
        (price > 1).matches([1])  # type: ignore[arg-type]
    with pytest.raises(SchemaError):
        boxes("price > 1", {"price": "number"})  # type: ignore[arg-type]


def test_depth_is_limited_not_the_stack() -> None:
    deep: Filter = price > 0
    for level in range(MAX_DEPTH - 1):
        deep = (deep & (volume > level)) if level % 2 else (deep | (volume == level))
    assert deep.depth == MAX_DEPTH
    assert parse(str(deep)) == deep
    assert deep.bind(SCHEMA).matches({"price": 1.0, "volume": 500}) is True
    assert pickle.loads(pickle.dumps(deep)) == deep
    assert deep.attributes == {"price", "volume"}
    assert boxes(deep, SCHEMA)
    with pytest.raises(FilterError, match="200 levels deep"):
        _ = ~deep
    for text in ("(" * 5000 + "price > 1" + ")" * 5000, "(NOT " * 300 + "halted" + ")" * 300):
        with pytest.raises(FilterError, match="200 levels deep"):
            parse(text)
    assert parse("NOT " * 5001 + "halted") == ~halted


def test_nested_tests_for_null_do_not_double_the_work() -> None:
    nested: Filter = halted.as_filter()
    for level in range(MAX_DEPTH // 2 - 1):
        nested = truth_test(nested & (price > level), None)
    bound = nested.bind(SCHEMA)
    normal = boxes(bound, SCHEMA)
    for event in ({}, {"price": 0.5}, {"price": 50.5}, {"price": 1000.0, "halted": True}):
        assert any(in_box(box, event) for box in normal) == (bound.matches(event) is True)
    assert parse(str(nested)) == nested


def test_long_filters_are_read() -> None:
    values = list(range(0, 20_000, 2))
    listed = parse(f"volume IN ({', '.join(map(str, values))})")
    assert listed == volume.isin(values)
    assert len(boxes(listed & volume.between(11, 15), SCHEMA)) == 2
    assert len(boxes(" OR ".join(f"volume = {value}" for value in range(3000)), SCHEMA)) == 1
