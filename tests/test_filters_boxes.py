"""The normal form by hand: exact sides, and as few boxes as can be."""

from __future__ import annotations

from typing import Any

import pytest
from filter_strategies import in_box

from pubmatch.errors import ArgumentError, FilterError
from pubmatch.filters import Side, boxes, covers, intersects
from pubmatch.schema import Boolean, Category, Integer, Number, Schema, Timestamp

SCHEMA = Schema(
    price=Number(), volume=Integer(), symbol=Category(), halted=Boolean(), at=Timestamp(), other=Number()
)
TOP = "\U0010ffff"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TRUE", [{}]),
        ("FALSE", []),
        ("NULL", []),
        ("price > 5", [{"price": Side(lower=5.0, lower_open=True)}]),
        ("price >= 0.1", [{"price": Side(lower=0.1)}]),
        ("price <= 5", [{"price": Side(upper=5.0)}]),
        ("price = 0.30000000000000004e0", [{"price": Side(0.30000000000000004, 0.30000000000000004)}]),
        ("price > -0.0", [{"price": Side(lower=0.0, lower_open=True)}]),
        ("price > 5 AND price < 5.000000000000001e0", []),
        ("price BETWEEN 20 AND 10", []),
        ("price NOT BETWEEN 20 AND 10", [{"price": Side()}]),
        ("price IS NULL", [{"price": Side(absent=True, values=False)}]),
        ("price IS NOT NULL", [{"price": Side()}]),
        ("price < 3 OR price IS NULL", [{"price": Side(upper=3.0, upper_open=True, absent=True)}]),
        ("price < 3 OR price >= 3", [{"price": Side()}]),
        ("price IS NULL OR price IS NOT NULL", [{}]),
        ("(price > 1) IS NULL", [{"price": Side(absent=True, values=False)}]),
        ("(price > 1) IS NOT TRUE", [{"price": Side(upper=1.0, absent=True)}]),
        ("price > NULL OR price IN (NULL)", []),
        ("volume > 3", [{"volume": Side(lower=4)}]),
        ("volume > 2.5", [{"volume": Side(lower=3)}]),
        ("volume = 2.5", []),
        ("volume <> 2.5", [{"volume": Side()}]),
        ("volume > 3 AND volume < 4", []),
        ("volume > 9007199254740992", [{"volume": Side(lower=9007199254740993)}]),
        ("volume > 9223372036854775807", []),
        ("volume >= -9223372036854775808", [{"volume": Side()}]),
        ("volume BETWEEN 1 AND 3 OR volume BETWEEN 4 AND 9", [{"volume": Side(1, 9)}]),
        ("halted", [{"halted": Side(True, True)}]),
        ("NOT halted", [{"halted": Side(False, False)}]),
        ("halted < TRUE", [{"halted": Side(False, False)}]),
        ("halted OR NOT halted", [{"halted": Side()}]),
        ("halted IS NOT TRUE", [{"halted": Side(upper=False, absent=True)}]),
        ("symbol = ''", [{"symbol": Side("", "")}]),
        ("symbol >= ''", [{"symbol": Side()}]),
        ("symbol < ''", []),
        ("symbol > 'a' AND symbol < 'b'", [{"symbol": Side("a", "b", True, True)}]),
        ("symbol > 'a' AND symbol < 'a\x00'", []),
        ("symbol LIKE 'AB%'", [{"symbol": Side("AB", "AC", upper_open=True)}]),
        ("symbol LIKE '%'", [{"symbol": Side()}]),
        ("symbol LIKE 'IBM'", [{"symbol": Side("IBM", "IBM")}]),
        ("symbol LIKE '\ud7ff%'", [{"symbol": Side("\ud7ff", "\ue000", upper_open=True)}]),
        (f"symbol LIKE '{TOP}%'", [{"symbol": Side(lower=TOP)}]),
        (f"symbol LIKE 'A{TOP}%'", [{"symbol": Side(f"A{TOP}", "B", upper_open=True)}]),
        ("symbol LIKE 'A%' AND symbol NOT LIKE 'A%'", []),
        ("at = '1970-01-01 00:00:00.000001'", [{"at": Side(1, 1)}]),
        ("at < TIMESTAMPTZ '1970-01-01 02:00:00+02:00'", [{"at": Side(upper=-1)}]),
    ],
)
def test_sides(text: str, expected: list[dict[str, Side]]) -> None:
    assert boxes(text, SCHEMA) == tuple(expected)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("symbol <> 'IBM'", 2),
        ("symbol NOT IN ('A', 'B', 'C')", 4),
        ("volume IN (1, 2, 3, 7)", 2),
        ("volume IN (1, 2) AND price IN (1, 2)", 2),
        ("symbol IN ('A', 'B') AND price IN (1, 2)", 4),
        ("price > 1 OR other > 1", 2),
        ("price > 1 OR (price > 2 AND other > 1)", 1),
        ("(price > 1 AND other > 1) OR (price > 1 AND other <= 1)", 1),
        ("(price < 5 AND volume < 5) OR price >= 5", 2),
        ("NOT (price > 1 AND other > 1)", 2),
        ("NOT (price > 1 OR other > 1)", 1),
        ("halted = TRUE AND price > 1 OR halted = FALSE AND price > 1", 1),
        # The third lies in the first two, but in neither of them alone.
        (
            "(halted IS NULL AND volume > 1) OR (halted IS NOT NULL AND price > 1) "
            "OR (volume > 1 AND price > 1)",
            2,
        ),
        # A cross: four arms and a middle are two bars.
        (
            "(volume BETWEEN 1 AND 2 AND price BETWEEN 0 AND 9) "
            "OR (volume BETWEEN 3 AND 9 AND price BETWEEN 4 AND 5) "
            "OR (volume BETWEEN -9 AND 0 AND price BETWEEN 4 AND 5)",
            2,
        ),
        ("volume NOT IN (" + ", ".join(map(str, range(0, 400, 2))) + ") AND volume BETWEEN 11 AND 15", 3),
    ],
)
def test_as_few_boxes_as_can_be(text: str, count: int) -> None:
    assert len(boxes(text, SCHEMA)) == count


