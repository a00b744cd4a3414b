"""`bench sjf` and `bench tuner` at a tiny size: whole records, honest statistics, wrong answers told."""

from __future__ import annotations

import itertools
import json
from functools import partial

import numpy as np
import pytest

import pubmatch as pm
from pubmatch.cli import main
from pubmatch.matches import Matches, _Restored
from pubmatch_bench import paired, sjf, tuner
from pubmatch_bench.options import EVENT_SEED, Options
from pubmatch_bench.tables import TABLES, differences
from pubmatch_bench.workloads import make

COMPARISON = {"ratio", "standard_error", "low", "high", "median", "pairs", "clipped"}
VERDICT = {"target", "place", "ratio", "low", "high", "at_most", "met", "certain"}
SMALL = 0.002


@pytest.fixture
def bench(tmp_path, capsys):
    """Run `pubmatch bench`, expect an exit code, and return (record, stdout, stderr)."""

    def run(*arguments, expect=0):
        file = tmp_path / "record.json"
        code = main(["bench", *arguments, "--json", str(file)])
        printed = capsys.readouterr()
        assert code == expect, printed.err
        return json.loads(file.read_text()), printed.out, printed.err

    return run


@pytest.fixture
def planted():
    """A small workload and its index."""
    workload = make("W3", SMALL)
    return workload, pm.Index.build(workload.lower, workload.upper)


def assert_comparison(comparison, pairs):
    assert comparison.keys() == COMPARISON
    assert comparison["low"] <= comparison["ratio"] <= comparison["high"]
    assert comparison["pairs"] == pairs


