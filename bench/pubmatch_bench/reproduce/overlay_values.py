"""Real readings through the overlay while it changes, results compared with those computed centrally."""

from __future__ import annotations

import numpy as np

from pubmatch.overlay import (
    Calculate,
    Filter,
    Subscription,
    TransferNetwork,
    ValueSimulation,
    equal_intervals,
)
from pubmatch_bench.record import Record

__all__ = ["exchange"]

_BITS = 5
_NODES, _PUBLISHERS = 16, 64
_PHASES = ("balance", "move", "leave", "join", "balance")


def exchange(policy: str, crashes: int, seed: int) -> Record:
    """Let readings flow through moves, departures and crashes; count the results that are missing or wrong.

    Parameters
    ----------
    policy : str
        A policy of `TransferNetwork`.
    crashes : int
        How many joints crash on the way.
    seed : int
        Of the readings and the delays.

    Returns
    -------
    dict
        `windows`: results expected, all subscriptions together; `errors`: those missing or not equal to the
        central one; `moves`: flows that moved; `crashes`.

    Examples
    --------
    >>> exchange("paper", crashes=1, seed=0)["errors"]
    0
    """
    network = _network(policy)
    values = np.random.default_rng(seed).integers(0, 1000, (_PUBLISHERS, 64)) / 8

    def reading(kind: str, publisher: int, tick: int) -> dict[str, float]:
        return {"value": float(values[publisher % _PUBLISHERS, tick % 64])}

    simulation = ValueSimulation(network, reading, seed=seed)
    moves = crashed = 0
    for phase in _PHASES:
        simulation.run(13)  # not a whole number of windows: changes come in the middle of them
        moves += _change(simulation, phase)
        if crashed < crashes:
            simulation.run(5)
            simulation.crash(network.tree("mean").joints[0].node)
            crashed += 1
    simulation.run(13)
    simulation.drain()
    windows = sum(len(each) for each in simulation.results.values())
    return {"windows": windows, "errors": len(simulation.errors()), "moves": moves, "crashes": crashed}


def _network(policy: str) -> TransferNetwork:
    network = TransferNetwork.from_arrays(
        equal_intervals(_NODES, _BITS),
        equal_intervals(_PUBLISHERS, _BITS),
        bits=_BITS,
        threshold=15.0,
        policy=policy,
    )
    passed = Filter("reading", "value > 40")
    quarter = 4**_BITS // 4
    highest = Calculate("max", Calculate("mean", passed), Calculate("mean", Filter("reading")))
    network.subscribe(Subscription("mean", Calculate("mean", passed), ranges=[(0, 2 * quarter)]))
    network.subscribe(Subscription("extremes", highest, ranges=[(quarter, 3 * quarter)]))
    network.subscribe(Subscription("count", Calculate("count", passed), ranges=[(quarter, 2 * quarter)]))
    return network


def _change(simulation: ValueSimulation, phase: str) -> int:
    """Change the network in good order; return how many flows moved."""
    network, quarter = simulation.network, 4**_BITS // 4
    if phase == "balance":
        return simulation.apply(lambda each: each.balance()).moved_flows
    if phase == "move":
        area = [(quarter // 2, 2 * quarter + quarter // 2)]
        return simulation.apply(lambda each: each.move_area("mean", ranges=area)).flows_added
    if phase == "leave":
        joint = network.tree("extremes").joints[0].node
        simulation.apply(lambda each: each.leave(joint))
    else:
        simulation.apply(lambda each: each.join(quarter + 5))
    return 0
