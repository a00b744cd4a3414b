"""Any sequence of inserts, deletes, matches, saves and refusals agrees with a dictionary."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path

import numpy as np
import oracle
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import pubmatch as pm

pytestmark = pytest.mark.oracle

DIMS = 3
# Few values: bounds coincide, boxes touch, repeat and have no width.
VALUES = st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, np.inf])
SIDES = st.lists(VALUES, min_size=DIMS, max_size=DIMS)
BOXES = st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=12)
POINTS = st.lists(st.lists(VALUES | st.just(np.nan), min_size=DIMS, max_size=DIMS), min_size=1, max_size=4)


class IndexMachine(RuleBasedStateMachine):
    """The index under test, beside a dictionary from id to box."""

    params = pm.Params()
    dtype = "float64"

    def __init__(self) -> None:
        super().__init__()
        self.model: dict[int, tuple[list[float], list[float]]] = {}

    @initialize(boxes=st.just([]) | BOXES)
    def start(self, boxes: list[tuple[list[float], list[float]]]) -> None:
        lower, upper = self._arrays(boxes)
        self.index = pm.Index.build(lower, upper, dtype=self.dtype, params=self.params)
        self._remember(range(len(boxes)), lower, upper)

    @rule(boxes=BOXES)
    def insert_with_default_ids(self, boxes: list[tuple[list[float], list[float]]]) -> None:
        lower, upper = self._arrays(boxes)
        ids = self.index.insert(lower, upper).tolist()
        assert len(set(ids)) == len(boxes)
        assert not self.model.keys() & set(ids)
        assert min(ids) >= 0
        self._remember(ids, lower, upper)

    @rule(boxes=BOXES, first=st.integers(-20, 60))
    def insert_with_own_ids(self, boxes: list[tuple[list[float], list[float]]], first: int) -> None:
        lower, upper = self._arrays(boxes)
        ids = list(range(first, first + len(boxes)))
        if self.model.keys() & set(ids):
            with pytest.raises(pm.ArgumentError):
                self.index.insert(lower, upper, ids)
        else:
            assert self.index.insert(lower, upper, ids).tolist() == ids
            self._remember(ids, lower, upper)

    @rule(boxes=BOXES)
    def insert_with_one_bad_row(self, boxes: list[tuple[list[float], list[float]]]) -> None:
        lower, upper = self._arrays(boxes)
        lower[-1, 1], upper[-1, 1] = 3.0, 1.0
        with pytest.raises(pm.ArgumentError, match=f"row {len(boxes) - 1}, dimension 1"):
            self.index.insert(lower, upper)

    @rule(first=st.integers(-20, 60), count=st.integers(1, 25), step=st.integers(1, 4))
    def delete(self, first: int, count: int, step: int) -> None:
        ids = range(first, first + count * step, step)
        assert self.index.delete(ids) == len(self.model.keys() & set(ids))
        for gone in ids:
            self.model.pop(gone, None)

    @rule(
        points=POINTS,
        order=st.sampled_from(["fifo", "sjf"]),
        depth=st.floats(0, 1),
        threads=st.integers(1, 2),
    )
    def match(self, points: list[list[float]], order: str, depth: float, threads: int) -> None:
        events = np.array(points)
        level = 1 + round(depth * (self.index.height - 1))
        result = self.index.match(events, order=order, level=level, threads=threads)
        lower, upper = self._arrays(list(self.model.values()))
        expected = oracle.rows_of(oracle.contains(lower, upper, events), np.array(list(self.model), np.int64))
        assert oracle.rows_in(result) == expected

    @rule(mmap=st.booleans(), verify=st.booleans())
    def save_and_load(self, mmap: bool, verify: bool) -> None:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "index"
            self.index.save(path)
            self.index = pm.Index.load(path, mmap=mmap, verify=verify)

    @rule()
    def pickle_and_back(self) -> None:
        self.index = pickle.loads(pickle.dumps(self.index))

    @invariant()
    def sound(self) -> None:
        if hasattr(self, "index"):
            self.index.check()
            assert len(self.index) == len(self.model)
            assert self.index.params == self.params

    def _arrays(self, boxes: list[tuple[list[float], list[float]]]) -> tuple[oracle.Array, oracle.Array]:
        sides = np.array(boxes, dtype=self.dtype).reshape(len(boxes), 2, DIMS)
        return sides.min(1), sides.max(1)

    def _remember(self, ids: range | list[int], lower: oracle.Array, upper: oracle.Array) -> None:
        self.model.update(zip(ids, zip(lower.tolist(), upper.tolist(), strict=True), strict=True))


@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize("layout", oracle.SMALL_LAYOUTS)
def test_index_agrees_with_a_dictionary(layout: str, dtype: str) -> None:
    class Machine(IndexMachine):
        params = oracle.SMALL_LAYOUTS[layout]

    Machine.dtype = dtype
    run = Machine.TestCase
    run.settings = settings(max_examples=80, stateful_step_count=30)
    run("runTest").runTest()
