"""Files that are not what they should be: always an error or an answer, never a crash, never silently wrong.

Everything that could bring the process down runs in an interpreter of its own, which must end in order.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING

import oracle
import pytest

import pubmatch as pm

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    Run = Callable[..., subprocess.CompletedProcess[str]]

LAYOUTS = {**oracle.LAYOUTS, **{f"small {name}": params for name, params in oracle.SMALL_LAYOUTS.items()}}
VERSION_AT = 8  # behind the magic, in every version of the format


def small_file(path: Path, layout: str, dtype: str = "float64") -> bytes:
    # Tiny bitmap nodes take much room; a dozen boxes make three levels of them.
    lower, upper = oracle.make_boxes("sparse", 12 if layout == "small bitmap" else 40, 3, dtype)
    index = pm.Index.build(lower, upper, params=LAYOUTS[layout])
    index.match(oracle.make_points(lower, upper, 8))
    index.save(path)
    return path.read_bytes()


EVERY_BYTE = """
import os, sys
import pubmatch as pm
path = sys.argv[1]
data = bytearray(open(path, "rb").read())
descriptor = os.open(path, os.O_WRONLY)
wrong = []
for place in range(len(data)):
    for flip, mmap in ((0xFF, place % 2 == 0), (1 << place % 8, place % 2 == 1)):
        os.pwrite(descriptor, bytes([data[place] ^ flip]), place)
        try:
            pm.Index.load(path, mmap=mmap)
            wrong.append((place, flip, mmap))
        except pm.FormatError:
            pass
    os.pwrite(descriptor, bytes([data[place]]), place)
pm.Index.load(path).check()
print(wrong)
"""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", oracle.DTYPES)
def test_every_flipped_byte_is_found(run_python: Run, tmp_path: Path, layout: str, dtype: str) -> None:
    small_file(tmp_path / "index", layout, dtype)
    done = run_python(EVERY_BYTE, tmp_path / "index")
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


EVERY_LENGTH = """
import sys
import pubmatch as pm
path = sys.argv[1]
data = open(path, "rb").read()
wrong = []
step = len(data) // 200 + 1
lengths = {*range(200), *range(0, len(data), step), *range(len(data) - 70, len(data))}
for length in sorted(lengths | {len(data) + extra for extra in (1, 8, 64, 4096)}):
    with open(path, "wb") as file:
        file.write((data + bytes(8192))[:length])
    for mmap in (True, False):
        for verify in (True, False):
            try:
                pm.Index.load(path, mmap=mmap, verify=verify)
                wrong.append((length, mmap, verify))
            except pm.FormatError:
                pass
    try:
        pm.Index.from_bytes((data + bytes(8192))[:length])
        wrong.append((length, "bytes"))
    except pm.FormatError:
        pass
print(wrong)
"""


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_wrong_length_is_found(run_python: Run, tmp_path: Path, layout: str) -> None:
    """Truncated or with bytes behind the end, verified or not."""
    small_file(tmp_path / "index", layout)
    done = run_python(EVERY_LENGTH, tmp_path / "index")
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


RANDOM_BYTES = """
import sys
import numpy as np, oracle, pubmatch as pm
path, seed = sys.argv[1], int(sys.argv[2])
data = np.fromfile(path, np.uint8)
rng = np.random.default_rng(seed)
points = oracle.make_points(*oracle.make_boxes("sparse", 40, 3), 12)
refused = used = 0
for trial in range(400):
    bad = data.copy()
    # Few bytes or many, anywhere or close together, small changes or any.
    count = int(rng.choice([1, 2, 8, 64]))
    first = int(rng.integers(0, len(bad)))
    reach = int(rng.choice([16, 256, len(bad)]))
    places = (first + rng.integers(0, reach, count)) % len(bad)
    bad[places] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, *rng.integers(0, 256, 5)], count)
    bad.tofile(path)
    try:
        index = pm.Index.load(path, mmap=bool(trial % 2), verify=False)
    except pm.FormatError:
        refused += 1
        continue
    used += 1
    uses = [
        lambda: index.match(points),
        lambda: index.match(points, threads=2, sort=True),
        lambda: index.count(points),
        lambda: [index.estimate(points, level=level) for level in range(1, index.height + 1)],
        lambda: [len(part) for _, part in index.stream(points, chunk=3)],
        lambda: index.intersecting(np.zeros(3), np.ones(3)),
        lambda: index.covered(np.zeros(3), np.ones(3)),
        lambda: index.covering(np.zeros(3), np.ones(3)),
        lambda: index.check(),
        lambda: (index.stats(), repr(index), index.to_bytes()),
        lambda: index.delete(np.arange(0, 40, 3)),
        lambda: index.insert(np.zeros((9, 3)), np.ones((9, 3)), np.arange(100, 109)),
        lambda: index.match(points),
    ]
    for use in uses:
        try:
            use()
        except pm.PubmatchError:
            pass
