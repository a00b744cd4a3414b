"""Input that nobody means well: refused with an error that names the place, or taken as SQL has it."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from filter_strategies import SCHEMA, VALUES, DuckOracle, sample_rows
from hypothesis import given, settings
from hypothesis import strategies as st

import pubmatch as pm
from pubmatch.encoding.events import event_columns
from pubmatch.encoding.labels import Labels
from pubmatch.encoding.points import encode_points
from pubmatch.encoding.single_event import SingleEvent
from pubmatch.errors import FilterError, PubmatchError, SchemaError
from pubmatch.filters import parse

ROWS = sample_rows(40, seed=3)
SIMPLE = pm.Schema(
    price=pm.Number(), volume=pm.Integer(), symbol=pm.Category(), halted=pm.Boolean(), at=pm.Timestamp()
)
VAST = 10**5000  # Python refuses to write it in decimal


def matcher() -> pm.Matcher:
    made = pm.Matcher(SIMPLE)
    made.subscribe_many(
        {
            "key": ["price", "volume", "symbol", "halted", "at", "none"],
            "filter": [
                "price > 0",
                "volume > 0",
                "symbol >= 'b'",
                "halted",
                "at > '2000-01-01'",
                "symbol IS NULL",
            ],
        }
    )
    return made


MATCHER = matcher()


# --- text ---

# fmt: off
WORDS = [
    "price", "volume", "symbol", "halted", "at", "PRICE", "prize", '"at"', '"order"', '"Unit Price"',
    "AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "LIKE", "ESCAPE", "TRUE", "FALSE", "DISTINCT",
    "FROM", "DATE", "TIMESTAMP", "TIMESTAMPTZ", "INTERVAL", "ILIKE", "starts_with", "CASE", "ISNULL",
    "UNKNOWN", "COLLATE", "SYMMETRIC", "ANY", "$1", "?", "<", "<=", ">", ">=", "=", "==", "<>", "!=",
    "(", ")", ",", "-", "+", "*", "::", ".", ";", "--", "/*", "*/", '"', "'", "1", "2.5", "-1", "1e0",
    "1_0", ".5", "5.", "0x1", "9007199254740993", "9" * 29, "٣", "E'a'", "'A'", "'AB%'", "'it''s'", "''",
    "'2026-01-01'", "-3.00000000000000001", "0.1000000000000000055", "\u00a0",
]
# Mostly what makes sense, so that many get past the first words.
SENSE = st.sampled_from([
    "price > 1", "NOT halted", "symbol LIKE 'AB%'", "volume IN (1, 2)", "price IS NULL", "AND", "OR",
    "NOT", "(", ")", "IS TRUE", "IS NOT NULL", "symbol <> 'A'", "volume >= -3.00000000000000001",
    "halted", "1 < volume", "price BETWEEN -1 AND 2.5", "symbol IS DISTINCT FROM 'A'", "TRUE", "NULL",
])
# fmt: on


@pytest.fixture(scope="module")
def duck() -> Iterator[DuckOracle]:
    oracle = DuckOracle(ROWS)
    yield oracle
    oracle.close()


@settings(max_examples=250, deadline=None)
@given(st.lists(SENSE | st.sampled_from(WORDS), min_size=1, max_size=9), st.sampled_from([" ", " ", ""]))
def test_any_words_are_sql_or_refused(duck: DuckOracle, words: list[str], between: str) -> None:
    """What is taken, DuckDB takes too, and to the same effect; everything else is a `FilterError`."""
    text = between.join(words)
    try:
        parsed = parse(text, SCHEMA)
    except FilterError:
        return
    try:
        (expected,) = duck.truths([f"{text}\n"])
    except duckdb.ConversionException as error:  # it has 38 digits for integers and decimals together
        if "to DECIMAL" not in str(error):
            raise
        return
    assert [parsed.matches(row) for row in ROWS] == expected, text
    subscribed = pm.Matcher(SCHEMA)
    refused = subscribed.subscribe_many({"key": ["it"], "filter": [text]}, on_error="collect")
    assert isinstance(refused, pa.Table)
    if refused.num_rows:
        (error,) = refused["error"].to_pylist()
        assert "no event can satisfy" not in error or True not in expected
    else:
        found = [keys == ["it"] for keys in subscribed.match(ROWS)]
        assert found == [truth is True for truth in expected], text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(" * 20_000 + "price > 1" + ")" * 20_000, "nested more than 200 levels"),
        ("NOT (" * 3000 + "price > 1" + ")" * 3000, "nested more than 200 levels"),
        ("volume IN (" + ",".join(map(str, range(0, 4000, 2))) + ")", "more than 64 boxes"),
        ("volume NOT IN (" + ",".join(map(str, range(0, 4000, 2))) + ")", "more than 64 boxes"),
        (" OR ".join(f"(price > {n} AND volume < {n})" for n in range(300)), "more than 64 boxes"),
        ("symbol = 'a\0b'", "'it': a filter must not hold the null character"),
        ("symbol = 'a\ud800'", "'it': a filter's strings must be valid Unicode"),
        ("volume < 1" + "0" * 5000, "too large"),
        ("price > NaN", "not with each other"),
        ("price > 'inf'::DOUBLE", "'::'"),
        ("at > '10000-01-01'", "not a time"),
        ("at > '0001-01-01 00:00:00+14:00'", "not a time"),
        ("at > '2020-01-01 00:00:00+25:00'", "not a time"),
        ("at > '2020-01-01 00:00:00 Europe/Berlin'", "not a time"),
        ("at > '2016-12-31 23:59:60'", "not a time"),
        ("at < 'infinity'", "not a time"),
    ],
    ids=lambda text: text[:24] if isinstance(text, str) else None,
)
def test_filters_that_are_refused(text: str, message: str) -> None:
    made = matcher()
    with pytest.raises(FilterError) as caught:
        made.subscribe("it", text)
    assert message in str(caught.value)
    assert "subscription 'it'" in str(caught.value)
    assert len(made) == len(MATCHER)


def test_a_long_list_may_be_one_box() -> None:
    made = pm.Matcher(SIMPLE)
    made.subscribe("it", "volume IN (" + ",".join(map(str, range(3000))) + ")")
    assert made.stats()["boxes"] == 1
    assert made.count([{"volume": 2999}, {"volume": 3000}]).tolist() == [1, 0]


def test_the_sign_of_a_long_decimal_changes_no_digit() -> None:
    """Decimal's unary minus rounds to 28 digits; -3 is greater than -3 and a bit."""
    text = "volume > -3.0000000000000000000000000000001"
    assert parse(text, SIMPLE).matches({"volume": -3}) is True
    made = pm.Matcher(SIMPLE)
    made.subscribe("it", text)
    assert made.count([{"volume": -3}, {"volume": -4}]).tolist() == [1, 0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: pm.attr("price") > math.nan,
        lambda: pm.attr("price") > math.inf,
        lambda: pm.attr("price") > decimal.Decimal("NaN"),
        lambda: pm.attr("price") > decimal.Decimal("1e999999999"),
        lambda: pm.attr("volume") > VAST,
        lambda: pm.attr("price") > object(),
        lambda: pm.attr("symbol") == "a\ud800",
        lambda: pm.attr("\ud800"),
        lambda: pm.attr("symbol").like(3),
        lambda: pm.attr("volume").isin([]),
    ],
)
def test_expressions_that_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(FilterError):
        make()


