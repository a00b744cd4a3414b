"""Tables of subscriptions: every kind, whole or not at all, or with a table of what was refused."""

from __future__ import annotations

import datetime as dt
import functools
import math
import operator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pubmatch.errors import ArgumentError, ArgumentTypeError, FilterError, PubmatchError, SchemaError
from pubmatch.filters import attr, parse
from pubmatch.matcher import Matcher
from pubmatch.schema import Boolean, Category, Integer, Number, Schema, Timestamp

SCHEMA = Schema(
    price=Number(), x2=Number(), volume=Integer(), symbol=Category(), halted=Boolean(), at=Timestamp(),
    **{"unit 1": Number(), "order": Number(), "Cap": Number()},
)  # fmt: skip

TABLE = {"key": ["a", "b", "c"], "filter": ["price < 10", "price > 5 OR volume = 3", "symbol = 'x'"]}
TABLES: dict[str, Any] = {
    "dict": TABLE,
    "arrow": pa.table(TABLE),
    "chunks": pa.concat_tables([pa.table(TABLE).slice(0, 1), pa.table(TABLE).slice(1)]),
    "record batch": pa.table(TABLE).to_batches()[0],
    "reader": pa.table(TABLE).to_reader(),
    "dictionary": pa.table({name: pa.array(values).dictionary_encode() for name, values in TABLE.items()}),
    "pandas": pd.DataFrame(TABLE),
    "polars": pl.DataFrame(TABLE),
    "numpy": {name: np.array(values) for name, values in TABLE.items()},
    "more columns": {**TABLE, "owner": ["x", "y", "z"]},
}


@pytest.mark.parametrize("kind", TABLES)
def test_every_kind_of_table(kind: str) -> None:
    matcher = Matcher(SCHEMA)
    assert matcher.subscribe_many(TABLES[kind]) == 3
    assert matcher.keys() == ["a", "b", "c"]
    assert [str(matcher.filter_of(key)) for key in matcher] == TABLE["filter"]
    assert [sorted(keys) for keys in matcher.match([{"price": 7.0}, {"symbol": "x"}])] == [["a", "b"], ["c"]]


def test_other_column_names_and_integer_keys() -> None:
    matcher = Matcher(SCHEMA)
    table = pa.table({"id": pa.array([5, 6], pa.int32()), "where": ["price < 10", "price > 5"]})
    assert matcher.subscribe_many(table, key="id", filter="where") == 2
    assert matcher.match([{"price": 7.0}])[0] == [5, 6]
    assert (
        matcher.subscribe_many(
            pa.table({"key": pa.array([], pa.string()), "filter": pa.array([], pa.string())})
        )
        == 0
    )


BOUNDS = pa.table(
    {
        "key": ["all", "price", "open", "exact", "word", "time", "flag", "infinite"],
        "price_min": pa.array([None, 1.5, None, None, None, None, None, -math.inf]),
        "price_max": pa.array([None, 2.5, 0.1, None, None, None, None, 3.0]),
        "volume_min": pa.array([None, None, None, 2**53 + 1, None, None, None, None]),
        "volume_max": pa.array([None, None, None, 2**60, None, None, None, None]),
        "symbol_min": pa.array([None, None, None, None, "it's", None, None, None]),
        "symbol_max": pa.array([None, None, None, None, "k", None, None, None]),
        "at_min": pa.array([None] * 5 + [dt.datetime(2026, 1, 1)] + [None] * 2, pa.timestamp("us")),
        "halted_max": pa.array([None] * 6 + [False, None]),
        "unit 1_max": pa.array([9, None, None, None, None, None, None, None]),
    }
)


@pytest.mark.parametrize(
    "table", [BOUNDS, pl.from_arrow(BOUNDS), BOUNDS.to_pydict()], ids=["arrow", "polars", "dict"]
)
def test_bounds(table: Any) -> None:
    matcher = Matcher(SCHEMA)
    assert matcher.subscribe_many(table) == 8
    expected = {
        "all": '"unit 1" <= 9e0',
        "price": "price >= 1.5e0 AND price <= 2.5e0",
        "open": "price <= 0.1e0",
        "exact": "volume >= 9007199254740993 AND volume <= 1152921504606846976",
        "word": "symbol >= 'it''s' AND symbol <= 'k'",
        "time": "\"at\" >= '2026-01-01 00:00:00+00:00'",
        "flag": "halted <= FALSE",
        "infinite": "price <= 3e0",
    }
    for key, text in expected.items():
        assert matcher.filter_of(key) == parse(text), key
    events = [
        {"price": 2.5},
        {"price": 0.1},
        {"volume": 2**53 + 1},
        {"symbol": "jo"},
        {"halted": False},
        {"unit 1": 1},
    ]
    assert [sorted(keys) for keys in matcher.match(events)] == [
        ["infinite", "price"], ["infinite", "open"], ["exact"], ["word"], ["flag"], ["all"],
    ]  # fmt: skip


