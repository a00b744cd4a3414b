"""Walks and traces: where clients are allowed to be, and what no client could have walked."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubmatch import ArgumentTypeError, PubmatchError
from pubmatch.mobility.topology import balanced_tree
from pubmatch.mobility.trace import Move, Trace, TraceError, read_trace
from pubmatch.mobility.walks import Range, checked_speed, persistent_walk, proxies_of, random_walk, roamed

TREE = balanced_tree()


@given(
    st.sampled_from([persistent_walk, random_walk]),
    st.integers(0, 63),
    st.none() | st.integers(0, 70),
    st.sampled_from([5, 50, 100]),
    st.integers(0, 10**6),
)
def test_walks_go_to_adjacent_cells_of_their_range(walk, home, overshoot, speed, seed) -> None:
    line = Range(0, 63)
    within = line if overshoot is None else Range.around(line, home, overshoot)
    steps = list(itertools.islice(walk(random.Random(seed), within, home, speed), 200))
    period = 0.5 / speed * 3600
    assert 0 <= steps[0][0] < period
    for a, b in itertools.pairwise([home, *(cell for _, cell in steps)]):
        assert abs(a - b) == 1
        assert within.low <= b <= within.high
    gaps = [after - before for (before, _), (after, _) in itertools.pairwise(steps)]
    assert gaps == pytest.approx([period] * 199)


def test_a_persistent_walk_turns_only_at_the_ends() -> None:
    steps = list(itertools.islice(persistent_walk(random.Random(1), Range(0, 63), 30, 50), 500))
    cells = [cell for _, cell in steps]
    turns = [b for a, b, c in zip(cells, cells[1:], cells[2:], strict=False) if c == a]
    assert set(turns) == {0, 63}
    # Each boundary is passed equally often in the long run, whatever the start.
    passed = [min(a, b) for a, b in itertools.pairwise(cells[: 2 * 63 + 1])]
    assert {passed.count(boundary) for boundary in range(63)} == {2}


def test_one_cell_leaves_nowhere_to_go() -> None:
    for walk in (persistent_walk, random_walk):
        assert list(walk(random.Random(1), Range(3, 3), 3, 50)) == []


def test_phases_are_spread() -> None:
    firsts = [
        next(persistent_walk(random.Random(f"1 walk {each}"), Range(0, 63), 30, 50))[0] for each in range(400)
    ]
    counts = [sum(low <= first < low + 9 for first in firsts) for low in (0, 9, 18, 27)]
    assert min(counts) > 70


def test_roaming_happens_before_the_beginning() -> None:
    whole = list(itertools.islice(persistent_walk(random.Random(3), Range(0, 63), 5, 50), 60))
    walk = roamed(persistent_walk(random.Random(3), Range(0, 63), 5, 50), TREE.cells, 5, 600)
    earlier = [cell for when, cell in whole if when <= 600]
    assert walk.first == TREE.cells[earlier[-1]]
    assert walk.home == TREE.cells[5]
    when, broker = next(walk.moves)
    assert when == pytest.approx(whole[len(earlier)][0] - 600)
    assert broker == TREE.cells[whole[len(earlier)][1]]


@given(st.integers(1, 70), st.data())
def test_proxies_contain_home_and_lie_on_the_line(cells: int, data: st.DataObject) -> None:
    home = data.draw(st.integers(0, cells - 1))
    proxies = proxies_of(cells, home)
    assert home in proxies
    assert len(proxies) == min(5, cells)
    assert proxies[0] >= 0
    assert proxies[-1] < cells


@pytest.mark.parametrize("speed", [0, -3, float("nan"), float("inf"), 600, 10_000])
def test_impossible_speeds(speed: float) -> None:
    with pytest.raises(ValueError, match="speed_kmh must"):
        checked_speed(speed, 3.0)


TEXT = """# a taxi and a bus
time_s,publisher,broker
0,taxi,21

0.5,bus,30
40,taxi,22
80,taxi,
90,bus,31
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "trace.csv"


def test_a_trace_is_read_and_written(file: Path) -> None:
    file.write_text(TEXT)
    trace = read_trace(file)
    assert trace.publishers == ("taxi", "bus")
    assert trace.duration_s == 90
    taxi, bus = trace.walks(TREE, 3.0)
    assert (taxi.first, list(taxi.moves)) == (21, [(40.0, 22), (80.0, None)])
    assert (bus.first, list(bus.moves)) == (None, [(0.5, 30), (90.0, 31)])
    trace.write(file)
    assert read_trace(file) == trace
    assert trace != Trace([Move(0.0, "taxi", "21")])


def test_times_are_plain_floats(file: Path) -> None:
    trace = Trace([Move(np.float32(0), "taxi", "21"), Move(np.int64(40), "taxi", "22")])
    assert [type(move.time_s) for move in trace] == [float, float]
    trace.write(file)
    assert read_trace(file) == trace
    with pytest.raises(ArgumentTypeError, match="time_s must be a number, got 'soon'"):
        Move("soon", "taxi", "21")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("x,taxi,22", "line 9: time_s must be a number, got 'x'"),
        ("nan,taxi,22", "line 9: time_s must be finite"),
        ("-1,bus,22", "line 9: time_s must be finite and not negative"),
        ("80,bus,22", "line 9: times must ascend, got 80 after 90"),
        ("99,bus", "line 9: a row has 3 fields, got 2"),
        ("99,,22", "line 9: publisher must not be empty"),
        ("99,bus,31", "line 9: bus moves to broker 31, where it already is"),
        ("99,taxi,31", "line 9: taxi cannot leave or return"),
        ("99,tram,", "line 9: tram cannot leave or return"),
        ('99,"bus,31', "line 9: "),
    ],
)
def test_malformed_lines_are_named(file: Path, line: str, problem: str) -> None:
    file.write_text(TEXT + line + "\n")
    with pytest.raises(TraceError, match=problem) as caught:
        read_trace(file)
    assert isinstance(caught.value, PubmatchError)
    assert str(file) in str(caught.value)


def test_moves_that_the_network_forbids_are_named(file: Path) -> None:
    file.write_text(TEXT + "92,bus,32\n")
    with pytest.raises(ValueError, match="line 9: bus is on its way until 93, got a move at 92"):
        read_trace(file).walks(TREE, 3.0)
    file.write_text(TEXT + "99,bus,850\n")
    with pytest.raises(ValueError, match="line 9: unknown broker '850'"):
        read_trace(file).walks(TREE, 3.0)


def test_files_that_are_no_traces(file: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_trace(file)
    with pytest.raises(ArgumentTypeError, match="path must be a path, got int"):
        read_trace(5)  # type: ignore[arg-type]
    for content, problem in (
        (b"", "at least one row"),
        (b"time,who\n", "header must be"),
        (b"\xff\xfe\x00", "not UTF-8"),
    ):
        file.write_bytes(content)
        with pytest.raises(TraceError, match=problem):
            read_trace(file)
