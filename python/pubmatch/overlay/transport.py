"""Messages under way: every link keeps their order, takes its time, and loses what is sent to a dead node."""

from __future__ import annotations

import heapq
import random

from pubmatch.overlay.messages import Message

__all__ = ["SUBSCRIBER", "Transport"]

SUBSCRIBER = -1
"""The destination of results."""


class Transport:
    """Links between nodes, with delays drawn from a seeded generator.

    Parameters
    ----------
    delays : (int, int)
        The fewest and the most ticks a message takes; it never overtakes one on the same link.
    seed : int
        Same seed, same delays.

    Examples
    --------
    >>> transport = Transport((1, 3), seed=1)
    >>> transport.incarnation(5)
    0
    """

    def __init__(self, delays: tuple[int, int], seed: int) -> None:
        self._delays, self._random = delays, random.Random(seed)
        self._queue: list[tuple[int, int, int, int, Message]] = []
        self._serial = 0
        self._latest: dict[tuple[int, int], int] = {}
        self._incarnations: dict[int, int] = {}
        self._dead: set[int] = set()

    def __len__(self) -> int:
        return len(self._queue)

    def incarnation(self, node: int) -> int:
        """How often a node of that id has crashed."""
        return self._incarnations.get(node, 0)

    def alive(self, node: int) -> bool:
        """Whether a node takes messages."""
        return node not in self._dead

    def crash(self, node: int) -> None:
        """Lose everything that is under way to a node; what it has sent still arrives."""
        self._dead.add(node)
        self._incarnations[node] = self.incarnation(node) + 1

    def revive(self, node: int) -> None:
        """Let a new node have the id of one that crashed."""
        self._dead.discard(node)

    def send(self, now: int, source: int, target: int, message: Message) -> None:
        """Send a message; within one node it arrives at once."""
        delay = 0 if source == target else self._random.randint(*self._delays)
        link = (source, target)
        arrival = max(now + delay, self._latest.get(link, 0))
        self._latest[link] = arrival
        self._serial += 1
        heapq.heappush(self._queue, (arrival, self._serial, target, self.incarnation(target), message))

    def due(self, now: int) -> tuple[int, Message] | None:
        """The next message that has arrived, with its destination; None if there is none."""
        while self._queue and self._queue[0][0] <= now:
            _, _, target, incarnation, message = heapq.heappop(self._queue)
            if self.alive(target) and incarnation == self.incarnation(target):
                return target, message
        return None
