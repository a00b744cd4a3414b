"""Real readings through the transfer network: every window's result equals the central one, bit for bit."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pubmatch as pm
from pubmatch.overlay import Calculate, Filter, Subscription, TransferNetwork, ValueSimulation

BITS = 4
SIZE = 4**BITS
RAIN, DRY, LEVEL = Filter("rain", "value > 0"), Filter("rain", "value <= 0"), Filter("level")
OPERATORS = {
    "mean": Calculate("mean", RAIN),
    "figure 4a": Calculate("max", Calculate("mean", RAIN), Calculate("sum", LEVEL)),
    "readings": LEVEL,
    "mixed": Calculate("sum", Calculate("count", RAIN), DRY, Calculate("min", LEVEL, RAIN)),
}


def reading(kind: str, publisher: int, tick: int) -> dict[str, float] | None:
    """Numbers whose sums depend on the order of adding; now and then none."""
    rng = random.Random(f"{kind} {publisher} {tick}")
    if rng.random() < 0.1:
        return None
    return {"value": rng.uniform(-1, 1) * 10.0 ** rng.randint(-8, 8)}


def network(seed: int, policy: str = "paper", threshold: float = 12.0) -> TransferNetwork:
    rng = random.Random(seed)
    publishers = {
        kind: np.array([rng.randrange(SIZE) for _ in range(count)])
        for kind, count in (("rain", 40), ("level", 20))
    }
    net = TransferNetwork.from_arrays(
        sorted(rng.sample(range(SIZE), 16)), publishers, bits=BITS, threshold=threshold, policy=policy
    )
    where = [[(20, 180)], [(0, 80), (160, 230)], [(0, SIZE)], [(30, 250)]]
    for (name, operator), ranges in zip(OPERATORS.items(), where, strict=True):
        net.subscribe(Subscription(name, operator, ranges=ranges, subscriber=rng.randrange(SIZE)))
    return net


def alive(simulation: ValueSimulation) -> list[int]:
    return [node for node in simulation.network.nodes.tolist() if simulation._transport.alive(node)]


def roles(simulation: ValueSimulation) -> list[int]:
    """Joints and roots: whose crash hurts."""
    net = simulation.network
    trees = [net.tree(name) for name in net.subscriptions]
    found = {joint.node for tree in trees for joint in tree.joints} | {tree.root for tree in trees}
    return sorted(found & set(alive(simulation)))


def change(simulation: ValueSimulation, rng: random.Random) -> None:
    """One random change in good order."""
    net = simulation.network
    match rng.randrange(5):
        case 0:
            simulation.apply(lambda each: each.balance())
        case 1 if len(alive(simulation)) > 4:
            node = rng.choice(alive(simulation))
            simulation.apply(lambda each: each.leave(node))
        case 2:
            node = rng.randrange(SIZE)
            if node not in net.nodes.tolist():
                simulation.apply(lambda each: each.join(node))
        case 3:
            low = rng.randrange(SIZE - 60)
            simulation.apply(lambda each: each.move_area("mean", ranges=[(low, low + 60)]))
        case _:
            threshold = rng.choice((6.0, 12.0, 40.0))
            simulation.apply(lambda each: each.set_rates(threshold=threshold))


def play(
    seed: int, kind: type[ValueSimulation], crashes: bool, policy: str = "paper", steps: int = 14
) -> ValueSimulation:
    simulation = kind(network(seed, policy), reading, window=5, delays=(1, 7), detection=2, seed=seed)
    rng = random.Random(seed + 1000)
    for _ in range(steps):
        simulation.run(rng.randint(1, 4))
        if crashes and rng.random() < 0.5 and len(alive(simulation)) > 5:
            simulation.crash(rng.choice(roles(simulation) if rng.random() < 0.7 else alive(simulation)))
        else:
            change(simulation, rng)
    simulation.drain()
    simulation.network.check()
    return simulation


class WithoutFence(ValueSimulation):
    """A root that also takes what a dead joint sent before it crashed."""

    def _fence(self, name: str, node: int) -> None:
        pass


class WithoutReplay(ValueSimulation):
    """Edges that say how many readings a lost segment had, but do not send them again."""

    def _send_again(self, stream, segment, start, end) -> None:
        pass


@pytest.mark.parametrize("policy", ["paper", "offer", "combiner"])
@pytest.mark.parametrize("seed", range(3))
def test_graceful_changes_lose_nothing(seed, policy):
    simulation = play(seed, ValueSimulation, crashes=False, policy=policy)
    assert sum(len(each) for each in simulation.results.values()) >= 20
    assert simulation.errors() == []


@pytest.mark.parametrize("policy", ["paper", "combiner"])
@pytest.mark.parametrize("seed", range(6))
def test_crashes_neither_lose_nor_duplicate(seed, policy):
    simulation = play(seed, ValueSimulation, crashes=True, policy=policy)
    assert sum(len(each) for each in simulation.results.values()) >= 20
    assert simulation.errors() == []


def counted(simulation: ValueSimulation, window: int) -> int:
    """Readings in a result of the subscription that delivers readings."""
    return len(simulation.results["readings"].get(window, ()))


def test_without_the_fence_readings_count_twice():
    def surplus(seed: int) -> bool:
        simulation = play(seed, WithoutFence, crashes=True)
        wrong = [window for name, window in simulation.errors() if name == "readings"]
        return any(counted(simulation, each) > len(simulation.central("readings", each)) for each in wrong)

    assert any(surplus(seed) for seed in range(20))


def test_without_replay_readings_are_lost():
    def missing(seed: int) -> bool:
        simulation = play(seed, WithoutReplay, crashes=True)
        wrong = [window for name, window in simulation.errors() if name == "readings"]
        return any(counted(simulation, each) < len(simulation.central("readings", each)) for each in wrong)

    assert any(missing(seed) for seed in range(20))


def test_results_are_those_of_plain_python():
    """The central result itself, against sums of fractions over all publishers in the area."""
    net = network(3)
    simulation = ValueSimulation(net, reading, window=6, seed=3)
    simulation.run(18)
    simulation.apply(lambda each: each.balance())
    simulation.run(6)
    simulation.drain()
    rain, level = net.publishers("rain").tolist(), net.publishers("level").tolist()
    for window in range(4):
        ticks = range(window * 6, window * 6 + 6)
        heard = [
            value["value"]
            for tick in ticks
            for publisher, place in enumerate(rain)
            if 20 <= place < 180 and (value := reading("rain", publisher, tick)) and value["value"] > 0
        ]
        mean = float(sum(map(Fraction, heard)) / len(heard))
        assert simulation.results["mean"][window] == mean == simulation.central("mean", window)
        levels = [
            value["value"]
            for tick in ticks
            for publisher, _ in enumerate(level)
            if (value := reading("level", publisher, tick))
        ]
        assert simulation.results["readings"][window] == tuple(sorted(levels))


def test_messages_are_what_the_rate_model_says():
    """Every second reading passes, so the counted messages are the loads, node by node."""
    for policy in ("paper", "combiner"):
        net = TransferNetwork.from_arrays(
            np.arange(0, SIZE, 16), np.arange(SIZE), bits=BITS, policy=policy, threshold=20
        )
        mean = Calculate("mean", Filter("reading", "value > 0"))
        net.subscribe(Subscription("s", mean, ranges=[(0, 128)], subscriber=250))
        net.balance()
        simulation = ValueSimulation(
            net, lambda kind, publisher, tick: {"value": float(tick % 2)}, window=100
        )
        simulation.run(100)
        simulation.drain()
        assert simulation.errors() == []
        loads = net.loads_by_role()
        for role, slack in (("edge", 1e-6), ("joint", 0.04), ("root", 0.04)):
            counted_ = [simulation.messages[role][node] / 100 for node in net.nodes.tolist()]
            assert counted_ == pytest.approx(loads[role].tolist(), rel=slack, abs=slack)


def test_same_seed_same_messages():
    first, second = (play(5, ValueSimulation, crashes=True) for _ in range(2))
    assert (first.results, first.messages, first.now) == (second.results, second.messages, second.now)


def test_schemas_missing_values_and_refusals():
    net = TransferNetwork.from_arrays([0, 8], [1, 9, 10], bits=2)
    hot = Filter("reading", "celsius > 20 AND quality = 'good'", value="celsius")
    net.subscribe(Subscription("hot", Calculate("max", hot), ranges=[(0, 16)]))
    schema = pm.Schema(celsius=pm.Number(), quality=pm.Category())
    values = [{"celsius": 25.0, "quality": "good"}, {"celsius": 99.0, "quality": "bad"}, {"quality": "good"}]
    simulation = ValueSimulation(
        net, lambda kind, publisher, tick: values[publisher], schemas={"reading": schema}
    )
    simulation.run(8)
    simulation.drain()
    assert simulation.results["hot"] == {0: 25.0}
    with pytest.raises(ValueError, match="there is no node 5"):
        simulation.crash(5)
    simulation.crash(8)
    with pytest.raises(ValueError, match="node 0 is the last one and cannot crash"):
        simulation.crash(0)
    with pytest.raises(ValueError, match="subscription 'hot' has no window 77"):
        simulation.central("hot", 77)
    with pytest.raises(ValueError, match="delays must be from 0 on and in order"):
        ValueSimulation(net, reading, delays=(3, 1))
    for delays in (4, (1, 2, 3)):
        with pytest.raises(pm.ArgumentTypeError, match="delays must be a pair"):
            ValueSimulation(net, reading, delays=delays)
    with pytest.raises(pm.ArgumentTypeError, match="readings must be callable, got 5"):
        ValueSimulation(net, 5)


@pytest.mark.parametrize("sent", [5, "", [("value", 1.0)]])
def test_readings_that_are_no_mappings(sent):
    net = TransferNetwork.from_arrays([0, 8], {"rain": [1, 9]}, bits=2)
    net.subscribe(Subscription("s", Filter("rain"), ranges=[(0, 16)]))
    simulation = ValueSimulation(net, lambda kind, publisher, tick: sent if tick == 2 else None)
    simulation.run(2)
    message = "must give a mapping of attributes or None, got .* for publisher 0 of type 'rain' at tick 2"
    with pytest.raises(pm.ArgumentTypeError, match=message):
        simulation.run(1)


def test_windows_without_readings_have_results_too():
    net = TransferNetwork.from_arrays([0, 8], {"rain": [1, 9], "level": []}, bits=2)
    net.subscribe(Subscription("silent", OPERATORS["mean"], ranges=[(4, 6)]))
    net.subscribe(
        Subscription("none pass", Calculate("count", Filter("rain", "value > 5")), ranges=[(0, 16)])
    )
    simulation = ValueSimulation(net, lambda kind, publisher, tick: {"value": 1.0}, window=4)
    simulation.run(8)
    simulation.drain()
    assert simulation.results == {"silent": {0: None, 1: None}, "none pass": {0: 0.0, 1: 0.0}}
    assert simulation.errors() == []


filters = st.builds(
    lambda kind, bound, where: Filter(kind, f"value > {bound}", ranges=where),
    st.sampled_from(("rain", "level")),
    st.sampled_from((-1, 0, 2)),
    st.one_of(st.none(), st.sampled_from([[(0, 90)], [(60, 200)]])),
)
calculations = st.recursive(
    st.builds(Calculate, st.sampled_from(("mean", "count", "sum")), filters),
    lambda inner: st.builds(
        lambda function, inputs: Calculate(function, *inputs),
        st.sampled_from(("mean", "sum", "min", "max")),
        st.lists(st.one_of(inner, filters), min_size=1, max_size=3),
    ),
    max_leaves=4,
)


@settings(max_examples=15, deadline=None)
@given(
    st.one_of(filters, calculations),
    st.integers(0, 10**6),
    st.sampled_from(("paper", "offer", "combiner")),
    st.booleans(),
)
def test_any_operator_graph_through_any_churn(operator, seed, policy, crashes):
    net = network(seed, policy)
    for name in ("figure 4a", "mixed"):
        net.unsubscribe(name)
    net.subscribe(Subscription("any", operator, ranges=[(10, 240)]))
    simulation = ValueSimulation(net, reading, window=4, delays=(0, 6), detection=3, seed=seed)
    rng = random.Random(seed)
    for _ in range(6):
        simulation.run(rng.randint(1, 4))
        if crashes and len(alive(simulation)) > 5:
            simulation.crash(rng.choice(alive(simulation)))
        change(simulation, rng)
    simulation.drain()
    assert simulation.errors() == []
