"""`reproduce mobility` and `bench mobility` at a small size: figures, verdicts that can fail, commands."""

from __future__ import annotations

import copy
import dataclasses
import json
import math

import pytest

from pubmatch.cli import main
from pubmatch_bench import mobility as bench
from pubmatch_bench.reproduce import mobility, mobility_figures, mobility_plan
from pubmatch_bench.reproduce.mobility_claims import judge

SMALL = dataclasses.replace(
    mobility_plan.QUICK,
    duration_s=12,
    publishers=(50, 60),
    crowd=60,
    speeds=(50, 100),
    subscribers=(500, 600),
    localities=(0.9, 1.0),
    overshoots=(0, 5),
    sizes=(448,),
    roamers=20,
)
FIGURES = {
    *(str(number) for number in range(4, 11)),
    "proxy locality",
    "subscribers",
    "table rows",
    "synchronised start",
    "message size",
    "random walk",
    "both mobile",
}
CLAIM = {"id", "paper", "claim", "expected", "measured", "holds", "why"}
WAYS = mobility_plan.ALL


def quiet(what: str, done: float) -> None:
    assert 0 <= done <= 1


@pytest.fixture(scope="module")
def scenarios():
    return {scenario: mobility.measure(scenario) for scenario in SMALL.scenarios()}


@pytest.fixture(scope="module")
def report(scenarios):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mobility, "measure", lambda scenario: scenarios[scenario])
        return mobility.run(SMALL, quiet)


def test_the_report_has_every_figure(report) -> None:
    assert set(report["figures"]) == FIGURES
    assert report.keys() >= {"name", "commit", "machine", "quick", "figures", "claims"}
    assert (report["name"], report["quick"]) == ("mobility", True)
    json.dumps(report, allow_nan=False)
    assert report["totals"]["unsafe"] == []
    assert report["totals"]["runs"] == len(list(SMALL.scenarios()))


def test_series_have_a_value_for_every_point(report) -> None:
    for content in report["figures"].values():
        for row in content["series"].values():
            assert len(row[content["x"]]) == len(row[content["y"]]) > 0
    assert set(report["figures"]["4"]["series"]) == set(WAYS)
    probes = report["figures"]["5"]["series"]["standard"]
    assert probes["probe"] == list(range(1, 21))
    delays = report["figures"]["6"]["series"]["delayed"]["delay_s"]
    assert delays == sorted(delays)


def test_claims_are_complete_and_some_hold_at_any_size(report) -> None:
    claims = {claim["id"]: claim for claim in report["claims"]}
    assert len(claims) == len(report["claims"]) >= 40
    assert all(set(claim) == CLAIM for claim in claims.values())
    holding = ("flood", "ten-times", "ack-lost", "safety", "proxy-zero", "speed-cost", "standard-50")
    assert [name for name in holding if not claims[name]["holds"]] == []
    failing = ("paper-together", "rebuild-4s", "delayed-below-proxy-random")
    assert [name for name in failing if claims[name]["holds"]] == []
    assert all(claims[name]["why"] for name in failing)


def test_verdicts_follow_the_numbers(report, scenarios) -> None:
    changed = copy.deepcopy(report)
    changed["totals"]["unsafe"] = ["standard"]
    changed["figures"]["5"]["series"]["standard"]["delivered"] = [0.5] * 18 + [1.0, 1.0]
    wrong = copy.deepcopy(scenarios)
    for scenario, record in wrong.items():
        if scenario.algorithm == "delayed+ack":
            record["lost"] = 1
        if scenario.algorithm == "delayed":
            record["cost"] *= 20
    verdicts = {claim.id: claim.holds for claim in judge(mobility.Measured(SMALL, wrong), changed)}
    assert verdicts["rebuild-4s"]
    for name in ("safety", "ack-lost", "ten-times", "delayed-50", "combined-cost", "delayed-below-proxy"):
        assert not verdicts[name]


def test_two_processes_give_the_same(scenarios) -> None:
    listed = list(scenarios)[:3]
    records = list(mobility._measure_all(listed, jobs=2))
    assert records == [scenarios[each] for each in listed]


def test_the_command(report, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(mobility, "run", lambda plan, notify: report)
    out, copied = tmp_path / "out", tmp_path / "copy.json"
    assert main(["reproduce", "mobility", "--quick", "--out", str(out), "--json", str(copied)]) == 0
    written = json.loads((out / "mobility.json").read_text())
    assert written["claims"] == json.loads(copied.read_text())["claims"]
    assert "Claims of the mobility paper" in capsys.readouterr().out
    pictures = sorted(out.glob("*.png"))
    assert len(pictures) == len(FIGURES)
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in pictures)
    assert mobility_figures.draw_docs(report, tmp_path).stat().st_size > 10_000
    monkeypatch.setattr(mobility_figures, "draw", lambda report, folder: [])
    unsafe = {**report, "totals": {**report["totals"], "unsafe": ["standard"]}}
    monkeypatch.setattr(mobility, "run", lambda plan, notify: unsafe)
    assert main(["reproduce", "mobility", "--quick", "--out", str(out)]) == 1
    assert "not safe at rest: standard" in capsys.readouterr().err


def test_the_benchmark(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(bench, "QUICK", bench.Plan(1, 50, 10, (3, 3, 5, 50), 200, 20))
    file = tmp_path / "mobility.json"
    assert main(["bench", "mobility", "--quick", "--json", str(file)]) == 0
    record = json.loads(file.read_text())
    assert [row["workload"] for row in record["results"]] == ["85 brokers"] * 6 + ["large tree", "one broker"]
    assert all(row["equal"] for row in record["results"])
    assert record["results"][-1]["matches_per_event"] > 0
    assert "plain Python table" in capsys.readouterr().out
    monkeypatch.setattr(bench, "plain_matches", lambda boxes, event: [0])
    assert main(["bench", "mobility", "--quick"]) == 1
    assert "results differ: one broker" in capsys.readouterr().err


def test_a_mean_ignores_no_seed() -> None:
    plan = dataclasses.replace(SMALL, seeds=2)
    done = {
        scenario: {"cost": float(scenario.seed), "probes": [0.0, float(scenario.seed)]}
        for scenario in plan.seeded(mobility_plan.Scenario("proxy"))
    }
    measured = mobility.Measured(plan, done)
    assert measured.mean("cost", "proxy") == pytest.approx(1.5)
    assert measured.means("probes", "proxy") == [0.0, 1.5]
    assert math.isfinite(plan.parameters()["duration_s"])
