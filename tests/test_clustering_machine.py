"""Publishers come and go, subscribers listen; invariants and the oracle after every step."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from clustering_oracle import Oracle, expected_rate, power_set, view
from hypothesis import settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pubmatch.clustering import Clustering
from pubmatch.errors import ArgumentError

ATTRIBUTES = st.frozensets(st.sampled_from("ABCDEF"), min_size=1, max_size=4)
LIMITS = st.none() | st.integers(1, 8)


class Machine(RuleBasedStateMachine):
    options = ("1", "descending", 0)

    def __init__(self):
        super().__init__()
        strategy, order, moves = self.options
        self.clustering = Clustering(strategy, order=order, local_moves=moves, seed=3)
        self.oracle = Oracle(strategy) if order == "descending" and strategy != "4" else None
        self.publishers, self.subscribers, self.joined = {}, {}, 0

    @rule(attributes=ATTRIBUTES, limit=LIMITS)
    def join(self, attributes, limit):
        self.joined += 1
        name = f"p{self.joined}"
        self.clustering.join(name, attributes, limit)
        self.publishers[name] = (attributes, limit)
        if self.oracle:
            self.oracle.join(name, attributes, limit)

    @precondition(lambda self: self.publishers)
    @rule(data=st.data())
    def leave(self, data):
        name = data.draw(st.sampled_from(sorted(self.publishers)))
        self.clustering.leave(name)
        del self.publishers[name]
        if self.oracle:
            self.oracle.leave(name)

    @rule(combination=ATTRIBUTES, number=st.integers(0, 5))
    def subscribe(self, combination, number):
        if any(combination <= attributes for attributes, _ in self.publishers.values()):
            owner = self.clustering.subscribe(f"s{number}", combination)
            assert owner == self.clustering.cluster_of(combination)
            self.subscribers[f"s{number}"] = combination
        else:
            with pytest.raises(ArgumentError, match="nobody offers"):
                self.clustering.subscribe(f"s{number}", combination)

    @precondition(lambda self: self.publishers)
    @rule(data=st.data())
    def publish(self, data):
        name = data.draw(st.sampled_from(sorted(self.publishers)))
        sent = self.clustering.publish(name)
        attributes = self.publishers[name][0]
        clusters = set(self.clustering.connections(name))
        heard = [each for each in self.subscribers.values() if self.clustering.cluster_of(each) in clusters]
        assert sent.deliveries == len(heard)
        assert sent.false_positives == sum(not each <= attributes for each in heard)
        # Whoever wants what the publisher offers receives it.
        assert sent.deliveries - sent.false_positives == sum(
            each <= attributes for each in self.subscribers.values()
        )

    @invariant()
    def holds(self):
        self.clustering.check()
        clusters = view(self.clustering)
        owned = [combination for combinations, _ in clusters.values() for combination in combinations]
        offered = set().union(*(power_set(attributes) for attributes, _ in self.publishers.values()))
        assert len(owned) == len(set(owned))
        assert set(owned) == offered
        for name, (attributes, limit) in self.publishers.items():
            connected = {
                each for each, (combinations, _) in clusters.items() if combinations & power_set(attributes)
            }
            assert set(self.clustering.connections(name)) == connected
            assert {each for each, (_, names) in clusters.items() if name in names} == connected
            if limit is not None and self.clustering.strategy not in ("1", "2"):
                assert len(connected) <= limit
        rate = self.clustering.expected_false_positive_rate()
        advertised = {name: attributes for name, (attributes, _) in self.publishers.items()}
        assert rate == pytest.approx(expected_rate(clusters, advertised))
        if self.clustering.strategy == "1":
            assert rate == 0
        if self.oracle:
            assert clusters == self.oracle.view()


@pytest.mark.parametrize(
    "options",
    [
        ("1", "descending", 0),
        ("2", "descending", 0),
        ("3", "descending", 0),
        ("3", "random", 0),
        ("3.1", "descending", 0),
        ("3.1", "random", 0),
        ("4", "descending", 0),
        ("4", "descending", 30),
    ],
)
def test_state_machine(options):
    machine = type("Configured", (Machine,), {"options": options})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=40, stateful_step_count=20, deadline=None, derandomize=True)
    )
