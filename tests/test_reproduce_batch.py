"""`reproduce batch` at a tiny size: from inserts to JSON, pictures and verdicts; no times asserted."""

from __future__ import annotations

import copy
import dataclasses
import json

import numpy as np
import pytest

import pubmatch as pm
from pubmatch.cli import main
from pubmatch_bench.reproduce import batch, batch_figures, batch_plan, batch_tuner
from pubmatch_bench.reproduce.batch_claims import judge
from pubmatch_bench.reproduce.batch_levels import valley, ways
from pubmatch_bench.reproduce.claims import Claim, claim_table, new_report
from pubmatch_bench.reproduce.race import Race, race, ratio_of, tamed

TINY = dataclasses.replace(
    batch_plan.FULL,
    sizes=(300, 600, 900),
    batches=(2, 16),
    compared=(1 / 3, 1 / 3),
    sized_batches=(2, 16),
    shape_size=600,
    shape_batches=(2, 16),
    shape_loops=(2, 4),
    point_events=32,
    largest_events=64,
    growth=(300, 500, 700),
    tuned_batches=(2, 4),
    loops=2,
    stable_events=48,
    most_batches=60,
    cheap_factor=2,
    piece_size=500,
)
FIGURES = ["5a", "5b", "7a", "7b", "7c", "7d", "7e", "7f", "8"]
CLAIM = {"id", "paper", "claim", "expected", "measured", "holds", "why"}


def quiet(what, done):
    assert 0 <= done <= 1


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return batch.run(TINY, quiet, tmp_path_factory.mktemp("parts"))


# The report


def test_every_figure_has_its_series_on_both_trees(report):
    assert sorted(report["figures"]) == sorted([*FIGURES, *(f"{name}-default" for name in FIGURES)])
    assert report.keys() >= {"name", "commit", "machine", "quick", "figures", "claims"}
    assert (report["name"], report["quick"], report["differences"]) == ("batch", True, [])
    json.dumps(report, allow_nan=False)


@pytest.mark.parametrize("suffix", ["", "-default"])
def test_response_over_level(report, suffix):
    for name, events in (("5a", 2), ("5b", 16)):
        figure = report["figures"][name + suffix]
        assert (figure["events"], figure["subscriptions"]) == (events, 600)
        assert figure["levels"] == list(range(1, figure["height"] + 1))
        for kind in ("same_ms", "different_ms"):
            sums = figure[kind]
            assert list(sums) == ["2", "4"]
            assert all(len(line) == len(figure["levels"]) and min(line) > 0 for line in sums.values())
        # The sum over the first two batches is part of the sum over four.
        assert sum(figure["same_ms"]["2"]) < sum(figure["same_ms"]["4"])
        assert figure["best_level"] in figure["same_tied_levels"]


@pytest.mark.parametrize("suffix", ["", "-default"])
def test_series_over_size_and_batch(report, suffix):
    by_size, by_batch = report["figures"]["7c" + suffix], report["figures"]["7d" + suffix]
    assert by_size["subscriptions"] == [300, 600, 900]
    assert list(by_size["series"]) == ["2", "16"]
    assert by_batch["events"] == [2, 16]
    for row in (*by_size["series"].values(), by_batch):
        for fifo, best, saved in zip(row["fifo_ms"], row["best_ms"], row["improvement_percent"], strict=True):
            assert best == pytest.approx(fifo * (1 - saved / 100))
    assert by_batch["batches_measured"] == [128, 16]
    levels = report["figures"]["7a" + suffix]
    for row in levels["series"].values():
        for best, tied, height in zip(row["best_level"], row["tied_levels"], levels["height"], strict=True):
            assert best in tied
            assert 1 <= min(tied) <= max(tied) <= height


