"""Save, load, pickle and copy: the same index comes back, and a failed save leaves what was there."""

from __future__ import annotations

import copy
import errno
import os
import pickle
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import oracle
import pytest

import pubmatch as pm

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., subprocess.CompletedProcess[str]]

MODES = [(mmap, verify) for mmap in (True, False) for verify in (True, False)]


def tuned(index: pm.Index) -> pm.Index:
    """The same index, with a tuner that has settled for batches of 8 and is on trial for batches of 64."""
    for _ in range(10_000):
        index.tuner.record(8, index.tuner.next_level(8, index.height), 1.0)
    index.tuner.record(64, index.tuner.next_level(64, index.height), 0.5)
    return index


def described(index: pm.Index) -> dict[str, Any]:
    """All that must survive, apart from the matches."""
    states = {
        size: (state.stable, state.level, state.updates, state.round, tuple(state.sums))
        for size in (8, 64, 100)
        for state in [index.tuner.state(size)]
    }
    return {
        "size": len(index),
        "dims": index.dims,
        "dtype": index.dtype,
        "height": index.height,
        "params": index.params,
        "tuner": states,
    }


@pytest.mark.oracle
@pytest.mark.parametrize("layout", oracle.LAYOUTS)
@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize(("dims", "kind"), [(1, "extreme"), (3, "touching"), (12, "uniform"), (20, "sparse")])
def test_a_loaded_index_is_the_same(layout: str, dtype: str, dims: int, kind: str, tmp_path: Path) -> None:
    lower, upper = oracle.make_boxes(kind, 1300, dims, dtype)
    ids = np.random.default_rng(4).permutation(1300) * 3 - 2000
    index = tuned(pm.Index.build(lower, upper, ids, params=oracle.LAYOUTS[layout]))
    index.delete(ids[:50])
    points = oracle.make_points(lower, upper, 60, dtype)
    expected = oracle.rows_of(oracle.contains(lower[50:], upper[50:], points), ids[50:])
    path = tmp_path / "index.pubmatch"
    index.save(path)
    for mmap, verify in MODES:
        loaded = pm.Index.load(path, mmap=mmap, verify=verify)
        loaded.check()
        assert described(loaded) == described(index)
        assert oracle.rows_in(loaded.match(points)) == expected
        assert oracle.rows_in(loaded.match(points, threads=2, order="fifo")) == expected


@pytest.mark.parametrize("layout", oracle.SMALL_LAYOUTS)
@pytest.mark.parametrize(("mmap", "verify"), MODES)
def test_a_loaded_index_can_be_updated_and_its_file_stays(
    layout: str, mmap: bool, verify: bool, tmp_path: Path
) -> None:
    lower, upper = oracle.make_boxes("uniform", 400, 3)
    path = tmp_path / "index"
    pm.Index.build(lower[:300], upper[:300], params=oracle.SMALL_LAYOUTS[layout]).save(path)
    before = path.read_bytes()
    loaded = pm.Index.load(path, mmap=mmap, verify=verify)
    assert loaded.insert(lower[300:], upper[300:]).tolist() == list(range(300, 400))
    assert loaded.delete(np.arange(0, 400, 2)) == 200
    loaded.check()
    points = oracle.make_points(lower, upper, 40)
    expected = oracle.rows_of(oracle.contains(lower[1::2], upper[1::2], points), np.arange(1, 400, 2))
    assert oracle.rows_in(loaded.match(points)) == expected
    assert path.read_bytes() == before
    loaded.save(path)
    assert oracle.rows_in(loaded.match(points)) == expected, "the old file is still mapped"
    assert oracle.rows_in(pm.Index.load(path, mmap=mmap, verify=verify).match(points)) == expected


@pytest.mark.parametrize("layout", oracle.LAYOUTS)
@pytest.mark.parametrize("dims", [1, 12, 255])
def test_an_empty_index_has_a_file_too(layout: str, dims: int, tmp_path: Path) -> None:
    path = tmp_path / "empty"
    pm.Index(dims=dims, dtype="float32", params=oracle.LAYOUTS[layout]).save(path)
    for mmap, verify in MODES:
        loaded = pm.Index.load(path, mmap=mmap, verify=verify)
        assert (len(loaded), loaded.dims, loaded.height) == (0, dims, 1)
        assert loaded.dtype == np.float32
        assert loaded.insert(np.zeros(dims), np.ones(dims)).tolist() == [0]


