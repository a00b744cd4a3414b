"""`reproduce clustering` at a small size: every figure, verdicts that can fail, pictures, the command."""

from __future__ import annotations

import copy
import dataclasses
import json

import pytest

from pubmatch.cli import main
from pubmatch_bench.reproduce import clustering, clustering_figures, clustering_plan
from pubmatch_bench.reproduce.clustering_claims import judge

SMALL = dataclasses.replace(
    clustering_plan.QUICK,
    seeds=2,
    publishers=120,
    crowd=200,
    subscribers=400,
    messages=100,
    points=4,
    grown=(60, 20, 20),
    subscriptions=300,
    senders=40,
)
FIGURES = {*(f"5.{number}" for number in range(2, 21)), "strategy-4", "zipf", "join-cost", "shards"}
CLAIM = {"id", "paper", "claim", "expected", "measured", "holds", "why"}


def quiet(what, done):
    assert 0 <= done <= 1


@pytest.fixture(scope="module")
def report():
    return clustering.run(SMALL, quiet)


def test_the_report_has_every_figure(report):
    assert set(report["figures"]) == FIGURES
    assert report.keys() >= {"name", "commit", "machine", "quick", "figures", "claims"}
    assert (report["name"], report["quick"]) == ("clustering", True)
    json.dumps(report, allow_nan=False)


def test_curves_have_a_mean_and_a_spread_at_every_point(report):
    for number in ("5.2", "5.8", "5.12", "5.17", "strategy-4"):
        for row in report["figures"][number]["series"].values():
            assert len(row["publishers"]) == len(row["mean"]) == len(row["sd"]) == 4
    grown = next(iter(report["figures"]["5.2"]["series"].values()))
    assert grown["publishers"][-1] == 50
    assert grown["mean"] == sorted(grown["mean"])
    histogram = next(iter(report["figures"]["5.10"]["series"].values()))
    assert sum(histogram["clusters"]) == pytest.approx(
        report["figures"]["5.5"]["series"]["2, n=5, 2 attributes"]["mean"][-1]
    )


def test_claims_are_complete_and_some_hold_at_any_size(report):
    claims = {claim["id"]: claim for claim in report["claims"]}
    assert len(claims) == len(report["claims"]) == 33
    assert all(set(claim) == CLAIM for claim in claims.values())
    assert all(
        claims[name]["holds"] for name in ("s1-fp", "s1-n10m10", "s2-n10m10", "s3-15", "s4-fp", "shards")
    )
    # 200 publishers cannot reach the maximum, and the verdict says so.
    assert not claims["s1-max"]["holds"]
    assert claims["s1-max"]["why"]
    assert "thesis: 385" in claims["s1-max"]["expected"]


def test_verdicts_follow_the_numbers(report):
    measured = clustering.Measured(SMALL)
    changed = copy.deepcopy(report)
    changed["simulated"][0]["simulated"] += 0.5
    changed["figures"]["shards"]["plans"]["planned"]["wasted"] *= 100
    verdicts = {claim.id: claim.holds for claim in judge(measured.of, changed)}
    assert not verdicts["simulation"]
    assert not verdicts["shards"]


def test_same_seed_same_report(report):
    again = clustering.run(SMALL, quiet)
    for number in FIGURES - {"join-cost"}:
        assert again["figures"][number] == report["figures"][number]


def test_pictures(report, tmp_path):
    files = clustering_figures.draw(report, tmp_path)
    assert len(files) == len(FIGURES)
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)
    assert clustering_figures.draw_docs(report, tmp_path).stat().st_size > 10_000


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(clustering_plan, "QUICK", SMALL)
    out, copied = tmp_path / "out", tmp_path / "copy.json"
    assert main(["reproduce", "clustering", "--quick", "--out", str(out), "--json", str(copied)]) == 0
    written = json.loads((out / "clustering.json").read_text())
    assert written["claims"] == json.loads(copied.read_text())["claims"]
    assert "Claims of the clustering thesis" in capsys.readouterr().out
    assert (out / "figure-5.20.png").exists()


def test_the_command_refuses_a_file_as_directory(tmp_path, capsys):
    (tmp_path / "out").write_text("")
    assert main(["reproduce", "clustering", "--quick", "--out", str(tmp_path / "out")]) == 2
    assert "is a file, not a directory" in capsys.readouterr().err
