"""DELAYED: the old tree stays for a while, so that the new one can graft onto it (section 3)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, ClassVar

from pubmatch.mobility.algorithms.standard import Standard
from pubmatch.mobility.messages import ClientId, Connect, Disconnect, Leave, Timer
from pubmatch.mobility.publishers import Publisher
from pubmatch.mobility.routes import Out

if TYPE_CHECKING:
    from pubmatch.mobility.broker import Broker

__all__ = ["Delayed"]


class Delayed(Standard):
    """Tears down `delay_s` after the publisher has disconnected, unless it is back by then."""

    __slots__ = ("_away", "_serial")
    name: ClassVar[str] = "delayed"

    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        self._away: dict[Hashable, Publisher] = {}
        self._serial = 0

    def connect(self, client: ClientId, message: Connect, contents: list[int], out: Out) -> None:
        """A publisher that comes back in time finds its tree as it was."""
        publisher = self.broker.publishers.connected.get(client)
        if publisher is None:
            super().connect(client, message, contents, out)
        else:
            self.cancel(publisher)
            self.broker.publishers.replace(publisher, contents, out)

    def disconnect(self, publisher: Publisher, message: Disconnect, out: Out) -> None:
        """Leave everything as it is and set the timer."""
        self._serial += 1
        publisher.away = (self.broker.id, self._serial)
        self._away[publisher.away] = publisher
        out.append((self.broker.id, Timer(publisher.away, self.broker.delay_s)))

    def leave(self, client: ClientId, publisher: Publisher | None, message: Leave, out: Out) -> None:
        """Nothing is left to wait for."""
        if publisher is not None:
            self.cancel(publisher)
        super().leave(client, publisher, message, out)

    def timer(self, token: Hashable, out: Out) -> None:
        """The publisher has not come back."""
        publisher = self._away.pop(token, None)
        if publisher is not None:
            self._forget(publisher, out)

    def cancel(self, publisher: Publisher) -> None:
        """The timer of a publisher that is away no longer means anything."""
        if publisher.away is not None:
            del self._away[publisher.away]
            publisher.away = None
