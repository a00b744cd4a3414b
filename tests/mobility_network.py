"""A tiny driver of broker networks for tests, and the oracle.

The driver carries messages over FIFO links in any order the test chooses, keeps timers until the test lets
them run out, and remembers what every client did and got. `check` compares, at quiescence, everything with
what the final positions alone imply: tables built from scratch, delivery by brute force.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter, deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

import pubmatch as pm
from pubmatch.mobility import (
    Advertise,
    Broker,
    Connect,
    Disconnect,
    Event,
    FilterSpace,
    Leave,
    Message,
    Publish,
    Subscribe,
    Timer,
    Unadvertise,
    Unsubscribe,
)

SCHEMA = pm.Schema(x=pm.Integer(), s=pm.Category())
# Equal ones, covering ones, overlapping ones, disjoint ones; one box, several boxes, ranges of strings.
TEXTS = (
    "x BETWEEN 0 AND 9",
    "x >= 0 AND x <= 9",
    "x BETWEEN 2 AND 6",
    "x = 3",
    "x BETWEEN 5 AND 12",
    "x IN (3, 8)",
    "x = 8",
    "x > 20",
    "s = 'IBM'",
    "s LIKE 'I%'",
    "s = 'IBM' AND x = 3",
    "x < 2 OR x > 6",
)
FILTERS = tuple(pm.parse(text) for text in TEXTS)
EVENTS = tuple(
    Event({name: value for name, value in (("x", x), ("s", s)) if value is not None})
    for x, s in itertools.product((1, 3, 6, 8, 12, 30, None), ("IBM", "INTEL", None))
)
ALIAS = {FILTERS[1]: FILTERS[0]}


@functools.cache
def covers(a: pm.Filter, b: pm.Filter) -> bool:
    return pm.covers(a, b, SCHEMA)


@functools.cache
def meets(a: pm.Filter, b: pm.Filter) -> bool:
    return pm.intersects(a, b, SCHEMA)


def canonical(filters: Iterable[pm.Filter]) -> set[pm.Filter]:
    return {ALIAS.get(each, each) for each in filters}


def maximal(filters: Iterable[pm.Filter]) -> set[pm.Filter]:
    wanted = canonical(filters)
    return {each for each in wanted if not any(covers(other, each) for other in wanted if other != each)}


@dataclass
class Client:
    role: str
    filters: list[pm.Filter]
    proxies: tuple[int, ...] = ()
    at: int | None = None
    previous: int | None = None
    predicted: int | None = None
    move: int = 0
    settled: bool = False
    got: Counter[Hashable] = field(default_factory=Counter)
    due: set[Hashable] = field(default_factory=set)


class Network:
    """Brokers 0, 1, … in a tree given by each one's parent."""

    def __init__(
        self,
        parents: Iterable[int],
        algorithm: str = "standard",
        broker: type[Broker] = Broker,
        space: FilterSpace | None = None,
    ) -> None:
        self.algorithm = algorithm
        edges = [(child + 1, parent) for child, parent in enumerate(parents)]
        self.near: dict[int, list[int]] = {each: [] for each in range(len(edges) + 1)}
        for child, parent in edges:
            self.near[child].append(parent)
            self.near[parent].append(child)
        self.side = {(b, n): self._behind(b, n) for b, near in self.near.items() for n in near}
        self.brokers = {
            b: broker(b, near, schema=SCHEMA, algorithm=algorithm, space=space, route=self._route(b))
            for b, near in self.near.items()
        }
        self.links: dict[tuple[int, int], deque[Message]] = {}
        self.timers: list[tuple[int, Timer]] = []
        self.clients: dict[str, Client] = {}
        self.gone: dict[str, Client] = {}
        self.hops: Counter[str] = Counter()
        self.published: dict[int, tuple[Event, str]] = {}

    def _behind(self, broker: int, neighbour: int) -> frozenset[int]:
        found, pending = {neighbour}, [neighbour]
        while pending:
            for each in self.near[pending.pop()]:
                if each != broker and each not in found:
                    found.add(each)
                    pending.append(each)
        return frozenset(found)

    def _route(self, broker: int) -> dict[int, int]:
        return {far: near for near in self.near[broker] for far in self.side[broker, near]}

    # --- carrying messages ---

    def give(self, broker: int, sender: Hashable, message: Message) -> None:
        for to, sent in self.brokers[broker].handle(sender, message):
            if to == broker:
                assert isinstance(sent, Timer)
                self.timers.append((broker, sent))
            elif to in self.near[broker]:
                self.hops[sent.kind] += 1
                self.links.setdefault((broker, to), deque()).append(sent)
            elif isinstance(sent, Publish):
                self._deliver(to, broker, sent)

    def _deliver(self, name: Hashable, broker: int, publication: Publish) -> None:
        assert isinstance(name, str)
        client = self.clients.get(name) or self.gone[name]
        assert client.at == broker or name in self.gone, f"{name} gets {publication} at {broker}"
        event = self.published[publication.id][0]  # type: ignore[index]
        assert publication.event == event
        client.got[publication.id] += 1
        assert client.got[publication.id] == 1, f"{name} got {publication} twice"
        if client.settled:
            assert any(each.matches(event) for each in client.filters)

    def busy(self) -> list[tuple[int, int]]:
        return sorted(link for link, waiting in self.links.items() if waiting)

    def step(self, choice: int) -> None:
        """Carry one message over one of the busy links."""
        busy = self.busy()
        if busy:
            self.carry(*busy[choice % len(busy)])

    def carry(self, sender: int, receiver: int) -> None:
        """Carry the next message over one link."""
        self.give(receiver, sender, self.links[sender, receiver].popleft())

    def ring(self, choice: int) -> None:
        """Let one of the timers run out."""
        if self.timers:
            broker, timer = self.timers.pop(choice % len(self.timers))
            self.give(broker, broker, timer)

    def run(self) -> None:
        """Carry everything until nothing is left to do."""
        for turn in itertools.count():
            if self.busy():
                self.step(turn)
            elif self.timers:
                self.ring(turn)
            else:
                break

    def forget_unused_filters(self) -> None:
        """May be done between any two messages."""
        for space in {broker.space for broker in self.brokers.values()}:
            sharing = [broker for broker in self.brokers.values() if broker.space is space]
            space.keep(content for broker in sharing for content in broker.contents())

    # --- what clients do ---

    def join(
        self, name: str, role: str, broker: int, filters: list[pm.Filter], proxies: Iterable[int] = ()
    ) -> None:
        self.clients[name] = client = Client(role, filters, tuple(proxies))
        client.at = broker
        self.give(broker, name, Connect(role, filters, proxies=client.proxies))  # type: ignore[arg-type]

    def disconnect(self, name: str, towards: int | None = None) -> None:
        client = self.clients[name]
        assert client.at is not None
        client.previous, client.at, client.predicted = client.at, None, towards
        self.give(client.previous, name, Disconnect(client.role, next=towards))  # type: ignore[arg-type]

    def connect(self, name: str, broker: int) -> None:
        client = self.clients[name]
        client.at = broker
        client.move += 1
        if client.role == "publisher":
            client.settled = False
        message = Connect(
            client.role,  # type: ignore[arg-type]
            client.filters,
            previous=client.previous,
            predicted=client.predicted,
            proxies=client.proxies,
            move=client.move,
            seen=client.got,
        )
        self.give(broker, name, message)

    def leave(self, name: str, broker: int) -> None:
        """For good; `broker` is asked only if the client is not connected."""
        client = self.clients.pop(name)
        self.gone[name] = client
        if client.at is not None:
            self.give(client.at, name, Leave(client.role, proxies=client.proxies))  # type: ignore[arg-type]
        else:
            message = Leave(client.role, client.previous, client.predicted, client.proxies, client.move)  # type: ignore[arg-type]
            self.give(broker, name, message)

    def change(self, name: str, filter: pm.Filter) -> None:
        """Advertise, subscribe to or withdraw one more filter."""
        client = self.clients[name]
        assert client.at is not None
        if client.role == "publisher" and self.algorithm == "proxy":
            return  # refused: proxies keep what they were told
        client.settled = False
        client.due.clear()
        same = [each for each in client.filters if canonical([each]) == canonical([filter])]
        publishing = client.role == "publisher"
        if same:
            client.filters = [each for each in client.filters if each not in same]
            self.give(client.at, name, Unadvertise(filter) if publishing else Unsubscribe(filter))
        else:
            client.filters.append(filter)
            self.give(client.at, name, Advertise(filter) if publishing else Subscribe(filter))

    def publish(self, name: str, event: Event) -> bool:
        """Publish what the client has advertised; tell whether it has."""
        client = self.clients[name]
        if client.at is None or not any(each.matches(event) for each in client.filters):
            return False
        id = len(self.published)
        self.published[id] = (event, name)
        if client.settled or self.algorithm == "delayed+ack":
            for other in self.clients.values():
                if other.role == "subscriber" and other.settled and _wants(other, event):
                    other.due.add(id)
        self.give(client.at, name, Publish(event, id))
        return True

    # --- the oracle ---

    def settle(self) -> None:
        """Come to rest and check everything."""
        self.run()
        self.check()
        for client in self.clients.values():
            client.settled = client.at is not None or client.role == "subscriber"

    def check(self) -> None:
        self.check_tables()
        for name, client in self.clients.items():
            if client.at is not None:
                missing = client.due - client.got.keys()
                assert not missing, f"{name} misses {missing}"

    def check_delivery(self) -> None:
        """Every event of every publisher reaches exactly those who want it."""
        self.settle()
        for name, client in list(self.clients.items()):
            for event in EVENTS if client.role == "publisher" else ():
                if self.publish(name, event):
                    id = len(self.published) - 1
                    self.run()
                    for other_name, other in self.clients.items():
                        if other.role == "subscriber" and other.at is not None:
                            assert other.got[id] == _wants(other, event), (other_name, event)
                        else:
                            assert other.got[id] == 0

    def positions(self, role: str) -> dict[int, dict[str, set[pm.Filter]]]:
        """Which broker keeps filters for which client when all is quiet."""
        found: dict[int, dict[str, set[pm.Filter]]] = {b: {} for b in self.near}
        for name, client in self.clients.items():
            if client.role == role:
                for broker in self._places(client):
                    found[broker][name] = canonical(client.filters)
        return found

    def _places(self, client: Client) -> set[int]:
        places = set() if client.at is None else {client.at}
        if client.role == "subscriber":
            return places or {client.previous}  # type: ignore[return-value]
        if self.algorithm == "proxy":
            places |= set(client.proxies)
        if client.at is None and self.algorithm.startswith("prefetching") and client.predicted is not None:
            places.add(client.predicted)
        if client.at is None and self.algorithm == "delayed+ack":
            places.add(client.previous)  # type: ignore[arg-type]
        return places

    def check_tables(self) -> None:
        ads, subs = self.positions("publisher"), self.positions("subscriber")
        in_ads = {
            b: self._in_rows(b, ads, lambda b, n: maximal(_known(ads, self.side[b, n]))) for b in self.near
        }
        in_subs = {
            b: self._in_rows(b, subs, lambda b, n: self._subs_from(b, n, ads, subs)) for b in self.near
        }
        for b, broker in self.brokers.items():
            assert _rows(broker.in_ads) == in_ads[b], f"in_ads of {b}"
            assert _rows(broker.in_subs) == in_subs[b], f"in_subs of {b}"
            out_ads, out_subs = set(), set()
            for n in self.near[b]:
                known = {each for each, sender in in_ads[b] if sender != n}
                out_ads |= {(each, n, each in maximal(known)) for each in known}
                towards = {each for each, sender in in_ads[b] if sender == n}
                wanted = {
                    each
                    for each, sender in in_subs[b]
                    if sender != n and any(meets(ad, each) for ad in towards)
                }
                out_subs |= {(each, n, each in maximal(wanted)) for each in wanted}
            assert _rows(broker.out_ads) == out_ads, f"out_ads of {b}"
            assert _rows(broker.out_subs) == out_subs, f"out_subs of {b}"
            assert not len(broker.acknowledgements)

    def _in_rows(self, b, own, far) -> set[tuple[pm.Filter, Hashable]]:  # type: ignore[no-untyped-def]
        rows = {(each, name) for name, filters in own[b].items() for each in filters}
        return rows | {(each, n) for n in self.near[b] for each in far(b, n)}

    def _subs_from(self, b, n, ads, subs) -> set[pm.Filter]:  # type: ignore[no-untyped-def]
        offered = _known(ads, self.side[n, b])
        return maximal(s for s in _known(subs, self.side[b, n]) if any(meets(a, s) for a in offered))


def _known(positions: dict[int, dict[str, set[pm.Filter]]], brokers: Iterable[int]) -> set[pm.Filter]:
    return {each for broker in brokers for filters in positions[broker].values() for each in filters}


def _wants(client: Client, event: Event) -> bool:
    return any(each.matches(event) is True for each in client.filters)


def _rows(table: Iterable[tuple[pm.Filter, ...]]) -> set[tuple[Hashable, ...]]:
    rows = [(ALIAS.get(row[0], row[0]), *row[1:]) for row in table]
    assert len(rows) == len(set(rows)) == len(table)  # type: ignore[arg-type]
    return set(rows)
