"""A Hypothesis state machine over random trees, filters and moves, one for each algorithm."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from mobility_network import EVENTS, FILTERS, SCHEMA, Network

from pubmatch.mobility import ALGORITHMS, FilterSpace

SPACE = FilterSpace(SCHEMA)
PLACES = st.integers(0, 1000)
FILTER_SETS = st.lists(st.sampled_from(FILTERS), min_size=1, max_size=3)


class Life(RuleBasedStateMachine):
    """Clients do what they like while messages are under way; the network is checked whenever it rests."""

    algorithm = "standard"

    def __init__(self) -> None:
        super().__init__()
        self.network = Network([], self.algorithm, space=SPACE)
        self.count = 0

    def place(self, choice: int) -> int:
        return choice % len(self.network.near)

    def pick(self, choice: int, *, here: bool | None = None) -> str | None:
        clients = self.network.clients.items()
        names = [name for name, client in clients if here in (None, client.at is not None)]
        return names[choice % len(names)] if names else None

    @initialize(choices=st.lists(PLACES, max_size=6))
    def tree(self, choices: list[int]) -> None:
        parents = [choice % (child + 1) for child, choice in enumerate(choices)]
        self.network = Network(parents, self.algorithm, space=SPACE)

    @rule(
        role=st.sampled_from(["publisher", "subscriber"]),
        place=PLACES,
        filters=FILTER_SETS,
        proxies=st.sets(PLACES, max_size=3),
    )
    def join(self, role: str, place: int, filters: list, proxies: set[int]) -> None:  # type: ignore[type-arg]
        self.count += 1
        assigned = sorted({self.place(each) for each in proxies})
        self.network.join(f"client{self.count}", role, self.place(place), filters, assigned)

    @precondition(lambda self: self.network.clients)
    @rule(choice=PLACES, towards=st.none() | PLACES)
    def disconnect(self, choice: int, towards: int | None) -> None:
        name = self.pick(choice, here=True)
        if name is not None:
            following = None if towards is None else self.place(towards)
            at = self.network.clients[name].at
            self.network.disconnect(name, None if following == at else following)

    @precondition(lambda self: self.network.clients)
    @rule(choice=PLACES, place=PLACES)
    def connect(self, choice: int, place: int) -> None:
        name = self.pick(choice, here=False)
        if name is not None:
            self.network.connect(name, self.place(place))

    @precondition(lambda self: self.network.clients)
    @rule(choice=PLACES, place=PLACES)
    def leave(self, choice: int, place: int) -> None:
        name = self.pick(choice)
        if name is not None:
            self.network.leave(name, self.place(place))

    @precondition(lambda self: self.network.clients)
    @rule(choice=PLACES, filter=st.sampled_from(FILTERS))
    def change(self, choice: int, filter) -> None:  # type: ignore[no-untyped-def]
        name = self.pick(choice, here=True)
        if name is not None:
            self.network.change(name, filter)

    @precondition(lambda self: self.network.clients)
    @rule(choice=PLACES, event=st.sampled_from(EVENTS))
    def publish(self, choice: int, event) -> None:  # type: ignore[no-untyped-def]
        name = self.pick(choice, here=True)
        if name is not None and self.network.clients[name].role == "publisher":
            self.network.publish(name, event)

    @precondition(lambda self: self.network.busy())
    @rule(choices=st.lists(PLACES, min_size=1, max_size=6))
    def carry(self, choices: list[int]) -> None:
        for choice in choices:
            self.network.step(choice)

    @precondition(lambda self: self.network.timers)
    @rule(choice=PLACES)
    def ring(self, choice: int) -> None:
        self.network.ring(choice)

    @rule()
    def rest(self) -> None:
        self.network.settle()

    def teardown(self) -> None:
        self.network.check_delivery()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_machine(algorithm: str) -> None:
    machine = type("Life", (Life,), {"algorithm": algorithm})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=30,
            stateful_step_count=40,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
