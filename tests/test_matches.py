"""`Matches`: rows over shared, read-only arrays."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import pubmatch as pm


@pytest.fixture
def matches() -> pm.Matches:
    index = pm.Index.build([[0.0], [2.0], [4.0]], [[3.0], [5.0], [6.0]], ids=[10, 20, 30])
    return index.match([[2.5], [9.0], [4.5], [5.5]], sort=True, level=1)


def test_rows(matches: pm.Matches) -> None:
    assert len(matches) == 4
    assert matches.offsets.tolist() == [0, 2, 2, 4, 5]
    assert matches.ids.tolist() == [10, 20, 20, 30, 30]
    assert (matches.offsets.dtype, matches.ids.dtype) == (np.dtype(np.int64), np.dtype(np.int64))
    assert [row.tolist() for row in matches] == [[10, 20], [], [20, 30], [30]]
    assert matches.counts.tolist() == [2, 0, 2, 1]
    assert [column.tolist() for column in matches.pairs()] == [[0, 0, 2, 2, 3], [10, 20, 20, 30, 30]]


def test_rows_by_number(matches: pm.Matches) -> None:
    assert matches[0].tolist() == matches[-4].tolist() == [10, 20]
    assert matches[np.int64(3)].tolist() == matches[-1].tolist() == [30]
    assert matches[1].tolist() == []
    for row in (4, -5, 10**30):
        with pytest.raises(IndexError, match=f"row {row} of 4"):
            matches[row]
    with pytest.raises(TypeError):
        matches["0"]
    with pytest.raises(TypeError):
        matches[0:2]


def test_arrays_are_shared_and_read_only(matches: pm.Matches) -> None:
    for name in ("offsets", "ids", "order", "response_s"):
        array = getattr(matches, name)
        assert np.shares_memory(array, getattr(matches, name))
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert np.shares_memory(matches[0], matches.ids)


def test_arrays_outlive_the_result_and_the_index(matches: pm.Matches) -> None:
    ids, row = matches.ids, matches[0]
    del matches
    assert ids.tolist() == [10, 20, 20, 30, 30]
    assert row.tolist() == [10, 20]


def test_no_rows() -> None:
    nothing = pm.Index(dims=1).match(np.empty((0, 1)))
    assert len(nothing) == 0
    assert list(nothing) == []
    assert nothing.counts.tolist() == []
    assert [column.tolist() for column in nothing.pairs()] == [[], []]
    assert math.isnan(nothing.mean_response_s)
    with pytest.raises(IndexError, match="row 0 of 0"):
        nothing[0]


def test_pickle_and_copy_keep_everything(matches: pm.Matches) -> None:
    for again in (pickle.loads(pickle.dumps(matches)), copy.copy(matches), copy.deepcopy(matches)):
        assert [row.tolist() for row in again] == [row.tolist() for row in matches]
        assert again.order.tolist() == matches.order.tolist()
        assert again.response_s.tolist() == matches.response_s.tolist()
        assert again.level == matches.level
        assert not again.ids.flags.writeable


def test_to_arrow(matches: pm.Matches) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = matches.to_arrow()
    assert table.schema == pyarrow.schema([("event", pyarrow.int64()), ("id", pyarrow.int64())])
    assert table.to_pydict() == {"event": [0, 0, 2, 2, 3], "id": [10, 20, 20, 30, 30]}


def test_repr(matches: pm.Matches) -> None:
    assert repr(matches) == "Matches(rows=4, ids=5, level=1)"


def test_box_queries_give_matches_with_one_row_per_box() -> None:
    index = pm.Index.build([[0.0], [2.0]], [[3.0], [5.0]])
    result = index.intersecting([[0.0], [9.0], [2.5]], [[1.0], [9.5], [2.5]])
    assert isinstance(result, pm.Matches)
    assert len(result) == 3
    assert result.counts.tolist() == [1, 0, 2]
    assert len(result.response_s) == len(result.order) == 3
