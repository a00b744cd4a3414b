"""Events of every kind give the same keys, and results can be read in every way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pubmatch.errors import ArgumentError, ArgumentTypeError, SchemaError
from pubmatch.matcher import Matcher
from pubmatch.schema import Category, Integer, Number, Schema

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    Run = Callable[..., subprocess.CompletedProcess[str]]

SCHEMA = Schema(price=Number(), volume=Integer(), symbol=Category())
WORDS = ["AMD", "HP", "IBM", "Z", None]


def make_matcher(keys: Callable[[int], Any] = lambda number: f"k{number}") -> Matcher:
    rng = np.random.default_rng(3)
    matcher = Matcher(SCHEMA)
    for number in range(60):
        low, volume = rng.integers(0, 90), rng.integers(0, 50)
        texts = [
            f"price BETWEEN {low} AND {low + 20}",
            f"price < {low} OR volume > {volume} OR symbol = 'IBM'",
            f"symbol <> 'AMD' AND volume <= {volume}",
            "symbol IN ('HP', 'IBM', 'Q') AND price IS NOT NULL",
        ]
        matcher.subscribe(keys(number), texts[number % 4])
    return matcher


def make_events(count: int = 300) -> pa.Table:
    rng = np.random.default_rng(4)
    price = np.where(rng.random(count) < 0.1, np.nan, rng.integers(0, 110, count))
    volume = [None if rng.random() < 0.1 else int(value) for value in rng.integers(0, 60, count)]
    symbol = [WORDS[place] for place in rng.integers(0, 5, count)]
    return pa.table({"price": pa.array(price, from_pandas=True), "volume": volume, "symbol": symbol})


MATCHER = make_matcher()
EVENTS = make_events()
FILTERS = {key: MATCHER.filter_of(key).bind(SCHEMA) for key in MATCHER}
EXPECTED = [
    {key for key, filter in FILTERS.items() if filter.matches(event) is True} for event in EVENTS.to_pylist()
]
KINDS: dict[str, Any] = {
    "dicts": EVENTS.to_pylist(),
    "dict of lists": EVENTS.to_pydict(),
    "dict of arrays": {name: EVENTS[name].to_numpy() for name in EVENTS.schema.names},
    "arrow": EVENTS,
    "record batch": EVENTS.to_batches()[0],
    "reader": EVENTS.to_reader(max_chunksize=70),
    "dictionary": EVENTS.set_column(2, "symbol", EVENTS["symbol"].dictionary_encode()),
    "pandas": EVENTS.to_pandas(),
    "polars": pl.from_arrow(EVENTS),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table(kind: str) -> None:
    result = MATCHER.match(KINDS[kind])
    assert [set(keys) for keys in result] == EXPECTED
    assert result.counts.tolist() == [len(keys) for keys in EXPECTED]


@pytest.mark.parametrize("order", ["sjf", "fifo"])
@pytest.mark.parametrize("level", ["auto", 1])
@pytest.mark.parametrize("threads", [1, 2])
def test_order_level_and_threads(order: Any, level: Any, threads: int) -> None:
    result = MATCHER.match(EVENTS, order=order, level=level, threads=threads)
    assert [set(keys) for keys in result] == EXPECTED
    assert sorted(result.order.tolist()) == list(range(300))
    assert result.level >= 1


def test_stream_hands_out_every_event_once() -> None:
    found: dict[int, set[Any]] = {}
    for positions, part in MATCHER.stream(EVENTS, chunk=37):
        assert len(positions) == len(part) <= 37
        for position, keys in zip(positions.tolist(), part, strict=True):
            assert position not in found
            found[position] = set(keys)
    assert [found[position] for position in range(300)] == EXPECTED


def test_count_and_estimate() -> None:
    assert MATCHER.count(EVENTS).tolist() == [len(keys) for keys in EXPECTED]
    assert MATCHER.count(EVENTS, threads=2).dtype == np.int64
    assert MATCHER.estimate(EVENTS).shape == (300,)
    assert MATCHER.estimate(EVENTS, level=1).tolist() == [1] * 300
    single = Matcher(SCHEMA)
    single.subscribe("a", "price > 50")
    assert single.count(EVENTS).tolist() == single.match(EVENTS).counts.tolist()


def test_result_in_every_form() -> None:
    result = MATCHER.match(EVENTS)
    assert len(result) == 300
    assert set(result[-1]) == set(result[299]) == EXPECTED[299]
    assert isinstance(result[0], list)
    for wrong in (300, -301):
        with pytest.raises(IndexError, match="of 300"):
            result[wrong]
    events, keys = result.pairs()
    expected = sorted((event, key) for event, found in enumerate(EXPECTED) for key in found)
    assert sorted(zip(events.tolist(), keys.tolist(), strict=True)) == expected
    table = result.to_arrow()
    assert table.schema == pa.schema({"event": pa.int64(), "key": pa.string()})
    assert sorted(zip(*table.to_pydict().values(), strict=True)) == expected
    frame = result.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert sorted(frame.itertuples(index=False, name=None)) == expected
    assert result.response_s.shape == (300,)
    assert result.mean_response_s == pytest.approx(result.response_s.mean())
    assert repr(result) == f"MatcherResult(events=300, matches={len(expected)}, level={result.level})"


@pytest.mark.parametrize(
    ("keys", "kind", "dtype"),
    [
        (lambda number: 10**12 + number, pa.int64(), np.int64),
        (lambda number: number if number % 2 else f"k{number}", pa.string(), object),
    ],
)
def test_integer_and_mixed_keys(keys: Callable[[int], Any], kind: pa.DataType, dtype: Any) -> None:
    matcher = make_matcher(keys)
    expected = [{keys(int(key[1:])) for key in row} for row in EXPECTED]
    for events in (EVENTS, EVENTS.slice(0, 2)):  # more matches than keys, and fewer
        result = matcher.match(events)
        wanted = expected[: len(events)]
        assert [set(row) for row in result] == wanted
        assert all(type(key) in (int, str) for row in result for key in row)
        positions, found = result.pairs()
        assert found.dtype == dtype
        pairs = {(event, key) for event, row in enumerate(wanted) for key in row}
        assert set(zip(positions.tolist(), found.tolist(), strict=True)) == pairs
        table = result.to_arrow()
        assert table.schema.field("key").type == kind
        texts = {(event, key if kind == pa.int64() else str(key)) for event, key in pairs}
        assert set(zip(*table.to_pydict().values(), strict=True)) == texts


def test_no_events_and_no_subscriptions() -> None:
    for events in ([], {}, EVENTS.slice(0, 0)):
        result = MATCHER.match(events)
        assert (len(result), list(result), result.counts.tolist()) == (0, [], [])
        assert result.to_arrow().num_rows == 0
        assert np.isnan(result.mean_response_s)
        assert list(MATCHER.stream(events)) == []
    empty = Matcher(SCHEMA).match(EVENTS)
    assert list(empty) == [[]] * 300
    assert empty.to_arrow().num_rows == 0


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: MATCHER.match({"price": ["x"]}), SchemaError, "column 'price' is str"),
        (lambda: MATCHER.match(7), ArgumentTypeError, "events must be"),
        (lambda: MATCHER.match([], order="best"), ArgumentError, "order must be"),
        (lambda: MATCHER.match([], level=99), ArgumentError, "level must be"),
        (lambda: MATCHER.match([], threads=0), ArgumentError, "threads must be"),
        (lambda: MATCHER.stream([], chunk=0), ArgumentError, "chunk must be"),
        (lambda: MATCHER.count({"volume": [0.5]}), SchemaError, "column 'volume' is no whole number"),
        (lambda: MATCHER.estimate({"symbol": [1]}), SchemaError, "column 'symbol' is int"),
    ],
)
def test_bad_events_and_arguments(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


WITHOUT_ARROW = """
import sys
sys.modules["pyarrow"] = sys.modules["pandas"] = sys.modules["polars"] = None
import numpy as np
from pubmatch.matcher import Matcher
from pubmatch.schema import Category, Number, Schema
matcher = Matcher(Schema(price=Number(), symbol=Category()))
matcher.subscribe("a", "price < 10 OR symbol = 'IBM'")
matcher.subscribe_many({"key": [1], "filter": ["price > 5 AND symbol <> 'IBM'"]})
print(list(matcher.match([{"price": 7.0, "symbol": "HP"}, {"symbol": "IBM"}])))
print(list(matcher.match({"price": np.array([7.0, 20.0]), "symbol": np.array(["HP", "HP"])})))
print(matcher.match([{"price": 1.0}]).pairs())
"""


def test_lists_and_numpy_need_no_arrow(run_python: Run) -> None:
    done = run_python(WITHOUT_ARROW)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "[['a', 1], ['a']]",
        "[['a', 1], [1]]",
        "(array([0]), array(['a'], dtype=object))",
    ]
