"""Events of every library and type become the same points, or an error that names the column."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pubmatch.encoding.axes import ABSENT, LOWEST, encode_integer
from pubmatch.encoding.events import event_columns
from pubmatch.encoding.labels import Labels
from pubmatch.encoding.points import encode_points
from pubmatch.errors import ArgumentError, ArgumentTypeError, SchemaError
from pubmatch.schema import Boolean, Category, Integer, Number, Schema, Timestamp

SCHEMA = Schema(price=Number(), volume=Integer(), symbol=Category(), halted=Boolean(), at=Timestamp())
LABELS = {"symbol": Labels.of(["AMD", "IBM", "Ü"])}
NOON = dt.datetime(2026, 1, 2, 12, 0, 0, 1)


def encoded(events: Any, schema: Schema = SCHEMA) -> np.ndarray[Any, Any]:
    return encode_points(event_columns(events, schema.names), schema, LABELS)


ROWS: list[dict[str, Any]] = [
    {"price": 1.5, "volume": 7, "symbol": "IBM", "halted": True, "at": NOON},
    {"price": math.nan, "volume": None, "symbol": None, "halted": None, "at": None},
    {
        "price": -math.inf,
        "volume": -(2**53) - 1,
        "symbol": "",
        "halted": False,
        "at": dt.datetime(1969, 1, 1),
    },
    {"price": math.inf, "volume": 2**62, "symbol": "IBM", "halted": False, "at": dt.datetime(2026, 1, 1)},
]
ARROW = pa.table(
    {
        "at": pa.array([row["at"] for row in ROWS], pa.timestamp("us")),
        "price": pa.array([row["price"] for row in ROWS], pa.float64()),
        "volume": pa.array([row["volume"] for row in ROWS], pa.int64()),
        "more": pa.array([{"a": 1}] * 4),
        "symbol": [row["symbol"] for row in ROWS],
        "halted": [row["halted"] for row in ROWS],
    }
)


def in_chunks(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table.slice(0, 1), table.slice(1, 0), table.slice(1, 2), table.slice(3)])


class Capsule:
    """Nothing but the PyCapsule interface."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


class BatchCapsule:
    def __init__(self, batch: Any) -> None:
        self._batch = batch

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self._batch.__arrow_c_array__(requested_schema)


def with_column(name: str, column: pa.Array) -> pa.Table:
    return ARROW.set_column(ARROW.schema.get_field_index(name), name, column)


KINDS: dict[str, Any] = {
    "dicts": ROWS,
    "dict of lists": {name: [row[name] for row in ROWS] for name in SCHEMA.names},
    "dict of arrays": {
        "price": np.array([row["price"] for row in ROWS]),
        "volume": np.ma.masked_array([7, 0, -(2**53) - 1, 2**62], mask=[0, 1, 0, 0]),
        "symbol": np.array([row["symbol"] for row in ROWS], object),
        "halted": np.array([True, None, False, False], object),
        "at": np.array([row["at"] for row in ROWS], "datetime64[us]"),
    },
    "arrow": ARROW,
    "chunks": in_chunks(ARROW),
    "record batch": ARROW.to_batches()[0],
    "sliced": pa.concat_tables([ARROW, ARROW]).combine_chunks().slice(4, 4),
    "dictionary": with_column("symbol", ARROW["symbol"].dictionary_encode()),
    "dictionary in chunks": in_chunks(with_column("symbol", ARROW["symbol"].dictionary_encode())),
    "large dictionary": with_column(
        "symbol",
        pa.DictionaryArray.from_arrays(
            pa.array([8, None, 9, 8]), pa.array([*(f"w{n}" for n in range(8)), "IBM", ""])
        ),
    ),
    "null in dictionary": with_column(
        "symbol", pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0]), pa.array(["IBM", None, ""]))
    ),
    "large strings": with_column("symbol", ARROW["symbol"].cast(pa.large_string())),
    "string view": with_column("symbol", ARROW["symbol"].cast(pa.string_view())),
    "nanoseconds": with_column("at", ARROW["at"].cast(pa.timestamp("ns"))),
    "zone": with_column("at", ARROW["at"].cast(pa.timestamp("us", "Europe/Paris"))),
    "capsule": Capsule(in_chunks(ARROW)),
    "array capsule": BatchCapsule(ARROW.to_batches()[0]),
    "reader": ARROW.to_reader(),
    "pandas": ARROW.to_pandas(),
    "pandas with arrow types": ARROW.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas nullable": ARROW.to_pandas().assign(volume=pd.array([7, None, -(2**53) - 1, 2**62], "Int64")),
    "polars": pl.from_arrow(ARROW),
    "dict of series": dict(pl.from_arrow(ARROW.drop(["more"])).to_dict()),
    "dict of arrow": {name: ARROW[name] for name in SCHEMA.names},
}
# pandas keeps integers with a gap as floats, which would round them.
KINDS["pandas"]["volume"] = pd.array([7, None, -(2**53) - 1, 2**62], "Int64")