@pytest.mark.parametrize("suffix", ["", "-default"])
def test_the_tuner_starts_anew_on_every_stretch(report, suffix):
    for name, events in (("7e", 2), ("7f", 4)):
        figure = report["figures"][name + suffix]
        assert figure["events"] == events
        assert [stretch["subscriptions"] for stretch in figure["stretches"]] == [300, 500, 700]
        for stretch in figure["stretches"]:
            # One round is two batches at each level on trial; there are two or three of those.
            assert stretch["unstable_batches"] >= 4
            assert stretch["rounds"] >= 1
            assert len(stretch["levels_tried"]) >= 2
            assert stretch["settled_ms"].keys() == {
                "auto",
                "fifo",
                *map(str, range(1, stretch["height"] + 1)),
            }
        lines = figure["sequence"]
        assert lines["batch"] == sorted(lines["batch"])
        assert {len(lines[key]) for key in lines} == {len(lines["batch"])}
    piece = report["figures"]["8" + suffix]
    assert (piece["subscriptions"], piece["events"]) == (500, 2)
    assert piece["sequence"] == report["figures"]["7e" + suffix]["stretches"][1]["sequence"]


def test_every_claim_is_judged(report):
    ids = [claim["id"] for claim in report["claims"]]
    assert len(ids) == len(set(ids))
    paper = {"u-shape", "slow-level", "fewer-events", "scaling", "grows", "tuner-2", "tuner-4", "piece"}
    assert set(ids) >= {*paper, *(f"{name}-default" for name in paper), "largest-batch"}
    for claim in report["claims"]:
        assert claim.keys() == CLAIM
        assert isinstance(claim["holds"], bool)
        assert all(claim[key] for key in CLAIM - {"holds"})


# Verdicts, on numbers made up


def made_up(saved, levels, settled, together=1.0):
    """What the two experiments return, as far as the verdicts look at it."""
    points = [
        {
            "subscriptions": size,
            "batch": count,
            "height": 7,
            "events_together": together,
            "best_level": level,
            "tied_levels": [level],
            "improvement_percent": percent,
            "improvement_error_percent": 0.5,
        }
        for size in TINY.sizes
        for count, level, percent in zip(TINY.batches, levels, saved, strict=True)
    ]
    shape = {"events": 2, "height": 7, "best_level": 5, "valley": {"single": True, "inner": True}}
    stretch = {
        "subscriptions": 500,
        "level": 5,
        "best_level": 5,
        "settled": True,
        "unstable_batches": 12,
        **{f"{when}_against_best": {"ratio": settled, "error": 0.01} for when in ("settled", "unstable")},
        "unstable_against_fifo": {"ratio": 0.7, "error": 0.01},
    }
    return {"points": points, "shapes": [shape]}, {"stretches": {"2": [stretch], "4": [stretch]}}


def verdicts(levels, tuned, tree="paper"):
    return {claim.id: claim.holds for claim in judge(tree, TINY, levels, tuned)}


def test_all_claims_hold_on_a_perfect_result():
    assert set(verdicts(*made_up((10, 45), (3, 5), 1.02)).values()) == {True}
    assert set(verdicts(*made_up((10, 45), (3, 5), 1.02), tree="default").values()) == {True}


@pytest.mark.parametrize(
    ("saved", "levels", "settled", "failing"),
    [
        ((10, 30), (3, 5), 1.0, {"largest-batch"}),
        ((50, 45), (3, 5), 1.0, {"grows"}),
        ((10, 45), (5, 3), 1.0, {"fewer-events"}),
        ((10, 45), (5, 5), 1.0, {"fewer-events"}),
        ((10, 45), (3, 5), 1.06, {"tuner-2", "tuner-unstable-2", "tuner-4", "tuner-unstable-4", "piece"}),
    ],
)
def test_a_claim_fails_when_its_numbers_do(saved, levels, settled, failing):
    found = verdicts(*made_up(saved, levels, settled))
    assert {name for name, holds in found.items() if not holds} == failing


def test_other_claims_that_fail():
    levels, tuned = made_up((10, 45), (3, 5), 1.0)
    levels["shapes"][0]["valley"]["inner"] = False
    levels["points"][1]["improvement_percent"] = 20  # the largest batch on the smallest index
    levels["points"][-1].update(best_level=7, tied_levels=[7])
    tuned["stretches"]["4"][0] = {**tuned["stretches"]["4"][0], "settled": False}
    tuned["stretches"]["2"][0]["unstable_against_fifo"]["ratio"] = 1.01
    tuned["stretches"]["4"][0]["unstable_against_fifo"] = {"ratio": 0.7, "error": None}
    failing = {name for name, holds in verdicts(levels, tuned).items() if not holds}
    (four,) = [claim for claim in judge("paper", TINY, levels, tuned) if claim.id == "tuner-4"]
    assert "Still looking in 1 of 1" in four.why
    assert failing == {"u-shape", "scaling", "slow-level", "tuner-fifo-2", "piece"}


