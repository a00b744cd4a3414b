"""`Params`: validated together, immutable, and the same wherever they come back from."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

import pubmatch as pm

SET = {
    "node_capacity": 10,
    "leaf_capacity": 20,
    "node_kernel": "compare",
    "split": "quadratic",
    "fill": 0.75,
    "buckets": 16,
}


def test_defaults_leave_all_to_the_data() -> None:
    assert pm.Params().dict() == {
        "node_capacity": None,
        "leaf_capacity": None,
        "node_kernel": "auto",
        "split": "rstar",
        "fill": None,
        "buckets": None,
    }


def test_fields_equality_and_repr() -> None:
    params = pm.Params(**SET)
    assert params.dict() == SET
    assert params == pm.Params(**params.dict())
    assert hash(params) == hash(pm.Params(**SET))
    for field, value in pm.Params().dict().items():
        assert params != dataclasses.replace(params, **{field: value})
    assert eval(repr(params), {"Params": pm.Params}) == params
    assert pickle.loads(pickle.dumps(params)) == copy.copy(params) == params


def test_immutable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        pm.Params().fill = 0.5
    with pytest.raises((TypeError, AttributeError)):
        pm.Params().unknown = 1


def test_numbers_become_plain_python_numbers() -> None:
    params = pm.Params(leaf_capacity=np.int64(20), fill=np.float32(0.5))
    assert type(params.leaf_capacity) is int
    assert type(params.fill) is float
    assert params == pm.Params(leaf_capacity=20, fill=0.5)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("node_capacity", 3),
        ("node_capacity", 513),
        ("node_capacity", 0),
        ("leaf_capacity", -1),
        ("leaf_capacity", 10**30),
        ("node_kernel", "simd"),
        ("node_kernel", None),
        ("split", "linear"),
        ("fill", 0.49),
        ("fill", 1.01),
        ("fill", float("nan")),
        ("buckets", 3),
        ("buckets", 129),
    ],
)
def test_values_out_of_range_are_named(field: str, value: Any) -> None:
    with pytest.raises(pm.ArgumentError) as refusal:
        pm.Params(**{field: value})
    assert field in str(refusal.value)
    assert str(value) in str(refusal.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [("node_capacity", True), ("leaf_capacity", 4.5), ("buckets", "16"), ("fill", "0.5"), ("fill", True)],
)
def test_wrong_types_are_named(field: str, value: Any) -> None:
    with pytest.raises(pm.ArgumentTypeError, match=field):
        pm.Params(**{field: value})


@pytest.mark.parametrize("field", ["node_capacity", "leaf_capacity", "buckets", "fill"])
def test_a_number_no_float_holds_is_named_by_its_size(field: str) -> None:
    with pytest.raises(pm.ArgumentError, match=f"{field} must .* got an integer of 33220 bits"):
        pm.Params(**{field: 10**10_000})


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(pm.ArgumentError, match=r"split.*node_capacity.*fill"):
        pm.Params(node_capacity=1, split="none", fill=2)


@pytest.mark.parametrize("field", SET)
def test_an_index_keeps_its_params(field: str) -> None:
    params = pm.Params(**{field: SET[field]})
    assert pm.Index(dims=2, params=params).params == params
    assert pm.Index.build([[0.0]], [[1.0]], params=params).params == params


def test_an_index_takes_params_only() -> None:
    with pytest.raises(pm.ArgumentTypeError, match=r"pubmatch\.Params, got dict"):
        pm.Index(dims=2, params=SET)
    with pytest.raises(pm.ArgumentTypeError, match=r"pubmatch\.Params, got dict"):
        pm.Index.build([[0.0]], [[1.0]], params=SET)


def test_the_layout_asked_for_is_used() -> None:
    boxes = np.zeros((3000, 6)), np.ones((3000, 6))
    small = pm.Index.build(
        *boxes, params=pm.Params(node_capacity=10, leaf_capacity=20, node_kernel="compare")
    )
    large = pm.Index.build(
        *boxes, params=pm.Params(node_capacity=64, leaf_capacity=64, node_kernel="compare")
    )
    # At most 20 boxes in a leaf and 10 children in a node: 3000 boxes need four levels, wide nodes fewer.
    assert small.height >= 4 > large.height