@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_of_tables_give_the_same_points(kind: str) -> None:
    at = [np.datetime64(row["at"], "us").astype(np.int64) if row["at"] else ABSENT for row in ROWS]
    ibm, empty = LABELS["symbol"].positions(["IBM", ""]).tolist()
    expected = [
        [1.5, 7, ibm, 1, at[0]],
        [ABSENT] * 5,
        [LOWEST, encode_integer(-(2**53) - 1), empty, 0, at[2]],
        [math.inf, encode_integer(2**62), ibm, 0, at[3]],
    ]
    points = encoded(KINDS[kind])
    assert points.dtype == np.float64
    assert points.flags.c_contiguous
    assert points.tolist() == expected


@pytest.mark.parametrize(
    "events", [[], (), {}, {"price": []}, ARROW.slice(0, 0), pl.DataFrame(), pd.DataFrame()]
)
def test_no_events(events: Any) -> None:
    assert encoded(events).shape == (0, 5)


def test_missing_columns_and_null_columns_are_absent() -> None:
    expected = [[ABSENT] * 5] * 2
    assert encoded([{}, {"other": 3}]).tolist() == expected
    assert encoded({"other": [1, 2]}).tolist() == expected
    assert (
        encoded(pa.table({"price": pa.nulls(2), "at": pa.nulls(2, pa.timestamp("s"))})).tolist() == expected
    )
    assert encoded(pl.DataFrame({"other": [1, 2]})).tolist() == expected
    assert (
        encoded({"symbol": pa.array([None, None], pa.dictionary(pa.int8(), pa.string()))}).tolist()
        == expected
    )


def test_numbers_of_other_types() -> None:
    schema = Schema(price=Number(), volume=Integer())
    values = {"price": np.array([1, -2], np.int8), "volume": np.array([3.0, np.nan], np.float32)}
    assert encoded(values, schema).tolist() == [[1.0, 3.0], [-2.0, ABSENT]]
    assert encoded({"price": np.array([0.5, 1], np.float16)}, schema)[:, 0].tolist() == [0.5, 1.0]
    assert encoded({"price": np.array([2**63], np.uint64)}, schema)[0, 0] == 2.0**63
    assert encoded([{"price": 1}, {"price": 0.5}], schema)[:, 0].tolist() == [1.0, 0.5]
    assert encoded([{"price": np.float32(0.1)}], schema)[0, 0] == float(np.float32(0.1))
    assert encoded({"volume": range(2)}, schema)[:, 1].tolist() == [0, 1]


def test_times_of_other_types() -> None:
    schema = Schema(at=Timestamp())
    day = np.datetime64("2026-01-02", "us").astype(np.int64)
    date = dt.date(2026, 1, 2)
    zone = dt.timezone(dt.timedelta(hours=2))
    for values in (
        [date],
        pa.array([date], pa.date32()),
        pa.array([date], pa.date64()),
        pa.array([dt.datetime(2026, 1, 2)], pa.timestamp("s")),
        pa.array([dt.datetime(2026, 1, 2)], pa.timestamp("ms")),
        np.array(["2026-01-02"], "datetime64[D]"),
        [np.datetime64("2026-01-02T00", "h")],
        [dt.datetime(2026, 1, 2, 2, tzinfo=zone)],
        pd.Series([pd.Timestamp("2026-01-02 02:00", tz=zone)]),
        pl.Series([date]),
    ):
        assert encoded({"at": values}, schema).tolist() == [[day]]


