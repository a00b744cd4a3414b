"""The paper's figures 8 to 13 and what the transfer network does beyond them, in the paper's setting."""

from __future__ import annotations

import numpy as np
import pytest

import pubmatch as pm
from pubmatch.overlay import DsmNetwork, TransferNetwork, cell_subscriptions, equal_intervals

BITS = 10
NODES, PUBLISHERS = equal_intervals(500, BITS), equal_intervals(20_000, BITS)


def ours(**settings) -> TransferNetwork:
    network = TransferNetwork.from_arrays(NODES, PUBLISHERS, bits=BITS, **settings)
    for each in cell_subscriptions(bits=BITS):
        network.subscribe(each)
    return network


def dsm(**settings) -> DsmNetwork:
    network = DsmNetwork(NODES, PUBLISHERS, bits=BITS, **settings)
    for each in cell_subscriptions(bits=BITS):
        network.subscribe(each)
    return network


@pytest.mark.parametrize(
    "make",
    [
        lambda bits: equal_intervals(5, bits),
        lambda bits: cell_subscriptions(bits=bits),
        lambda bits: DsmNetwork(NODES, PUBLISHERS, bits=bits),
        lambda bits: TransferNetwork.from_arrays(NODES, PUBLISHERS, bits=bits),
    ],
)
def test_bits_are_checked_alike_everywhere(make):
    for bits, rule in ((0, "at least 1, got 0"), (32, "at most 31, got 32")):
        with pytest.raises(pm.ArgumentError, match=f"bits must be {rule}"):
            make(bits)
    for bits in (True, "10", 2.5):
        with pytest.raises(pm.ArgumentTypeError, match="bits must be an integer, got"):
            make(bits)


def test_setting_is_the_papers():
    network = ours()
    for name in network.subscriptions:
        assert network.flow_arrays(name)["publishers"].sum() == 625
    assert (np.diff(np.searchsorted(PUBLISHERS, [*NODES, 4**BITS])) == 40).all()


def test_figures_8_and_9_loads_scale_exactly_with_the_publishing_rate():
    once, thrice, fourfold = ours(pub_rate=1), ours(pub_rate=3), ours(pub_rate=4)
    assert (3 * once.loads == thrice.loads).all()
    assert (4 * once.loads == fourfold.loads).all()
    assert 1150 <= thrice.peak <= 1350
    for role in ("edge", "joint", "root"):
        assert (3 * once.loads_by_role()[role] == thrice.loads_by_role()[role]).all()


@pytest.mark.parametrize(
    ("settings", "peak"),
    [
        ({"pub_rate": 1}, 312.5),
        ({"pub_rate": 3}, 937.5),
        ({"pub_rate": 3, "rate_fil": 0.25}, 468.75),
        ({"pub_rate": 3, "calculate": True}, 252),
        ({"pub_rate": 4, "calculate": True}, 336),
    ],
)
def test_dsm_peaks_are_the_closed_form(settings, peak):
    network = dsm(**settings)
    assert network.peak == pytest.approx(peak, rel=0.005)
    network.balance()  # at this threshold nothing is to split, and nothing relieves a root
    assert network.peak == pytest.approx(peak, rel=0.005)


def test_dsm_edges_serve_twice_the_publishers():
    theirs, our = dsm(pub_rate=3), ours(pub_rate=3).loads_by_role()["edge"]
    assert theirs.edge_peak == pytest.approx(360)
    edges = theirs.edge_loads
    assert 1.95 <= edges[edges > 0].mean() / our[our > 0].mean() <= 2.05
    assert 1.95 <= edges.max() / our.max() <= 2.05


def test_dsm_splits_only_leaves():
    network = dsm(pub_rate=3, threshold=300)
    report = network.balance()
    assert report.splits > 0
    assert len(network.loads) == 500 + 2 * report.splits
    assert network.edge_peak <= 300
    assert network.root_peak == pytest.approx(937.5)
    assert report.unrelieved == sorted(network.roots.values())


@pytest.mark.parametrize("policy", ["paper", "offer"])
@pytest.mark.parametrize("settings", [{"pub_rate": 3}, {"pub_rate": 3, "rate_fil": 0.25}, {"pub_rate": 4}])
def test_figures_10_to_13_balancing_keeps_below_the_threshold(settings, policy):
    network = ours(policy=policy, **settings)
    report = network.balance()
    assert report.unrelieved == []
    assert 430 < network.peak <= 500
    network.check()


def test_threshold_190_is_feasible():
    network = ours(pub_rate=3, threshold=190)
    report = network.balance()
    assert report.unrelieved == []
    assert network.peak <= 190
    assert report.halvings > 0  # roots on edges need it
    network.check()


def test_threshold_150_stops_and_reports():
    network = ours(pub_rate=3, threshold=150)  # an edge has 180 by itself
    report = network.balance()
    above = network.nodes[network.loads > 150]
    assert report.unrelieved == above.tolist()
    edges = network.loads_by_role()["edge"]
    assert (edges[np.isin(network.nodes, above)] > 150).all()
    again = network.balance()
    assert (again.moves, again.unrelieved) == ([], report.unrelieved)


def test_offers_need_far_fewer_probes_at_the_same_peak():
    paper, offer = ours(pub_rate=3), ours(pub_rate=3, policy="offer")
    by_chunks, by_offers = paper.balance(), offer.balance()
    assert by_offers.probes * 50 < by_chunks.probes
    assert offer.peak <= paper.peak
    assert by_offers.moved_flows <= by_chunks.moved_flows


def test_combiner_halves_the_peak_without_moves():
    paper, combiner = ours(pub_rate=3), ours(pub_rate=3, policy="combiner")
    paper.balance()
    report = combiner.balance()
    assert report.moves == []
    assert combiner.peak <= 0.55 * paper.peak


def test_combiner_reaches_a_threshold_of_140():
    network = ours(pub_rate=3, threshold=140, policy="combiner")
    assert network.balance().unrelieved == []
    assert network.peak <= 140
    network.check()


def test_hysteresis_moves_fewer_flows_under_changing_rates():
    def moved(relieve_to: float) -> int:
        network = ours(pub_rate=3)
        network.balance(relieve_to=relieve_to)
        rng = np.random.default_rng(7)
        flows = 0
        for _ in range(30):
            network.set_rates(pub_rate=3 * rng.uniform(0.9, 1.1))
            report = network.balance(relieve_to=relieve_to)
            assert report.unrelieved == []
            flows += report.moved_flows
        network.check()
        return flows

    assert moved(0.85) < moved(1.0)


def test_same_calls_same_result():
    first, second = ours(pub_rate=3), ours(pub_rate=3)
    assert first.balance() == second.balance()
    assert (first.loads == second.loads).all()
