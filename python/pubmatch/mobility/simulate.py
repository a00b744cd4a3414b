"""`simulate`: the paper's experiment with any algorithm, and what it measured."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pubmatch.arrays import checked_count, checked_flag, checked_number, checked_share
from pubmatch.errors import ArgumentError, ArgumentTypeError
from pubmatch.mobility.algorithms import ALGORITHMS
from pubmatch.mobility.clients import Timetable
from pubmatch.mobility.network import Links
from pubmatch.mobility.simulation import Plan, Simulation
from pubmatch.mobility.topology import Topology, balanced_tree
from pubmatch.mobility.trace import Trace, read_trace
from pubmatch.mobility.walks import checked_speed
from pubmatch.mobility.workload import draw_workload

__all__ = ["KINDS", "WALKS", "SimulationResult", "simulate"]

WALKS = ("persistent", "random", "trace")
KINDS = ("advertise", "unadvertise", "subscribe", "unsubscribe", "control", "acknowledge")
"""The messages that count as cost of moving (section 4.2: publications do not)."""

WARM_UP_S = 60.0
MOST_S = 1e6


@dataclass(frozen=True)
class SimulationResult:
    """What a run measured.

    Attributes
    ----------
    algorithm : str
        The algorithm's name.
    moves : int
        Moves that began in the measured time.
    hops_per_move : dict of str to float
        Messages between brokers that a move caused, by kind; NaN if there was no move.
    probe_delivery : list of float
        For the 1st to 20th publication after a connect, the share of deliveries that took place; NaN for a
        probe that was never sent.
    delays_s : ndarray
        Seconds from publication to delivery, one for each delivery of a measured publication.
    rows_per_broker : float
        Rows of the four tables, mean over brokers and time.
    due : int
        Deliveries of measured publications that should have taken place.
    lost : int
        Those of them that never did.
    lost_after_quiescence : int
        The same of one publication by each publisher after everything had come to rest.
    duplicates, misdelivered : int
        Deliveries of what a client already had, or did not want.
    leaked_rows, missing_rows : int
        Table rows at the end beyond those, or wanting from those, that follow from where clients are.
    events : int
        Simulated events: messages handled by brokers and clients.
    simulated_s : float
        When the last measured message had arrived.
    """

    algorithm: str
    moves: int
    hops_per_move: dict[str, float]
    probe_delivery: list[float]
    delays_s: NDArray[np.float64]
    rows_per_broker: float
    due: int
    lost: int
    lost_after_quiescence: int
    duplicates: int
    misdelivered: int
    leaked_rows: int
    missing_rows: int
    events: int
    simulated_s: float

    @property
    def total_hops_per_move(self) -> float:
        """The sum over all kinds: the cost of a move."""
        return sum(self.hops_per_move.values())

    @property
    def safe(self) -> bool:
        """Whether at rest the tables were right and publications reached exactly those who want them."""
        wrong = (self.leaked_rows, self.missing_rows, self.duplicates, self.misdelivered)
        return not any((*wrong, self.lost_after_quiescence))


def simulate(
    algorithm: str,
    *,
    publishers: int = 50,
    subscribers: int = 500,
    speed_kmh: float = 50,
    duration_s: float = 240,
    seed: int = 1,
    message_bytes: float = 448,
    walk: str = "persistent",
    overshoot: int | None = None,
    locality: float = 0.0,
    mobile_subscribers: int = 0,
    topology: Topology | Iterable[tuple[Hashable, Hashable]] | None = None,
    trace: Trace | str | os.PathLike[str] | None = None,
    filters: str = "unique",
    prediction: float = 1.0,
    roaming_s: float = 600.0,
    synchronised: bool = False,
) -> SimulationResult:
    """Simulate mobile clients under one algorithm.

    After a warm-up of 60 s, in which clients connect and publishers move but do not publish, `duration_s`
    seconds are measured: every move that begins in them, with all it causes. Whenever a publisher has
    connected it publishes 20 times, every 0.2 s. Same arguments, same result.

    Parameters
    ----------
    algorithm : str
        One of `ALGORITHMS`.
    publishers, subscribers : int
        Clients. With a trace, its publishers count instead of `publishers`.
    speed_kmh : float
        Of every client that moves. A cell is 0.5 km wide, and a move takes 3 s.
    duration_s : float
        Measured time, without the warm-up.
    seed : int
        For everything random.
    message_bytes : float
        Size of every message. Links between brokers carry 256 kbit/s, those of clients 128 kbit/s; both
        have 10 ms of latency.
    walk : {"persistent", "random", "trace"}
        Clients keep their direction and turn at the ends of the line; or choose a neighbouring cell each
        time; or publishers move as `trace` says.
    overshoot : int, optional
        Clients keep to the five cells around their first one and this many beyond them on both sides.
    locality : float
        Share of publishers that publish the same.
    mobile_subscribers : int
        How many of the subscribers move too.
    topology : Topology or iterable of pairs, optional
        The brokers, or just the links of a tree. Default: the paper's tree of 85 brokers.
    trace : Trace or path, optional
        Recorded movement, for `walk="trace"`.
    filters : {"unique", "ranges"}
        Advertisements and subscriptions of one publication each, or ranges that overlap and cover each other.
    prediction : float
        Share of moves whose target is predicted rightly (for prefetching).
    roaming_s : float
        How long clients have walked before they connect, so that they are no longer near their proxies.
    synchronised : bool
        All publishers connect when the measured time begins, and these publications are measured too.
        Only for comparison: the burst this makes is no property of an algorithm.

    Raises
    ------
    ArgumentError
        An unknown name or an impossible number; also a `ValueError`.
    ArgumentTypeError
        An argument that is no number where one is wanted; also a `TypeError`.

    Examples
    --------
    >>> from pubmatch.mobility import balanced_tree, simulate
    >>> small = balanced_tree(3, 3)
    >>> result = simulate("delayed", publishers=5, subscribers=20, duration_s=60, topology=small)
    >>> result.moves, round(result.hops_per_move["advertise"], 2), result.safe
    (8, 2.25, True)
    """
    simulation = Simulation(_plan(**locals()))
    simulation.run()
    return _measured(simulation)


def _measured(simulation: Simulation) -> SimulationResult:
    world, network = simulation.world, simulation.network
    events, simulated_s = network.events, network.now
    delays = np.frombuffer(world.deliveries.delays_s, dtype=np.float64).copy()
    tally = simulation.tally()
    final = simulation.publish_once_more()
    differences = simulation.differences()
    moves = world.moves
    return SimulationResult(
        algorithm=simulation.plan.algorithm,
        moves=moves,
        hops_per_move={kind: network.hops[kind] / moves if moves else math.nan for kind in KINDS},
        probe_delivery=tally.probe_delivery,
        delays_s=delays,
        rows_per_broker=simulation.rows_per_broker(),
        due=tally.due,
        lost=tally.lost,
        lost_after_quiescence=final.lost,
        duplicates=world.deliveries.duplicates,
        misdelivered=tally.misdelivered + final.misdelivered,
        leaked_rows=differences.leaked,
        missing_rows=differences.missing,
        events=events,
        simulated_s=simulated_s,
    )


def _plan(
    algorithm: str,
    *,
    publishers: int,
    subscribers: int,
    speed_kmh: float,
    duration_s: float,
    seed: int,
    message_bytes: float,
    walk: str,
    overshoot: int | None,
    locality: float,
    mobile_subscribers: int,
    topology: Topology | Iterable[tuple[Hashable, Hashable]] | None,
    trace: Trace | str | os.PathLike[str] | None,
    filters: str,
    prediction: float,
    roaming_s: float,
    synchronised: bool,
) -> Plan:
    """Check the arguments of `simulate` and make a plan of them, all numbers as plain int or float."""
    _check_names(algorithm, walk)
    if (walk == "trace") != (trace is not None):
        raise ArgumentError(f"walk='trace' and trace go together, got walk={walk!r} and trace={trace!r}")
    if trace is not None and not isinstance(trace, Trace):
        trace = read_trace(trace)
    if trace is not None:
        publishers = len(trace.publishers)
    publishers = checked_count("publishers", publishers)
    subscribers = checked_count("subscribers", subscribers, least=0)
    mobile_subscribers = checked_count("mobile_subscribers", mobile_subscribers, subscribers, least=0)
    seed = checked_count("seed", seed, least=0)
    if overshoot is not None:
        overshoot = checked_count("overshoot", overshoot, least=0)
    duration_s, roaming_s = checked_number("duration_s", duration_s), checked_number("roaming_s", roaming_s)
    if not 0 < duration_s <= MOST_S:
        raise ArgumentError(f"duration_s must be positive and at most {MOST_S:g}, got {duration_s}")
    if not 0 <= roaming_s <= MOST_S:
        raise ArgumentError(f"roaming_s must be from 0 to {MOST_S:g}, got {roaming_s}")
    timetable = Timetable(WARM_UP_S, WARM_UP_S + duration_s)
    tree = _tree(topology)
    if trace is not None:
        trace.walks(tree, timetable.away_s)
    return Plan(
        algorithm=algorithm,
        topology=tree,
        workload=draw_workload(publishers, subscribers, locality=locality, filters=filters, seed=seed),
        timetable=timetable,
        links=Links(message_bytes),
        speed_kmh=checked_speed(speed_kmh, timetable.away_s),
        seed=seed,
        walk=walk,
        trace=trace,
        overshoot=overshoot,
        mobile_subscribers=mobile_subscribers,
        roaming_s=roaming_s,
        prediction=checked_share("prediction", prediction),
        synchronised=checked_flag("synchronised", synchronised),
    )


def _tree(topology: object) -> Topology:
    """Return the topology; links must make a tree, of a graph with cycles `spanning_tree` makes one."""
    if topology is None:
        return balanced_tree()
    if isinstance(topology, Topology):
        return topology
    if isinstance(topology, str) or not isinstance(topology, Iterable):
        raise ArgumentTypeError(f"topology must be a Topology or links, got {type(topology).__name__}")
    return Topology(topology)


def _check_names(algorithm: str, walk: str) -> None:
    for name, value, known in (("algorithm", algorithm, ALGORITHMS), ("walk", walk, WALKS)):
        if value not in known:
            raise ArgumentError(f"{name} must be one of {', '.join(known)}, got {value!r}")
