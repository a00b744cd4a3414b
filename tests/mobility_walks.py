"""Seeded random lives of a broker network, for tests that try many of them."""

from __future__ import annotations

import random

from mobility_network import EVENTS, FILTERS, Network

from pubmatch.mobility import Broker, FilterSpace


def random_life(
    seed: int,
    algorithm: str,
    broker: type[Broker] = Broker,
    space: FilterSpace | None = None,
    actions: int = 60,
) -> Network:
    """Clients come, move, publish and go while messages are under way; checked at every rest."""
    rng = random.Random(seed)
    size = rng.randint(2, 8)
    network = Network([rng.randrange(child) for child in range(1, size)], algorithm, broker, space)
    names = (f"client{number}" for number in range(10**9))
    for _ in range(actions):
        _act(network, rng, size, names)
        for _ in range(rng.choice((0, 0, 1, 2, 5))):
            network.step(rng.randrange(1000))
    for name, client in list(network.clients.items()):
        if client.at is None and rng.random() < 0.7:
            network.connect(name, rng.randrange(size))
    network.check_delivery()
    return network


def _act(network: Network, rng: random.Random, size: int, names) -> None:  # type: ignore[no-untyped-def]
    action = rng.random()
    here = [name for name, client in network.clients.items() if client.at is not None]
    away = [name for name, client in network.clients.items() if client.at is None]
    if action < 0.15 or not network.clients:
        role = rng.choice(("publisher", "subscriber"))
        filters = rng.sample(FILTERS, rng.choice((1, 1, 2, 3)))
        proxies = rng.sample(range(size), rng.randint(1, size))
        network.join(next(names), role, rng.randrange(size), filters, proxies)
    elif action < 0.30 and here:
        name = rng.choice(here)
        others = [None, *(each for each in range(size) if each != network.clients[name].at)]
        network.disconnect(name, rng.choice(others))
    elif action < 0.50 and away:
        network.connect(rng.choice(away), rng.randrange(size))
    elif action < 0.55:
        network.leave(rng.choice([*here, *away]), rng.randrange(size))
    elif action < 0.62 and here:
        network.change(rng.choice(here), rng.choice(FILTERS))
    elif action < 0.80 and here:
        name = rng.choice(here)
        if network.clients[name].role == "publisher":
            network.publish(name, rng.choice(EVENTS))
    elif action < 0.85:
        network.ring(rng.randrange(1000))
    elif action < 0.92:
        network.settle()
    elif action < 0.93:
        network.forget_unused_filters()