def test_default_ids_go_on_where_they_were(tmp_path: Path) -> None:
    index = pm.Index.build(np.zeros((3, 1)), np.ones((3, 1)))
    index.insert([0.0], [1.0], ids=5)
    index.save(tmp_path / "index")
    for other in (pm.Index.load(tmp_path / "index"), pickle.loads(pickle.dumps(index)), index):
        assert other.insert(np.zeros((3, 1)), np.ones((3, 1))).tolist() == [3, 4, 6]


def test_saved_bytes_pickles_and_to_bytes_are_one_format(tmp_path: Path) -> None:
    index = tuned(pm.Index.build(*oracle.make_boxes("sparse", 500, 6)))
    index.save(tmp_path / "index")
    data = index.to_bytes()
    assert (tmp_path / "index").read_bytes() == data
    assert data in pickle.dumps(index)
    assert pm.Index.from_bytes(data).to_bytes() == data


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda index: pickle.loads(pickle.dumps(index))])
def test_copies_are_equal_and_independent(again: Callable[[pm.Index], pm.Index]) -> None:
    index = tuned(pm.Index.build(*oracle.make_boxes("sparse", 500, 6), params=oracle.LAYOUTS["paper"]))
    other = again(index)
    assert described(other) == described(index)
    other.delete(np.arange(500))
    other.check()
    assert (len(other), len(index)) == (0, 500)
    index.check()


def test_a_pickle_keeps_a_subclass() -> None:
    assert type(pickle.loads(pickle.dumps(Named(dims=2)))) is Named


class Named(pm.Index):
    """A subclass without anything of its own."""


def test_pickles_and_files_cross_processes(run_python: Run, tmp_path: Path) -> None:
    lower, upper = oracle.make_boxes("uniform", 1300, 5)
    index = pm.Index.build(lower, upper)
    points = oracle.make_points(lower, upper, 50)
    index.save(tmp_path / "index")
    (tmp_path / "pickle").write_bytes(pickle.dumps((index, points, oracle.rows_in(index.match(points)))))
    script = """
import pickle, sys
import oracle, pubmatch as pm
with open(sys.argv[1] + "/pickle", "rb") as file:
    index, points, expected = pickle.load(file)
assert oracle.rows_in(index.match(points)) == expected
assert oracle.rows_in(pm.Index.load(sys.argv[1] + "/index").match(points, threads=2)) == expected
print("same")
"""
    done = run_python(script, tmp_path)
    assert (done.returncode, done.stdout) == (0, "same\n"), done.stderr


def test_saving_replaces_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "index"
    path.write_bytes(b"something older")
    pm.Index.build([[0.0]], [[1.0]]).save(str(path))
    pm.Index.build([[0.0], [0.0]], [[1.0], [1.0]]).save(path)
    assert len(pm.Index.load(path)) == 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["index"]


def test_a_name_of_any_characters(tmp_path: Path) -> None:
    for name in ("with space", "ünïcödé-数", "a" * 255):
        pm.Index.build([[0.0]], [[1.0]]).save(tmp_path / name)
        assert len(pm.Index.load(tmp_path / name)) == 1


def test_a_file_or_directory_that_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "no" / "index"
    index = pm.Index.build([[0.0]], [[1.0]])
    for call in (lambda: pm.Index.load(missing), lambda: index.save(missing)):
        with pytest.raises(FileNotFoundError) as refusal:
            call()
        assert isinstance(refusal.value, pm.FormatError)
        assert refusal.value.errno == errno.ENOENT
        assert str(missing) in str(refusal.value)
    assert not missing.parent.exists()