def test_events_searched_together_are_named_as_the_reason():
    claims = judge("paper", TINY, *made_up((10, 20), (3, 5), 1.0, together=32.0))
    (largest,) = [claim for claim in claims if claim.id == "largest-batch"]
    assert not largest.holds
    assert "32 events together" in largest.why


def test_claim_table_shows_both_verdicts(capsys):
    from rich.console import Console

    yes = Claim("a", "p", "c", "e", "m", holds=True, why="w")
    no = dataclasses.replace(yes, id="b", holds=False)
    Console(width=120).print(claim_table([yes.record(), no.record()], "Title"))
    printed = capsys.readouterr().out
    assert "does not hold" in printed
    assert printed.count("holds") == 1
    assert new_report("x", quick=False, parameters={}, seeds={}).keys() >= {"figures", "claims", "commit"}


# Measuring


def test_a_race_notices_different_answers():
    index = batch_plan.new_index("paper")
    source = batch_plan.Source(1)
    batch_plan.grow(index, 500, source)
    lossy = pm.Index(dims=12, dtype="float32")
    rng = np.random.default_rng(0)
    everywhere = index.insert(np.zeros(12, np.float32), np.ones(12, np.float32))
    run = [source.events(8)]
    assert race(run, ways(index), rng).equal
    assert len(everywhere) == 1
    assert not race(run, {**ways(index), "lossy": lossy.match}, rng).equal


def test_differences_are_named(report):
    part = {"points": [{"equal": True}], "shapes": [{"equal": False}]}
    tuned = {"stretches": {"8": [{"equal": True}]}}
    assert batch.differences({"levels-paper": part, "tuner-paper": tuned}) == ["levels-paper"]


