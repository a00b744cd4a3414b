"""`reproduce overlay`: the paper's figures, verdicts that can fail, the bound against all placements."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import json

import numpy as np
import pytest

from pubmatch.cli import main
from pubmatch.overlay import Calculate, Filter, Subscription, TransferNetwork
from pubmatch_bench.reproduce import overlay, overlay_plan
from pubmatch_bench.reproduce.overlay_bound import lower_bound
from pubmatch_bench.reproduce.overlay_claims import judge
from pubmatch_bench.reproduce.overlay_latency import latency

SMALL = dataclasses.replace(overlay_plan.QUICK, sizes=(100, 400), lookups=150, ticks=5)
CLAIM = {"id", "paper", "claim", "expected", "measured", "holds", "why"}
DOES_NOT_HOLD = {"fig13-exceeds"}


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """The directory after the command has run, once for all tests."""
    folder = tmp_path_factory.mktemp("overlay")
    arguments = ["--quick", "--out", str(folder), "--json", str(folder / "copy.json")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlay_plan, "QUICK", SMALL)
        assert main(["reproduce", "overlay", *arguments, "--map", str(folder / "map.html")]) == 0
    return folder


@pytest.fixture(scope="module")
def report(out):
    return json.loads((out / "overlay.json").read_text())


def test_the_report_has_the_keys_of_the_contract(report):
    assert report.keys() >= {"name", "commit", "machine", "quick", "figures", "claims"}
    assert set(report["figures"]) == {"8", "9", "10", "11", "12", "13"}
    for row in report["figures"].values():
        assert row["ours"].keys() >= {"peak", "loads"}
        assert row["dsm"].keys() >= {"peak", "loads", "root_peak", "edge_peak"}
        assert row["ours"]["peak"] == max(row["ours"]["loads"])
        assert row["dsm"]["peak"] == max(row["dsm"]["loads"])
        assert len(row["ours"]["loads"]) == 500
    assert set(report["policies"]) == {"paper", "offer", "combiner"}
    assert all(row.keys() >= {"peak", "moves", "probes"} for row in report["policies"].values())
    assert set(report["thresholds"]) == {"190", "150"}
    assert all(row.keys() >= {"peak", "unrelieved", "loads"} for row in report["thresholds"].values())
    assert set(report["lower_bound"]) == {"local", "remote"}


@pytest.mark.parametrize(
    ("number", "ours", "dsm"),
    [
        ("8", (1150 / 3, 1350 / 3), 312.5),
        ("9", (1150, 1350), 937.5),
        ("10", (430, 500), 937.5),
        ("11", (430, 500), 468.75),
        ("12", (430, 500), 252),
        ("13", (430, 500), 336),
    ],
)
def test_peaks_are_those_of_the_reading(report, number, ours, dsm):
    row = report["figures"][number]
    assert ours[0] < row["ours"]["peak"] <= ours[1]
    assert row["dsm"]["peak"] == pytest.approx(dsm, rel=0.005)


def test_the_paper_setting(report):
    assert report["figures"]["9"]["dsm"]["edge_peak"] == pytest.approx(360, rel=0.005)
    assert 1.95 <= report["edge_ratio"] <= 2.05
    assert report["thresholds"]["190"]["unrelieved"] == []
    stopped = report["thresholds"]["150"]
    assert len(stopped["unrelieved"]) == sum(load > 150 for load in stopped["loads"]) > 0
    paper, offer, combiner = (report["policies"][name] for name in ("paper", "offer", "combiner"))
    assert combiner["peak"] <= 0.55 * paper["peak"]
    assert combiner["moves"] == 0
    assert offer["probes"] < paper["probes"] / 50


def test_claims_are_complete(report):
    claims = {claim["id"]: claim for claim in report["claims"]}
    assert len(claims) == len(report["claims"])
    assert all(set(claim) == CLAIM for claim in claims.values())
    assert {name for name, claim in claims.items() if not claim["holds"]} == DOES_NOT_HOLD
    assert all(claim["why"] for claim in claims.values())


def test_verdicts_follow_the_numbers(report):
    changed = copy.deepcopy(report)
    changed["figures"]["9"]["ours"]["loads"][0] += 1
    changed["figures"]["10"]["ours"]["peak"] = 501
    changed["figures"]["13"]["dsm"]["peak"] = 600
    changed["edge_ratio"] = 1.5
    changed["thresholds"]["190"]["unrelieved"] = [7]
    changed["thresholds"]["150"]["exact"] = False
    changed["policies"]["combiner"]["peak"] = 400
    changed["policies"]["combiner"]["latency"]["wait_s"] = 0.001
    changed["policies"]["offer"]["lowest_threshold"] = 100
    changed["values"]["offer"]["3"]["errors"] = 1
    changed["hops"][0]["even"]["max"] = 99
    changed["hops"][1]["even"]["mean"] = 99
    verdicts = {claim.id: claim.holds for claim in judge(changed)}
    before = {claim["id"]: claim["holds"] for claim in report["claims"]}
    assert {name for name in verdicts if verdicts[name] != before[name]} == {
        "fig9-proportional",
        "fig10-threshold",
        "fig13-exceeds",
        "fig13-increased",
        "fig8-twice",
        "threshold-190",
        "threshold-150",
        "combiner-peak",
        "combiner-latency",
        "lower-bound",
        "values",
        "lookup-longest",
        "lookup-mean",
    }


def test_same_seed_same_report(report):
    assert overlay.figure(SMALL, overlay_plan.FIGURES["13"]) == report["figures"]["13"]
    assert overlay.hops(SMALL, 100) == report["hops"][0]
    again = overlay.policy(SMALL, "offer")
    assert again == {key: report["policies"]["offer"][key] for key in again}


# The linear program


def network_of(nodes, publishers, areas, **options):
    network = TransferNetwork.from_arrays(nodes, publishers, bits=3, **options)
    mean = Calculate("mean", Filter("reading"))
    for number, (low, high, subscriber) in enumerate(areas):
        network.subscribe(Subscription(f"s{number}", mean, ranges=[(low, high)], subscriber=subscriber))
    return network


def every_placement(network, local):
    """Try all ways to give each flow a joint, whole: the lowest peak, at full output rates."""
    nodes, rates = network.nodes.tolist(), network.rates
    trees = [(network.tree(name).root, network.flow_arrays(name)) for name in network.subscriptions]
    flows = [
        (number, edge, count * rates.pub_rate * rates.rate_fil)
        for number, (_, arrays) in enumerate(trees)
        for edge, count in zip(arrays["edge"].tolist(), arrays["publishers"].tolist(), strict=True)
    ]
    base = dict.fromkeys(nodes, 0.0)
    for _, edge, passed in flows:
        base[edge] += passed / rates.rate_fil
    choices = [[node for node in nodes if local or node != edge] for _, edge, _ in flows]
    best = np.inf
    for joints in itertools.product(*choices):
        loads = dict(base)
        for (number, edge, passed), joint in zip(flows, joints, strict=True):
            root = trees[number][0]
            if joint != edge:
                loads[edge] += passed
                loads[joint] += passed
            if joint != root:
                loads[joint] += passed * rates.rate_calc
                loads[root] += passed * rates.rate_calc
        best = min(best, max(loads.values()))
    return best


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("local", [True, False])
def test_no_placement_is_below_the_bound(seed, local):
    rng = np.random.default_rng(seed)
    nodes = np.sort(rng.choice(64, 4, replace=False))
    publishers = np.sort(rng.choice(64, 20, replace=False))
    areas = [(0, 32, int(rng.integers(64))), (32, 64, int(rng.integers(64)))]
    network = network_of(nodes, publishers, areas, pub_rate=3.0)
    best = every_placement(network, local)
    bound = lower_bound(network, local=local, emitted=1.0)
    assert bound <= best + 1e-9
    assert bound >= float(network.loads_by_role()["edge"].max()) / (1.5 if local else 1) - 1e-9
    assert lower_bound(network, local=local) <= bound + 1e-9


def test_the_bound_is_reached_where_flows_can_be_divided_evenly():
    # Two edges with 8 readings/s each, half of them pass; two idle nodes take one flow each, one is the root.
    network = network_of([0, 16, 32, 48], [*range(8), *range(16, 24)], [(0, 32, 40)])
    assert lower_bound(network, local=False, emitted=1.0) == pytest.approx(
        every_placement(network, local=False)
    )


def test_the_bound_refuses_what_it_does_not_model():
    network = network_of([0, 32], range(8), [])
    both = Calculate("max", Filter("reading"), Filter("reading", ranges=[(0, 4)]))
    network.subscribe(Subscription("both", both, ranges=[(4, 8)]))
    with pytest.raises(ValueError, match="several filters"):
        lower_bound(network, local=True)


def test_latency_grows_with_fewer_messages():
    waits = {}
    for policy in ("paper", "combiner"):
        network = network_of(range(0, 64, 4), range(64), [(0, 32, 40)], policy=policy)
        waits[policy] = latency(network)["wait_s"]
    # 16 readings/s pass, a tenth leaves the joint; with partials, edges of 2 readings/s emit 0.2/s, twice.
    assert waits == pytest.approx({"paper": 0.5 / 1.6, "combiner": 0.5 / 0.2 + 0.5 / 0.2})


# Pictures and the command


def test_the_command_writes_json_pictures_and_map(out, report):
    assert json.loads((out / "copy.json").read_text()) == report
    pictures = {file.name for file in out.glob("*.png")}
    assert pictures == {f"figure-{number}.png" for number in range(8, 14)} | {
        "policies.png",
        "thresholds.png",
        "hops.png",
    }
    assert all((out / name).read_bytes().startswith(b"\x89PNG") for name in pictures)
    assert (out / "map.html").read_text().startswith("<!doctype html>")


def test_the_command_refuses_what_it_cannot_write(tmp_path, capsys):
    (tmp_path / "out").write_text("")
    assert main(["reproduce", "overlay", "--quick", "--out", str(tmp_path / "out")]) == 2
    assert "is a file, not a directory" in capsys.readouterr().err
    assert main(["reproduce", "overlay", "--quick", "--map", str(tmp_path / "no" / "map.html")]) == 2
    assert "there is no directory" in capsys.readouterr().err
