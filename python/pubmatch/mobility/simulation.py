"""One run: brokers and clients are set up, time passes, and at the end everything is checked.

At the end nobody moves any more and all messages have arrived. Then the tables must be those that follow from
where clients are (`expected_rows`), and one more publication of every publisher must reach exactly those who
want it. Neither check takes a broker's word for anything.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pubmatch import Filter
from pubmatch.mobility.broker import Broker
from pubmatch.mobility.clients import Client, Timetable, World
from pubmatch.mobility.deliveries import Deliveries, Tally
from pubmatch.mobility.expected import Rows, expected_rows
from pubmatch.mobility.messages import Event, Subscribe
from pubmatch.mobility.network import Links, Network
from pubmatch.mobility.space import FilterSpace
from pubmatch.mobility.topology import Topology
from pubmatch.mobility.trace import Trace
from pubmatch.mobility.walks import Range, Walk, persistent_walk, proxies_of, random_walk, roamed
from pubmatch.mobility.workload import SCHEMA, Interest, Workload

__all__ = ["Differences", "Plan", "Simulation"]

_LOOKS = 12
"""How often table rows are counted while moves are measured."""


@dataclass(frozen=True)
class Plan:
    """All that determines a run; `simulate` says what the fields mean."""

    algorithm: str
    topology: Topology
    workload: Workload
    timetable: Timetable
    links: Links
    speed_kmh: float
    seed: int
    walk: str
    trace: Trace | None
    overshoot: int | None
    mobile_subscribers: int
    roaming_s: float
    prediction: float
    synchronised: bool


@dataclass(frozen=True)
class Differences:
    """Rows at the end that should not be there, and rows that should."""

    leaked: int
    missing: int


class Simulation:
    """A run in progress.

    Parameters
    ----------
    plan : Plan
        What to run.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        topology = plan.topology
        space = FilterSpace(SCHEMA)
        self._filters = _interned(space, plan.workload)
        self.brokers = [_broker(each, topology, plan.algorithm, space) for each in range(len(topology))]
        deliveries = Deliveries(plan.links)
        self.network = Network(topology, self.brokers, plan.links, deliveries.deliver)
        self.world = World(
            self.network,
            deliveries,
            plan.timetable,
            misled=random.Random(f"{plan.seed} prediction"),
            prediction=plan.prediction,
            cells=topology.cells,
        )
        self._rows: list[float] = []
        self.publishers = self._make_publishers()
        self._seats: list[tuple[int, int, Interest]] = []
        self.roamers: list[tuple[Client, Interest]] = []
        self._make_subscribers()

    def run(self) -> None:
        """Let the warm-up and the measured time pass, and then all that is still under way."""
        timetable = self.plan.timetable
        step = (timetable.end_s - timetable.warm_up_s) / _LOOKS
        for look in range(_LOOKS):
            self.network.at(timetable.warm_up_s + (look + 0.5) * step, self._count_rows)
        self.network.run()

    def tally(self) -> Tally:
        """Return what became of the probes."""
        return self.world.deliveries.tally(self._due())

    def publish_once_more(self) -> Tally:
        """After `run`: let every publisher publish once; return what became of that."""
        deliveries = self.world.deliveries
        first = len(deliveries)
        for publisher in self.publishers:
            publisher.publish_once()
        self.network.run()
        return deliveries.tally(self._due(), first)

    def rows_per_broker(self) -> float:
        """Return the rows of all four tables, mean over brokers and over the measured time."""
        return sum(self._rows) / len(self._rows) / len(self.brokers)

    def differences(self) -> Differences:
        """Compare all tables with those that follow from where clients are."""
        leaked = missing = 0
        interests = {id(kept): interest for interest, kept in self._filters.items()}
        for broker, due in zip(self.brokers, self._expected(), strict=True):
            for found, wanted in _tables(broker, due, interests):
                distinct = set(found)
                leaked += len(distinct - wanted) + len(found) - len(distinct)
                missing += len(wanted - distinct)
        return Differences(leaked, missing)

    def _expected(self) -> list[Rows]:
        """Who advertises and wants what where: under PROXY a publisher's proxies advertise for it too."""
        advertised = [
            (broker, client.number, interest)
            for client, interest in zip(self.publishers, self.plan.workload.advertisements, strict=True)
            if client.broker is not None
            for broker in {client.broker, *(client.proxies if self.plan.algorithm == "proxy" else ())}
        ]
        wanted = [
            *self._seats,
            *(
                (client.broker, client.number, interest)
                for client, interest in self.roamers
                if client.broker is not None
            ),
        ]
        return expected_rows(self.plan.topology, advertised, wanted)

    def _due(self) -> dict[float, frozenset[int]]:
        """Which clients want what is published: plain arithmetic over all subscriptions."""
        wanted = [
            *((client, interest) for _, client, interest in self._seats),
            *((client.number, interest) for client, interest in self.roamers),
        ]
        by_interest: dict[Interest, list[int]] = {}
        for client, interest in wanted:
            by_interest.setdefault(interest, []).append(client)
        return {
            value: frozenset(
                client
                for interest, clients in by_interest.items()
                if interest.matches(value)
                for client in clients
            )
            for value in set(self.plan.workload.publications)
        }

    def _count_rows(self) -> None:
        self._rows.append(
            sum(
                len(broker.in_ads) + len(broker.out_ads) + len(broker.in_subs) + len(broker.out_subs)
                for broker in self.brokers
            )
        )

    def _make_publishers(self) -> list[Client]:
        plan, base = self.plan, len(self.brokers)
        walks = self._walks("publisher", len(plan.workload.publications))
        events = {value: Event(publication=value) for value in plan.workload.publications}
        rng = random.Random(f"{plan.seed} publishers connect")
        made = []
        for number, walk in enumerate(walks):
            wish = self._filters[plan.workload.advertisements[number]]
            event = events[plan.workload.publications[number]]
            near = _proxies(plan.topology, walk.home)
            client = Client(self.world, base + number, "publisher", wish, walk, event, near)
            begin_s = rng.random() * plan.timetable.connects_s
            if plan.synchronised:
                client.start(plan.timetable.warm_up_s, probed=True)
            else:
                client.start(begin_s)
            made.append(client)
        return made

    def _make_subscribers(self) -> None:
        """The first `mobile_subscribers` walk as publishers do, all others stay where they are."""
        plan = self.plan
        base = len(self.brokers) + len(self.publishers)
        rng = random.Random(f"{plan.seed} subscribers connect")
        walks = self._walks("subscriber", plan.mobile_subscribers)
        for number, interest in enumerate(plan.workload.subscriptions):
            begin_s = rng.random() * plan.timetable.connects_s
            broker = rng.choice(plan.topology.cells)
            wish = self._filters[interest]
            if number < plan.mobile_subscribers:
                client = Client(self.world, base + number, "subscriber", wish, next(walks))
                client.start(begin_s)
                self.roamers.append((client, interest))
            else:
                self._seats.append((broker, base + number, interest))
                send = partial(self.network.from_client, base + number, broker, Subscribe(wish))
                self.network.at(begin_s, send)

    def _walks(self, role: str, count: int) -> Iterator[Walk]:
        plan = self.plan
        if plan.trace is not None and role == "publisher":
            walks = plan.trace.walks(plan.topology, plan.timetable.away_s)
            yield from (_later(walk, plan.timetable.warm_up_s) for walk in walks)
            return
        cells = plan.topology.cells
        line = Range(0, len(cells) - 1)
        way = random_walk if plan.walk == "random" else persistent_walk
        for number in range(count):
            rng = random.Random(f"{plan.seed} {role} {number} walks")
            home = start = rng.randrange(len(cells))
            within = line
            if plan.overshoot is not None:
                # Anywhere in its range: from the middle, all clients would reach the ends at the same time.
                within = Range.around(line, home, plan.overshoot)
                start = rng.randint(within.low, within.high)
            walk = roamed(way(rng, within, start, plan.speed_kmh), cells, start, plan.roaming_s)
            yield replace(walk, home=cells[home])


