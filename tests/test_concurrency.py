"""Readers and writers at the same time: every result is that of one published state."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import oracle
import pytest
from together import run_together

import pubmatch as pm

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    Run = Callable[..., subprocess.CompletedProcess[str]]

DIMS = 4
GROUP = 60  # boxes of one insert and one delete: many leaves of the small layouts
LIVE = 5  # groups in the index between two steps
STEPS = 60
LAYOUTS = {"auto": pm.Params(), "bitmap": pm.Params(node_kernel="bitmap"), **oracle.SMALL_LAYOUTS}


def group_boxes(group: int) -> tuple[oracle.Array, oracle.Array, oracle.Array]:
    """Boxes of a group: all contain the origin, none is like another, their ids tell the group."""
    rng = np.random.default_rng(group)
    shape = (GROUP, DIMS)
    return -rng.random(shape), rng.random(shape), np.arange(GROUP) + GROUP * group


def state_seen(ids: Any) -> tuple[int, int]:
    """The state a reader saw, as (first group, groups); fails on half a group or a state that never was."""
    found = np.sort(np.asarray(ids))
    assert len(found) % GROUP == 0, f"{len(found)} ids are no whole groups"
    first, count = int(found[0]) // GROUP, len(found) // GROUP
    assert found.tolist() == list(range(first * GROUP, (first + count) * GROUP))
    # The writer inserts group n + LIVE, then deletes group n.
    assert count in (LIVE, LIVE + 1)
    return first, count


READERS: dict[str, Callable[[pm.Index], list[Any]]] = {
    "match": lambda index: list(index.match(np.zeros((5, DIMS)), order="fifo")),
    "sjf": lambda index: list(index.match(np.zeros((5, DIMS)))),
    "threads": lambda index: list(index.match(np.zeros((9, DIMS)), threads=2)),
    "stream": lambda index: [ids for _, part in index.stream(np.zeros((6, DIMS)), chunk=2) for ids in part],
    "intersecting": lambda index: list(index.intersecting(np.zeros((2, DIMS)), np.zeros((2, DIMS)))),
    "copy": lambda index: list(pm.Index.from_bytes(index.to_bytes()).match(np.zeros((1, DIMS)))),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("reader", READERS)
def test_readers_see_whole_updates(layout: str, reader: str) -> None:
    index = pm.Index(dims=DIMS, params=LAYOUTS[layout])
    for group in range(LIVE):
        index.insert(*group_boxes(group))
    finished = threading.Event()
    reads = [0, 0]

    def write() -> None:
        try:
            for step in range(STEPS):
                index.insert(*group_boxes(step + LIVE))
                assert index.delete(np.arange(GROUP) + GROUP * step) == GROUP
                # On two cores the readers would otherwise see little more than the end.
                seen = sum(reads)
                while sum(reads) < seen + 2 and not failed.is_set():
                    finished.wait(0.0005)
        finally:
            finished.set()

    failed = threading.Event()

    def read(number: int) -> None:
        latest = (0, LIVE)
        try:
            while not finished.is_set():
                rows = READERS[reader](index)
                states = {state_seen(row) for row in rows}
                assert len(states) == 1, f"one call saw several states: {states}"
                (state,) = states
                first, count = state
                assert first + count >= sum(latest), "a reader went back in time"
                assert first >= latest[0]
                latest = state
                reads[number] += 1
        except BaseException:
            failed.set()
            raise

    run_together(write, lambda: read(0), lambda: read(1))
    assert min(reads) > 0
    index.check()
    assert state_seen(index.match(np.zeros(DIMS))[0]) == (STEPS, LIVE)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_counts_and_estimates_during_updates(layout: str) -> None:
    index = pm.Index(dims=DIMS, params=LAYOUTS[layout])
    for group in range(LIVE):
        index.insert(*group_boxes(group))
    finished = threading.Event()

    def write() -> None:
        try:
            for step in range(STEPS):
                index.insert(*group_boxes(step + LIVE))
                index.delete(np.arange(GROUP) + GROUP * step)
        finally:
            finished.set()

    def read() -> None:
        while True:
            counts = index.count(np.zeros((4, DIMS)), threads=2)
            assert set(counts.tolist()) in ({LIVE * GROUP}, {(LIVE + 1) * GROUP})
            assert len(index) in (LIVE * GROUP, (LIVE + 1) * GROUP)
            assert (index.estimate(np.zeros((4, DIMS))) >= 1).all()
            index.check()
            if finished.is_set():
                return

    run_together(write, read, read)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_writers_take_turns(layout: str) -> None:
    index = pm.Index(dims=DIMS, params=LAYOUTS[layout])
    given: list[list[int]] = [[] for _ in range(4)]

    def write(number: int) -> None:
        lower, upper, _ = group_boxes(number)
        for step in range(20):
            ids = index.insert(lower[:10], upper[:10]).tolist()
            given[number] += ids
            if step % 2:
                assert index.delete(ids[:5]) == 5
                del given[number][-10:-5]

    run_together(*(lambda number=number: write(number) for number in range(4)))
    index.check()
    everything = sorted(itertools.chain.from_iterable(given))
    assert len(set(everything)) == len(everything) == 4 * (20 * 10 - 10 * 5)
    assert np.sort(index.match(np.zeros(DIMS))[0]).tolist() == everything


def test_a_refused_update_is_never_seen() -> None:
    index = pm.Index(dims=DIMS)
    for group in range(LIVE):
        index.insert(*group_boxes(group))
    finished = threading.Event()

    def write() -> None:
        try:
            for step in range(STEPS):
                lower, upper, ids = group_boxes(LIVE + step)
                lower[-1, -1], upper[-1, -1] = 1.0, 0.0
                with pytest.raises(pm.ArgumentError, match=f"row {GROUP - 1}, dimension {DIMS - 1}"):
                    index.insert(lower, upper, ids)
        finally:
            finished.set()

    def read() -> None:
        while True:
            assert state_seen(index.match(np.zeros(DIMS))[0]) == (0, LIVE)
            if finished.is_set():
                return

    run_together(write, read)


def test_an_index_dropped_while_it_is_read() -> None:
    """The last reference goes while results and a stream still lie in the index's memory."""
    index = pm.Index.build(*group_boxes(3))
    result = index.match(np.zeros((50, DIMS)))
    stream = index.stream(np.zeros((50, DIMS)), chunk=10)
    next(stream)
    del index
    assert {tuple(np.sort(row)) for row in result} == {tuple(range(3 * GROUP, 4 * GROUP))}
    assert sum(len(positions) for positions, _ in stream) == 40


FORK = """
import os, sys, threading
import numpy as np, oracle, pubmatch as pm
lower, upper = oracle.make_boxes("uniform", 2000, 4)
index = pm.Index.build(lower, upper)
points = oracle.make_points(lower, upper, 300)
expected = oracle.rows_in(index.match(points, threads=3))
twice = oracle.contains(lower[:5], upper[:5], points).sum()
assert twice > 0
for child in range(3):
    pid = os.fork()
    if pid == 0:
        threading.Timer(60, os._exit, (9,)).start()
        good = oracle.rows_in(index.match(points, threads=2)) == expected
        index.insert(lower[:5], upper[:5])
        index.check()
        good = good and int(index.count(points, threads=4).sum()) == sum(map(len, expected)) + twice
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert len(index) == 2000
    assert oracle.rows_in(index.match(points, threads=3)) == expected
print("both")
"""


def test_threads_work_on_after_a_fork(run_python: Run) -> None:
    done = run_python(FORK)
    assert (done.returncode, done.stdout) == (0, "both\n"), done.stderr