# --- events ---


def keys_of(events: Any) -> list[list[Any]]:
    return [sorted(keys) for keys in MATCHER.match(events)]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        *(
            ("volume", kind(3), True)
            for kind in (np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64)
        ),
        ("volume", np.uint64(2**63 - 1), True),
        ("volume", -(2**63), False),
        ("volume", 3.0, True),
        ("volume", np.float32(3), True),
        ("price", np.float16(1.5), True),
        ("price", 2**53, True),
        ("price", -0.0, False),
        ("price", math.inf, True),
        ("price", -math.inf, False),
        ("halted", np.bool_(True), True),
        ("symbol", "b\0", True),
        ("symbol", "a\ud800", False),
        ("symbol", np.str_("b"), True),
        ("at", dt.date(2020, 1, 1), True),
        ("at", dt.datetime(2000, 1, 1, 0, 30, tzinfo=dt.timezone(dt.timedelta(hours=1))), False),
        ("at", np.datetime64("2020", "Y"), True),
        ("at", pd.Timestamp("2000-01-01 01:00", tz="Asia/Tokyo"), False),
        *((name, missing, False) for name in SIMPLE for missing in (None, math.nan, pd.NA)),
        ("at", pd.NaT, False),
        ("at", np.datetime64("NaT"), False),
    ],
    ids=repr,
)
def test_values_of_every_kind(name: str, value: Any, expected: bool) -> None:
    rows = keys_of([{name: value}, {name: value, "more": 1}])
    assert rows[0] == rows[1] == keys_of([{name: value}])[0]
    assert (name in rows[0]) is expected
    assert ("none" in rows[0]) is (name != "symbol" or value is None or value is pd.NA or value != value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("volume", 2**63),
        ("volume", VAST),
        ("volume", np.uint64(2**64 - 1)),
        ("volume", True),
        ("volume", 3.5),
        ("volume", math.inf),
        ("volume", 2.0**53),
        ("volume", decimal.Decimal(3)),
        ("volume", "3"),
        ("volume", [3]),
        ("volume", np.array([3])),
        pytest.param("volume", object(), id="an object"),
        ("price", 2**53 + 1),
        ("price", VAST),
        ("price", "x"),
        ("price", 1j),
        ("halted", 1),
        ("halted", "true"),
        ("symbol", b"b"),
        ("symbol", 5),
        ("at", "2020-01-01"),
        ("at", dt.time(1)),
        ("at", np.datetime64(2**62, "s")),
        ("at", pd.Timestamp("2020-01-01 00:00:00.000000001")),
        ("at", dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=14)))),
    ],
    ids=lambda value: f"{value.bit_length()} bits" if isinstance(value, int) else repr(value)[:20],
)
def test_values_that_are_refused(name: str, value: Any) -> None:
    for events in ([{name: value}], [{}, {name: value}]):
        with pytest.raises(SchemaError, match=f"column '{name}'"):
            MATCHER.match(events)
    with pytest.raises(SchemaError, match=f"column '{name}'"):
        MATCHER.explain({name: value}, "price")