def test_ratios_and_their_errors():
    exact = ratio_of([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    assert (exact.value, exact.error) == (0.5, 0.0)
    noisy = ratio_of([1.0, 2.2, 2.8], [2.0, 4.0, 6.0])
    assert noisy.error > 0
    assert ratio_of([1.0], [2.0]).record() == {"ratio": 0.5, "error": None}
    assert tamed([1.0, 1.1, 1.2, 1.3, 50.0]).max() < 3
    assert tamed([1.0]).tolist() == [1.0]


def test_the_best_level_is_chosen_on_other_batches():
    # Level 2 wins the even batches by as much as level 3 wins the odd ones: neither helps on the other half.
    times = {"fifo": [4.0] * 4, "2": [2.0, 6.0, 2.0, 6.0], "3": [6.0, 2.0, 6.0, 2.0]}
    assert Race(times).best_ratio().value == 1.5


def test_valleys():
    assert valley(Race({"1": [3.0, 3.1], "2": [2.0, 2.1]})) == {"single": True, "inner": False}
    flat = Race({"1": [2.0, 4.0, 3.0], "2": [3.0, 2.0, 4.0], "3": [4.0, 3.0, 2.0]})
    assert valley(flat) == {"single": True, "inner": False}
    assert flat.tied() == [1, 2, 3]


def test_events_and_boxes_are_seeded_and_never_repeat():
    one, same, other = batch_plan.Source(3), batch_plan.Source(3), batch_plan.Source(4)
    first = one.events(4)
    assert np.array_equal(first, same.events(4))
    assert not np.array_equal(first, one.events(4))
    assert not np.array_equal(first, other.events(4))
    assert np.array_equal(one.boxes(4)[0], same.boxes(4)[0])


def test_quick_is_a_tenth():
    full, quick = batch_plan.FULL, batch_plan.QUICK
    assert quick.sizes == tuple(size // 10 for size in full.sizes)
    assert quick.step() * 10 == full.step() == 300_000
    assert quick.piece_size in quick.growth
    assert quick.shape_size in quick.sizes


def test_the_tuned_match_is_what_auto_does():
    """The same tuner calls in the same order: fed the same times, both choose the same levels."""
    index = batch_plan.new_index("paper")
    source = batch_plan.Source(2)
    batch_plan.grow(index, 400, source)
    tuner = pm.LevelTuner(loops=2)
    tuned = batch_tuner.TunedMatch(index, tuner, 4)
    results = [tuned(source.events(4)) for _ in range(20)]
    again = pm.LevelTuner(loops=2)
    for result in results:
        assert again.next_level(4, index.height) == result.level
        again.record(4, result.level, result.mean_response_s)
    assert tuned.levels == [result.level for result in results]
    assert tuned.settled == again.state(4).stable


# Parts, pictures, command


def test_resume_takes_finished_parts_and_only_those(report, tmp_path, monkeypatch):
    for name in ("levels", "tuner"):
        monkeypatch.setitem(batch.EXPERIMENTS, name, _canned(report, name))
    calls.clear()
    batch.run(TINY, quiet, tmp_path)
    assert len(calls) == 4
    (tmp_path / "tuner-paper.json").write_text("{cut off")
    batch.run(TINY, quiet, tmp_path, resume=True)
    assert calls[4:] == [("tuner", "paper")]
    batch.run(dataclasses.replace(TINY, seed=1), quiet, tmp_path, resume=True)
    assert len(calls) == 9
    batch.run(TINY, quiet, tmp_path)
    assert len(calls) == 13


calls: list[tuple[str, str]] = []


def _canned(report, name):
    """An experiment that has been run before."""

    def experiment(tree, plan, notify):
        calls.append((name, tree))
        figures = report["figures"]
        suffix = "" if tree == "paper" else "-default"
        if name == "tuner":
            return {"stretches": {n: figures[f + suffix]["stretches"] for n, f in (("2", "7e"), ("4", "7f"))}}
        shapes = [figures[f + suffix] for f in ("5a", "5b")]
        return copy.deepcopy({"points": report["points"][tree], "shapes": shapes, "insert_s": 1.0})

    return experiment


def is_png(path):
    return path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 5000


def test_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(batch_plan, "QUICK", TINY)
    monkeypatch.chdir(tmp_path)
    code = main(["reproduce", "batch", "--quick", "--seed", "3", "--json", "copy.json"])
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    out = tmp_path / "reproduce" / "batch"
    report = json.loads((out / "batch.json").read_text())
    assert report == json.loads((tmp_path / "copy.json").read_text())
    assert report["parameters"]["plan"]["seed"] == 3
    for name in report["figures"]:
        assert is_png(out / f"figure-{name}.png")
    for claim in report["claims"]:
        assert claim["id"] in printed.out.replace("\n", "")
    assert "hold" in printed.out
    assert main(["reproduce", "batch", "--quick", "--seed", "3", "--resume"]) == 0
    assert json.loads((out / "batch.json").read_text())["points"] == report["points"]


def test_command_fails_if_results_differ(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(batch_plan, "QUICK", TINY)
    monkeypatch.setattr(batch, "differences", lambda measured: ["levels-paper"])
    assert main(["reproduce", "batch", "--quick", "--out", str(tmp_path / "new" / "deep")]) == 1
    assert capsys.readouterr().err == "pubmatch: results differ: levels-paper\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--out", "file"], "file: is a file, not a directory"),
        (["--out", "file/below"], "file"),
        (["--json", "none/x.json"], "no directory"),
        (["--seed", "-1"], "seed"),
    ],
)
def test_bad_options(tmp_path, capsys, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    assert main(["reproduce", "batch", "--quick", *arguments]) == 2
    printed = capsys.readouterr()
    assert words in printed.err
    assert "Traceback" not in printed.err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_pictures_of_the_docs(report, tmp_path):
    (tmp_path / "reproduce-batch").mkdir()
    (tmp_path / "reproduce-batch" / "batch.json").write_text(json.dumps(report))
    row = {"batch": 128, "response": {"ratio": 0.8}, "ideal_response": {"ratio": 0.7}}
    results = [{"workload": name, "batches": [{**row, "batch": 2}, row]} for name in ("W1", "W2")]
    (tmp_path / "sjf.json").write_text(json.dumps({"results": results}))
    files = batch_figures.draw_docs(tmp_path, tmp_path)
    assert [file.name for file in files] == ["batches-level.png", "batches-workloads.png"]
    assert all(is_png(file) for file in files)
