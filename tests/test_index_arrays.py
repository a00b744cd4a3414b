"""What goes in: used in place if it can be, converted once if that is exact, refused otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pubmatch as pm
from pubmatch.arrays import box_arrays, id_array, point_array, query_box_arrays

WIDE = np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ready_arrays_are_used_in_place(dtype: str) -> None:
    rows = np.zeros((5, 3), dtype)
    assert point_array(rows, 3) is rows
    frozen = rows.copy()
    frozen.flags.writeable = False
    assert point_array(frozen, 3) is frozen
    assert np.shares_memory(point_array(rows[0], 3), rows)
    assert point_array(rows[0], 3).shape == (1, 3)
    lower, upper = box_arrays(rows, rows, 3, np.dtype(dtype))
    assert np.shares_memory(lower, rows)
    assert np.shares_memory(upper, rows)
    ids = np.arange(5)
    assert id_array(ids) is ids


@pytest.mark.parametrize(
    "other",
    [
        lambda rows: np.asfortranarray(rows),
        lambda rows: np.repeat(rows, 2, axis=1)[:, ::2],
        lambda rows: rows.astype(">f8"),
        lambda rows: rows.astype(np.longdouble),
        lambda rows: rows.astype(np.float16),
        lambda rows: rows.astype(np.int8),
        lambda rows: rows.astype(np.uint64),
        lambda rows: rows.astype(">i2"),
        lambda rows: rows.tolist(),
        lambda rows: tuple(map(tuple, rows.tolist())),
        lambda rows: np.ma.array(rows),
        lambda rows: np.frombuffer(b"x" + rows.tobytes(), np.float64, offset=1).reshape(rows.shape),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_other_layouts_and_dtypes_mean_the_same(other: Any, dtype: str) -> None:
    rows = np.arange(24.0).reshape(8, 3)
    given = other(rows)
    index = pm.Index.build(given, given, dtype=dtype)
    assert index.dtype == dtype
    assert index.match(given, sort=True).pairs()[1].tolist() == list(range(8))
    assert index.match(rows, sort=True).pairs()[1].tolist() == list(range(8))
    again = pm.Index(dims=3, dtype=dtype)
    again.insert(given, given)
    assert again.covering(given, given).pairs()[1].tolist() == list(range(8))
    converted = point_array(given, 3)
    assert converted.flags.c_contiguous
    assert converted.flags.aligned
    assert converted.dtype in (np.float32, np.float64)
    assert converted.dtype.isnative
    assert (converted == rows).all()


def test_build_takes_the_arrays_own_dtype() -> None:
    assert pm.Index.build(np.zeros((2, 1), "f4"), np.ones((2, 1), "f4")).dtype == np.float32
    assert pm.Index.build(np.zeros((2, 1), "f4"), np.ones((2, 1), "f8")).dtype == np.float64
    assert pm.Index.build(np.zeros((2, 1), ">f4"), np.ones((2, 1), "f4")).dtype == np.float32
    assert pm.Index.build([[0]], [[1]]).dtype == np.float64
    assert pm.Index(dims=1).dtype == np.float64


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**62 + 1])
def test_integers_float64_cannot_hold_are_refused(number: int) -> None:
    index = pm.Index(dims=2)
    place = f"row 1, dimension 0 \\({number}\\)"
    for points in (np.array([[1, 2], [number, 3]]), [[1, 2], [number, 3]], [[1.5, 2], [number, 3]]):
        with pytest.raises(pm.ArgumentError, match=f"points is not exact in float64 at {place}"):
            index.match(points)
        with pytest.raises(pm.ArgumentError, match=f"upper is not exact in float64 at {place}"):
            index.insert([[0, 0], [0, 0]], points)
    with pytest.raises(pm.ArgumentError, match=f"row 0, dimension 1 \\({number}\\)"):
        index.match(np.array([0, number]))
    assert len(index) == 0


def test_the_largest_unsigned_integer_is_refused() -> None:
    with pytest.raises(pm.ArgumentError, match=f"row 0, dimension 0 \\({2**64 - 1}\\)"):
        pm.Index(dims=1).match(np.array([[2**64 - 1]], np.uint64))


@pytest.mark.parametrize("number", [2**53, 2**53 + 2, -(2**63), 2**62 + 2**20, 0])
def test_large_integers_float64_can_hold_are_taken(number: int) -> None:
    index = pm.Index.build([[float(number)]], [[float(number)]])
    assert index.count(np.array([[number], [123]])).tolist() == [1, 0]
    assert index.count([[number], [0.5]]).tolist() == [1, 0]
    if number >= 0:
        assert index.count(np.array([[number]], np.uint64)).tolist() == [1]


@pytest.mark.skipif(not WIDE, reason="longdouble is float64 here")
def test_longdouble_that_would_round_is_refused() -> None:
    number = np.longdouble(1) + np.finfo(np.longdouble).eps
    with pytest.raises(
        pm.ArgumentError, match=r"points is not exact in float64 at row 0, dimension 1 \(1\.0000"
    ):
        pm.Index(dims=2).match(np.array([[0, number]]))
    with pytest.raises(pm.ArgumentError, match=r"lower is not exact in float64 at row 0, dimension 0"):
        pm.Index(dims=1).insert(np.array([[np.longdouble("1e400")]]), np.array([[np.inf]]))
    absent = np.array([[np.nan, 1], [np.inf, 1]], np.longdouble)
    assert pm.Index.build([[-np.inf, 1]], [[np.inf, 1]]).count(absent).tolist() == [1, 1]


@pytest.mark.parametrize("number", [0.1, 2.0**24 + 1, 1e39, 1e-50, 5e-324])
def test_bounds_a_float32_index_cannot_hold_are_refused(number: float) -> None:
    index = pm.Index(dims=2, dtype="float32")
    below, above = np.zeros((3, 2)), np.full((3, 2), np.inf)
    below[2, 1] = number
    message = "lower is not exact in float32 at row 2, dimension 1"
    with pytest.raises(pm.ArgumentError, match=message) as refusal:
        index.insert(below, above)
    assert str(number) in str(refusal.value)
    with pytest.raises(pm.ArgumentError, match=message):
        pm.Index.build(below, above, dtype="float32")
    assert len(index) == 0
    below[2, 1] = 0.5
    assert index.insert(below, above).tolist() == [0, 1, 2]


def test_nan_bounds_are_the_cores_to_refuse_whatever_the_dtype() -> None:
    with pytest.raises(pm.ArgumentError, match=r"(?i)nan.*row 0, dimension 1"):
        pm.Index(dims=2, dtype="float32").insert(np.array([[0.5, np.nan]]), np.ones((1, 2)))


def test_query_boxes_keep_their_own_dtype() -> None:
    single, double = np.zeros((1, 2), "f4"), np.zeros((1, 2))
    assert query_box_arrays(single, single, 2)[0] is not None
    assert [side.dtype for side in query_box_arrays(single, single, 2)] == [np.float32, np.float32]
    assert [side.dtype for side in query_box_arrays(single, double, 2)] == [np.float64, np.float64]


def test_no_rows_in_any_form() -> None:
    index = pm.Index.build([[0.0, 0.0]], [[1.0, 1.0]])
    for nothing in ([], (), np.empty((0, 2)), np.empty(0), np.empty((0, 2), int)):
        assert len(index.match(nothing)) == 0
        assert index.count(nothing).tolist() == []


def test_one_dimension() -> None:
    index = pm.Index.build([[0.0], [1.0]], [[2.0], [3.0]])
    assert index.match([1.5], sort=True)[0].tolist() == [0, 1]
    with pytest.raises(pm.ArgumentError, match=r"points has shape \(3,\), expected \(n, 1\) or \(1,\)"):
        index.match([1.5, 2.5, 3.5])


def test_integer_ids_of_every_kind() -> None:
    for ids in ([1, 2], (1, 2), range(1, 3), np.array([1, 2], np.uint8), np.array([1, 2], ">i4")):
        assert id_array(ids).tolist() == [1, 2]
        assert id_array(ids).dtype == np.int64
    assert id_array(7).tolist() == [7]
    assert id_array(np.int32(7)).tolist() == [7]
    assert id_array(np.arange(10)[::3]).flags.c_contiguous
