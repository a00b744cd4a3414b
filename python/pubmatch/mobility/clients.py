"""Clients that connect, publish, move and leave, as the simulation's clock tells them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from pubmatch import Filter
from pubmatch.mobility.deliveries import PROBE_S, PROBES, Deliveries
from pubmatch.mobility.messages import Connect, Disconnect, Event, Leave, Role
from pubmatch.mobility.network import Network
from pubmatch.mobility.walks import Walk

__all__ = ["Client", "Timetable", "World"]


@dataclass(frozen=True)
class Timetable:
    """Moments of a simulation, in seconds.

    Clients connect between 0 and `connects_s`. From `warm_up_s` on moves are measured and publishers publish;
    no move begins after `end_s`. A move takes `away_s`.
    """

    warm_up_s: float
    end_s: float
    connects_s: float = 30.0
    away_s: float = 3.0


@dataclass
class World:
    """What clients share: the network, the clock's plan, the deliveries, and the count of measured moves."""

    network: Network
    deliveries: Deliveries
    timetable: Timetable
    moves: int = 0
    misled: random.Random = field(default_factory=lambda: random.Random("misled"))
    prediction: float = 1.0
    cells: tuple[int, ...] = ()


class Client:
    """One client on its walk.

    Parameters
    ----------
    world : World
        Where it lives.
    number : int
        Its id for brokers.
    role : {"publisher", "subscriber"}
        What it does.
    wish : Filter
        What it advertises or wants.
    walk : Walk
        Its way.
    event : Event, optional
        What a publisher publishes.
    proxies : tuple of int
        The brokers around a publisher's first one.

    Attributes
    ----------
    broker : int or None
        Where it is connected; None while it moves and after it left.
    """

    def __init__(
        self,
        world: World,
        number: int,
        role: Role,
        wish: Filter,
        walk: Walk,
        event: Event | None = None,
        proxies: tuple[int, ...] = (),
    ) -> None:
        self.number = number
        self.broker: int | None = None
        self.proxies = proxies
        self._world = world
        self._role = role
        self._wish = (wish,)
        self._event = event
        self._moves: Iterator[tuple[float, int | None]] = walk.moves
        self._first = walk.first
        self._connects = 0
        self._next: tuple[float, int | None] | None = None

    def start(self, begin_s: float, probed: bool = False) -> None:
        """Connect at a moment, wherever the walk has led by then; or as soon as the walk begins.

        Publications after this first connect are measured only if `probed`.
        """
        place, away_s = self._first, self._world.timetable.away_s
        self._next = next(self._moves, None)
        if place is None:
            if self._next is None:
                return
            begin_s, place = self._next
            self._next = next(self._moves, None)
        while self._next is not None and self._next[0] <= begin_s:
            place = self._next[1]
            begin_s = max(begin_s, self._next[0] + away_s)
            self._next = next(self._moves, None)
        if place is not None:
            target = place
            self._world.network.at(begin_s, lambda: self._connect(target, None, None, False, probed))

    def publish_once(self) -> None:
        """Publish now, to see whether it reaches everybody; a publisher that left does not."""
        if self.broker is not None and self._event is not None:
            world = self._world
            publication = world.deliveries.publish(self._event, world.network.now, 0)
            world.network.from_client(self.number, self.broker, publication)

    def _connect(
        self, broker: int, previous: int | None, predicted: int | None, measured: bool, probed: bool
    ) -> None:
        world = self._world
        self.broker = broker
        message = Connect(self._role, self._wish, previous, predicted, self.proxies, self._connects)
        self._connects += 1
        world.network.from_client(self.number, broker, message, measured)
        if self._next is not None:
            world.network.at(self._next[0], self._disconnect)
        if self._event is not None and world.network.now >= world.timetable.warm_up_s:
            self._probe_later(0, self._connects, probed)

    def _disconnect(self) -> None:
        """Leave the broker for the next one, unless the time for moves is over."""
        world, old = self._world, self.broker
        network, timetable = world.network, world.timetable
        if network.now >= timetable.end_s:
            return
        assert self._next is not None, "a move was planned"
        assert old is not None, "only a client that is connected has a move planned"
        target = self._next[1]
        self._next = next(self._moves, None)
        self.broker = None
        measured = network.now >= timetable.warm_up_s
        world.moves += measured
        if target is None:
            network.from_client(self.number, old, Leave(self._role, proxies=self.proxies), measured)
            return
        predicted = self._predict(old, target)
        network.from_client(self.number, old, Disconnect(self._role, predicted), measured)
        network.at(
            network.now + timetable.away_s, lambda: self._connect(target, old, predicted, measured, measured)
        )

    def _predict(self, old: int, target: int) -> int:
        """Return where the client is thought to go; wrong in `1 - prediction` of the moves."""
        world = self._world
        if world.prediction >= 1 or world.misled.random() < world.prediction:
            return target
        others = [cell for cell in world.cells if cell not in (old, target)]
        return world.misled.choice(others) if others else target

    def _probe_later(self, probe: int, connection: int, measured: bool) -> None:
        world = self._world

        def publish() -> None:
            if self.broker is None or self._connects != connection or self._event is None:
                return
            if self._next is not None and world.network.now >= self._next[0]:
                return  # moves have ended, but not so that some connections last longer than others
            number = probe if measured else -1
            publication = world.deliveries.publish(self._event, world.network.now, number)
            world.network.from_client(self.number, self.broker, publication)
            if probe + 1 < PROBES:
                self._probe_later(probe + 1, connection, measured)

        world.network.at(world.network.now + PROBE_S, publish)