BAD: dict[str, tuple[Any, str]] = {
    "text for a number": (
        pa.table({"price": ["1"]}),
        "column 'price' is string: a Number takes floats and integers",
    ),
    "boolean for a number": ({"price": [True]}, "column 'price' is bool: a Number"),
    "decimal": ({"price": pa.array([Decimal("0.1")])}, r"column 'price' is decimal128\(1, 1\): a Number"),
    "decimal object": ([{"price": Decimal("0.1")}], "column 'price' is Decimal: a Number"),
    "number for text": ({"symbol": [1]}, "column 'symbol' is int: a Category takes strings"),
    "bytes for text": ({"symbol": np.array([b"IBM"])}, r"column 'symbol' is \|S3: a Category takes strings"),
    "integer for a boolean": (
        {"halted": np.array([1])},
        "column 'halted' is int64: a Boolean takes booleans",
    ),
    "integer for a time": ({"at": [1]}, "column 'at' is int: a Timestamp takes timestamps and dates"),
    "text for a time": ({"at": ["2026-01-01"]}, "column 'at' is str: a Timestamp"),
    "struct": (pa.table({"price": [{"a": 1}]}), "column 'price' is struct"),
    "fraction": ({"volume": [1.0, 2.5]}, r"column 'volume' is no whole number at row 1 \(2.5\)"),
    "integer as a float": (
        pd.DataFrame({"volume": [3, None, 2**53 + 1]}),
        r"'volume' has an integer beyond 2\^53 as a float, .* at row 2 \(9007199254740992.0\)",
    ),
    "negative integer as a float": ({"volume": [-(2.0**60)]}, "'volume' has an integer beyond .* at row 0"),
    "infinite integer": ({"volume": [1.0, math.inf]}, r"column 'volume' does not fit int64 at row 1 \(inf\)"),
    "too large": ({"volume": np.array([1, 2**63], np.uint64)}, "column 'volume' does not fit int64 at row 1"),
    "too large in a list": ([{"volume": 2**70}], "column 'volume' does not fit int64 at row 0"),
    "not exact": (
        {"price": [0, 2**53 + 1]},
        r"column 'price' is not exact in float64 at row 1 \(9007199254740993\)",
    ),
    "not exact in a list": (
        [{"price": 0.5}, {"price": 2**53 + 1}],
        "'price' is not exact in float64 at row 1",
    ),
    "not exact among floats, by numpy": (
        [{"price": 0.5}, {"price": np.int64(2**53 + 1)}],
        r"'price' is not exact in float64 at row 1 \(9007199254740993\)",
    ),
    "huge": ([{"price": 0.5}, {"price": 10**400}], "'price' is not exact in float64 at row 1"),
    "mixed": (
        [{"price": 1.0}, {"price": None}, {"price": "x"}],
        "'price' mixes float and str: row 2 holds 'x'",
    ),
    "mixed objects": ({"symbol": np.array(["a", 1], object)}, "'symbol' mixes str and int: row 1 holds 1"),
    "finer": ({"at": np.array([1001], "datetime64[ns]")}, "'at' is no whole number of microseconds at row 0"),
    "finer in arrow": (
        {"at": pa.array([1000, 1], pa.timestamp("ns"))},
        "no whole number of microseconds at row 1",
    ),
    "far away": ({"at": pa.array([2**62], pa.timestamp("s"))}, "does not fit int64 microseconds at row 0"),
    "two dimensions": ({"price": np.zeros((2, 2))}, r"column 'price' has shape \(2, 2\)"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_columns_are_named(case: str) -> None:
    events, message = BAD[case]
    with pytest.raises(SchemaError, match=message):
        encoded(events)


@pytest.mark.parametrize(
    ("events", "kind", "message"),
    [
        (
            {"price": [1.0], "volume": [1, 2]},
            ArgumentError,
            "1 rows in column 'price' but 2 in column 'volume'",
        ),
        (
            {"price": 1.0},
            ArgumentTypeError,
            r"must be an array or a list, got float; one event is written \[event\]",
        ),
        ({"symbol": "IBM"}, ArgumentTypeError, "must be an array or a list, got str"),
        ([{"price": 1.0}, 3], ArgumentTypeError, "events must be dicts, got int at row 1"),
        ("price", ArgumentTypeError, "events must be a list of dicts.*got str"),
        (np.zeros((3, 5)), ArgumentTypeError, "got ndarray"),
        (None, ArgumentTypeError, "got NoneType"),
        (ARROW.append_column("price", ARROW["price"]), ArgumentError, "more than one column 'price'"),
        (
            pd.DataFrame([[1.0, 2.0]], columns=["price", "price"]),
            ArgumentError,
            "more than one column 'price'",
        ),
        (pl.LazyFrame({"price": [1.0]}), ArgumentTypeError, "got LazyFrame"),
    ],
)
def test_what_is_no_table_of_events(events: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        encoded(events)


def test_floats_below_two_to_the_53_are_integers() -> None:
    values = [2.0**53 - 1, None, -(2.0**53) + 1]
    assert encoded({"volume": values}, Schema(volume=Integer())).tolist() == [
        [2.0**53 - 1],
        [ABSENT],
        [-(2.0**53) + 1],
    ]


@pytest.mark.parametrize("beside", [0.5, 3, None])
def test_integers_beyond_int64_are_numbers_if_they_are_exact(beside: float | None) -> None:
    found = encoded([{"price": 2**64}, {"price": beside}, {"price": -(2**70)}], Schema(price=Number()))
    assert found.tolist() == [[2.0**64], [ABSENT if beside is None else beside], [-(2.0**70)]]
    with pytest.raises(SchemaError, match=r"not exact in float64 at row 1 \(18446744073709551617\)"):
        encoded([{"price": 2**64}, {"price": 2**64 + 1}], Schema(price=Number()))


def test_domains_hold_for_events() -> None:
    schema = Schema(
        price=Number(domain=(0, 9)),
        volume=Integer(domain=(1, 5)),
        symbol=Category(domain=["IBM", "AMD"]),
        at=Timestamp(domain=("2026-01-01", "2026-12-31")),
    )
    good = {
        "price": [0, 9, None],
        "volume": [1.0, 5.0, None],
        "symbol": ["IBM", "AMD", None],
        "at": [NOON, NOON, None],
    }
    assert encoded(good, schema)[2].tolist() == [ABSENT] * 4
    for name, value in (("price", 9.5), ("volume", 0), ("symbol", "HP"), ("at", dt.datetime(2027, 1, 1))):
        with pytest.raises(SchemaError, match=rf"column '{name}' lies outside the domain.* at row 1 \("):
            encoded([{}, {name: value}], schema)
