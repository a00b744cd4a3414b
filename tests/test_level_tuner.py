"""The self-tuned Level (figure 6) from Python: synthetic response curves instead of clocks."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import pubmatch as pm

CONCAVE = (10.0, 8.0, 6.0, 5.0, 5.5, 7.0, 9.0)


def run(
    tuner: pm.LevelTuner,
    curve: Sequence[float],
    batches: int,
    size: int = 128,
    noise: float = 0.0,
    seed: int = 1,
) -> list[int]:
    """The levels of so many batches, each told the time the curve gives for its level."""
    factors = 1.0 + noise * np.random.default_rng(seed).uniform(-1.0, 1.0, batches)
    levels = []
    for factor in factors:
        level = tuner.next_level(size, len(curve))
        tuner.record(size, level, curve[level - 1] * float(factor))
        levels.append(level)
    return levels


def longest_phase(tuner: pm.LevelTuner, height: int) -> int:
    """The batches within which an unstable phase must end."""
    return (height + 32) * 3 * tuner.loops


def test_defaults_and_names() -> None:
    tuner = pm.LevelTuner()
    assert (tuner.threshold, tuner.loops, tuner.initial_level) == (100_000, 64, 0)
    assert repr(tuner) == "LevelTuner(threshold=100000, loops=64)"
    assert repr(pm.LevelTuner(initial_level=2)).endswith("loops=64, initial_level=2)")
    level = tuner.next_level(batch_size=8, height=3)
    tuner.record(batch_size=8, level=level, mean_response_s=0.5)
    tuner.updated(count=3)
    assert tuner.state(batch_size=8).level == 3


def test_state_of_an_unseen_size() -> None:
    state = pm.LevelTuner().state(77)
    assert (state.stable, state.level, state.updates, state.round) == (False, 0, 0, 0)
    assert state.sums == (0.0, 0.0, 0.0)
    assert repr(state) == "TunerState(stable=False, level=0, updates=0, round=0, sums=(0.0, 0.0, 0.0))"


@pytest.mark.parametrize("name", ["stable", "level", "updates", "round", "sums"])
def test_state_is_read_only(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(pm.LevelTuner().state(8), name, 1)


def test_one_round_is_loops_batches_of_each_level_in_turn() -> None:
    tuner = pm.LevelTuner(loops=2, initial_level=4)
    assert run(tuner, CONCAVE, 5) == [3, 4, 5, 3, 4]
    assert tuner.state(128).sums == (10.0, 12.0, 5.5), "CTime, UTime, LTime"
    assert run(tuner, CONCAVE, 4) == [5, 4, 4, 4]
    state = tuner.state(128)
    assert (state.stable, state.level, state.round, state.sums) == (True, 4, 1, (10.0, 12.0, 11.0))


@pytest.mark.parametrize("start", range(1, 8))
def test_concave(start: int) -> None:
    tuner = pm.LevelTuner(loops=4, initial_level=start)
    run(tuner, CONCAVE, 7 * 3 * 4)
    assert (tuner.state(128).stable, tuner.state(128).level) == (True, 4)
    assert set(run(tuner, CONCAVE, 50)) == {4}


@pytest.mark.parametrize(("curve", "best"), [((1.0, 2.0, 3.0), 1), ((3.0, 2.0, 1.0), 3), ((1.0,), 1)])
def test_edges(curve: tuple[float, ...], best: int) -> None:
    tuner = pm.LevelTuner(loops=2)
    levels = run(tuner, curve, 60)
    assert set(levels) <= set(range(1, len(curve) + 1))
    assert (tuner.state(128).stable, levels[-1]) == (True, best)


def test_flat_settles_at_once() -> None:
    tuner = pm.LevelTuner(loops=8, initial_level=3)
    run(tuner, (1.0,) * 5, 3 * 8)
    assert (tuner.state(128).stable, tuner.state(128).level) == (True, 3)


@pytest.mark.parametrize(
    ("curve", "best"), [((2.0, 3.0, 9.0, 4.0, 5.0), 1), ((2.0, 5.0, 9.0, 4.0, 3.0), 5)], ids=["up", "down"]
)
def test_worse_than_both_neighbours(curve: tuple[float, ...], best: int) -> None:
    tuner = pm.LevelTuner(loops=4, initial_level=3)
    run(tuner, curve, 5 * 3 * 4)
    assert (tuner.state(128).stable, tuner.state(128).level) == (True, best)


@pytest.mark.parametrize("size", [2, 8, 32, 128])
@pytest.mark.parametrize("noise", [0.1, 0.5])
def test_noise_at_64_loops(size: int, noise: float) -> None:
    tuner = pm.LevelTuner()
    run(tuner, CONCAVE, longest_phase(tuner, 7), size=size, noise=noise)
    state = tuner.state(size)
    assert state.stable
    assert CONCAVE[state.level - 1] <= 1.11 * min(CONCAVE)


@pytest.mark.parametrize("loops", [1, 2, 4])
@pytest.mark.parametrize("curve", [CONCAVE, (1.0,) * 7, (9.0, 1.0) * 4], ids=["concave", "flat", "jagged"])
def test_any_noise_settles(loops: int, curve: tuple[float, ...]) -> None:
    for seed in range(20):
        tuner = pm.LevelTuner(loops=loops)
        run(tuner, curve, longest_phase(tuner, len(curve)), size=2, noise=1.0, seed=seed)
        assert tuner.state(2).stable


def test_drift_between_phases() -> None:
    tuner = pm.LevelTuner(threshold=1000, loops=8)
    for best in (5, 6, 4, 1, 7, 2):
        curve = [1.0 + 0.1 * abs(level - best) for level in range(1, 8)]
        run(tuner, curve, longest_phase(tuner, 7), noise=0.02)
        assert (tuner.state(128).stable, tuner.state(128).level) == (True, best)
        tuner.updated(999)
        assert (tuner.state(128).stable, tuner.state(128).updates) == (True, 999)
        tuner.updated(1)
        assert not tuner.state(128).stable


def test_where_ordering_cannot_help_it_costs_little() -> None:
    tuner = pm.LevelTuner()
    curve = (1.0, 1.03, 1.08)
    levels = run(tuner, curve, 30_000, noise=0.1)
    assert np.mean([curve[level - 1] for level in levels]) <= 1.03
    assert levels[-1] == 1


def test_sizes_are_tuned_apart_and_grouped_above_16() -> None:
    tuner = pm.LevelTuner(loops=2)
    run(tuner, (3.0, 2.0, 1.0), 50, size=128)
    run(tuner, (1.0, 2.0, 3.0), 50, size=2)
    assert (tuner.state(128).level, tuner.state(2).level) == (3, 1)
    assert (tuner.state(113).level, tuner.state(112).level, tuner.state(3).level) == (3, 0, 0)


def test_height_changes() -> None:
    tuner = pm.LevelTuner(loops=2)
    run(tuner, (3.0, 1.0, 2.0, 3.0), 50)
    assert tuner.next_level(128, 1) == 1
    assert tuner.state(128).stable
    assert tuner.next_level(128, 5) in (1, 2, 3)
    assert not tuner.state(128).stable


def test_levels_forced_by_the_user_are_ignored() -> None:
    tuner = pm.LevelTuner(loops=2, initial_level=4)
    tuner.next_level(8, 7)
    tuner.record(8, 1, 100.0)
    tuner.record(8, 7, 100.0)
    assert tuner.state(8).sums == (0.0, 0.0, 0.0)


def test_same_calls_same_trace_and_pickle_goes_on() -> None:
    one, other = pm.LevelTuner(loops=4), pm.LevelTuner(loops=4)
    assert run(one, CONCAVE, 40, noise=0.5) == run(other, CONCAVE, 40, noise=0.5)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert type(pickle.loads(pickle.dumps(one, protocol))) is pm.LevelTuner
    copy = pickle.loads(pickle.dumps(one))
    assert repr(copy.state(128)) == repr(one.state(128))
    assert run(copy, CONCAVE, 2000, noise=0.5, seed=2) == run(one, CONCAVE, 2000, noise=0.5, seed=2)


def test_damaged_pickles_are_refused() -> None:
    tuner = pm.LevelTuner(loops=4)
    run(tuner, CONCAVE, 40)
    data = tuner.__getstate__()
    for length in range(0, len(data), 5):
        with pytest.raises(ValueError, match="malformed tuner state"):
            pm.LevelTuner.__new__(pm.LevelTuner).__setstate__(data[:length])


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"threshold": 0}, "threshold must be at least 1, got 0"),
        ({"loops": 0}, "loops must be at least 1, got 0"),
        ({"initial_level": -1}, "initial_level must be at least 0, got -1"),
        ({"threshold": 2**63}, f"threshold must be at most {2**63 - 1}, got {2**63}"),
        ({"loops": 2**70}, f"loops must be at most {2**31 - 1}, got {2**70}"),
        (
            {"initial_level": 10**5000},
            f"initial_level must be at most {2**31 - 1}, got an integer of 16610 b",
        ),
    ],
)
def test_impossible_settings(arguments: dict[str, int], rule: str) -> None:
    with pytest.raises(pm.ArgumentError, match=rule):
        pm.LevelTuner(**arguments)


@pytest.mark.parametrize("name", ["threshold", "loops", "initial_level"])
@pytest.mark.parametrize("value", ["a", 1.5, None, True])
def test_settings_of_another_type(name: str, value: Any) -> None:
    with pytest.raises(pm.ArgumentTypeError, match=f"{name} must be an integer, got {value!r}"):
        pm.LevelTuner(**{name: value})


def test_the_tuner_of_an_index_is_one() -> None:
    index = pm.Index.build(np.zeros((9, 1)), np.ones((9, 1)))
    assert isinstance(index.tuner, pm.LevelTuner)
    with pytest.raises(pm.ArgumentTypeError, match=r"batch_size must be an integer, got 1\.5"):
        index.tuner.next_level(1.5, 3)  # type: ignore[arg-type]
    index.tuner.next_level(np.int64(8), 1)
    assert index.tuner.state(8).level == 1


def test_impossible_calls_change_nothing() -> None:
    tuner = pm.LevelTuner()
    tuner.next_level(8, 3)
    before = repr(tuner.state(8))
    with pytest.raises(pm.ArgumentError, match="batch_size must be at least 1, got 0"):
        tuner.next_level(0, 3)
    with pytest.raises(pm.ArgumentError, match="height must be at least 1, got 0"):
        tuner.next_level(8, 0)
    with pytest.raises(pm.ArgumentError, match=f"height must be at most {2**31 - 1}"):
        tuner.next_level(8, 2**31)
    with pytest.raises(pm.ArgumentError, match="level must be at least 1, got -1"):
        tuner.record(8, -1, 1.0)
    for time in (-1.0, float("nan"), float("inf")):
        with pytest.raises(pm.ArgumentError, match="mean_response_s must be between"):
            tuner.record(8, 3, time)
    with pytest.raises(pm.ArgumentError, match="mean_response_s must fit a float64, got an integer of 1329"):
        tuner.record(8, 3, 10**400)
    with pytest.raises(pm.ArgumentError, match="count must be at least 0, got -1"):
        tuner.updated(-1)
    assert repr(tuner.state(8)) == before


@pytest.mark.parametrize(
    ("method", "arguments", "rule"),
    [
        ("next_level", (1.5, 3), r"batch_size must be an integer, got 1\.5"),
        ("next_level", (8, "3"), "height must be an integer, got '3'"),
        ("record", (128, 1, "x"), "mean_response_s must be a number, got 'x'"),
        ("record", (128, 1, True), "mean_response_s must be a number, got True"),
        ("record", (128, None, 1.0), "level must be an integer, got None"),
        ("updated", (1.5,), r"count must be an integer, got 1\.5"),
        ("state", ("x",), "batch_size must be an integer, got 'x'"),
        ("__setstate__", ("x",), "state must be bytes, got str"),
    ],
)
def test_calls_with_another_type_change_nothing(method: str, arguments: tuple[Any, ...], rule: str) -> None:
    tuner = pm.LevelTuner()
    tuner.next_level(8, 3)
    before = repr(tuner.state(8))
    with pytest.raises(pm.ArgumentTypeError, match=rule):
        getattr(tuner, method)(*arguments)
    assert repr(tuner.state(8)) == before


def test_shared_by_threads() -> None:
    tuner = pm.LevelTuner(loops=4)
    threads = [threading.Thread(target=run, args=(tuner, CONCAVE, 500)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tuner.state(128).stable, tuner.state(128).level) == (True, 4)