ODD_TABLES: dict[str, tuple[Any, list[list[str]]]] = {
    "string views in a dictionary with a null": (
        pa.table(
            {
                "symbol": pa.DictionaryArray.from_arrays(
                    pa.array([0, None, 1], pa.int8()), pa.array(["b", None]).cast(pa.string_view())
                )
            }
        ),
        [["symbol"], ["none"], ["none"]],
    ),
    "equal values in a dictionary": (
        pa.table({"symbol": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["b", "b", None]))}),
        [["symbol"], ["symbol"], ["none"]],
    ),
    "dictionaries in chunks": (
        pa.table({"symbol": pa.chunked_array([pa.array([one]).dictionary_encode() for one in "ba"])}),
        [["symbol"], []],
    ),
    "string views in chunks": (
        pa.table({"symbol": pa.chunked_array([["b"], ["a"]], pa.string()).cast(pa.string_view())}),
        [["symbol"], []],
    ),
    "no chunks": (pa.table({"symbol": pa.chunked_array([], pa.dictionary(pa.int8(), pa.string()))}), []),
    "a slice": (
        pa.table({"volume": [1, None, 3], "symbol": ["a", "b", None]}).slice(1),
        [["symbol"], ["none", "volume"]],
    ),
    "columns that do not matter twice": (
        pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], names=["x", "x", "volume"]),
        [["none", "volume"]],
    ),
    "rows with other keys": ([{"volume": 1}, {"price": 2.0}], [["none", "volume"], ["none", "price"]]),
    "big endian": ({"volume": np.array([1, -1], ">i8")}, [["none", "volume"], ["none"]]),
    "masked": ({"volume": np.ma.masked_array([1, 2], [True, False])}, [["none"], ["none", "volume"]]),
    "strings with NaN": ([{"symbol": "b"}, {"symbol": math.nan}], [["symbol"], ["none"]]),
    "booleans with NaN": ([{"halted": True}, {"halted": math.nan}], [["halted", "none"], ["none"]]),
    "strings all NaN": (pd.DataFrame({"symbol": [math.nan, math.nan]}), [["none"], ["none"]]),
    "objects with NaN": (pd.DataFrame({"symbol": ["b", math.nan]}), [["symbol"], ["none"]]),
    "polars categories": (
        pl.DataFrame({"symbol": pl.Series(["b", None], dtype=pl.Categorical)}),
        [["symbol"], ["none"]],
    ),
    "times with a zone": (
        pa.table({"at": pa.array([946684800, 946684801], pa.timestamp("s", "America/New_York"))}),
        [["none"], ["at", "none"]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ODD_TABLES)
def test_odd_tables(case: str) -> None:
    events, expected = ODD_TABLES[case]
    assert keys_of(events) == expected


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (pl.Series("volume", [1]), "cannot be read as an Arrow table"),
        (pd.Series([1]), "cannot be read as an Arrow table"),
        (pl.LazyFrame({"volume": [1]}), "must be a list of dicts"),
        (pd.DataFrame({"volume": [1, "a"]}), "column 'volume' cannot be read as Arrow"),
        (pd.DataFrame([[1, 2]], columns=["volume", "volume"]), "more than one column 'volume'"),
        (pa.table({"price": [decimal.Decimal("1.5")]}), "column 'price' is decimal128"),
        (pa.table({"symbol": [["b"]]}), "column 'symbol' is list"),
        (({} for _ in range(2)), "must be a list of dicts"),
        ({"volume": {1, 2}}, "column 'volume' is set"),
        ({"volume": np.array(3)}, "one dimension"),
    ],
)
def test_tables_that_are_refused(events: Any, message: str) -> None:
    with pytest.raises(PubmatchError) as caught:
        MATCHER.match(events)
    assert message in str(caught.value)