def test_bounds_are_the_same_as_comparisons() -> None:
    rng = np.random.default_rng(2)
    low = np.round(rng.normal(size=(200, 3)) * 10.0 ** rng.integers(-3, 4, (200, 3)), 3)
    high = low + np.abs(rng.normal(size=(200, 3)))
    names = ("price", "x2", "Cap")
    columns = {
        f"{name}_{side}": array[:, place]
        for place, name in enumerate(names)
        for side, array in (("min", low), ("max", high))
    }
    for column in columns.values():
        column[rng.random(200) < 0.3] = np.nan
    bounds, texts = Matcher(SCHEMA), Matcher(SCHEMA)
    bounds.subscribe_many({"key": range(200), **columns})
    for key in range(200):
        parts = [
            f'"{name}" {op} {float(columns[f"{name}_{side}"][key])!r}'
            for name in names
            for side, op in (("min", ">="), ("max", "<="))
            if not np.isnan(columns[f"{name}_{side}"][key])
        ]
        texts.subscribe(key, " AND ".join(parts) or "TRUE")
    points = {name: np.concatenate([low[:, place], rng.normal(size=100)]) for place, name in enumerate(names)}
    assert [sorted(keys) for keys in bounds.match(points)] == [sorted(keys) for keys in texts.match(points)]


def test_bounds_are_kept_exactly() -> None:
    rng = np.random.default_rng(5)
    doubles = rng.integers(-(2**63), 2**63 - 1, 2000).view(np.float64)
    doubles = np.concatenate(
        [doubles[np.isfinite(doubles)], [0.0, -0.0, 5e-324, 1e15, 1e16, 1e22, 123456789.0]]
    )
    count = len(doubles)
    whole = rng.integers(-(2**60), 2**60, count)
    times = rng.integers(0, 4 * 10**15, count)
    words = [f"it's {'é' * (row % 3)}{row % 50}" for row in range(count)]
    table = {
        "key": range(count),
        "x2_min": doubles,
        "volume_max": pa.array(whole, mask=rng.random(count) < 0.3),
        "symbol_max": pa.array(words, mask=rng.random(count) < 0.3),
        "at_min": pa.array(times, pa.timestamp("us"), mask=rng.random(count) < 0.3),
        "halted_min": pa.array(rng.random(count) < 0.5, mask=rng.random(count) < 0.3),
    }
    matcher = Matcher(SCHEMA)
    assert matcher.subscribe_many(table) == count
    for row in range(0, count, 7):
        expected = [attr("x2") >= float(doubles[row])]
        for name, value in (("volume_max", int(whole[row])), ("symbol_max", words[row])):
            if table[name][row].is_valid:
                expected.append(attr(name.removesuffix("_max")) <= value)
        if table["halted_min"][row].is_valid:
            expected.append(attr("halted") >= table["halted_min"][row].as_py())
        if table["at_min"][row].is_valid:
            expected.append(attr("at") >= table["at_min"][row].as_py())
        wanted = functools.reduce(operator.and_, expected).bind(SCHEMA)
        assert matcher.filter_of(row).bind(SCHEMA) == wanted, row
    found = matcher.match({"x2": doubles, "volume": whole, "symbol": words, "at": times.view("M8[us]")})
    assert all(row in keys for row, keys in enumerate(found) if not table["halted_min"][row].is_valid)