def test_sjf(bench):
    record, out, _ = bench("sjf", "--workloads", "W2,W4", "--scale", str(SMALL), "--rounds", "2")
    assert record["name"] == "sjf"
    assert record["parameters"]["settling_cap"] == tuner.SETTLING_CAP
    assert record["parameters"]["batches"] == [2, 8, 32, 128]
    assert set(record["seeds"]) == {"subscriptions", "settling events", "events"}
    assert [result["workload"] for result in record["results"]] == ["W2", "W4"]
    for result in record["results"]:
        assert [row["batch"] for row in result["batches"]] == [2, 8, 32, 128]
        for row in result["batches"]:
            assert row["equal"] is True
            assert row["settled"] is True
            assert 0 < row["settling_batches"] <= tuner.SETTLING_CAP
            assert 1 <= row["level"] <= result["height"]
            assert 1 <= row["events_together"] <= row["batch"]
            for what in ("response", "ideal_response", "call"):
                assert_comparison(row[what], pairs=2 * 6144 // row["batch"])
            for order, time in itertools.product(("fifo", "sjf"), ("response", "call")):
                assert row[f"{order}_{time}_ms"].keys() == {"median", "q1", "q3", "min", "max", "mean"}
    assert len(record["targets"]) == 3
    assert record["targets"][0]["place"] == "W4 128"
    assert all(row.keys() == VERDICT for row in record["targets"])
    assert "pubmatch bench match" in " ".join(out.split())
    assert "Targets" in out


def test_rounds_beyond_the_ideal_ones(monkeypatch):
    monkeypatch.setattr(sjf, "BATCHES", (128,))
    monkeypatch.setattr(sjf, "IDEAL_ROUNDS", 2)
    monkeypatch.setattr(paired, "PRECISION", 0.0)
    record = sjf.run(Options(("W3",), (), rounds=3, scale=SMALL), lambda what, done: None)
    (row,) = record["results"][0]["batches"]
    assert row["rounds"] == 3
    assert (row["response"]["pairs"], row["ideal_response"]["pairs"]) == (3 * 48, 2 * 48)
    assert row["equal"] is True


def test_rounds_end_when_precise(monkeypatch):
    monkeypatch.setattr(sjf, "BATCHES", (128,))
    monkeypatch.setattr(sjf, "FEWEST_ROUNDS", 2)
    monkeypatch.setattr(paired, "PRECISION", float("inf"))
    record = sjf.run(Options(("W3",), (), rounds=9, scale=SMALL), lambda what, done: None)
    assert record["results"][0]["batches"][0]["rounds"] == 2


def test_an_order_that_changes_answers_fails_the_run(bench, monkeypatch):
    honest = pm.Index.match

    def forgetful(self, points, order="sjf", **options):
        found = honest(self, points, order=order, **options)
        if order == "fifo" or len(found.ids) == 0:
            return found
        offsets = np.minimum(found.offsets, len(found.ids) - 1)
        return Matches(_Restored(offsets, found.ids[:-1], found.order, found.response_s, found.level))

    monkeypatch.setattr(pm.Index, "match", forgetful)
    monkeypatch.setattr(sjf, "BATCHES", (32, 128))
    arguments = ("--workloads", "W3", "--scale", str(SMALL), "--rounds", "2")
    record, out, err = bench("sjf", *arguments, expect=1)
    assert err == "pubmatch: results differ: W3 32, W3 128\n"
    assert [row["equal"] for row in record["results"][0]["batches"]] == [False, False]
    assert "NO" in out


def test_a_level_that_changes_answers_fails_the_run(bench, monkeypatch):
    honest = pm.Index.match

    def shifted(self, points, level="auto", **options):
        found = honest(self, points, level=level, **options)
        ids = found.ids if level == "auto" else found.ids + 1
        return Matches(_Restored(found.offsets, ids, found.order, found.response_s, found.level))

    monkeypatch.setattr(pm.Index, "match", shifted)
    arguments = ("--workloads", "W3", "--scale", str(SMALL), "--rounds", "2", "--batch", "64")
    _, _, err = bench("tuner", *arguments, expect=1)
    assert err.startswith("pubmatch: results differ: W3 default fresh, W3 default after_updates")


def test_the_ideal_order_is_checked_event_by_event():
    answers = [np.array([[1, 10], [2, 20], [3, 30]], dtype=np.uint64)]
    sorting = np.array([[2, 0, 1]])
    same = {name: paired.Taken(answers=answers) for name in ("fifo", "sjf")}
    moved = [answers[0][[2, 0, 1]]]
    assert sjf._agree(same | {"ideal": paired.Taken(answers=moved)}, sorting)
    assert not sjf._agree(same | {"ideal": paired.Taken(answers=answers)}, sorting)
    assert sjf._agree(same, None)
    assert not sjf._agree(same | {"sjf": paired.Taken(answers=moved)}, None)


def test_fingerprints_tell_sets_apart():
    rng = np.random.default_rng(5)
    offsets = np.array([0, 3, 3, 8, 10])
    ids = rng.choice(1000, size=10, replace=False)
    original = paired.fingerprints(offsets, ids)
    mixed = np.concatenate([rng.permutation(ids[a:b]) for a, b in itertools.pairwise(offsets)])
    assert paired.same_answers([original], [paired.fingerprints(offsets, mixed)])
    for position in range(10):
        other = ids.copy()
        other[position] += 1
        assert not paired.same_answers([original], [paired.fingerprints(offsets, other)])
    exchanged = ids[[0, 1, 3, 2, 4, 5, 6, 7, 8, 9]]  # between two events
    assert not paired.same_answers([original], [paired.fingerprints(offsets, exchanged)])
    assert not paired.same_answers([original], [paired.fingerprints(np.array([0, 2, 3, 8, 10]), ids)])
    assert not paired.same_answers([original], [original, original])
    whole = np.array([0, 2])
    assert (
        paired.fingerprints(whole, np.array([1, 4])) != paired.fingerprints(whole, np.array([2, 3]))
    ).any()
    assert paired.fingerprints(np.array([0, 0]), np.empty(0, dtype=np.int64)).tolist() == [[0, 0]]


def test_in_a_lap_all_ways_take_turns_and_none_follows_another(planted):
    workload, index = planted
    batches = paired.split(workload.events(128, seed=EVENT_SEED), 16)
    calls = []

    def noted(name, points):
        calls.append((name, next(i for i, batch in enumerate(batches) if batch is points)))
        return index.match(points)

    runs = {name: (partial(noted, name), batches) for name in ("a", "b")}
    taken = paired.take_lap(runs, number=0)
    assert [name for name, _ in calls] == ["a", "b"] * 8
    assert [place for name, place in calls if name == "a"] == [0, 1, 2, 3, 4, 5, 6, 7]
    assert [place for name, place in calls if name == "b"] == [4, 5, 6, 7, 0, 1, 2, 3]
    # Times and answers are filed under their batch, whenever it was taken.
    assert paired.same_answers(taken["a"].answers, taken["b"].answers)
    expected = [index.count(points).tolist() for points in batches]
    assert [answers[:, 0].tolist() for answers in taken["b"].answers] == expected
    assert min(taken["b"].response_s) > 0
    paired.take_lap(runs, number=1)
    assert calls[16][0] == "b"


@pytest.mark.parametrize("ways", [2, 3, 5])
def test_each_way_is_first_to_see_its_share_of_the_batches(planted, ways):
    workload, index = planted
    batches = paired.split(workload.events(4 * ways * 2, seed=EVENT_SEED), 4)
    first = {}

    def noted(name, points):
        first.setdefault(id(points), name)
        return index.match(points)

    paired.take_lap({name: (partial(noted, name), batches) for name in "abcde"[:ways]}, number=1)
    assert sorted(first.values()) == sorted(2 * "abcde"[:ways])


def test_comparison_of_exact_proportions_is_certain():
    reference = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    result = paired.compare([0.75 * value for value in reference], reference, lap=2)
    assert result["ratio"] == pytest.approx(0.75)
    assert result["standard_error"] == pytest.approx(0, abs=1e-12)
    assert result["median"] == pytest.approx(0.75)
    assert (result["pairs"], result["clipped"]) == (6, 0)
    assert paired.precise(result)


def test_one_lap_has_no_interval():
    result = paired.compare([1.0, 2.0], [2.0, 4.0], lap=2)
    assert (result["ratio"], result["standard_error"], result["low"], result["high"]) == (
        0.5,
        None,
        None,
        None,
    )
    assert not paired.precise(result)
    verdict = paired.judge("half", "here", result, most=0.6)
    assert (verdict["met"], verdict["certain"]) == (True, False)


def test_a_spike_counts_little_and_is_told():
    rng = np.random.default_rng(3)
    reference = rng.uniform(1.0, 2.0, 64)
    ours = reference * rng.uniform(0.79, 0.81, 64)
    spiked = ours.copy()
    spiked[7] = 1000.0
    calm, rough = (paired.compare(times, reference, lap=4) for times in (ours, spiked))
    assert (calm["clipped"], rough["clipped"]) == (0, 1)
    assert rough["ratio"] == pytest.approx(calm["ratio"], rel=0.05)
    assert rough["standard_error"] > calm["standard_error"]


def test_intervals_hold_what_they_promise():
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(200):
        pace = np.repeat(rng.uniform(1, 2, 12), 4)  # shared within a lap
        cost = rng.uniform(1, 3, 48) * pace
        result = paired.compare(
            cost * 0.9 * rng.uniform(0.8, 1.2, 48), cost * rng.uniform(0.8, 1.2, 48), lap=4
        )
        held += result["low"] <= 0.9 <= result["high"]
    assert 182 <= held <= 200


@pytest.mark.parametrize(
    ("ratio", "low", "high", "met", "certain"),
    [
        (0.8, 0.7, 0.84, True, True),
        (0.8, 0.7, 0.9, True, False),
        (0.9, 0.86, 0.95, False, True),
        (0.9, 0.8, 1.0, False, False),
    ],
)
def test_verdicts(ratio, low, high, met, certain):
    verdict = paired.judge("saved", "W1 128", {"ratio": ratio, "low": low, "high": high}, most=0.85)
    assert (verdict["met"], verdict["certain"]) == (met, certain)


def test_sjf_targets_look_at_the_worst_row():
    def row(batch, response, call=1.0):
        sides = [{"ratio": ratio, "low": ratio, "high": ratio} for ratio in (response, call)]
        return {"batch": batch, "response": sides[0], "call": sides[1]}

    results = [
        {"workload": "W1", "batches": [row(2, 1.04), row(128, 0.8, call=2.0)]},
        {"workload": "W2", "batches": [row(2, 1.02, call=1.01), row(128, 1.0, call=1.029)]},
        {"workload": "W7", "batches": [row(128, 0.71)]},
    ]
    verdicts = [(target["place"], target["met"]) for target in sjf.targets(results)]
    assert verdicts == [("W1 128", True), ("W7 128", False), ("W1 2", False), ("W2 128", True)]


def test_tuner(bench):
    record, out, _ = bench(
        "tuner", "--workloads", "W3", "--scale", str(SMALL), "--rounds", "2", "--batch", "32"
    )
    assert record["parameters"]["paper_tree"]["params"]["leaf_capacity"] == 20
    default, paper = record["results"]
    assert (default["workload"], default["tree"], default["subscriptions"]) == ("W3", "default", 2000)
    assert (paper["workload"], paper["tree"], paper["subscriptions"]) == ("W1", "paper", 300)
    for result in (default, paper):
        assert result["burst"]["updates"] >= result["threshold"] == 100_000
        assert result["burst"]["restarted"] is True
        for phase in (result["fresh"], result["after_updates"]):
            assert phase["equal"] is True
            assert phase["settled"] is True
            trace = phase["trace"]
            assert len(trace["level"]) == len(trace["mean_response_us"]) == phase["batches"] > 0
            assert set(trace["level"]) <= set(range(1, result["height"] + 2))
            assert min(trace["mean_response_us"]) > 0
            assert str(phase["best_level"]) in phase["fixed_ms"]
            assert list(phase["fixed_ms"]) == [str(level) for level in range(1, len(phase["fixed_ms"]) + 1)]
            assert_comparison(phase["auto_over_best"], 2 * paired.lap_batches(32, 1 + len(phase["fixed_ms"])))
    assert len(record["targets"]) == 4
    assert all(row.keys() == VERDICT for row in record["targets"])
    assert "after updates" in out


def test_batches_larger_than_a_lap(bench):
    arguments = ("--workloads", "W4", "--scale", "0.0001", "--rounds", "2", "--batch", "7000")
    record, _, _ = bench("tuner", *arguments)
    phase = record["results"][0]["fresh"]
    assert phase["auto_over_best"]["pairs"] == 2 * (1 + len(phase["fixed_ms"]))


def test_settling_stops_at_the_cap(planted):
    workload, index = planted
    settling = tuner.settle(index, workload.events, 16, cap=3)
    assert settling.summary() == {
        "settled": False,
        "batches": 3,
        "trace": {"level": settling.levels, "mean_response_us": settling.mean_response_us},
    }
    assert tuner.settle(index, workload.events, 16).settled
    assert tuner.settle(index, workload.events, 16).levels == []


def test_a_burst_replaces_boxes_and_restarts_the_tuner(planted):
    workload, index = planted
    tuner.settle(index, workload.events, 16)
    assert tuner.burst(index, workload) >= index.tuner.threshold
    assert not index.tuner.state(16).stable
    assert len(index) == len(workload)
    index.check()


def test_measured_events_are_not_those_the_tuner_settled_on(planted):
    workload, _ = planted
    settling = {tuner.SETTLING_SEED, tuner.RESTART_SEED}
    assert all(abs(seed - EVENT_SEED) > tuner.SETTLING_CAP for seed in settling)
    assert not np.array_equal(workload.events(8, EVENT_SEED), workload.events(8, tuner.SETTLING_SEED))


@pytest.mark.parametrize("command", ["sjf", "tuner"])
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--rounds", "0"), "rounds must be at least 1, got 0"),
        (("--scale", "nan"), "scale must be positive and finite, got nan"),
        (("--workloads", "W9"), "unknown workload 'W9'; known are W1, W2, W3, W4, W5, W6, W7"),
    ],
)
def test_bad_options(command, arguments, problem, capsys):
    assert main(["bench", command, *arguments]) == 2
    assert capsys.readouterr().err == f"pubmatch: {problem}\n"


def test_differences_name_the_tree():
    result = {"workload": "W1", "tree": "paper", "fresh": {"equal": True}, "after_updates": {"equal": False}}
    assert differences({"results": [result]}) == ["W1 paper after_updates"]


def test_tables_are_registered():
    assert {"sjf", "tuner"} <= TABLES.keys()
