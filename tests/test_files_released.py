"""Files written by earlier releases stay readable: `tests/data` keeps one of each kind per release.

`python tests/test_files_released.py` writes those of the present release, for the day it is tagged.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import oracle
import pytest
from numpy.typing import NDArray

import pubmatch as pm

DATA = Path(__file__).parent / "data"
LAYOUTS = {
    "compare": pm.Params(node_capacity=10, leaf_capacity=20, node_kernel="compare"),
    "bitmap": pm.Params(node_kernel="bitmap"),
}
DTYPES = ("float32", "float64")
FILTERS = {
    "cheap": "price < 10",
    7: "symbol IN ('IBM', 'AMD') AND volume >= 9007199254740993",
    "odd": "symbol IS NULL OR symbol LIKE 'A%' AND NOT halted",
}
EVENTS = [
    {"price": 5.0, "symbol": "AMD", "volume": 9007199254740993, "halted": False},
    {"price": 10.0, "symbol": "Z", "volume": 1},
    {"price": 99.0},
]
FOUND = [["cheap", 7, "odd"], [], ["odd"]]


def boxes(dtype: str) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Boxes on a coarse grid, some sides open: alike on every machine and NumPy."""
    number = np.arange(60 * 4).reshape(60, 4)
    lower = (number * 7919 % 64).astype(dtype) / 64
    upper = lower + (number * 104729 % 16).astype(dtype) / 64
    lower[number % 5 == 0] = -np.inf
    upper[number % 7 == 0] = np.inf
    return lower, upper


def events() -> NDArray[np.float64]:
    points = (np.arange(40 * 4).reshape(40, 4) * 31 % 97) / 97
    points[3, 1] = np.nan
    return points


def matcher() -> pm.Matcher:
    made = pm.Matcher(
        pm.Schema(price=pm.Number(), symbol=pm.Category(), volume=pm.Integer(), halted=pm.Boolean())
    )
    for key, text in FILTERS.items():
        made.subscribe(key, text)
    return made


def write_all() -> None:
    """Write the files of the present release."""
    for layout, params in LAYOUTS.items():
        for dtype in DTYPES:
            index = pm.Index.build(*boxes(dtype), ids=np.arange(60) * 3 - 5, params=params)
            index.save(DATA / f"index-{layout}-{dtype}-{pm.__version__}.pubmatch")
    matcher().save(DATA / f"matcher-{pm.__version__}.pubmatch")


INDEX_FILES = sorted(DATA.glob("index-*.pubmatch"))
MATCHER_FILES = sorted(DATA.glob("matcher-*.pubmatch"))


def test_there_is_a_file_of_every_kind() -> None:
    assert len(INDEX_FILES) >= len(LAYOUTS) * len(DTYPES)
    assert MATCHER_FILES


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("path", INDEX_FILES, ids=lambda path: path.stem)
def test_an_index_of_an_earlier_release_matches_as_ever(path: Path, mmap: bool) -> None:
    index = pm.Index.load(path, mmap=mmap)
    index.check()
    lower, upper = boxes(str(index.dtype))
    ids = np.arange(60) * 3 - 5
    expected = oracle.rows_of(oracle.contains(lower, upper, events()), ids)
    assert oracle.rows_in(index.match(events(), sort=True)) == expected
    index.insert(lower[0], upper[0])
    assert len(index) == 61
    index.check()


@pytest.mark.parametrize("path", MATCHER_FILES, ids=lambda path: path.stem)
def test_a_matcher_of_an_earlier_release_matches_as_ever(path: Path) -> None:
    loaded = pm.Matcher.load(path)
    assert [sorted(keys, key=str) for keys in loaded.match(EVENTS)] == [
        sorted(keys, key=str) for keys in FOUND
    ]
    assert {key: str(loaded.filter_of(key)) for key in loaded} == {
        key: str(pm.parse(text)) for key, text in FILTERS.items()
    }


if __name__ == "__main__":
    write_all()
