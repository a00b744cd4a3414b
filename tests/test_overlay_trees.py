"""Trees of the transfer network: search order, dependent operators, full roots, moving areas, churn."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pubmatch.overlay import (
    Calculate,
    CoreNetwork,
    Filter,
    Subscription,
    TransferNetwork,
    equal_intervals,
    zorder,
)
from pubmatch.overlay.joint_search import SearchOrder
from pubmatch.overlay.node_table import NodeTable

BITS = 6
MEAN = Calculate("mean", Filter("reading"))


def network(nodes: int = 64, publishers: int = 4096, **settings_) -> TransferNetwork:
    arrays = equal_intervals(nodes, BITS), equal_intervals(publishers, BITS)
    return TransferNetwork.from_arrays(*arrays, bits=BITS, **settings_)


def asked_by_the_paper(ids: list[int], own: int, bits: int) -> list[int]:
    """Figure 6 with prefixes as text: larger ids, then smaller ones, then a prefix one bit shorter."""
    text = {each: format(each, f"0{2 * bits}b") for each in ids}
    larger = [each for each in ids if each > own]
    neighbour = larger[0] if larger else max(each for each in ids if each < own)
    length = next(k for k in range(2 * bits + 1) if text[own][: k + 1] != text[neighbour][: k + 1])
    order: list[int] = []
    for kept in range(length, -1, -1):
        cell = [each for each in ids if text[each][:kept] == text[own][:kept] and each not in order]
        order += [each for each in cell if each > own]
        order += sorted((each for each in cell if each < own), reverse=True)
    return order


@settings(max_examples=100, deadline=None)
@given(st.sets(st.integers(0, 255), min_size=2, max_size=40), st.data())
def test_search_order_is_figure_6(ids, data):
    nodes = NodeTable(sorted(ids), bits=4)
    position = data.draw(st.integers(0, len(ids) - 1))
    order = SearchOrder(nodes, position)
    expected = asked_by_the_paper(sorted(ids), int(nodes.ids[position]), 4)
    assert [int(nodes.ids[order.position(rank)]) for rank in range(len(order))] == expected
    places = np.searchsorted(nodes.ids, expected)
    assert order.ranks(places).tolist() == list(range(len(expected)))
    loads = np.array([data.draw(st.integers(0, 3)) for _ in ids], float)
    after = data.draw(st.integers(0, len(order)))
    fits = [rank for rank in range(after, len(order)) if loads[places[rank]] <= 1]
    assert order.first_below(loads, 1.0, after) == (fits[0] if fits else -1)


def test_joint_is_the_first_node_above_each_run():
    net = network()
    net.subscribe(Subscription("s", MEAN, ranges=[(0, 256), (1024, 1100)]))
    tree = net.tree("s")
    assert [joint.node for joint in tree.joints] == [256, 1152]
    assert [len(joint.flows) for joint in tree.joints] == [4, 2]
    assert tree.root == 128


def test_joint_above_the_highest_node_is_the_lowest():
    net = network()
    net.subscribe(Subscription("s", MEAN, ranges=[(3900, 4096)]))
    assert [joint.node for joint in net.tree("s").joints] == [0]


def test_a_node_at_the_threshold_does_not_become_a_joint():
    net = network(threshold=30)
    net.subscribe(Subscription("busy", MEAN, ranges=[(256, 320)]))  # 64 publishers: 96 on node 256
    net.subscribe(Subscription("s", MEAN, ranges=[(0, 256)]))
    assert [joint.node for joint in net.tree("s").joints] == [384]  # 320 has 35 as the joint of "busy"


def test_every_reading_is_received_once_for_all_subscriptions():
    net = network()
    net.subscribe(Subscription("s", MEAN, ranges=[(0, 64)]))
    alone = net.loads_by_role()["edge"][0]
    net.subscribe(Subscription("t", MEAN, ranges=[(0, 64)]))
    assert alone == 64 + 32
    assert net.loads_by_role()["edge"][0] == 64 + 32 + 32
    net.unsubscribe("t")
    assert net.loads_by_role()["edge"][0] == alone
    assert net.unsubscribe("t") is False


def test_figure_7b_dependent_operators_stay_together():
    sensors = equal_intervals(2048, BITS)
    net = TransferNetwork.from_arrays(
        equal_intervals(64, BITS), {"rain": sensors, "level": sensors}, bits=BITS, threshold=400
    )
    dependent = Calculate("max", Calculate("mean", Filter("rain")), Calculate("mean", Filter("level")))
    net.subscribe(Subscription("flood", dependent, ranges=[(0, 1024)]))
    (joint,) = net.tree("flood").joints
    assert joint.calculations == (0, 1, 2)
    assert joint.rate_out == pytest.approx(2 * 512 * 0.5 * 0.1 * 0.1)
    report = net.balance()
    assert report.unrelieved == []
    joints = net.tree("flood").joints
    assert len(joints) > 1
    assert all(2 not in each.calculations for each in joints)  # C3 needs both: it is on the root
    assert sum(each.rate_out for each in joints) == pytest.approx(2 * 512 * 0.5 * 0.1)
    net.check()


def test_a_full_root_halves_the_rates_of_its_joints():
    net = network(publishers=4096, threshold=150)
    net.subscribe(Subscription("s", MEAN, ranges=[(0, 2048)], subscriber=4000))
    before = net.loads_by_role()["root"].max()
    net.set_rates(threshold=1000)
    net.balance()
    assert before == pytest.approx(2048 * 0.5 * 0.1)
    assert net.loads_by_role()["root"].max() == pytest.approx(before)  # moves do not change what arrives
    root = net.tree("s").root
    net.set_rates(threshold=97)
    report = net.balance()
    assert root not in report.unrelieved
    assert report.halvings >= 1
    assert net.loads[net.nodes == root] <= 97
    assert {joint.halvings for joint in net.tree("s").joints} != {0}
    net.check()


def test_halving_stops_at_its_floor_and_is_not_begun_in_vain():
    net = network(threshold=1e9)
    net.subscribe(Subscription("s", MEAN, ranges=[(0, 2048)], subscriber=0))  # the root is an edge
    edge = float(net.loads_by_role()["edge"][0])
    net.set_rates(threshold=edge - 1)
    assert net.balance().halvings == 0
    net.set_rates(threshold=edge + 1.0)
    assert net.balance().halvings > 0
    assert all(joint.halvings <= 8 for joint in net.tree("s").joints)


def test_typhoon():
    """An area that moves keeps what it still covers, cuts what it has left, and nothing stays behind."""
    net = network(threshold=200)
    net.subscribe(Subscription("still", MEAN, ranges=[(3000, 3200)]))
    net.subscribe(Subscription("typhoon", MEAN, ranges=[(0, 512)]))
    net.balance()
    for step in range(1, 40):
        before = {flow.edge: flow.joint for flow in net.tree("typhoon").flows}
        report = net.move_area("typhoon", ranges=[(step * 64, step * 64 + 512)])
        after = {flow.edge: flow.joint for flow in net.tree("typhoon").flows}
        assert (report.flows_cut, report.flows_kept, report.flows_added) == (1, 7, 1)
        assert all(after[edge] == joint for edge, joint in before.items() if edge in after)
        assert net.balance().unrelieved == []
        net.check()
    net.unsubscribe("typhoon")
    fresh = network(threshold=200)
    fresh.subscribe(Subscription("still", MEAN, ranges=[(3000, 3200)]))
    assert net.loads_by_role()["edge"].tolist() == fresh.loads_by_role()["edge"].tolist()


def test_moving_away_altogether_and_back():
    net = network()
    net.subscribe(Subscription("s", MEAN, ranges=[(0, 512)]))
    assert net.move_area("s", ranges=[(2048, 2560)]).flows_kept == 0
    assert [joint.node for joint in net.tree("s").joints] == [2560]
    with pytest.raises(ValueError, match="one of both is needed"):
        net.move_area("s")
    net.check()


def test_departure_hands_over_all_roles():
    net = network()
    net.subscribe(Subscription("s", MEAN, ranges=[(0, 512)], subscriber=512))
    assert (net.tree("s").root, [joint.node for joint in net.tree("s").joints]) == (512, [512])
    departure = net.leave(512)
    assert (departure.heir, departure.joints, departure.roots) == (448, ("s",), ("s",))
    assert net.tree("s").root == 448
    assert [joint.node for joint in net.tree("s").joints] == [576]
    net.leave(0)  # its publishers go to the node above: there is none below
    assert net.owner(3) == 64
    assert sum(flow.publishers for flow in net.tree("s").flows) == 512
    assert net.join(0) == 64
    assert net.owner(63) == 0
    net.check()


def test_core_network_and_arrays_give_the_same_trees():
    core = CoreNetwork(bits=BITS)
    core.join(equal_intervals(64, BITS))
    places = equal_intervals(4096, BITS)
    core.register(np.arange(4096), places, "reading")
    ours = TransferNetwork(core, threshold=300)
    bare = network(threshold=300)
    area = (10.0, 20.0, 60.0, 110.0)
    for net in (ours, bare):
        net.subscribe(Subscription("s", MEAN, area=area, subscriber=(35.0, 135.0)))
        net.balance()
    assert ours.tree("s") == bare.tree("s")
    assert ours.tree("s").root == core.owner(int(zorder.encode(35.0, 135.0, bits=BITS)))
    found = core.find(ours.tree("s").ranges[0], type="reading")
    owners = Counter(core.owner(each.id) for each in found)
    assert owners == {flow.edge: flow.publishers for flow in ours.tree("s").flows}
    ours.leave(64)
    ours.join(70)
    assert core.nodes.tolist() == ours.nodes.tolist()


def test_a_threshold_below_an_edges_own_load_is_reported():
    for policy in ("paper", "offer", "combiner"):
        net = network(nodes=8, threshold=10, policy=policy)
        net.subscribe(Subscription("s", MEAN, ranges=[(0, 4096)]))
        report = net.balance()
        assert report.unrelieved == net.nodes[net.loads > 10].tolist()
        assert len(report.unrelieved) == 8
