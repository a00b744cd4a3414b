"""`bench mobility`: how fast networks of brokers are simulated, and what a broker's native index brings.

Three parts: simulated events per CPU second with every algorithm; a network of 11,111 brokers and 100,000
clients; and a publication at one broker with 100,000 subscriptions, beside a plain Python table that tests
one filter after the other.
"""

from __future__ import annotations

import random
import resource
import time
from dataclasses import dataclass

import pubmatch as pm
from pubmatch.mobility import (
    ALGORITHMS,
    Broker,
    Event,
    FilterSpace,
    Publish,
    Subscribe,
    balanced_tree,
    simulate,
)
from pubmatch.mobility.simulate import SimulationResult
from pubmatch_bench.options import Notify
from pubmatch_bench.record import Record, new_record
from pubmatch_bench.timing import spread

SCHEMA = pm.Schema(price=pm.Number(), volume=pm.Number(), change=pm.Number())
NEIGHBOUR = "neighbour"


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Attributes
    ----------
    rounds : int
        How often each algorithm is simulated.
    subscribers : int
        Of the 85 brokers.
    duration_s : float
        Simulated seconds there.
    large : tuple of int
        Degree and levels of the large tree, its publishers and all its clients.
    subscriptions : int
        At the one broker.
    events : int
        Publications there.
    """

    rounds: int = 3
    subscribers: int = 5000
    duration_s: float = 240
    large: tuple[int, int, int, int] = (10, 5, 100, 100_000)
    subscriptions: int = 100_000
    events: int = 300


FULL = Plan()
QUICK = Plan(1, 1000, 60, (10, 4, 50, 10_000), 5000, 100)


def run(plan: Plan, quick: bool, notify: Notify) -> Record:
    """Measure everything and return the record.

    Parameters
    ----------
    plan : Plan
        How much.
    quick : bool
        Whether it is a trial run.
    notify : callable
        Told what is done and which fraction.
    """
    parameters = vars(plan) | {"large": list(plan.large)}
    record = new_record("mobility", quick=quick, parameters=parameters, seeds=SEEDS)
    results: list[Record] = record["results"]
    for place, algorithm in enumerate(ALGORITHMS):
        notify(f"85 brokers, {algorithm}", 0.4 * place / len(ALGORITHMS))
        results.append({"workload": "85 brokers", **measure_events(algorithm, plan)})
    notify("large tree", 0.4)
    results.append({"workload": "large tree", **measure_large(plan)})
    notify("one broker", 0.8)
    results.append({"workload": "one broker", **measure_publications(plan)})
    return record


SEEDS = {"simulation": "1 + round", "subscriptions": "0", "events": "1"}


def measure_events(algorithm: str, plan: Plan) -> Record:
    """Return simulated events per CPU second, set-up and checks included."""
    rates, events = [], []
    for turn in range(plan.rounds):
        begin = time.process_time()
        result = simulate(algorithm, subscribers=plan.subscribers, duration_s=plan.duration_s, seed=1 + turn)
        rates.append(result.events / (time.process_time() - begin))
        events.append(result.events)
        if not result.safe:
            return {"algorithm": algorithm, "equal": False}
    return {"algorithm": algorithm, "events_per_cpu_s": spread(rates), "events": events, "equal": True}


def measure_large(plan: Plan) -> Record:
    """Simulate 60 s of a large tree under DELAYED; return CPU seconds and memory."""
    degree, levels, publishers, clients = plan.large
    topology = balanced_tree(degree, levels)
    begin = time.process_time()
    result: SimulationResult = simulate(
        "delayed",
        publishers=publishers,
        subscribers=clients - publishers,
        duration_s=60,
        topology=topology,
    )
    cpu_s = time.process_time() - begin
    return {
        "brokers": len(topology),
        "publishers": publishers,
        "clients": clients,
        "cpu_s": cpu_s,
        "events": result.events,
        "events_per_cpu_s": result.events / cpu_s,
        "rows_per_broker": result.rows_per_broker,
        "hops_per_move": result.total_hops_per_move,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "equal": result.safe,
    }


def measure_publications(plan: Plan) -> Record:
    """Time publications at a broker with many subscriptions, and the same in a plain Python table."""
    boxes = draw_boxes(plan.subscriptions, seed=0)
    space = FilterSpace(SCHEMA)
    filters = [as_filter(box) for box in boxes]
    begin = time.perf_counter()
    space.add(subs=filters)
    broker = Broker("broker", [NEIGHBOUR], space=space)
    for client, each in enumerate(filters):
        broker.handle(client, Subscribe(each))
    subscribe_s = time.perf_counter() - begin
    rng = random.Random(1)
    native_us, plain_us, equal, matches = [], [], True, 0
    for number in range(plan.events):
        event = Event({name: 1000 * rng.random() for name in SCHEMA.names})
        publication = Publish(event, number)
        begin = time.perf_counter()
        sent = broker.handle(NEIGHBOUR, publication)
        middle = time.perf_counter()
        wanted = plain_matches(boxes, tuple(event.values()))
        plain_us.append(1e6 * (time.perf_counter() - middle))
        native_us.append(1e6 * (middle - begin))
        equal = equal and {client for client, _ in sent} == set(wanted) and len(sent) == len(wanted)
        matches += len(wanted)
    native, plain = spread(native_us), spread(plain_us)
    return {
        "subscriptions": plan.subscriptions,
        "matches_per_event": matches / plan.events,
        "subscribe_us": 1e6 * subscribe_s / plan.subscriptions,
        "native_us": native,
        "plain_us": plain,
        "ratio": plain["median"] / native["median"],
        "equal": equal,
    }


Box = tuple[float, float, float, float, float, float]


def draw_boxes(count: int, seed: int) -> list[Box]:
    """Draw ranges of price, volume and change: lower and upper bounds in turn.

    Examples
    --------
    >>> len(draw_boxes(3, seed=0)), len(draw_boxes(3, seed=0)[0])
    (3, 6)
    """
    rng = random.Random(seed)
    boxes = []
    for _ in range(count):
        lows = [1000 * rng.random() for _ in range(3)]
        a, b, c = ((low, low + 200 * rng.random()) for low in lows)
        boxes.append((*a, *b, *c))
    return boxes


def as_filter(box: Box) -> pm.Filter:
    """Return the filter of a box.

    Examples
    --------
    >>> str(as_filter((1, 2, 3, 4, 5, 6)))
    'price >= 1 AND price <= 2 AND volume >= 3 AND volume <= 4 AND change >= 5 AND change <= 6'
    """
    price, volume, change = (pm.attr(name) for name in SCHEMA.names)
    return (
        (price >= box[0])
        & (price <= box[1])
        & (volume >= box[2])
        & (volume <= box[3])
        & (change >= box[4])
        & (change <= box[5])
    )


def plain_matches(boxes: list[Box], event: tuple[float, ...]) -> list[int]:
    """Test one subscription after the other.

    Examples
    --------
    >>> plain_matches([(0, 5, 0, 5, 0, 5), (0, 5, 0, 5, 4, 5)], (1, 2, 3))
    [0]
    """
    price, volume, change = event
    return [
        client
        for client, (a, b, c, d, e, f) in enumerate(boxes)
        if a <= price <= b and c <= volume <= d and e <= change <= f
    ]
