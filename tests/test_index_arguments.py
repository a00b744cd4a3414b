"""Bad input: a clear error with place and value, and the index as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracle
import pytest

import pubmatch as pm

POINT = np.full((1, 2), 0.5)


@pytest.fixture
def index() -> pm.Index:
    return pm.Index.build(*oracle.make_boxes("uniform", 300, 2), params=oracle.LAYOUTS["paper"])


@pytest.mark.parametrize("dims", [0, -1, 256, 10**30])
def test_dims_out_of_range(dims: int) -> None:
    with pytest.raises(pm.ArgumentError, match=f"dims must be from 1 to 255, got {dims}"):
        pm.Index(dims=dims)


@pytest.mark.parametrize("dims", [True, 2.0, "2", None, np.array([2, 3])])
def test_dims_of_another_type(dims: Any) -> None:
    with pytest.raises(pm.ArgumentTypeError, match="dims must be an integer"):
        pm.Index(dims=dims)


def test_most_dimensions() -> None:
    assert pm.MAX_DIMS == 255
    wide = pm.Index.build(np.zeros((3, 255)), np.ones((3, 255)))
    assert wide.count(np.full((1, 255), 0.5)).tolist() == [3]
    with pytest.raises(pm.ArgumentError, match="dims must be from 1 to 255, got 256"):
        pm.Index.build(np.zeros((3, 256)), np.ones((3, 256)))
    with pytest.raises(pm.ArgumentError, match="dims must be from 1 to 255, got 0"):
        pm.Index.build(np.zeros((3, 0)), np.ones((3, 0)))


@pytest.mark.parametrize("dtype", ["float16", "int64", "real", None, 3, np.longdouble, ">f8", object])
def test_only_two_dtypes_are_stored(dtype: Any) -> None:
    with pytest.raises(pm.ArgumentError, match="dtype must be 'float32' or 'float64'"):
        pm.Index(dims=2, dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", np.float32, np.dtype("f4"), "<f4"])
def test_a_dtype_by_any_of_its_names(dtype: Any) -> None:
    assert pm.Index(dims=2, dtype=dtype).dtype == np.float32
    assert pm.Index.build([[0.0]], [[1.0]], dtype=dtype).dtype == np.float32


METHODS = ["match", "count", "estimate", "stream"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [(), (3,), (1,), (4, 3), (4, 1), (0, 3), (2, 2, 2), (1, 1, 2)])
def test_points_of_another_shape(index: pm.Index, method: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(pm.ArgumentError) as refusal:
        getattr(index, method)(np.zeros(shape))
    assert f"points has shape {shape}, expected (n, 2) or (2,)" in str(refusal.value)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "points",
    [
        np.array([[True, False]]),
        np.array([[1j, 0]]),
        np.array([[1.0, None]], dtype=object),
        np.array([["1", "2"]]),
        np.array([["2020-01-01", "2020-01-02"]], dtype="M8[D]"),
        np.array([[1, 2]], dtype="m8[s]"),
        [[1.0, None]],
        [["a", "b"]],
        None,
        "points",
        {1.0, 2.0},
        np.ma.masked_invalid([[1.0, np.nan]]),
    ],
    ids=repr,
)
def test_points_of_another_type(index: pm.Index, method: str, points: Any) -> None:
    with pytest.raises(pm.ArgumentTypeError, match="points"):
        getattr(index, method)(points)


def test_ragged_points(index: pm.Index) -> None:
    with pytest.raises(pm.ArgumentError, match="points is not a rectangular array"):
        index.match([[1.0, 2.0], [3.0]])


@pytest.mark.parametrize("method", ["match", "stream"])
def test_order(index: pm.Index, method: str) -> None:
    for order in ("lifo", "SJF", "", None, 1, ["sjf"], np.array(["sjf", "fifo"])):
        with pytest.raises(pm.ArgumentError, match="order must be 'sjf' or 'fifo', got "):
            getattr(index, method)(POINT, order=order)


@pytest.mark.parametrize("method", ["match", "stream", "estimate"])
def test_level(index: pm.Index, method: str) -> None:
    height = index.height
    assert height > 2
    ask = getattr(index, method)
    for level in (0, -1, height + 1, 10**30, np.int64(-5)):
        with pytest.raises(pm.ArgumentError, match=f"from 1 to the index's height {height}, got {level}"):
            ask(POINT, level=level)
    for level in (True, np.True_, 1.0, np.float64(2), np.array([1, 2]), np.array(["auto", "auto"])):
        with pytest.raises(pm.ArgumentTypeError, match="level must be an integer"):
            ask(POINT, level=level)
    with pytest.raises(pm.ArgumentError, match="level must be 'auto' or an integer, got 'deep'"):
        ask(POINT, level="deep")
    ask(POINT, level=np.int16(height))


@pytest.mark.parametrize("method", ["match", "stream", "count"])
def test_threads(index: pm.Index, method: str) -> None:
    ask = getattr(index, method)
    for threads in (0, -1):
        with pytest.raises(pm.ArgumentError, match=f"threads must be at least 1, got {threads}"):
            ask(POINT, threads=threads)
    for threads in (pm.MAX_THREADS + 1, 10**30):
        with pytest.raises(
            pm.ArgumentError, match=f"threads must be at most {pm.MAX_THREADS}, got {threads}"
        ):
            ask(POINT, threads=threads)
    for threads in (True, 1.0, "2", None):
        with pytest.raises(pm.ArgumentTypeError, match="threads must be an integer"):
            ask(POINT, threads=threads)


def test_more_threads_than_events(index: pm.Index) -> None:
    assert index.match(POINT, threads=pm.MAX_THREADS, sort=True)[0].tolist() == sorted(index.match(POINT)[0])


def test_chunk(index: pm.Index) -> None:
    for chunk in (0, -3):
        with pytest.raises(pm.ArgumentError, match=f"chunk must be at least 1, got {chunk}"):
            index.stream(POINT, chunk=chunk)
    for chunk in (True, 2.5, None):
        with pytest.raises(pm.ArgumentTypeError, match="chunk must be an integer"):
            index.stream(POINT, chunk=chunk)


def test_sort(index: pm.Index) -> None:
    for sort in (1, 0, None, "yes"):
        with pytest.raises(pm.ArgumentTypeError, match="sort must be True or False"):
            index.match(POINT, sort=sort)
    assert index.match(POINT, sort=np.True_)[0].tolist() == sorted(index.match(POINT)[0])


@pytest.mark.parametrize("call", ["delete", "insert"])
def test_ids_of_another_type(index: pm.Index, call: str) -> None:
    def use(ids: Any) -> None:
        if call == "delete":
            index.delete(ids)
        else:
            index.insert([0, 0], [1, 1], ids)

    for ids in ([1.0], np.array([True]), ["1"], 1.5, [2**70], object()):
        with pytest.raises(pm.ArgumentTypeError, match="ids has dtype"):
            use(ids)
    with pytest.raises(pm.ArgumentError, match=r"ids has shape \(1, 1\)"):
        use([[7]])
    with pytest.raises(pm.ArgumentError, match=f"row 0 \\({2**63}\\)"):
        use(np.array([2**63], np.uint64))
    assert len(index) == 300


def test_negative_counts_for_the_tuner() -> None:
    for arguments in ({"threshold": 0}, {"threshold": -1}, {"loops": 0}, {"loops": -5}):
        with pytest.raises(pm.ArgumentError, match=next(iter(arguments))):
            pm.LevelTuner(**arguments)
    with pytest.raises(pm.ArgumentError, match="count"):
        pm.LevelTuner().updated(-1)
    with pytest.raises(pm.ArgumentError, match="batch_size"):
        pm.LevelTuner().next_level(-1, 3)
    with pytest.raises(pm.ArgumentError, match="height"):
        pm.LevelTuner().next_level(8, 0)


def test_bytes_only(index: pm.Index) -> None:
    with pytest.raises(pm.ArgumentTypeError, match="data must be bytes, got str"):
        pm.Index.from_bytes("index")


def test_the_error_classes() -> None:
    assert issubclass(pm.ArgumentError, pm.PubmatchError | ValueError)
    assert issubclass(pm.ArgumentError, ValueError)
    assert issubclass(pm.ArgumentTypeError, TypeError)
    assert issubclass(pm.FileAccessError, OSError)
    assert issubclass(pm.MissingFileError, FileNotFoundError)
    assert issubclass(pm.FileAccessError, pm.FormatError)
    for name in pm.__all__:
        if name.endswith("Error"):
            assert issubclass(getattr(pm, name), pm.PubmatchError)


def test_what_an_index_says_of_itself(index: pm.Index) -> None:
    assert repr(index) == (
        f"Index(dims=2, dtype='float64', size=300, height={index.height}, nbytes={index.nbytes})"
    )
    assert index.nbytes > 300 * 4 * 8
    assert isinstance(index.stats(), dict)
    assert index.stats()["size"] == 300
    assert index.stats()["height"] == index.height
