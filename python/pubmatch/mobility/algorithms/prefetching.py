"""PREFETCHING: the next broker builds the new tree while the publisher is on its way (section 3)."""

from __future__ import annotations

from typing import ClassVar

from pubmatch.mobility.algorithms.standard import Standard
from pubmatch.mobility.messages import ClientId, Connect, Disconnect, Hold, Leave, Release
from pubmatch.mobility.publishers import Publisher
from pubmatch.mobility.routes import Out

__all__ = ["Prefetching"]


class Prefetching(Standard):
    """Tells the predicted next broker to advertise, then tears the old tree down.

    What is held there is released when the publisher has connected: at that broker it changes nothing, at any
    other it cleans up after a wrong prediction.
    """

    __slots__ = ()
    name: ClassVar[str] = "prefetching"

    def connect(self, client: ClientId, message: Connect, contents: list[int], out: Out) -> None:
        """Claim what was prefetched here, or have it cleaned up where it was."""
        super().connect(client, message, contents, out)
        if message.predicted is not None:
            self.broker.send(Release(message.predicted, client, message.previous), out)

    def disconnect(self, publisher: Publisher, message: Disconnect, out: Out) -> None:
        """The prefetch message goes before the un-advertisement."""
        broker = self.broker
        if message.next is not None:
            filters = broker.publishers.filters(publisher)
            broker.send(Hold(message.next, publisher.client, broker.id, filters), out)
        super().disconnect(publisher, message, out)

    def leave(self, client: ClientId, publisher: Publisher | None, message: Leave, out: Out) -> None:
        """A publisher that leaves between two brokers has something prefetched."""
        between = publisher is None or publisher.away is not None
        super().leave(client, publisher, message, out)
        if between and message.predicted is not None:
            self.broker.send(Release(message.predicted, client, message.previous), out)