ANY_VALUE = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**55), 2**55)
    | st.floats()
    | st.text(max_size=3)
    | st.datetimes(timezones=st.none() | st.just(dt.UTC) | st.just(dt.timezone(dt.timedelta(hours=-14))))
    | st.dates()
    | st.binary(max_size=2)
    | st.sampled_from([np.float64(1.5), np.int32(3), np.datetime64("NaT"), pd.NA, pd.NaT, decimal.Decimal(1)])
    | st.sampled_from([value for pool in VALUES.values() for value in pool])
)
LIMITED = pm.Schema(
    price=pm.Number(domain=(0, 10)),
    volume=pm.Integer(domain=(-5, 2**60)),
    symbol=pm.Category(domain=["", "A", "AB"]),
    at=pm.Timestamp(domain=("1970-01-01", "2030-01-01")),
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([SIMPLE, LIMITED]), st.dictionaries(st.sampled_from(SIMPLE.names), ANY_VALUE))
def test_one_event_is_what_a_column_of_one_is(schema: pm.Schema, event: dict[str, Any]) -> None:
    labels = {"symbol": Labels.of(["A", "AB", "IBM"])}
    quick = SingleEvent(schema).point(event, labels)
    try:
        expected = encode_points(event_columns([event], schema.names), schema, labels)
    except PubmatchError:
        assert quick is None  # whose errors are those of columns
        return
    assert quick is None or np.array_equal(quick, expected)


# --- tables of subscriptions ---

