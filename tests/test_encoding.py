"""Values become positions that compare as the values do, whatever library they came from."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pubmatch.encoding.axes import (
    ABSENT,
    LARGEST_BOUND,
    LOWEST,
    encode_integer,
    encode_integers,
    finish_points,
)
from pubmatch.encoding.bounds import check_boxes, encode_boxes, strings_in
from pubmatch.encoding.events import event_columns
from pubmatch.encoding.labels import Labels, LabelsExhausted
from pubmatch.encoding.points import encode_points
from pubmatch.errors import FilterError, FormatError
from pubmatch.filters import boxes, parse
from pubmatch.filters.sides import Side
from pubmatch.schema import Boolean, Category, Integer, Number, Schema

INT64 = st.integers(-(2**63), 2**63 - 1)
NEAR = [
    offset + sign * size
    for size in (0, 2**53, 2**60, LARGEST_BOUND, 2**63 - 4)
    for sign in (-1, 1)
    for offset in range(-3, 4)
]


def encoded(events: Any, schema: Schema) -> np.ndarray[Any, Any]:
    return encode_points(event_columns(events, schema.names), schema, {})


# --- integers ---


@given(
    st.lists(INT64 | st.sampled_from(NEAR).filter(lambda n: -(2**63) <= n < 2**63), min_size=2, max_size=30)
)
def test_integers_keep_their_order(values: list[int]) -> None:
    ordered = sorted(values)
    positions = encode_integers(np.array(ordered, np.int64))
    assert np.isfinite(positions).all()
    for (one, here), (other, there) in zip(
        zip(ordered, positions, strict=True), zip(ordered[1:], positions[1:], strict=True), strict=False
    ):
        inside = abs(one) <= LARGEST_BOUND or abs(other) <= LARGEST_BOUND
        assert here < there if one < other and inside else here <= there


def test_integers_near_every_corner() -> None:
    values = sorted(set(NEAR))
    positions = encode_integers(np.array(values, np.int64))
    exact = [place for place, value in enumerate(values) if abs(value) <= LARGEST_BOUND + 1]
    assert (np.diff(positions[exact]) > 0).all()
    assert positions[exact[0]] == positions[0] == LOWEST
    assert positions[exact[-1]] == positions[-1] == -LOWEST
    assert LARGEST_BOUND + 1 == 2**53 + 971 * 2**52 - 1
    assert [encode_integer(value) for value in values[8:-8]] == positions[8:-8].tolist()


def test_integers_at_both_ends_of_int64() -> None:
    positions = encode_integers(np.array([-(2**63), 2**63 - 1, 2**53, -(2**53)], np.int64))
    assert positions.tolist() == [LOWEST, -LOWEST, 2.0**53, -(2.0**53)]


def test_bounds_beyond_the_exact_range_are_refused() -> None:
    schema = Schema(n=Integer())
    check_boxes([{"n": Side(lower=-LARGEST_BOUND, upper=LARGEST_BOUND)}], schema, parse("TRUE"))
    check_boxes([{"n": Side(lower=-(2**63), upper=2**63 - 1)}], schema, parse("TRUE"))
    far = LARGEST_BOUND + 1
    for side in (Side(lower=far), Side(upper=-far), Side(upper=-(2**63))):
        filter = parse(f"n = 0 OR n = {side.lower or side.upper}")
        with pytest.raises(FilterError, match=r"'n' is compared with .* only compared exactly up to"):
            check_boxes([{"n": side}], schema, filter)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("n <> 9223372036854775807", 2**63 - 1),
        ("n > -9223372036854775808", -(2**63)),
        ("n IN (5, NULL, 9223372036854775000)", 9223372036854775000),
        ("NOT (n < 7 OR (n >= 9223372036854775000) IS TRUE)", 9223372036854775000),
    ],
)
def test_numbers_beyond_the_exact_range_are_told_as_written(text: str, number: int) -> None:
    schema = Schema(n=Integer())
    with pytest.raises(FilterError) as caught:
        check_boxes(boxes(text, schema), schema, parse(text))
    assert str(caught.value).startswith(f"'n' is compared with {number}, ")
    assert str(caught.value).endswith(f": {text}")


# --- sides ---


@pytest.mark.parametrize(
    ("side", "bounds"),
    [
        (Side(), (LOWEST, math.inf)),
        (Side(absent=True), (ABSENT, math.inf)),
        (Side(absent=True, values=False), (ABSENT, ABSENT)),
        (Side(upper=5.0), (LOWEST, 5.0)),
        (Side(upper=5.0, absent=True), (ABSENT, 5.0)),
        (Side(lower=5.0, lower_open=True), (math.nextafter(5.0, 9), math.inf)),
        (Side(lower=0.0, upper=5e-324, upper_open=True), (0.0, 0.0)),
    ],
)
def test_sides_of_numbers(side: Side, bounds: tuple[float, float]) -> None:
    lower, upper = encode_boxes([{"x": side}], Schema(y=Number(), x=Number()), {})
    assert (lower[0, 1], upper[0, 1]) == bounds
    assert (lower[0, 0], upper[0, 0]) == (-math.inf, math.inf)


def test_sides_of_the_other_types() -> None:
    schema = Schema(n=Integer(), s=Category(), b=Boolean())
    sides = [{"n": Side(lower=2**53 + 1, upper=2**63 - 1), "s": Side("IBM", "IBM"), "b": Side(True, True)}]
    labels = {"s": Labels.of(["AMD", "IBM"])}
    lower, upper = encode_boxes(sides, schema, labels)
    assert lower[0].tolist() == [encode_integer(2**53 + 1), labels["s"].positions(["IBM"])[0], 1.0]
    assert upper[0].tolist() == [math.inf, labels["s"].positions(["IBM"])[0], 1.0]
    assert strings_in([*sides, {"s": Side(lower="X")}], schema) == {"s": {"IBM", "X"}}


# --- labels ---

WORDS = st.text(st.sampled_from("ab~\x7fé\uffff\U00010000"), max_size=4)


@given(st.lists(st.lists(WORDS, max_size=5), max_size=6), st.lists(WORDS, min_size=1, max_size=8))
def test_labels_compare_as_strings_do(batches: list[list[str]], events: list[str]) -> None:
    labels = Labels()
    known: set[str] = set()
    history: list[tuple[set[str], np.ndarray[Any, Any]]] = []
    for batch in batches:
        labels = labels.extended(batch)
        known |= set(batch)
        history.append((set(known), labels.positions(events)))
        assert sorted(labels) == sorted(known)
        assert len(labels) == len(known)
    # What was encoded with older labels still compares rightly with all bounds of that time.
    for bounds, positions in history:
        for event, position in zip(events, positions.tolist(), strict=True):
            for bound in bounds:
                assert (position >= labels.lower(bound, False)) == (event >= bound)
                assert (position >= labels.lower(bound, True)) == (event > bound)
                assert (position <= labels.upper(bound, False)) == (event <= bound)
                assert (position <= labels.upper(bound, True)) == (event < bound)


def test_unlabelled_bounds_lie_in_their_gap() -> None:
    labels = Labels.of(["b", "d"])
    b, d = labels.lower("b", False), labels.lower("d", False)
    for is_open in (False, True):
        assert b < labels.lower("c", is_open) < d
        assert b < labels.upper("c", is_open) < d
        assert labels.upper("a", is_open) < b
        assert labels.lower("e", is_open) > d


def test_a_gap_is_exhausted_in_the_end_and_nothing_changes_then() -> None:
    labels = Labels.of(["a", "b"])
    word = "a"
    for _ in range(100):
        word += "a"
        try:
            labels = labels.extended([f"{word}b"])
        except LabelsExhausted:
            break
    else:
        pytest.fail("a gap of integers cannot be halved a hundred times")
    assert len(word) > 30
    positions = labels.positions(sorted(labels))
    assert (np.diff(positions) >= 2).all()


def test_many_labels_at_the_ends_and_in_bulk() -> None:
    labels = Labels()
    for number in range(3000):
        labels = labels.extended([f"{number:05}"])
    assert labels.extended(["00007"]) is labels
    labels = labels.extended([f"-{number:05}" for number in range(3000)] + ["00001a", "00001b", "00001c"])
    words = sorted(labels)
    assert len(words) == 6003
    assert (np.diff(labels.positions(words)) >= 2).all()
    again = Labels.from_lists(*labels.to_lists())
    assert again.positions(words).tolist() == labels.positions(words).tolist()


@pytest.mark.parametrize(
    ("strings", "positions"),
    [(["a", "b"], [0]), (["b", "a"], [0, 9]), (["a", "a"], [0, 9]), (["a", "b"], [0, 1]), (["a"], [2**53])],
)
def test_damaged_labels_are_refused(strings: list[str], positions: list[int]) -> None:
    with pytest.raises(FormatError):
        Labels.from_lists(strings, positions)


@settings(max_examples=60)
@given(st.lists(st.floats(allow_nan=True, width=64), min_size=1, max_size=20))
def test_numbers_compare_as_bounds_do(values: list[float]) -> None:
    schema = Schema(x=Number())
    rng = random.Random(len(values))
    points = encoded({"x": np.array(values)}, schema)[:, 0]
    for bound in [rng.choice(values) for _ in range(5)] + [0.0, -0.0, 5e-324]:
        if not math.isfinite(bound) or bound == LOWEST:
            continue
        for side, holds in (
            (Side(upper=bound), lambda x, b=bound: x <= b),
            (Side(upper=bound, upper_open=True), lambda x, b=bound: x < b),
            (Side(lower=bound), lambda x, b=bound: x >= b),
            (Side(lower=bound, lower_open=True), lambda x, b=bound: x > b),
        ):
            lower, upper = encode_boxes([{"x": side}], schema, {})
            inside = (points >= lower[0]) & (points <= upper[0])
            assert inside.tolist() == [holds(value) for value in values]


def test_finish_points_leaves_ready_points_alone() -> None:
    points = np.array([[1.0, math.inf], [LOWEST, 0.0]])
    before = points.copy()
    finish_points(points)
    assert (points == before).all()
