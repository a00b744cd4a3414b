"""The benchmark workloads: the same numbers for the same names and seeds, with the stated statistics."""

from __future__ import annotations

import numpy as np
import pytest

from pubmatch_bench.peers.numpy_peer import NumpyPeer
from pubmatch_bench.workloads import SPECS, Workload, make, spec_of

NAMES = list(SPECS)


def constrained(workload: Workload) -> np.ndarray:
    """Which sides are bounded; a box bounds both or neither."""
    bounded = np.isfinite(workload.lower)
    assert np.array_equal(bounded, np.isfinite(workload.upper))
    return bounded


def test_sizes_and_dimensions_are_those_of_the_design():
    assert {name: (spec.dims, spec.size) for name, spec in SPECS.items()} == {
        "W1": (12, 1_500_000),
        "W2": (20, 1_000_000),
        "W3": (2, 1_000_000),
        "W4": (12, 1_500_000),
        "W5": (12, 1_500_000),
        "W6": (20, 1_000_000),
        "W7": (20, 1_000_000),
    }


@pytest.mark.parametrize("name", NAMES)
def test_boxes_and_events_are_well_formed(name):
    workload = make(name, scale=0.002)
    events = workload.events(100, seed=3)
    assert len(workload) == round(SPECS[name].size * 0.002)
    assert workload.lower.shape == workload.upper.shape == (len(workload), workload.dims)
    assert workload.lower.dtype == workload.upper.dtype == events.dtype == np.float32
    assert (workload.lower <= workload.upper).all()
    assert events.shape == (100, workload.dims)
    assert np.isfinite(events).all()


@pytest.mark.parametrize("name", NAMES)
def test_equal_seeds_make_equal_numbers(name):
    first, again, other = make(name, 0.001), make(name.lower(), 0.001), make(name, 0.001, seed=1)
    assert np.array_equal(first.lower, again.lower)
    assert np.array_equal(first.upper, again.upper)
    assert not np.array_equal(first.lower, other.lower)
    assert np.array_equal(first.events(50, 7), other.events(50, 7))
    assert not np.array_equal(first.events(50, 7), first.events(50, 8))


@pytest.mark.parametrize("name", NAMES)
def test_events_do_not_depend_on_the_scale(name):
    assert np.array_equal(make(name, 0.001).events(20, 5), make(name, 0.002).events(20, 5))


def test_events_and_boxes_of_one_seed_are_different_draws():
    workload = make("W1", 0.0001, seed=4)
    events = workload.events(len(workload), seed=4)
    assert not np.isin(events, workload.lower).any()
    assert not np.isin(events, workload.upper).any()


def test_fresh_boxes_are_new_ones_of_the_same_kind():
    workload = make("W6", 0.001)
    lower, upper = workload.fresh_boxes(50, seed=1)
    assert lower.shape == upper.shape == (50, 20)
    assert (np.isfinite(lower).sum(axis=1) == 10).all()
    assert not np.array_equal(lower, workload.lower[:50])
    with pytest.raises(ValueError, match="seed 0"):
        workload.fresh_boxes(50, seed=0)


@pytest.mark.parametrize(
    ("name", "scale", "events"), [("W1", 0.1, 1000), ("W2", 0.01, 200), ("W3", 0.05, 1000)]
)
def test_matches_per_event(name, scale, events):
    assert measured_matches(name, scale, events) == pytest.approx(SPECS[name].matches_per_event, rel=0.15)


@pytest.mark.parametrize(
    ("name", "scale", "events"), [("W5", 0.05, 500), ("W6", 0.02, 1000), ("W7", 0.004, 1000)]
)
def test_matches_per_event_where_they_vary_much(name, scale, events):
    assert measured_matches(name, scale, events) == pytest.approx(SPECS[name].matches_per_event, rel=0.25)


def measured_matches(name, scale, events):
    """Mean matches per event, brought to scale 1."""
    workload, scan = make(name, scale), NumpyPeer()
    scan.build(workload.lower, workload.upper)
    found = scan.match(workload.events(events, seed=11))
    return sum(map(len, found)) / events / scale


def test_w2_constrains_two_to_five_attributes_the_popular_ones_more_often():
    bounded = constrained(make("W2", 0.02))
    counts = np.bincount(bounded.sum(axis=1), minlength=6)
    assert counts[:2].sum() == 0
    assert len(counts) == 6
    assert counts[2:] / len(bounded) == pytest.approx([0.25] * 4, abs=0.02)
    popularity = bounded.mean(axis=0)
    assert popularity[0] > 2 * popularity[4] > 4 * popularity[19] > 0


def test_w3_has_small_fences_around_clusters():
    workload = make("W3", 0.02)
    sides = workload.upper - workload.lower
    assert sides.min() > 0.00099
    assert sides.max() < 0.0101
    cells, _, _ = np.histogram2d(*workload.events(20_000, 1).T, bins=20, range=[[0, 1], [0, 1]])
    assert cells.max() > 4 * cells.mean()


def test_w4_widths_lie_inside_the_unit_interval():
    workload = make("W4", 0.01)
    widths = workload.upper - workload.lower
    assert widths.min() == pytest.approx(0.1, abs=0.001)
    assert widths.max() == pytest.approx(0.3, abs=0.001)
    assert workload.lower.min() >= 0
    assert workload.upper.max() <= 1
    # The mean of independent widths to the 12th power: matches are too rare to be counted.
    assert widths.mean() ** 12 * SPECS["W4"].size == pytest.approx(SPECS["W4"].matches_per_event, rel=0.1)


def test_w5_is_skewed_and_correlated():
    workload, scan = make("W5", 0.02), NumpyPeer()
    events = workload.events(20_000, 1)
    centred = events.astype(np.float64) - events.mean(axis=0)
    skewness = (centred**3).mean(axis=0) / centred.std(axis=0) ** 3
    assert skewness.max() > 1
    # Events whose attributes are drawn apart fall between the groups, where few boxes are.
    apart = np.random.default_rng(0).permuted(events, axis=0)
    scan.build(workload.lower, workload.upper)
    together, scattered = (sum(map(len, scan.match(points[:300]))) for points in (events, apart))
    assert together > 4 * scattered


@pytest.mark.parametrize(("name", "width"), [("W6", 0.4), ("W7", 0.7)])
def test_w6_and_w7_constrain_ten_attributes_by_one_width(name, width):
    workload = make(name, 0.005)
    bounded = constrained(workload)
    assert (bounded.sum(axis=1) == 10).all()
    assert bounded.mean(axis=0) == pytest.approx([0.5] * 20, abs=0.05)
    assert (workload.upper - workload.lower)[bounded] == pytest.approx(width, abs=1e-6)
    assert workload.lower[bounded].min() >= 0
    assert workload.upper[bounded].max() <= 1 + 1e-6


def test_bad_names_and_scales():
    with pytest.raises(ValueError, match="unknown workload 'W8'; known are W1"):
        spec_of("W8")
    for scale in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="scale must be positive"):
            make("W1", scale)