def test_a_large_table_of_every_shape_is_the_same_as_small_ones() -> None:
    shapes = [
        "price < {0}", "price < {0} OR volume > {1}", "symbol IN ('s{1}', 't')", "symbol <> 's{1}'",
        "symbol LIKE 's{1}%' AND (price > {0} OR volume IN ({1}, 99))", "NOT price < {0}", '"order" > {0}',
    ]  # fmt: skip
    texts = [shapes[row % len(shapes)].format(row / 10 - 20, row % 40) for row in range(700)]
    large, small = Matcher(SCHEMA), Matcher(SCHEMA)
    assert large.subscribe_many(pa.table({"key": range(700), "filter": texts})) == 700
    for first in range(0, 700, 100):
        rows = range(first, first + 100)
        small.subscribe_many({"key": rows, "filter": [texts[row] for row in rows]})
    assert [str(large.filter_of(key)) for key in large] == [str(small.filter_of(key)) for key in small]
    rng = np.random.default_rng(4)
    events = {
        "price": rng.normal(size=200) * 20,
        "order": rng.normal(size=200) * 20,
        "volume": rng.integers(0, 100, 200),
        "symbol": [f"s{number}" for number in rng.integers(0, 60, 200)],
    }
    assert [sorted(keys) for keys in large.match(events)] == [sorted(keys) for keys in small.match(events)]
    assert large.stats()["boxes"] == small.stats()["boxes"]
    large.add_attributes(more=Number())  # everything is prepared again, from the store
    assert [sorted(keys) for keys in large.match(events)] == [sorted(keys) for keys in small.match(events)]


