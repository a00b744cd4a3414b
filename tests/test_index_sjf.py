"""Shortest job first: workloads, the order they give, when events are complete, and streams."""

from __future__ import annotations

import numpy as np
import oracle
import pytest

import pubmatch as pm

LAYOUTS = {**oracle.LAYOUTS, **{f"small {name}": params for name, params in oracle.SMALL_LAYOUTS.items()}}


@pytest.fixture(params=LAYOUTS)
def index(request: pytest.FixtureRequest) -> pm.Index:
    return pm.Index.build(*oracle.make_boxes("uniform", 1500, 4), params=LAYOUTS[request.param])


@pytest.fixture
def points() -> oracle.Array:
    return oracle.make_points(*oracle.make_boxes("uniform", 1500, 4), 150)


def test_every_search_starts_at_the_root(index: pm.Index, points: oracle.Array) -> None:
    assert index.estimate(points, level=1).tolist() == [1] * len(points)
    far = np.full((1, 4), 1e9)
    assert index.estimate(far, level=1).tolist() == [1]


def test_an_event_with_matches_has_a_path_on_every_level(index: pm.Index, points: oracle.Array) -> None:
    matched = index.count(points) > 0
    assert matched.any()
    assert not matched.all()
    for level in range(1, index.height + 1):
        estimate = index.estimate(points, level=level)
        assert (estimate.dtype, estimate.shape) == (np.dtype(np.int64), (len(points),))
        assert (estimate >= 0).all()
        assert (estimate[matched] >= 1).all()
    default = index.estimate(points)
    assert (default.dtype, default.shape) == (np.dtype(np.int64), (len(points),))
    assert (default >= 0).all()


@pytest.mark.parametrize("dims", [2, 3, 4])
def test_the_default_estimate_is_the_one_that_match_orders_by(dims: int) -> None:
    boxes = oracle.make_boxes("uniform", 1500, dims)
    events = oracle.make_points(*boxes, 150)
    index = pm.Index.build(*boxes)
    estimate = index.estimate(events)
    result = index.match(events, order="sjf", level="auto")
    assert (np.diff(estimate[result.order]) >= 0).all()
    if index.stats()["node_kernel"] == "compare":  # bitmap nodes have an estimate of their own at level 1
        assert estimate.tolist() == index.estimate(events, level=result.level).tolist()
    else:
        assert len(set(estimate.tolist())) > 1


def test_paths_end_in_dead_space(index: pm.Index) -> None:
    assert index.height > 1
    far = np.full((2, 4), 1e9)
    for level in range(2, index.height + 1):
        assert index.estimate(far, level=level).tolist() == [0, 0]


def test_the_lowest_level_counts_leaves() -> None:
    """Eight heaps far apart, each more than a leaf holds: the paths of an event stay in its own heap."""
    params = pm.Params(node_capacity=4, leaf_capacity=8, node_kernel="compare")
    centres = (np.arange(8)[:, None] * 100.0 + np.linspace(-1, 1, 20)).reshape(-1, 1)
    index = pm.Index.build(centres - 5, centres + 5, params=params)
    at_heaps = np.arange(8)[:, None] * 100.0
    leaves = index.estimate(at_heaps, level=index.height)
    assert index.count(at_heaps).tolist() == [20] * 8
    # 20 boxes in leaves of 8: at least 3 leaves; never more than there are boxes.
    assert ((leaves >= 3) & (leaves <= 20)).all()
    everything = pm.Index.build(np.full((160, 1), -1.0), np.full((160, 1), 1.0), params=params)
    assert everything.stats()["leaves"] >= 160 / 8
    assert everything.estimate([0.0], level=everything.height).tolist() == [everything.stats()["leaves"]]


def test_estimates_of_absent_attributes_follow_unconstrained_boxes() -> None:
    lower, upper = np.full((500, 2), -np.inf), np.full((500, 2), np.inf)
    lower[:, 0] = np.arange(500)
    upper[:, 0] = np.arange(500) + 0.5
    index = pm.Index.build(lower, upper, params=oracle.LAYOUTS["paper"])
    absent = np.array([[np.nan, 1.0], [250.25, np.nan]])
    assert index.count(absent).tolist() == [0, 1]
    assert index.estimate(absent, level=index.height)[0] == 0
    assert index.estimate(absent, level=index.height)[1] >= 1


def test_an_explicit_level_orders_by_its_path_counts(index: pm.Index, points: oracle.Array) -> None:
    for level in range(1, index.height + 1):
        result = index.match(points, order="sjf", level=level)
        assert result.level == level
        assert sorted(result.order.tolist()) == list(range(len(points)))
        estimate = index.estimate(points, level=level)[result.order]
        assert (np.diff(estimate) >= 0).all()


def test_first_come_and_root_level_keep_the_order_given(index: pm.Index, points: oracle.Array) -> None:
    assert index.match(points, order="fifo").order.tolist() == list(range(len(points)))
    assert index.match(points, order="sjf", level=1).order.tolist() == list(range(len(points)))