print(refused > 0, used > 0)
"""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", oracle.DTYPES)
def test_unverified_files_never_crash(run_python: Run, tmp_path: Path, layout: str, dtype: str) -> None:
    small_file(tmp_path / "index", layout, dtype)
    done = run_python(RANDOM_BYTES, tmp_path / "index", len(layout), PYTHONWARNINGS="ignore")
    assert (done.returncode, done.stdout) == (0, "True True\n"), done.stderr


UNVERIFIED = """
import os, sys
import pubmatch as pm
path = sys.argv[1]
data = open(path, "rb").read()
descriptor = os.open(path, os.O_WRONLY)
unseen, checked = [], 0
for place in range(0, len(data), 3):
    os.pwrite(descriptor, bytes([data[place] ^ 1 << place % 8]), place)
    try:
        index = pm.Index.load(path, mmap=place % 2 == 0, verify=False)
        checked += 1
        index.check()
        unseen.append(place)
    except (pm.FormatError, pm.CorruptIndexError):
        pass
    os.pwrite(descriptor, bytes([data[place]]), place)
print(unseen, checked > 0)
"""


@pytest.mark.parametrize("layout", LAYOUTS)
def test_check_finds_the_flipped_bits_that_loading_did_not_look_for(
    run_python: Run, tmp_path: Path, layout: str
) -> None:
    small_file(tmp_path / "index", layout)
    done = run_python(UNVERIFIED, tmp_path / "index")
    assert (done.returncode, done.stdout) == (0, "[] True\n"), done.stderr


def test_foreign_and_empty_files(tmp_path: Path) -> None:
    path = tmp_path / "index"
    foreign = [
        b"",
        b"\0",
        b"P",
        b"\0" * 4096,
        b"\xff" * 4096,
        b"PAR1" + b"x" * 500,
        b"\x80\x04" + bytes(1000),
        b"a,b\n" * 99,
    ]
    for data in foreign:
        path.write_bytes(data)
        for mmap in (True, False):
            for verify in (True, False):
                with pytest.raises(pm.FormatError):
                    pm.Index.load(path, mmap=mmap, verify=verify)
        with pytest.raises(pm.FormatError):
            pm.Index.from_bytes(data)


def test_a_foreign_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n1,2\n" * 100)
    with pytest.raises(pm.FormatError, match=r"table\.csv"):
        pm.Index.load(path)


@pytest.mark.parametrize("version", [0, 2, 7, 2**32 - 1])
def test_a_file_of_another_version_says_so(tmp_path: Path, version: int) -> None:
    path = tmp_path / "index"
    data = bytearray(small_file(path, "auto"))
    assert struct.unpack_from("<I", data, VERSION_AT) == (1,)
    struct.pack_into("<I", data, VERSION_AT, version)
    path.write_bytes(data)
    for verify in (True, False):
        with pytest.raises(pm.FormatError, match=rf"(?i)(version|format).*\b{version}\b"):
            pm.Index.load(path, verify=verify)


def test_bad_pickles() -> None:
    data = pm.Index.build([[0.0]], [[1.0]]).to_bytes()
    for bad in (b"", data[:-1], data + b"\0", data[: len(data) // 2], data[::-1]):
        with pytest.raises(pm.FormatError):
            pm.Index.from_bytes(bad)
