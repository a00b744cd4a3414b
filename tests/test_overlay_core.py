"""The core network: the paper's example, lookups over links alone, and churn against a network built anew."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pubmatch.errors import ArgumentError, ArgumentTypeError
from pubmatch.overlay import CoreNetwork, Publisher, zorder

BITS = 4
SPACE = 4**BITS
ids = st.integers(0, SPACE - 1)


def network_of(nodes, bits=BITS):
    network = CoreNetwork(bits=bits)
    network.join(sorted(nodes))
    return network


def slow_owner(nodes, number):
    return max((node for node in nodes if node <= number), default=min(nodes))


def digits_of(number, bits):
    return [number >> 2 * level & 3 for level in range(bits - 1, -1, -1)]


def slow_links(nodes, node, bits):
    """Neighbours, and while others share the prefix, a link into the three other areas of the next digit."""
    ordered = sorted(nodes)
    place = ordered.index(node)
    found = set(ordered[max(place - 1, 0) : place + 2]) - {node}
    digits = digits_of(node, bits)
    for position in range(bits):
        prefix = digits[:position]

        def within(other, wanted):
            return digits_of(other, bits)[: len(wanted)] == wanted

        if [other for other in nodes if within(other, prefix)] == [node]:
            break
        for digit in set(range(4)) - {digits[position]}:
            area = sorted(other for other in nodes if within(other, [*prefix, digit]))
            like = node + (digit - digits[position]) * 4 ** (bits - 1 - position)
            if area:
                found.add(max((other for other in area if other <= like), default=area[0]))
    return sorted(found)


def test_the_example_of_figure_3():
    # 001010 shares four bits with 001011 and 001000, two with 000110 and 001110 (14; the paper prints 12).
    network = network_of([0b000010, 0b000110, 0b001000, 0b001010, 0b001011, 0b001110], bits=3)
    assert network.links(0b001010) == [0b000010, 0b000110, 0b001000, 0b001011, 0b001110]


def test_a_node_owns_from_its_id_to_the_next_larger():
    network = network_of([3, 7, 20])
    assert [network.owner(number) for number in (0, 2, 3, 6, 7, 19, 20, SPACE - 1)] == [
        3,
        3,
        3,
        3,
        7,
        7,
        20,
        20,
    ]
    assert network.owner([0, 6, 7]).tolist() == [3, 3, 7]
    assert [network.owned(node) for node in (3, 7, 20)] == [(0, 7), (7, 20), (20, SPACE)]


def test_publishers_move_with_the_range():
    network = network_of([0, 100])
    network.register(["a", "b", "c"], [10, 50, 120], "rain")
    network.register("d", 50, "level")
    network.join(40)
    assert network.publishers(0) == [Publisher("a", 10, "rain")]
    assert network.publishers(40) == [Publisher("d", 50, "level"), Publisher("b", 50, "rain")]
    network.leave(40)
    assert [each.name for each in network.publishers(0)] == ["a", "d", "b"]
    network.leave([0, 100])
    network.join(200)
    assert len(network.publishers(200)) == 4


def test_find_by_area_and_type():
    network = network_of([0], bits=8)
    lat, lon = np.meshgrid(np.arange(-89, 90, 2.0), np.arange(-179, 180, 2.0), indexing="ij")
    names = np.arange(lat.size)
    kinds = np.where(names % 3 == 0, "rain", "level")
    network.register(names, zorder.encode(lat.ravel(), lon.ravel(), bits=8), kinds)
    area = zorder.ranges(-45, 90, 0, -90, bits=8)
    inside = (lat >= -45) & (lat < 0) & ((lon > 90) | (lon < -90))
    found = network.find(area, type="rain")
    assert {each.name for each in found} == set(names[inside.ravel() & (kinds == "rain")].tolist())
    assert [each.id for each in found] == sorted(each.id for each in found)
    assert len(network.find(area)) == inside.sum()
    assert network.publisher_ids(area).tolist() == [each.id for each in network.find(area)]
    assert network.find(area, type="snow") == []
    assert network.types == ("level", "rain")


def test_overlapping_ranges_count_once():
    network = network_of([0])
    network.register(range(20), range(20), "rain")
    assert [each.id for each in network.find([(5, 9), (0, 6), (9, 10)])] == list(range(10))


def test_names_of_all_kinds_stay_what_they_are():
    network = network_of([0])
    network.register(7, 1, "rain")
    network.register(np.array(["x", "y"]), [2, 3], "rain")
    network.register(["z", 9], [0, 4], ["rain", "rain"])
    assert [each.name for each in network.publishers(0)] == ["z", 7, "x", "y", 9]
    assert all(type(each.name) in (str, int) for each in network.publishers(0))


def test_what_the_caller_does_to_his_arrays_later_does_not_count():
    network = network_of([0])
    names, numbers = np.arange(3), np.arange(3)
    network.register(names, numbers, "rain")
    names[:] = numbers[:] = 99
    assert network.publishers(0) == [Publisher(each, each, "rain") for each in range(3)]
    with pytest.raises(ValueError, match="read-only"):
        network.nodes[0] = 5


@settings(max_examples=60, deadline=None)
@given(st.sets(ids, min_size=1, max_size=40), st.data())
def test_links_and_lookups_of_any_nodes(nodes, data):
    network = network_of(nodes)
    for node in nodes:
        assert network.links(node) == slow_links(nodes, node, BITS)
    start, target = data.draw(st.sampled_from(sorted(nodes))), data.draw(ids)
    path = network.lookup(start, target)
    assert path[0] == start
    assert path[-1] == network.owner(target) == slow_owner(nodes, target)
    # Every hop is a link of the node that made it.
    assert all(hop in network.links(node) for node, hop in itertools.pairwise(path))
    assert len(path) - 1 <= 2 * BITS + 3


@pytest.mark.parametrize("count", [100, 1000, 10_000, 100_000])
@pytest.mark.parametrize("spread", ["even", "random"])
def test_mean_and_longest_lookup(count, spread):
    rng = np.random.default_rng(count)
    space = 4**16
    even = np.arange(count) * space // count
    network = network_of(
        even if spread == "even" else rng.choice(space // 64, count, replace=False) * 64, bits=16
    )
    starts, targets = rng.choice(network.nodes, 1500).tolist(), rng.integers(0, space, 1500).tolist()
    hops = [len(network.lookup(start, target)) - 1 for start, target in zip(starts, targets, strict=True)]
    digits = math.log(count, 4)
    assert 0.70 * digits <= np.mean(hops) <= 0.90 * digits
    assert max(hops) <= 2 * digits + 3


def test_no_node_carries_most_lookups():
    network = network_of(np.arange(1000) * (4**16 // 1000), bits=16)
    rng = np.random.default_rng(0)
    passed: dict[int, int] = {}
    for start, target in zip(rng.choice(network.nodes, 2000), rng.integers(0, 4**16, 2000), strict=True):
        for node in network.lookup(int(start), int(target))[1:-1]:
            passed[node] = passed.get(node, 0) + 1
    assert max(passed.values()) < 0.03 * 2000


class Churn(RuleBasedStateMachine):
    """Nodes come and go, publishers register; at any time all is as in a network built from scratch."""

    def __init__(self):
        super().__init__()
        self.network = CoreNetwork(bits=BITS)
        self.nodes: set[int] = set()
        self.known: list[Publisher] = []

    @rule(node=ids)
    def join(self, node):
        if node in self.nodes:
            with pytest.raises(ArgumentError, match=f"node {node} is in the network already"):
                self.network.join(node)
        else:
            self.network.join(node)
            self.nodes.add(node)

    @rule(new=st.lists(ids, max_size=6))
    def join_many(self, new):
        if len(set(new)) < len(new) or self.nodes & set(new):
            with pytest.raises(ArgumentError, match=r"twice|already"):
                self.network.join(new)
        else:
            self.network.join(new)
            self.nodes |= set(new)

    @rule(node=ids)
    def leave_unknown(self, node):
        if node not in self.nodes:
            with pytest.raises(ArgumentError, match=f"there is no node {node}"):
                self.network.leave(node)

    @precondition(lambda self: self.nodes)
    @rule(data=st.data())
    def leave(self, data):
        gone = data.draw(st.sets(st.sampled_from(sorted(self.nodes)), min_size=1, max_size=4))
        self.network.leave(gone.pop() if len(gone) == 1 else sorted(gone))
        self.nodes = set(self.network.nodes.tolist())

    @rule(where=ids, kind=st.sampled_from(["rain", "level"]))
    def register(self, where, kind):
        name = f"p{len(self.known)}"
        self.network.register(name, where, kind)
        self.known.append(Publisher(name, where, kind))

    @rule(where=st.lists(ids, max_size=8), kind=st.sampled_from(["rain", "level"]))
    def register_many(self, where, kind):
        names = [f"p{len(self.known) + each}" for each in range(len(where))]
        self.network.register(names, where, kind)
        self.known += [Publisher(*each, kind) for each in zip(names, where, strict=True)]

    @rule(low=ids, length=st.integers(1, SPACE), kind=st.sampled_from(["rain", "level", None]))
    def find(self, low, length, kind):
        high = min(low + length, SPACE)
        inside = [each for each in self.known if low <= each.id < high and kind in (each.type, None)]
        assert self.network.find([(low, high)], type=kind) == sorted(
            inside, key=lambda each: (each.id, each.type)
        )

    @invariant()
    def as_from_scratch(self):
        assert self.network.nodes.tolist() == sorted(self.nodes)
        assert len(self.network) == len(self.nodes)
        looked_after = {node: [] for node in self.nodes}
        if self.nodes:
            for each in sorted(self.known, key=lambda each: (each.id, each.type)):
                looked_after[slow_owner(self.nodes, each.id)].append(each)
        for node in self.nodes:
            assert self.network.publishers(node) == looked_after[node]
            assert self.network.links(node) == slow_links(self.nodes, node, BITS)


def test_churn():
    run_state_machine_as_test(
        Churn, settings=settings(max_examples=40, stateful_step_count=25, deadline=None, derandomize=True)
    )


def registered():
    network = network_of([5, 9])
    network.register("a", 5, "rain")
    return network


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda n: CoreNetwork(bits=0), "bits must be at least 1, got 0"),
        (lambda n: n.join(SPACE), f"id must be from 0 to {SPACE - 1}, got {SPACE}"),
        (lambda n: n.join([1, 2, 9]), "node 9 is in the network already"),
        (lambda n: n.join([1, 2, 1]), "node 1 is to join twice"),
        (lambda n: n.join([[1], [2, 3]]), "not a rectangular array of integers"),
        (lambda n: n.leave([5, 6]), "there is no node 6"),
        (lambda n: n.owner(-1), f"id must be from 0 to {SPACE - 1}, got -1"),
        (lambda n: n.links(6), "id: there is no node 6"),
        (lambda n: n.lookup(6, 7), "start: there is no node 6"),
        (lambda n: n.lookup(5, SPACE), f"id must be from 0 to {SPACE - 1}"),
        (lambda n: n.publishers(6), "node: there is no node 6"),
        (lambda n: n.register("b", -3, "rain"), "got -3"),
        (lambda n: n.register(["b"], [1, 2], "rain"), "there are 1 names for 2 ids"),
        (lambda n: n.register(["b", "c"], [1, 2], ["rain"]), "there are 1 types for 2 ids"),
        (lambda n: n.register(["b", "c"], [1, 2], ["rain", ""]), "type must not be empty"),
        (lambda n: n.register([["b"]], [[1]], "rain"), "one-dimensional"),
        (lambda n: n.register([["b"], ["c", "d"]], [1, 2], "rain"), "one-dimensional"),
        (lambda n: n.find([(4, 4)]), "low must be below high, got (4, 4)"),
        (lambda n: n.find([]), "the area is empty"),
        (lambda n: n.find([(0, SPACE + 1)]), f"ranges must end at {SPACE} at most"),
        (lambda n: CoreNetwork(bits=2).owner(1), "the network has no nodes"),
        (lambda n: CoreNetwork(bits=2).lookup(0, 1), "start: there is no node 0"),
    ],
)
def test_refusals_leave_all_as_it_was(call, message):
    network = registered()
    with pytest.raises(ArgumentError) as refused:
        call(network)
    assert message in str(refused.value)
    assert network.nodes.tolist() == [5, 9]
    assert network.find([(0, SPACE)]) == [Publisher("a", 5, "rain")]


@pytest.mark.parametrize(
    "call",
    [
        lambda n: n.join("5"),
        lambda n: n.join(2.5),
        lambda n: n.lookup(5, 1.5),
        lambda n: n.register(2.5, 1, "rain"),
        lambda n: n.register(["a", None], [1, 2], "rain"),
        lambda n: n.register("a", 1, 7),
        lambda n: n.register("a", 1, np.array(3)),
        lambda n: n.find([3]),
        lambda n: n.find(3),
        lambda n: n.find(None),
        lambda n: n.find([(0, 4)], type=3),
    ],
)
def test_refusals_of_types(call):
    network = registered()
    with pytest.raises(ArgumentTypeError):
        call(network)
    assert network.find([(0, SPACE)]) == [Publisher("a", 5, "rain")]