BAD_TABLES: dict[str, tuple[Any, type[Exception], str]] = {
    "bad filter": (
        {"key": [1, 2], "filter": ["price > 1", "prize > 1"]},
        FilterError,
        "row 1, key 2: unknown attribute 'prize'",
    ),
    "never true": (
        {"key": [1], "filter": ["price > 1 AND price < 1"]},
        FilterError,
        "row 0, key 1: no event can satisfy",
    ),
    "no filter": ({"key": [1], "filter": [None]}, FilterError, "row 0, key 1: there is no filter"),
    "number": ({"key": [1], "filter": [5]}, FilterError, "row 0, key 1: a filter must be text, got 5"),
    "taken": (
        {"key": ["old"], "filter": ["price > 1"]},
        ArgumentError,
        "row 0, key 'old': key 'old' is taken",
    ),
    "twice": (
        {"key": ["a", "a"], "filter": ["price > 1"] * 2},
        ArgumentError,
        "row 1, key 'a': key 'a' has row 0 already",
    ),
    "null key": (
        {"key": ["a", None], "filter": ["price > 1"] * 2},
        ArgumentTypeError,
        "row 1, key None: a key must be",
    ),
    "float key": (
        {"key": [1.5], "filter": ["price > 1"]},
        ArgumentTypeError,
        "row 0, key 1.5: a key must be",
    ),
    "boolean key": (
        {"key": [True], "filter": ["price > 1"]},
        ArgumentTypeError,
        "row 0, key True: a key must be",
    ),
    "huge key": (
        {"key": np.array([2**63], np.uint64), "filter": ["price > 1"]},
        PubmatchError,
        "does not fit int64",
    ),
    "surrogate key": ({"key": ["\ud800"], "filter": ["price > 1"]}, PubmatchError, "lone surrogate"),
    "no key column": (
        {"filter": ["price > 1"]},
        ArgumentError,
        "table has no column 'key' of keys; its columns are 'filter'",
    ),
    "nothing to go by": (
        {"key": ["a"]},
        ArgumentError,
        "neither a column 'filter' of filters nor columns of bounds",
    ),
    "both": (
        {"key": ["a"], "filter": ["TRUE"], "price_min": [1.0]},
        ArgumentError,
        "'filter' of filters and the column 'price_min'",
    ),
    "unknown bound": (
        {"key": ["a"], "prize_min": [1.0]},
        ArgumentError,
        "the column 'prize_min' is no bound",
    ),
    "bound type": (
        {"key": ["a"], "price_min": ["x"]},
        SchemaError,
        "column 'price_min' is str: a Number takes",
    ),
    "bound fraction": (
        {"key": ["a"], "volume_min": [0.5]},
        SchemaError,
        "column 'volume_min' is no whole number at row 0",
    ),
    "bounds crossed": (
        {"key": ["a"], "price_min": [2], "price_max": [1]},
        FilterError,
        "row 0, key 'a': no event can satisfy",
    ),
    "infinite": ({"key": ["a"], "price_max": [-math.inf]}, FilterError, "row 0, key 'a': "),
    "lengths": ({"key": ["a", "b"], "filter": ["TRUE"]}, ArgumentError, "1 in column 'filter'"),
    "no table": ([("a", "TRUE")], ArgumentTypeError, "table must be"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_a_bad_table_changes_nothing(case: str) -> None:
    table, kind, message = BAD_TABLES[case]
    matcher = Matcher(SCHEMA)
    matcher.subscribe("old", "price = 7 OR symbol = 'b'")
    before = matcher.stats()
    with pytest.raises(kind, match=message):
        matcher.subscribe_many(table)
    assert (matcher.keys(), matcher.stats()) == (["old"], before)
    assert matcher.match([{"price": 7.0}])[0] == ["old"]


def test_bad_arguments() -> None:
    matcher = Matcher(SCHEMA)
    with pytest.raises(ArgumentError, match="on_error must be 'raise' or 'collect', got 'ignore'"):
        matcher.subscribe_many(TABLE, on_error="ignore")
    with pytest.raises(ArgumentTypeError, match="key must be the name of a column, got 5"):
        matcher.subscribe_many(TABLE, key=5)  # type: ignore[arg-type]
    assert len(matcher) == 0


def test_collect() -> None:
    matcher = Matcher(SCHEMA)
    matcher.subscribe("old", "price = 7")
    table = {
        "key": ["good", "old", "bad", None, "good", "bad", "multi", "\ud800"],
        "filter": [
            "price = 1",
            "price = 2",
            "prize = 3",
            "price = 4",
            "price = 5",
            "price = 6",
            "price <> 1",
            "TRUE",
        ],
    }
    refused = matcher.subscribe_many(table, on_error="collect")
    assert refused.schema == pa.schema(
        {"row": pa.int64(), "key": pa.string(), "filter": pa.string(), "error": pa.string()}
    )
    assert refused.column("row").to_pylist() == [1, 2, 3, 4, 5, 7]
    assert refused.column("key").to_pylist() == ["old", "bad", None, "good", "bad", "\\ud800"]
    assert refused.column("filter").to_pylist()[:3] == ["price = 2", "prize = 3", "price = 4"]
    errors = refused.column("error").to_pylist()
    assert errors[0] == "key 'old' is taken"
    assert "unknown attribute 'prize'" in errors[1]
    assert errors[3:5] == ["key 'good' has row 0 already", "key 'bad' has row 2 already"]
    assert matcher.keys() == ["old", "good", "multi"]
    assert [sorted(keys) for keys in matcher.match({"price": [1.0, 7.0]})] == [["good"], ["multi", "old"]]
    assert matcher.subscribe_many({"key": [1], "filter": ["TRUE"]}, on_error="collect").num_rows == 0


@pytest.mark.parametrize("literal", ["1\uff12", "\u0663", "1e\u0663"])
def test_what_only_python_takes_for_a_number(literal: str) -> None:
    matcher = Matcher(Schema(price=Number()))
    text = f"price < {literal}"
    with pytest.raises(PubmatchError) as alone:
        matcher.subscribe("a", text)
    filters = [f"price < {number}" for number in range(299)]
    table = {"key": list(range(300)), "filter": [*filters[:150], text, *filters[150:]]}
    with pytest.raises(type(alone.value)) as among_many:
        matcher.subscribe_many(pa.table(table))
    told = str(alone.value).removeprefix("subscription 'a': ")
    assert str(among_many.value) == f"row 150, key 150: {told}"
    assert not len(matcher)


NO_TEXT = [b"IBM"] * 300 + [b"\xff"]


@pytest.mark.parametrize("rows", [slice(298, 301), slice(0, 301)])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), "dictionary"])
@pytest.mark.parametrize("column", ["key", "filter", "symbol_min"])
def test_strings_that_are_not_utf8(column: str, kind: Any, rows: slice) -> None:
    count = len(NO_TEXT[rows])
    bad = pa.array(NO_TEXT[rows]).view(pa.string())
    texts = [f"symbol = '{number}'" for number in range(count)]
    if column == "filter":
        quoted = [text.encode().replace(b"'0'", b"'\xff'") for text in reversed(texts)]
        bad = pa.array(quoted).view(pa.string())
    bad = bad.dictionary_encode() if kind == "dictionary" else bad.cast(kind)
    table: dict[str, Any] = {"key": list(range(count)), "filter": texts}
    if column == "symbol_min":
        del table["filter"]
    table[column] = bad
    matcher = Matcher(Schema(symbol=Category()))
    with pytest.raises(SchemaError, match=f"column '{column}' is not UTF-8 at row {count - 1}"):
        matcher.subscribe_many(pa.table(table))
    assert not len(matcher)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), "dictionary"])
def test_events_that_are_not_utf8(kind: Any) -> None:
    bad = pa.array(NO_TEXT).view(pa.string())
    bad = bad.dictionary_encode() if kind == "dictionary" else bad.cast(kind)
    matcher = Matcher(Schema(symbol=Category()))
    matcher.subscribe(1, "symbol = 'IBM'")
    with pytest.raises(SchemaError, match="column 'symbol' is not UTF-8 at row 300"):
        matcher.match(pa.table({"symbol": bad}))
