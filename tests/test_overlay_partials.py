"""Partial aggregates merge exactly, whatever the grouping."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubmatch.overlay import FUNCTIONS, Partial
from pubmatch.overlay.partials import aggregate

values = st.floats(allow_nan=False, allow_infinity=False)


def expected(function: str, given_values: list[float]) -> float | None:
    if function == "count":
        return float(len(given_values))
    if not given_values:
        return None
    if function in ("min", "max"):
        return {"min": min, "max": max}[function](given_values)
    total = sum(map(Fraction, given_values)) / (len(given_values) if function == "mean" else 1)
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


@given(st.lists(values, max_size=30), st.data())
def test_any_grouping_gives_the_central_result(given_values, data):
    groups: list[list[float]] = [[] for _ in range(4)]
    for value in data.draw(st.permutations(given_values)):
        groups[data.draw(st.integers(0, 3))].append(value)
    partials = [Partial.of(group) for group in groups]
    left = aggregate(partials)
    right = (partials[3] + (partials[1] + partials[2])) + partials[0]
    assert left == right == Partial.of(given_values)
    for function in FUNCTIONS:
        assert left.result(function) == expected(function, given_values)


def test_an_average_of_averages_is_wrong():
    first, second = Partial.of([1.0, 2.0, 3.0]), Partial.of([10.0])
    assert (first + second).result("mean") == 4.0
    assert (first.result("mean") + second.result("mean")) / 2 == 6.0


def test_zero_has_no_sign():
    one, other = Partial.of([0.0]) + Partial.of([-0.0]), Partial.of([-0.0]) + Partial.of([0.0])
    assert math.copysign(1, one.result("min")) == math.copysign(1, other.result("min")) == 1


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_readings_must_be_finite(value):
    with pytest.raises(ValueError, match="readings must be finite"):
        Partial.of([1.0, value])
    with pytest.raises(ValueError, match="function must be one of"):
        Partial().result("median")