def test_a_directory_is_no_index_file(tmp_path: Path) -> None:
    for call in (lambda: pm.Index.load(tmp_path), lambda: pm.Index.build([[0.0]], [[1.0]]).save(tmp_path)):
        with pytest.raises(pm.FileAccessError, match=str(tmp_path)) as refusal:
            call()
        assert refusal.value.errno == errno.EISDIR
    assert list(tmp_path.iterdir()) == []


def test_bad_paths() -> None:
    index = pm.Index(dims=1)
    for call in (pm.Index.load, index.save):
        with pytest.raises(pm.ArgumentTypeError, match="path must be a path, got int"):
            call(3)
        with pytest.raises(pm.ArgumentTypeError, match="path must be a text path"):
            call(b"index")
        with pytest.raises(pm.ArgumentError, match="null character"):
            call("in\0dex")
        with pytest.raises(pm.ArgumentError, match=r"path holds '\\ud800', which no file name can"):
            call("in\ud800dex")
        with pytest.raises(pm.FileAccessError):
            call("")
    for option in ("mmap", "verify"):
        with pytest.raises(pm.ArgumentTypeError, match=f"{option} must be True or False"):
            pm.Index.load("index", **{option: 1})


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk() -> None:
    index = pm.Index.build(*oracle.make_boxes("uniform", 300, 3))
    with pytest.raises(pm.FileAccessError, match="/dev/full") as refusal:
        index.save("/dev/full")
    assert refusal.value.errno == errno.ENOSPC
    assert not os.path.isfile("/dev/full"), "a device must not be replaced by a file"
    index.check()


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    index = pm.Index.build([[0.0]], [[1.0]])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    index.save(pipe)
    reader.join(timeout=60)
    assert received == [index.to_bytes()]


def test_a_save_that_fails_half_way_keeps_the_old_file(run_python: Run, tmp_path: Path) -> None:
    """A limit on the size of files stops the write in the middle, as a disk does that fills up."""
    script = """
import os, resource, sys
import numpy as np, pubmatch as pm
path = sys.argv[1] + "/index"
pm.Index.build([[0.0]], [[1.0]]).save(path)
before = open(path, "rb").read()
large = pm.Index.build(np.zeros((50_000, 8)), np.ones((50_000, 8)))
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
try:
    large.save(path)
except pm.FileAccessError as error:
    print(type(error).__name__, path in str(error))
assert open(path, "rb").read() == before
assert os.listdir(sys.argv[1]) == ["index"], os.listdir(sys.argv[1])
large.check()
"""
    done = run_python(script, tmp_path)
    assert (done.returncode, done.stdout) == (0, "FileAccessError True\n"), done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_no_permission(tmp_path: Path) -> None:
    index = pm.Index.build([[0.0]], [[1.0]])
    path = tmp_path / "index"
    index.save(path)
    path.chmod(0)
    with pytest.raises(pm.FileAccessError) as refusal:
        pm.Index.load(path)
    assert refusal.value.errno == errno.EACCES
    path.chmod(0o444)
    with pytest.raises(pm.FileAccessError) as refusal:
        index.save(path)
    assert refusal.value.errno == errno.EACCES
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(pm.FileAccessError):
            index.save(tmp_path / "new")
    finally:
        tmp_path.chmod(0o755)
    assert len(pm.Index.load(path)) == 1


def test_nobody_may_not_write_either(run_python: Run, tmp_path: Path) -> None:
    """The same as above for a test run that root started: the child gives its rights away first."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    script = """
import errno, os, sys
import pubmatch as pm
index = pm.Index.build([[0.0]], [[1.0]])
index.save(sys.argv[1] + "/mine")
os.chmod(sys.argv[1] + "/mine", 0)
os.setgid(65534); os.setuid(65534)
for call in (lambda: pm.Index.load(sys.argv[1] + "/mine"), lambda: index.save(sys.argv[1] + "/mine"),
             lambda: index.save(sys.argv[1] + "/new")):
    try:
        call()
    except pm.FileAccessError as error:
        print(error.errno == errno.EACCES)
"""
    done = run_python(script, tmp_path)
    assert (done.returncode, done.stdout) == (0, "True\nTrue\nTrue\n"), done.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine"]
