"""Random operator graphs, areas and churn: loads equal brute force, and reports are exact."""

from __future__ import annotations

import numpy as np
import overlay_oracle as oracle
from hypothesis import given, settings
from hypothesis import strategies as st

from pubmatch.overlay import POLICIES, Calculate, Filter, Subscription, TransferNetwork

BITS = 4
SIZE = 4**BITS
TYPES = ("rain", "level")

ids = st.integers(0, SIZE - 1)
ranges = st.lists(
    st.tuples(ids, st.integers(1, 90)).map(lambda each: (each[0], min(each[0] + each[1], SIZE))),
    min_size=1,
    max_size=3,
)
filters = st.builds(
    lambda kind, bound, own: Filter(kind, f"value > {bound}", ranges=own),
    st.sampled_from(TYPES),
    st.integers(0, 2),
    st.one_of(st.none(), ranges),
)
calculations = st.recursive(
    st.builds(
        lambda f, given: Calculate(f, *given),
        st.sampled_from(("mean", "max")),
        st.lists(filters, min_size=1, max_size=2),
    ),
    lambda inner: st.builds(
        lambda f, given: Calculate(f, *given),
        st.sampled_from(("sum", "min")),
        st.lists(st.one_of(inner, filters), min_size=1, max_size=3),
    ),
    max_leaves=5,
)
operators = st.one_of(filters, calculations)

steps = st.one_of(
    st.tuples(st.just("subscribe"), operators, ranges, st.one_of(st.none(), ids)),
    st.tuples(st.just("unsubscribe"), st.integers(0, 9)),
    st.tuples(st.just("area"), st.integers(0, 9), ranges),
    st.tuples(st.just("join"), ids),
    st.tuples(st.just("leave"), st.integers(0, 60)),
    st.tuples(st.just("crash"), st.integers(0, 60)),
    st.tuples(st.just("rate"), st.sampled_from((0.0, 0.5, 1.0, 2.0, 7.0))),
    st.tuples(st.just("balance"), st.sampled_from((1.0, 0.85))),
)


@st.composite
def networks(draw) -> TransferNetwork:
    nodes = draw(st.lists(ids, min_size=1, max_size=24, unique=True))
    publishers = {kind: draw(st.lists(ids, max_size=60)) for kind in TYPES}
    return TransferNetwork.from_arrays(
        np.array(nodes),
        {kind: np.array(each, np.int64) for kind, each in publishers.items()},
        bits=BITS,
        threshold=draw(st.sampled_from((1.0, 6.0, 15.0, 40.0, 1000.0))),
        rate_calc=draw(st.sampled_from((0.1, 0.5))),
        policy=draw(st.sampled_from(POLICIES)),
    )


def apply(network: TransferNetwork, step: tuple, number: int) -> None:
    names, nodes = network.subscriptions, network.nodes.tolist()
    match step:
        case ("subscribe", operator, where, subscriber):
            network.subscribe(Subscription(f"s{number}", operator, ranges=where, subscriber=subscriber))
        case ("unsubscribe", which) if names:
            assert network.unsubscribe(names[which % len(names)])
        case ("area", which, where) if names:
            moved_area(network, names[which % len(names)], where)
        case ("join", node) if node not in nodes:
            network.join(node)
        case ("leave", which) if len(nodes) > 1:
            network.leave(nodes[which % len(nodes)])
        case ("crash", which) if len(nodes) > 1:
            crashed(network, nodes[which % len(nodes)])
        case ("rate", rate):
            network.set_rates(pub_rate=rate)
        case ("balance", relieve_to):
            balanced(network, relieve_to)


def moved_area(network: TransferNetwork, name: str, where: list[tuple[int, int]]) -> None:
    before = {(flow.source, flow.edge): flow.joint for flow in network.tree(name).flows}
    report = network.move_area(name, ranges=where)
    after = {(flow.source, flow.edge): flow.joint for flow in network.tree(name).flows}
    kept = before.keys() & after.keys()
    assert all(before[each] == after[each] for each in kept)  # nothing is rebuilt
    assert (report.flows_kept, report.flows_added) == (len(kept), len(after) - len(kept))
    assert report.flows_cut == len(before) - len(kept)
    assert set(report.added) == set(after.values()) - set(before.values())
    assert set(report.cut) == set(before.values()) - set(after.values())


def crashed(network: TransferNetwork, node: int) -> None:
    before = {name: network.tree(name).generation for name in network.subscriptions}
    departure = network.crash(node)
    part = {*departure.edges, *departure.joints, *departure.roots}
    for name, generation in before.items():
        assert network.tree(name).generation == generation + (name in part)


def balanced(network: TransferNetwork, relieve_to: float) -> None:
    before = network.loads
    report = network.balance(relieve_to=relieve_to)
    threshold = network.rates.threshold
    assert report.unrelieved == network.nodes[network.loads > threshold].tolist()
    assert not ((network.loads > threshold) & (before <= threshold)).any()  # nobody is made to suffer
    again = network.balance(relieve_to=relieve_to)
    assert (again.moves, again.halvings) == ([], 0)


@settings(max_examples=150, deadline=None)
@given(networks(), st.lists(steps, max_size=12))
def test_loads_equal_brute_force_whatever_happens(network, given_steps):
    for number, step in enumerate(given_steps):
        apply(network, step, number)
        network.check()
    expected = oracle.loads(network)
    kept = network.loads_by_role()
    for place, node in enumerate(network.nodes.tolist()):
        for role in ("edge", "joint", "root"):
            assert abs(kept[role][place] - float(expected[role][node])) < 1e-4
    total = sum(kept.values())
    assert np.allclose(total, network.loads, rtol=0, atol=1e-9)


@settings(max_examples=100, deadline=None)
@given(networks(), st.sampled_from(("mean", None)), filters, ranges, st.integers(0, SIZE - 1))
def test_reported_means_full(network, function, source, where, subscriber):
    """Every node outside the tree refuses every flow of a joint that balance could not relieve."""
    operator = Calculate(function, source) if function else source
    network.subscribe(Subscription("s", operator, ranges=where, subscriber=subscriber))
    network.subscribe(Subscription("t", operator, ranges=[(0, SIZE)]))
    report = network.balance()
    state, limit = network._state, network.rates.limit_units()
    for node in report.unrelieved:
        slot = int(state.nodes.order[state.nodes.position(node)])
        for name in list(state.joints_at.get(slot, ())):
            tree = state.trees[name]
            outside = set(state.nodes.order.tolist()) - {*tree.edge.tolist(), *tree.charges, tree.root}
            for row in tree.at(slot).tolist():
                if tree.edge[row] != slot:
                    assert not any(_would_help(network, name, row, slot, each, limit) for each in outside)


def _would_help(network, name, row, slot, other, limit) -> bool:
    """Whether moving one flow relieves its joint and leaves target and root within the limit; by doing it."""
    state = network._state
    tree = state.trees[name]
    before, halvings = state.units.copy(), tree.charges[slot].halvings
    state.move(tree, np.array([row]), other)
    after = state.units.copy()
    state.move(tree, np.array([row]), slot)
    assert tree.charges[slot].halvings == halvings
    assert (state.units == before).all()
    root_fits = after[tree.root] <= limit or after[tree.root] <= before[tree.root]
    return bool(after[slot] < before[slot] and after[other] <= limit and root_fits)