BAD_ROWS: dict[str, tuple[dict[str, list[Any]], str]] = {
    "null character": ({"symbol_min": ["a\0b", "x"]}, "'symbol_min' holds the null character at row 0"),
    "surrogate": ({"symbol_min": ["a\ud800", "x"]}, "valid Unicode"),
    "infinite": ({"price_min": [math.inf, 1.0]}, "no bound that a value could reach at row 0 (inf)"),
    "fraction": ({"volume_min": [2.5, 1.0]}, "column 'volume_min' is no whole number at row 0 (2.5)"),
    "rounded": ({"volume_max": [2.0**53, 1.0]}, "has an integer beyond 2^53 as a float"),
    "inexact": ({"price_min": [2**53 + 1, 1]}, "not exact in float64"),
    "far": ({"at_max": [np.datetime64(2**62, "us"), np.datetime64(0, "us")]}, "outside the years 1 to 9999"),
    "crossed": ({"halted_min": [True, False], "halted_max": [False, False]}, "no event can satisfy"),
    "unhashable key": ({"key": [[1], "b"], "price_min": [1.0, 2.0]}, "a string or an integer, got [1]"),
    "vast key": ({"key": [VAST, "b"], "price_min": [1.0, 2.0]}, "16610 bits does not fit int64"),
    "large key": ({"key": [2**64, "b"], "price_min": [1.0, 2.0]}, "18446744073709551616 does not fit int64"),
    "no filter": ({"filter": [None, "TRUE"]}, "there is no filter"),
    "filter with NUL": ({"filter": ["symbol = '\0'", "TRUE"]}, "null character"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows_are_told_one_by_one(case: str) -> None:
    columns, message = BAD_ROWS[case]
    values = {name: np.array(column) if name.startswith("at") else column for name, column in columns.items()}
    table = {"key": ["a", "b"], **values}
    whole = matcher()
    with pytest.raises(PubmatchError) as caught:
        whole.subscribe_many(table)
    assert "row 0, key " in str(caught.value)
    assert message in str(caught.value)
    assert len(whole) == len(MATCHER)
    told = whole.subscribe_many(table, on_error="collect")
    assert isinstance(told, pa.Table)
    assert told["row"].to_pylist() == [0]
    assert message in told["error"].to_pylist()[0]
    assert whole.keys()[len(MATCHER) :] == ["b"]


@pytest.mark.parametrize(
    "kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_texts_of_every_string_type(kind: pa.DataType) -> None:
    made = pm.Matcher(SIMPLE)
    table = pa.table({"key": [1, 2], "filter": pa.array(["price > 1", "volume IN (1, 2)"], kind)})
    assert made.subscribe_many(table) == 2
    assert keys_texts(made) == {1: "price > 1", 2: "volume IN (1, 2)"}


def keys_texts(made: pm.Matcher) -> dict[Any, str]:
    return {key: str(made.filter_of(key)) for key in made}


def test_random_bounds_with_bad_values_are_taken_row_by_row() -> None:
    """Whatever is wrong with some rows, the others are as if they were alone."""
    chance = random.Random(4)
    pools: dict[str, list[Any]] = {
        "price": [None, math.nan, -math.inf, math.inf, 0.0, 1.5, 5e-324],
        "volume": [None, -(2**63), 2**63 - 1, 2**62, 3, 4],
        "symbol": [None, "", "a", "b\0", "it's", "\U0010ffff"],
        "halted": [None, True, False],
    }
    rows = [
        {f"{name}_{side}": chance.choice(pools[name]) for name in pools for side in ("min", "max")}
        for _ in range(300)
    ]
    together, single = pm.Matcher(SIMPLE), pm.Matcher(SIMPLE)
    told = together.subscribe_many(
        {"key": range(300), **{title: [row[title] for row in rows] for title in rows[0]}}, on_error="collect"
    )
    refused = {}
    for number, row in enumerate(rows):
        try:
            single.subscribe_many({"key": [number], **{title: [value] for title, value in row.items()}})
        except PubmatchError as error:
            refused[number] = str(error).partition(": ")[2].replace("at row 0", f"at row {number}")
    assert isinstance(told, pa.Table)
    assert dict(zip(told["row"].to_pylist(), told["error"].to_pylist(), strict=True)) == refused
    assert 0 < len(refused) < 300
    assert keys_texts(together) == keys_texts(single)
    events = [
        {"price": price, "volume": volume, "symbol": symbol, "halted": halted}
        for price in (None, 0.0, 1.5, math.inf)
        for volume in (None, 3, 4)
        for symbol in (None, "", "a", "it's", "z")
        for halted in (None, True, False)
    ]
    assert [sorted(keys) for keys in together.match(events)] == [
        sorted(keys) for keys in single.match(events)
    ]
