"""STANDARD: a tree is torn down when its publisher disconnects, and built anew where it connects."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, ClassVar

from pubmatch.mobility.messages import ClientId, Connect, Disconnect, Leave
from pubmatch.mobility.publishers import Publisher
from pubmatch.mobility.routes import Out

if TYPE_CHECKING:
    from pubmatch.mobility.broker import Broker

__all__ = ["Standard"]


class Standard:
    """The interface of all algorithms, and the simplest of them; one object per broker."""

    __slots__ = ("broker",)
    name: ClassVar[str] = "standard"

    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    def connect(self, client: ClientId, message: Connect, contents: list[int], out: Out) -> None:
        """A publisher that is not connected here arrives with these advertisements."""
        publisher = Publisher(client, contents)
        self.broker.publishers.connected[client] = publisher
        self.broker.publishers.attach(publisher, publisher.contents, out)

    def disconnect(self, publisher: Publisher, message: Disconnect, out: Out) -> None:
        """A connected publisher goes away, to come back here or elsewhere."""
        self._forget(publisher, out)

    def leave(self, client: ClientId, publisher: Publisher | None, message: Leave, out: Out) -> None:
        """A publisher leaves for good; None if it is not known here."""
        if publisher is not None:
            self._forget(publisher, out)

    def check_change(self, publisher: Publisher) -> None:
        """Refuse, if it must be, that a connected publisher advertises more or less than it did."""

    def timer(self, token: Hashable, out: Out) -> None:
        """A timer of this broker has run out."""

    def completed(self, token: Hashable, out: Out) -> None:
        """An advertisement that this broker issued with that token has been acknowledged."""

    def _forget(self, publisher: Publisher, out: Out) -> None:
        del self.broker.publishers.connected[publisher.client]
        self.broker.publishers.detach(publisher, publisher.contents, out)