def test_sides_follow_the_order_of_the_schema() -> None:
    (box,) = boxes("halted AND volume > 1 AND price > 1", SCHEMA)
    assert list(box) == ["price", "volume", "halted"]


def test_domains_close_the_ends() -> None:
    schema = Schema(s=Category(domain=["A", "B", "C"]), x=Number(domain=(0, 1)), i=Integer(domain=(1, 3)))
    assert boxes("s IN ('A', 'B')", schema) == ({"s": Side(upper="B")},)
    assert boxes("s = 'A' OR s = 'B' OR s = 'C'", schema) == ({"s": Side()},)
    assert boxes("s <> 'C' AND s > 'A'", schema) == ({"s": Side("B", "B")},)
    assert boxes("s LIKE 'D%'", schema) == ()
    assert boxes("x <= 0", schema) == ({"x": Side(0.0, 0.0)},)
    assert boxes("x > 1", schema) == ()
    assert boxes("i <> 2", schema) == ({"i": Side(1, 1)}, {"i": Side(3, 3)})
    assert covers("s IS NOT NULL", "s = 'A' OR s = 'C'", schema)
    assert covers("i <= 3", "i IS NOT NULL", schema)


def test_too_many_boxes_are_refused_soon() -> None:
    schema = Schema(**{f"a{i}": Integer() for i in range(60)})
    pairs = " AND ".join(f"(a{2 * i} = 1 OR a{2 * i + 1} = 1)" for i in range(30))
    chain = "NOT (" + " OR ".join(f"(a{i} = {i} AND a{i + 1} > {i})" for i in range(59)) + ")"
    scattered = " OR ".join(f"(a0 = {i} AND a1 = {i})" for i in range(2000))
    for text in (pairs, chain, scattered):
        with pytest.raises(FilterError, match="needs more than 64 boxes"):
            boxes(text, schema)
    listed = "a0 IN (" + ", ".join(map(str, range(0, 200, 2))) + ")"
    with pytest.raises(FilterError, match="needs more than 64 boxes"):
        boxes(listed, schema)
    assert len(boxes(listed, schema, max_boxes=100)) == 100
    with pytest.raises(FilterError, match=r"^the filter needs more than 1 box: a0 <> 2$"):
        boxes("a0<>2", schema, max_boxes=1)
    with pytest.raises(FilterError) as caught:
        boxes(listed, schema)
    assert str(caught.value).startswith("the filter needs more than 64 boxes: a0 IN (0, 2, 4, ")
    assert len(str(caught.value)) < 150
    assert covers("a0 >= 0", listed, schema)


@pytest.mark.parametrize("most", [0, -1, 2.5, True, None])
def test_max_boxes_is_checked(most: Any) -> None:
    with pytest.raises(ArgumentError, match="max_boxes must be"):
        boxes("price > 1", SCHEMA, max_boxes=most)


@pytest.mark.parametrize(
    ("a", "b", "covered", "met"),
    [
        ("price > 1", "price > 2", True, True),
        ("price > 2", "price > 1", False, True),
        ("price > 1", "price >= 1", False, True),
        ("price IS NOT NULL", "price <> 3", True, True),
        ("price > 1 OR price <= 1", "TRUE", False, True),
        ("symbol LIKE 'A%'", "symbol LIKE 'AB%'", True, True),
        ("symbol >= 'A' AND symbol < 'B'", "symbol LIKE 'A%'", True, True),
        ("price > 1", "other > 1", False, True),
        ("price > 1", "FALSE", True, False),
        ("volume > 3", "volume < 4", False, False),
        ("volume NOT IN (1, 2)", "volume IN (3, 4)", True, True),
        ("price < 5 OR other < 5", "price < 4 AND other > 9", True, True),
        ("(price < 5 AND halted) OR (price >= 5 AND halted)", "halted AND price = 7", True, True),
    ],
)
def test_covers_and_intersects(a: str, b: str, covered: bool, met: bool) -> None:
    assert covers(a, b, SCHEMA) is covered
    assert intersects(a, b, SCHEMA) is met
    assert intersects(b, a, SCHEMA) is met


def test_surrogates_lie_in_no_string_between() -> None:
    (box,) = boxes("symbol LIKE '\ud7ff%'", SCHEMA)
    assert in_box(box, {"symbol": "\ud7ff" + TOP})
    assert not in_box(box, {"symbol": "\ue000"})
