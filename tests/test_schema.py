"""Schemas: types, domains, JSON, Arrow, and what is refused."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pubmatch.errors import ArgumentError, SchemaError
from pubmatch.schema import Boolean, Category, Integer, Number, Schema, Timestamp
from pubmatch.timestamps import from_micros, parse_timestamp, timestamp_text, to_datetime, to_micros

FULL = Schema(
    price=Number(domain=(0, 1e6)),
    volume=Integer(domain=(-(2**63), 2**63 - 1)),
    symbol=Category(domain=["IBM", "AMD", "IBM"]),
    halted=Boolean(),
    at=Timestamp(domain=(date(2026, 1, 1), "2026-12-31 23:59:59.999999")),
    **{"unit price": Number()},
)


def test_a_schema_is_an_ordered_mapping_of_types() -> None:
    assert FULL.names == ("price", "volume", "symbol", "halted", "at", "unit price")
    assert list(FULL) == list(FULL.names)
    assert len(FULL) == 6
    assert "price" in FULL
    assert "prize" not in FULL
    assert 3 not in FULL
    assert FULL["symbol"] == Category(domain=("AMD", "IBM"))
    assert FULL["at"] == Timestamp(domain=(1767225600000000, 1798761599999999))
    with pytest.raises(SchemaError, match="unknown attribute 'prize'; there are price, volume"):
        FULL["prize"]
    with pytest.raises(AttributeError, match="cannot be changed"):
        FULL.other = 1  # type: ignore[attr-defined]


def test_equality_knows_types_domains_and_order() -> None:
    assert Schema(x=Number(), y=Integer()) == Schema(x=Number(), y=Integer())
    assert hash(Schema(x=Number())) == hash(Schema(x=Number()))
    assert Schema(x=Number(), y=Integer()) != Schema(y=Integer(), x=Number())
    assert Schema(x=Number()) != Schema(x=Integer())
    assert Schema(x=Integer()) != Schema(x=Integer(domain=(0, 1)))
    assert Number() != Integer()
    assert Schema(x=Number()) != {"x": Number()}


def test_json_and_pickle_keep_everything() -> None:
    assert Schema.from_json(FULL.to_json()) == FULL
    assert Schema.from_json(FULL.to_json().encode()) == FULL
    assert pickle.loads(pickle.dumps(FULL)) == FULL
    assert Schema.from_json(Schema(self=Number()).to_json()).names == ("self",)
    assert eval(repr(FULL)) == FULL


def test_attributes_are_added_at_the_end() -> None:
    more = FULL.with_attributes(extra=Boolean())
    assert more.names == (*FULL.names, "extra")
    assert "extra" not in FULL
    with pytest.raises(SchemaError, match="'price' is there already"):
        FULL.with_attributes(price=Number())


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({}, "at least one"),
        ({"": Number()}, "non-empty"),
        ({"a\x00": Number()}, "NUL"),
        ({"\ud800": Number()}, "valid Unicode"),
        ({"x": Number}, r"write it with \(\)"),
        ({"x": "number"}, "must be one of Number, Integer"),
    ],
)
def test_bad_attributes_are_refused(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema(**attributes)


@pytest.mark.parametrize(
    ("kind", "domain", "message"),
    [
        (Number, (1, 0), "min <= max"),
        (Number, (0, float("inf")), "not finite"),
        (Number, (0, float("nan")), "not finite"),
        (Number, (0, 10**400), "not finite"),
        (Number, (0, "1"), "not a number"),
        (Number, (False, True), "not a number"),
        (Number, 5, r"\(min, max\)"),
        (Number, (1, 2, 3), r"\(min, max\)"),
        (Integer, (0, 1.0), "not an integer"),
        (Integer, (0, 2**63), "not an int64"),
        (Category, [], "must not be empty"),
        (Category, "IBM", "list of strings"),
        (Category, [1], "must hold strings"),
        (Category, ["\udfff"], "valid Unicode"),
        (Timestamp, ("yesterday", "2026-01-01"), "is not a time like"),
        (Timestamp, (None, "2026-01-01"), "a time must be"),
    ],
)
def test_bad_domains_are_refused(kind: Any, domain: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        kind(domain=domain)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "the JSON of a schema"),
        ('{"version": 2, "attributes": []}', "version 1, got 2"),
        ('{"version": 1, "attributes": []}', "at least one"),
        ('{"version": 1, "attributes": [3]}', "attribute 0 of the JSON"),
        ('{"version": 1, "attributes": [{"name": "x", "type": "float"}]}', "unknown type 'float'"),
        ('{"version": 1, "attributes": [{"name": "x", "type": []}]}', "unknown type"),
        ('{"version": 1, "attributes": [{"name": "x", "type": "boolean", "domain": [0]}]}', "key 'domain'"),
        ('{"version": 1, "attributes": [{"name": "x", "type": "number", "domain": [1]}]}', "'x': the domain"),
        (
            '{"version": 1, "attributes": [{"name": "x", "type": "number"}, {"name": "x", "type": "integer"}'
            "]}",
            "appears twice",
        ),
        (3, "got int"),
    ],
)
def test_bad_json_is_refused(text: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema.from_json(text)


def test_types_are_inferred_from_arrow() -> None:
    columns = {
        "f": pa.float32(),
        "i": pa.uint16(),
        "s": pa.string(),
        "l": pa.large_string(),
        "v": pa.string_view(),
        "d": pa.dictionary(pa.int8(), pa.string()),
        "b": pa.bool_(),
        "t": pa.timestamp("ns", "Europe/Berlin"),
        "day": pa.date32(),
    }
    inferred = Schema.from_arrow(pa.schema(columns))
    assert [inferred[name].kind for name in columns] == [
        *("number", "integer", "category", "category", "category", "category", "boolean", "timestamp"),
        "timestamp",
    ]
    with pytest.raises(SchemaError, match=r"column 'tags' has the type list<item: string>"):
        Schema.from_arrow(pa.schema({"x": pa.int64(), "tags": pa.list_(pa.string())}))
    with pytest.raises(SchemaError, match="column 'x' appears twice"):
        Schema.from_arrow(pa.schema([("x", pa.int64()), ("x", pa.int64())]))
    with pytest.raises(SchemaError, match="not an Arrow schema"):
        Schema.from_arrow(5)


def test_times_mean_the_same_however_given() -> None:
    moment = datetime(2026, 1, 1, 10, 0, 0, 1, tzinfo=UTC)
    written = [
        "2026-01-01 10:00:00.000001",
        "2026-01-01T12:00:00.000001+02:00",
        "2026-01-01 04:30:00.000001-0530",
    ]
    for given in [*written, moment.replace(tzinfo=None), np.datetime64("2026-01-01T10:00:00.000001")]:
        assert to_datetime(given) == moment
    assert from_micros(to_micros(moment)) == moment
    assert parse_timestamp(timestamp_text(moment)) == moment
    assert to_micros(datetime(1969, 12, 31, 23, 59, 59, 999999)) == -1


@pytest.mark.parametrize(
    "value",
    [
        *("", "2026-1-1", "2026-02-30", "2026-01-01 25:00", "2026-01-01 10:00:00.1234567", "infinity"),
        *(
            "2026-01-01 10:00:00 Europe/Berlin",
            "2026-01-01 10:00+02:75",
            "0001-01-01 00:00+10:00",
            "٢٠٢٦-01-01",
        ),
        *(np.datetime64("NaT"), np.datetime64("2026-01-01T00:00:00.000000001"), np.datetime64(10**6, "Y")),
    ],
)
def test_what_is_not_a_time_is_refused(value: Any) -> None:
    with pytest.raises(ArgumentError):
        to_datetime(value)
