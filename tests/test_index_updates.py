"""Insert and delete: ids, whole calls or nothing, and what stays after a refusal."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import oracle
import pytest

import pubmatch as pm


def contents(index: pm.Index) -> list[int]:
    """All ids: whoever asks with the whole space meets every box."""
    index.check()
    everything = np.full((1, index.dims), np.inf)
    return np.sort(index.intersecting(-everything, everything)[0]).tolist()


@pytest.fixture(params=oracle.SMALL_LAYOUTS)
def params(request: pytest.FixtureRequest) -> pm.Params:
    return oracle.SMALL_LAYOUTS[request.param]


def test_default_ids_are_the_next_unused_from_zero(params: pm.Params) -> None:
    index = pm.Index(dims=1, params=params)
    assert index.insert([0.0], [1.0]).tolist() == [0]
    assert index.insert([[0.0], [0.0]], [[1.0], [1.0]]).tolist() == [1, 2]
    index.insert([[0.0], [0.0]], [[1.0], [1.0]], ids=[4, -9])
    assert index.insert([[0.0], [0.0]], [[1.0], [1.0]]).tolist() == [3, 5]
    assert contents(index) == [-9, 0, 1, 2, 3, 4, 5]


def test_default_ids_after_build_start_behind_it(params: pm.Params) -> None:
    index = pm.Index.build(np.zeros((5, 2)), np.ones((5, 2)), params=params)
    assert contents(index) == [0, 1, 2, 3, 4]
    assert index.insert([0, 0], [1, 1]).tolist() == [5]
    chosen = pm.Index.build(np.zeros((3, 2)), np.ones((3, 2)), ids=[1, 0, 7], params=params)
    assert chosen.insert(np.zeros((7, 2)), np.ones((7, 2))).tolist() == [2, 3, 4, 5, 6, 8, 9]


def test_ids_may_be_any_int64(params: pm.Params) -> None:
    extremes = np.array([-(2**63), 2**63 - 1, 0, -1, 2**32, 2**31])
    index = pm.Index.build(np.zeros((6, 1)), np.ones((6, 1)), ids=extremes, params=params)
    assert contents(index) == sorted(extremes.tolist())
    assert index.match([0.5], sort=True)[0].tolist() == sorted(extremes.tolist())
    assert index.delete(extremes[:2]) == 2
    assert contents(index) == sorted(extremes[2:].tolist())


def test_insert_returns_int64_of_the_callers_order() -> None:
    index = pm.Index(dims=1)
    returned = index.insert(np.zeros((3, 1)), np.ones((3, 1)), ids=np.array([5, 3, 4], np.int16))
    assert (returned.dtype, returned.tolist()) == (np.dtype(np.int64), [5, 3, 4])
    assert index.insert([0.0], [1.0], ids=9).tolist() == [9]


def test_delete_counts_what_was_there(params: pm.Params) -> None:
    index = pm.Index.build(np.zeros((30, 2)), np.ones((30, 2)), params=params)
    assert index.delete([3, 3, 99, -1]) == 1
    assert index.delete(3) == 0
    assert index.delete([]) == 0
    assert index.delete(np.arange(100)) == 29
    assert (len(index), index.height) == (0, 1)
    assert contents(index) == []


def test_a_deleted_box_can_come_back_elsewhere(params: pm.Params) -> None:
    index = pm.Index.build(np.zeros((25, 1)), np.ones((25, 1)), params=params)
    for place in range(2, 12):
        assert index.delete(7) == 1
        index.insert([float(place)], [place + 0.5], ids=7)
        assert index.match([float(place)])[0].tolist() == [7]
        assert 7 not in index.match([0.5])[0]
    assert contents(index) == list(range(25))


def test_shrinking_to_nothing_and_growing_again(params: pm.Params) -> None:
    lower, upper = oracle.make_boxes("uniform", 300, 3)
    points = oracle.make_points(lower, upper, 30)
    index = pm.Index(dims=3, params=params)
    for seed in range(3):
        index.insert(lower, upper)
        assert index.height > 1
        order = np.random.default_rng(seed).permutation(300) + 300 * seed
        for left, gone in zip(range(290, -1, -10), order.reshape(30, 10), strict=True):
            assert index.delete(gone) == 10
            assert len(index) == left
            index.check()
        assert oracle.rows_in(index.match(points)) == [[]] * 30


BOX = ([0.0, 0.0], [1.0, 1.0])
BAD_CALLS: dict[str, tuple[Any, Any, Any, str]] = {
    "nan lower": ([BOX[0], [0, np.nan]], [BOX[1]] * 2, None, r"(?i)nan.*row 1, dimension 1"),
    "nan upper": ([BOX[0]] * 2, [BOX[1], [np.nan, 1]], None, r"(?i)nan.*row 1, dimension 0"),
    "crossed": ([BOX[0], [5, 0]], [BOX[1], [3, 1]], None, r"row 1, dimension 0 \(3\.0 < 5\.0\)"),
    "id in the index": ([BOX[0]] * 2, [BOX[1]] * 2, [50, 3], r"(?i)id.*\b3\b"),
    "id twice in the call": ([BOX[0]] * 3, [BOX[1]] * 3, [51, 52, 51], r"(?i)id.*\b51\b"),
    "too few ids": ([BOX[0]] * 2, [BOX[1]] * 2, [50], r"1.*2"),
    "unequal shapes": ([BOX[0]] * 2, [BOX[1]] * 3, None, r"\(2, 2\).*\(3, 2\)"),
    "three columns": (np.zeros((2, 3)), np.ones((2, 3)), None, r"\(2, 3\).*\(n, 2\)"),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_a_refused_insert_changes_nothing(case: str, params: pm.Params) -> None:
    lower, upper, ids, message = BAD_CALLS[case]
    index = pm.Index.build(*oracle.make_boxes("uniform", 40, 2), params=params)
    height, size = index.height, len(index)
    with pytest.raises(pm.ArgumentError, match=message):
        index.insert(lower, upper, ids)
    assert (index.height, len(index)) == (height, size)
    assert contents(index) == list(range(40))
    # The ids of the refused call are free, and the default goes on where it was.
    assert index.insert(*BOX).tolist() == [40]
    assert index.insert(*BOX, ids=50).tolist() == [50]


@pytest.mark.parametrize(
    "case", [case for case in BAD_CALLS if case not in ("id in the index", "three columns")]
)
def test_build_refuses_the_same(case: str) -> None:
    lower, upper, ids, message = BAD_CALLS[case]
    with pytest.raises(pm.ArgumentError, match=message):
        pm.Index.build(lower, upper, ids)


def test_a_bad_row_deep_in_a_large_call_is_named_and_nothing_is_applied(params: pm.Params) -> None:
    lower, upper = oracle.make_boxes("uniform", 5000, 4)
    index = pm.Index.build(lower[:100], upper[:100], params=params)
    lower[4321, 2], upper[4321, 2] = 2.0, 1.0
    with pytest.raises(pm.ArgumentError, match=r"row 4321, dimension 2 \(1\.0 < 2\.0\)"):
        index.insert(lower, upper)
    assert contents(index) == list(range(100))


def test_updating_nothing_is_nothing(params: pm.Params) -> None:
    index = pm.Index.build(*oracle.make_boxes("uniform", 9, 2), params=params)
    assert index.insert(np.empty((0, 2)), np.empty((0, 2))).tolist() == []
    assert index.insert([], [], ids=[]).tolist() == []
    assert contents(index) == list(range(9))


def test_build_of_no_boxes_is_an_empty_index() -> None:
    index = pm.Index.build(np.empty((0, 3)), np.empty((0, 3)))
    assert (len(index), index.dims, index.height) == (0, 3, 1)
    assert index.insert([0, 0, 0], [1, 1, 1]).tolist() == [0]


def test_the_callers_arrays_are_copied(params: pm.Params) -> None:
    lower, upper, ids = np.zeros((30, 1)), np.ones((30, 1)), np.arange(30)
    index = pm.Index.build(lower, upper, ids, params=params)
    more = index.insert(lower, upper, ids + 30)
    lower[:], upper[:], ids[:] = 5.0, 6.0, -1
    assert contents(index) == list(range(60))
    assert index.count([[0.5], [5.5]]).tolist() == [60, 0]
    assert more.tolist() == list(range(30, 60))


def test_replace_deletes_and_inserts_at_once(params: pm.Params) -> None:
    rng = np.random.default_rng(5)
    lower = rng.random((300, 2))
    index = pm.Index.build(lower, lower + 0.1, params=params)
    for turn in range(40):  # long enough to be packed again on the way
        old = np.arange(turn * 10, turn * 10 + 10)
        assert (
            index.replace(old, lower[:10], lower[:10] + 0.1, ids=old + 300).tolist() == (old + 300).tolist()
        )
        assert contents(index) == list(range(turn * 10 + 10, turn * 10 + 310))
    assert index.replace([12345], [[0.0, 0.0]], [[1.0, 1.0]], ids=[-1]).tolist() == [-1]
    assert len(index) == 301


def test_a_refused_replace_changes_nothing(params: pm.Params) -> None:
    index = pm.Index.build(np.zeros((3, 1)), np.ones((3, 1)), params=params)
    with pytest.raises(pm.ArgumentError, match="is in the index already"):
        index.replace([0], [[0.0]], [[1.0]], ids=[2])
    with pytest.raises(pm.ArgumentError, match="upper < lower"):
        index.replace([0], [[2.0]], [[1.0]], ids=[9])
    assert contents(index) == [0, 1, 2]


def test_no_reader_sees_half_a_replace() -> None:
    index = pm.Index.build(np.zeros((5000, 5)), np.ones((5000, 5)))
    stop = threading.Event()
    counts: set[int] = set()

    def read() -> None:
        while not stop.is_set():
            counts.add(int(index.count(np.full((1, 5), 0.5))[0]))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for turn in range(200):
            index.replace([turn], np.zeros((1, 5)), np.ones((1, 5)), ids=[5000 + turn])
    finally:
        stop.set()
        reader.join()
    assert counts == {5000}