def test_auto_level_stays_within_the_tree(index: pm.Index, points: oracle.Array) -> None:
    for _ in range(20):
        result = index.match(points)
        assert 1 <= result.level <= index.height
        assert sorted(result.order.tolist()) == list(range(len(points)))


@pytest.mark.parametrize("order", ["fifo", "sjf"])
def test_events_complete_in_processing_order(index: pm.Index, points: oracle.Array, order: str) -> None:
    result = index.match(points, order=order)
    assert (result.response_s.dtype, result.response_s.shape) == (np.dtype(np.float64), (len(points),))
    assert (result.response_s > 0).all()
    assert (np.diff(result.response_s[result.order]) >= 0).all()
    assert result.mean_response_s == pytest.approx(result.response_s.mean())


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_process_each_event_once(index: pm.Index, points: oracle.Array, threads: int) -> None:
    result = index.match(points, threads=threads)
    assert sorted(result.order.tolist()) == list(range(len(points)))
    assert (result.response_s > 0).all()


@pytest.mark.parametrize("order", ["fifo", "sjf"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("chunk", [1, 7, 150, 10**18])
def test_a_stream_hands_out_what_match_gives(
    order: str, threads: int, chunk: int, points: oracle.Array
) -> None:
    for params in oracle.LAYOUTS.values():
        index = pm.Index.build(*oracle.make_boxes("uniform", 1500, 4), params=params)
        expected = oracle.rows_in(index.match(points))
        seen: dict[int, list[int]] = {}
        for positions, part in index.stream(points, chunk=chunk, order=order, level="auto", threads=threads):
            assert positions.dtype == np.int64
            assert 1 <= len(positions) == len(part) <= chunk
            assert not seen.keys() & set(positions.tolist())
            seen.update(zip(positions.tolist(), oracle.rows_in(part), strict=True))
        assert [seen[position] for position in range(len(points))] == expected


def test_a_stream_follows_the_order_of_its_level(index: pm.Index, points: oracle.Array) -> None:
    level = index.height
    positions = np.concatenate([positions for positions, _ in index.stream(points, chunk=8, level=level)])
    assert (np.diff(index.estimate(points, level=level)[positions]) >= 0).all()
    in_order = np.concatenate([positions for positions, _ in index.stream(points, chunk=8, order="fifo")])
    assert in_order.tolist() == list(range(len(points)))


def test_a_stream_sees_the_state_it_started_with(index: pm.Index, points: oracle.Array) -> None:
    expected = oracle.rows_in(index.match(points))
    stream = index.stream(points, chunk=10)
    positions, part = next(stream)
    seen = dict(zip(positions.tolist(), oracle.rows_in(part), strict=True))
    index.delete(np.arange(1500))
    for positions, part in stream:
        seen.update(zip(positions.tolist(), oracle.rows_in(part), strict=True))
    assert [seen[position] for position in range(len(points))] == expected


@pytest.mark.parametrize("threads", [1, 2])
def test_a_consumer_may_break_off(index: pm.Index, points: oracle.Array, threads: int) -> None:
    for positions, part in index.stream(points, chunk=3, threads=threads):
        assert len(positions) == len(part)
        break
    unused = index.stream(points, chunk=3, threads=threads)
    del unused
    begun = index.stream(points, chunk=3, threads=threads)
    next(begun)
    begun.close()
    with pytest.raises(StopIteration):
        next(begun)
    assert oracle.rows_in(index.match(points)) == oracle.rows_in(index.match(points, order="fifo"))


def test_the_tuner_of_the_index_learns_from_its_batches(index: pm.Index, points: oracle.Array) -> None:
    before = index.tuner.state(64)
    assert (before.stable, before.round, any(before.sums)) == (False, 0, False)
    for _ in range(3):
        index.match(points[:64])
    assert any(total > 0 for total in index.tuner.state(64).sums)
    assert 1 <= index.tuner.state(64).level <= index.height
    index.match(points, level=1)
    index.match(points, order="fifo")
    assert not any(index.tuner.state(len(points)).sums), "only level='auto' is tuned"


def test_updates_make_a_stable_tuner_look_again() -> None:
    tuner = pm.LevelTuner(threshold=10, loops=2)
    for _ in range(1000):
        if tuner.state(8).stable:
            break
        level = tuner.next_level(8, 5)
        assert 1 <= level <= 5
        tuner.record(8, level, abs(level - 2) + 1.0)
    assert tuner.state(8).stable
    assert (tuner.state(8).level, tuner.next_level(8, 5)) == (2, 2)
    tuner.updated(9)
    assert (tuner.state(8).stable, tuner.state(8).updates) == (True, 9)
    tuner.updated(1)
    assert not tuner.state(8).stable


def test_inserts_and_deletes_reach_the_tuner() -> None:
    index = pm.Index.build(*oracle.make_boxes("uniform", 1500, 4), params=oracle.LAYOUTS["paper"])
    tuner = index.tuner
    for _ in range(10_000):
        tuner.record(8, tuner.next_level(8, index.height), 1.0)
    assert tuner.state(8).stable
    index.insert(np.zeros((30, 4)), np.ones((30, 4)))
    index.delete(np.arange(5))
    index.delete(np.arange(5))
    assert index.tuner.state(8).updates == 35