def _broker(position: int, topology: Topology, algorithm: str, space: FilterSpace) -> Broker:
    route = partial(topology.next_hop, position)
    neighbours = topology.neighbours[position]
    return Broker(position, neighbours, schema=SCHEMA, algorithm=algorithm, space=space, route=route)


def _interned(space: FilterSpace, workload: Workload) -> dict[Interest, Filter]:
    """Make one filter for each interest, known to the space from the beginning."""
    filters = {each: each.filter() for each in {*workload.advertisements, *workload.subscriptions}}
    space.add(
        ads=[filters[each] for each in sorted(set(workload.advertisements))],
        subs=[filters[each] for each in sorted(set(workload.subscriptions))],
    )
    return filters


def _proxies(topology: Topology, home: int) -> tuple[int, ...]:
    """Return the five cells around the first broker; a first broker that serves no cell is its own proxy."""
    if home not in topology.cells:
        return (home,)
    cells = topology.cells
    return tuple(cells[each] for each in proxies_of(len(cells), cells.index(home)))


def _later(walk: Walk, by_s: float) -> Walk:
    """Shift a trace, whose time begins with the measured time."""
    return replace(walk, moves=iter([(when + by_s, broker) for when, broker in walk.moves]))


def _tables(
    broker: Broker, due: Rows, interests: dict[int, Interest]
) -> Iterable[tuple[list[tuple[object, ...]], set[tuple[object, ...]]]]:
    """Return a broker's rows beside those due, table by table."""
    pairs: Sequence[tuple[Iterable[tuple[object, ...]], set[tuple[object, ...]]]] = (
        (broker.in_ads, due.in_ads),
        (broker.out_ads, due.out_ads),
        (broker.in_subs, due.in_subs),
        (broker.out_subs, due.out_subs),
    )  # type: ignore[assignment]  # rows of one width each
    for table, wanted in pairs:
        yield [(interests.get(id(row[0]), row[0]), *row[1:]) for row in table], wanted
