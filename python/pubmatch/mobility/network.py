"""Brokers, links and the queue of events: a deterministic discrete-event simulation.

Links are reliable first-in-first-out queues with bandwidth and latency, one for each direction; brokers take
no time to process. Events at the same moment happen in the order in which they were scheduled. What a message
causes is counted with what caused the message, so a move's cost is exact, whenever its messages travel.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

from pubmatch.arrays import checked_number
from pubmatch.errors import ArgumentError
from pubmatch.mobility.messages import Message, Timer
from pubmatch.mobility.topology import Topology

__all__ = ["Links", "Network"]

Action = Callable[[], None]
Deliver = Callable[[Any, Any, float], None]
_Entry = tuple[float, int, int, Hashable, Any, bool]
"""When, in which order, to which broker (-1: an action), from whom, what, and whether it is measured."""


class Handler(Protocol):
    """What the network needs of a broker."""

    def handle(self, sender: Hashable, message: Message) -> Sequence[tuple[Any, Any]]:
        """Take a message; return what it sends."""


@dataclass(frozen=True)
class Links:
    """Speed of the links; the default is the paper's (section 4.1), and 448 bytes for every message.

    Examples
    --------
    >>> links = Links()
    >>> links.broker_s, links.client_s
    (0.014, 0.028)
    """

    message_bytes: float = 448
    broker_bps: float = 256_000
    broker_latency_s: float = 0.010
    client_bps: float = 128_000
    client_latency_s: float = 0.010
    broker_s: float = field(init=False)
    client_s: float = field(init=False)

    def __post_init__(self) -> None:
        for each in fields(self):
            if each.init:
                object.__setattr__(self, each.name, checked_number(each.name, getattr(self, each.name)))
        for name in ("message_bytes", "broker_bps", "client_bps"):
            if not 0 < getattr(self, name) < math.inf:
                raise ArgumentError(f"{name} must be positive and finite, got {getattr(self, name)}")
        for name in ("broker_latency_s", "client_latency_s"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ArgumentError(f"{name} must be finite and not negative, got {getattr(self, name)}")
        for name, bps in (("broker_s", self.broker_bps), ("client_s", self.client_bps)):
            seconds = 8 * self.message_bytes / bps
            if not math.isfinite(seconds):
                raise ArgumentError(
                    f"message_bytes must take a finite time, got {self.message_bytes} at {bps} bit/s"
                )
            object.__setattr__(self, name, seconds)


class Network:
    """Brokers that exchange messages over links, and clients at the ends.

    Brokers are 0 to `len(topology) - 1`, clients are larger numbers.

    Parameters
    ----------
    topology : Topology
        The tree.
    brokers : sequence
        One for each position of the topology, with `handle(sender, message)`.
    links : Links
        Speed of the links.
    deliver : callable
        Called with client, message and moment of sending for every message to a client.

    Attributes
    ----------
    now : float
        The simulated time, in seconds.
    events : int
        Messages handled: by brokers (timers included) and by clients.
    hops : dict of str to int
        Messages between brokers by `kind`, of those caused by something measured.
    """

    def __init__(
        self, topology: Topology, brokers: Sequence[Handler], links: Links, deliver: Deliver
    ) -> None:
        self.now = 0.0
        self.events = 0
        self.hops: Counter[str] = Counter()
        self._links = links
        self._deliver = deliver
        self._handlers = [broker.handle for broker in brokers]
        # The moment each direction of a link is free again, by sender and receiver.
        self._free: list[dict[Hashable, float]] = [dict.fromkeys(near, 0.0) for near in topology.neighbours]
        self._uplinks: dict[int, float] = {}
        self._queue: list[_Entry] = []
        self._count = 0

    def at(self, when: float, action: Action) -> None:
        """Call something at a moment: a client's decision, or a look at the tables."""
        self._push(max(when, self.now), -1, -1, action, False)

    def from_client(self, client: int, broker: int, message: Message, measured: bool = False) -> None:
        """Let a client send a message to a broker, now."""
        links = self._links
        start = max(self.now, self._uplinks.get(client, 0.0)) + links.client_s
        self._uplinks[client] = start
        self._push(start + links.client_latency_s, broker, client, message, measured)

    def run(self) -> None:
        """Let everything happen, until nothing is under way any more."""
        queue, handlers, hops, deliver = self._queue, self._handlers, self.hops, self._deliver
        pop, push = heapq.heappop, heapq.heappush
        send_s, latency_s = self._links.broker_s, self._links.broker_latency_s
        now, count, events = self.now, self._count, 0
        while queue:
            now, _, broker, sender, message, measured = pop(queue)
            if broker < 0:
                self.now, self._count = now, count
                message()
                count = self._count
                continue
            events += 1
            free = self._free[broker]
            for target, sent in handlers[broker](sender, message):
                if target in free:
                    if measured:
                        hops[sent.kind] += 1
                    start = free[target]
                    if start < now:
                        start = now
                    free[target] = start = start + send_s
                    count += 1
                    push(queue, (start + latency_s, count, target, broker, sent, measured))
                elif isinstance(sent, Timer):
                    count += 1
                    push(queue, (now + sent.after_s, count, broker, broker, sent, measured))
                else:
                    events += 1
                    deliver(target, sent, now)
        self.now, self._count = now, count
        self.events += events

    def _push(self, when: float, broker: int, sender: int, message: Message | Action, measured: bool) -> None:
        self._count += 1
        heapq.heappush(self._queue, (when, self._count, broker, sender, message, measured))
