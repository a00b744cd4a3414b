"""Subscriptions: operator trees of the paper, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import pubmatch as pm
from pubmatch.overlay import Calculate, CoreNetwork, Filter, OperatorGraph, Subscription, TransferNetwork

RAIN, LEVEL = Filter("rain", "value > 0"), Filter("level")


def network() -> TransferNetwork:
    return TransferNetwork.from_arrays([0, 16, 32, 48], {"rain": range(64), "level": range(0, 64, 4)}, bits=3)


def test_figure_4a():
    graph = OperatorGraph.of(Calculate("max", Calculate("mean", RAIN), Calculate("mean", LEVEL)))
    assert graph.sources == (RAIN, LEVEL)
    assert [each.support for each in graph.calculations] == [{0}, {1}, {0, 1}]
    assert graph.consumers == ((2,), (2,), ())


def test_figure_4b_areas_of_their_own():
    upstream, downstream = Filter("rain", ranges=[(0, 16)]), Filter("rain", ranges=[(32, 64)])
    operator = Calculate(
        "mean", Calculate("mean", upstream), Calculate("mean", downstream), Calculate("mean", LEVEL)
    )
    net = network()
    net.subscribe(Subscription("flood", operator, ranges=[(0, 8)]))
    tree = net.tree("flood")
    assert tree.ranges == (((0, 16),), ((32, 64),), ((0, 8),))
    assert {flow.source: set() for flow in tree.flows}.keys() == {0, 1, 2}
    assert sum(flow.publishers for flow in tree.flows) == 16 + 32 + 2


def test_named_operators_share():
    named = {
        "rain": RAIN,
        "mean": Calculate("mean", "rain"),
        "both": Calculate("sum", "mean", Calculate("max", "mean", "rain")),
    }
    graph = OperatorGraph.of(Subscription("s", "both", ranges=[(0, 4)], operators=named).operator)
    assert [each.function for each in graph.calculations] == ["mean", "max", "sum"]
    assert graph.sources == (RAIN,)


def test_predicates_are_pubmatch_filters():
    assert Filter("rain", "value BETWEEN 1 AND 2") == Filter("rain", pm.attr("value").between(1, 2))
    with pytest.raises(pm.FilterError):
        Filter("rain", "value >")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Calculate("median", RAIN),
            "function must be one of mean, sum, count, min, max, got 'median'",
        ),
        (lambda: Calculate("mean"), "a calculation needs at least one input, 'mean' got none"),
        (lambda: Calculate("mean", 3), "input 0 of 'mean' must be a Filter"),
        (lambda: Filter(""), "the type of a filter must not be empty"),
        (lambda: Filter("rain", 7), "a predicate is SQL text or a pubmatch filter, got 7"),
        (lambda: Subscription("s", RAIN), "neither the subscription nor its filter on 'rain' has one"),
        (lambda: Subscription("s", RAIN, ranges=[]), "ranges must name at least one range of ids, got none"),
        (lambda: Subscription("s", RAIN, ranges=[(4, 4)]), r"ranges\[0\] is empty"),
        (lambda: Subscription("s", RAIN, ranges=[(-1, 4)]), r"ranges\[0\] must not start below 0"),
        (lambda: Subscription("s", RAIN, ranges=[(1.5, 4)]), r"ranges\[0\] must be a pair of whole numbers"),
        (lambda: Subscription("s", RAIN, area=(10, 0, 10, 5)), "south must be below north"),
        (lambda: Subscription("s", RAIN, area=(10, 5, 20, 5)), "west and east must differ"),
        (lambda: Subscription("s", RAIN, area=(-100, 0, 10, 5)), "must be from -90 to 90"),
        (lambda: Subscription("s", RAIN, area=(0, 0, float("nan"), 5)), "must be"),
        (lambda: Subscription("s", "x", ranges=[(0, 1)]), "there is no operator 'x'; there are none"),
        (
            lambda: Subscription("s", "a", ranges=[(0, 1)], operators={"a": Calculate("sum", "a")}),
            "the operators go in a circle: a -> a",
        ),
        (
            lambda: Subscription(
                "s",
                "a",
                ranges=[(0, 1)],
                operators={
                    "a": Calculate("sum", Calculate("sum", "b")),
                    "b": Calculate("sum", "c", "d"),
                    "c": RAIN,
                    "d": Calculate("max", "a"),
                },
            ),
            "the operators go in a circle: a -> b -> d -> a",
        ),
        (lambda: Subscription("s", RAIN, ranges=[(0, 1)], subscriber=-3), "must not be below 0, got -3"),
        (lambda: Subscription("s", RAIN, ranges=[(0, 1)], subscriber="here"), "got 'here'"),
    ],
)
def test_refused(make, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        make()
    assert isinstance(caught.value, pm.PubmatchError)


def test_deep_trees_are_refused_before_the_stack_is_full():
    operator: Filter | Calculate = RAIN
    for _ in range(50):
        operator = Calculate("sum", operator)
    with pytest.raises(ValueError, match="nested 50 deep"):
        Calculate("sum", operator)
    names = {f"n{each}": Calculate("sum", f"n{each + 1}") for each in range(5000)} | {"n5000": RAIN}
    with pytest.raises(ValueError, match="nested 50 deep"):
        Subscription("s", "n0", ranges=[(0, 1)], operators=names)


@pytest.mark.parametrize(
    ("operator", "where", "message"),
    [
        (
            Calculate("mean", Filter("snow")),
            {"ranges": [(0, 4)]},
            "the unknown type 'snow'; there are 'rain', 'level'",
        ),
        (RAIN, {"ranges": [(0, 65)]}, "ranges must end at 64 at most"),
        (RAIN, {"ranges": [(0, 4)], "subscriber": 64}, "the id of a subscriber must be below 64"),
    ],
)
def test_network_refuses_and_stays_as_it_was(operator, where, message):
    net = network()
    with pytest.raises(ValueError, match=message):
        net.subscribe(Subscription("s", operator, **where))
    assert len(net) == 0
    assert net.peak == 0
    net.check()


def capped(max_ranges) -> TransferNetwork:
    return TransferNetwork.from_arrays([0], [0], bits=3, max_ranges=max_ranges)


def test_network_refuses_bad_arguments():
    net = network()
    net.subscribe(Subscription("s", RAIN, ranges=[(0, 4)]))
    with pytest.raises(ValueError, match="there is a subscription 's' already"):
        net.subscribe(Subscription("s", RAIN, ranges=[(0, 4)]))
    with pytest.raises(ValueError, match="there is no subscription 't'"):
        net.tree("t")
    with pytest.raises(ValueError, match="there is no node 5"):
        net.leave(5)
    with pytest.raises(ValueError, match="node 16 has already joined"):
        net.join(16)
    with pytest.raises(ValueError, match="relieve_to must be above 0 and at most 1, got 0"):
        net.balance(relieve_to=0)
    for share in (True, "half", None):
        with pytest.raises(pm.ArgumentTypeError, match="relieve_to must be a number, got"):
            net.balance(relieve_to=share)
    assert net.balance(relieve_to=np.float32(0.5)) == net.balance(relieve_to=0.5)
    with pytest.raises(pm.ArgumentTypeError, match="pub_rate must be a number, got 'x'"):
        net.set_rates(pub_rate="x")
    with pytest.raises(pm.ArgumentError, match="threshold must fit a float64, got an integer of"):
        net.set_rates(threshold=10**400)
    with pytest.raises(ValueError, match="rate_fil is a fraction and at most 1"):
        net.set_rates(rate_fil=50)
    with pytest.raises(ValueError, match="threshold must be positive"):
        net.set_rates(threshold=0)
    with pytest.raises(ValueError, match="policy must be one of paper, offer, combiner"):
        TransferNetwork.from_arrays([0], [0], bits=3, policy="best")
    for make in (lambda cap: TransferNetwork(CoreNetwork(bits=3), max_ranges=cap), capped):
        with pytest.raises(ValueError, match="max_ranges must be at least 1, got 0"):
            make(0)
        with pytest.raises(pm.ArgumentTypeError, match=r"max_ranges must be an integer, got 1\.5"):
            make(1.5)
    capped(None).check()
    with pytest.raises(ValueError, match="a network needs at least one node"):
        TransferNetwork.from_arrays([], [0], bits=3)
    with pytest.raises(ValueError, match="must be from 0 to 63, got 64"):
        TransferNetwork.from_arrays([0], [64], bits=3)
    net.check()


def test_last_node_stays():
    net = TransferNetwork.from_arrays([5], [1, 2], bits=3)
    net.subscribe(Subscription("s", Filter("reading"), ranges=[(0, 64)]))
    with pytest.raises(ValueError, match="node 5 is the last one and cannot leave"):
        net.crash(5)
    assert net.balance().unrelieved == []
    net.check()
