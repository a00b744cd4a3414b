"""PROXY: some brokers always keep a tree for the publisher (section 3)."""

from __future__ import annotations

from typing import ClassVar

from pubmatch.errors import ArgumentError
from pubmatch.mobility.algorithms.standard import Standard
from pubmatch.mobility.messages import ClientId, Connect, Hold, Leave, Release
from pubmatch.mobility.publishers import Publisher
from pubmatch.mobility.routes import Out

__all__ = ["Proxy"]


class Proxy(Standard):
    """Proxies are assigned when the publisher enters the network and released when it leaves for good.

    Other brokers tear down at once. The paper never releases proxies; their trees would stay for ever.
    """

    __slots__ = ()
    name: ClassVar[str] = "proxy"

    def connect(self, client: ClientId, message: Connect, contents: list[int], out: Out) -> None:
        """At the first connection all proxies are told."""
        super().connect(client, message, contents, out)
        publisher = self.broker.publishers.connected[client]
        publisher.proxies = message.proxies
        if message.previous is None:
            filters = self.broker.publishers.filters(publisher)
            for proxy in message.proxies:
                self.broker.send(Hold(proxy, client, message.proxies[0], filters), out)

    def check_change(self, publisher: Publisher) -> None:
        """Proxies keep what they were told; a publisher that has some may only leave and come anew."""
        if publisher.proxies:
            raise ArgumentError(
                f"publisher {publisher.client!r} has proxies: its advertisements are fixed until it leaves"
            )

    def leave(self, client: ClientId, publisher: Publisher | None, message: Leave, out: Out) -> None:
        """All proxies are released."""
        super().leave(client, publisher, message, out)
        proxies = message.proxies or (publisher.proxies if publisher is not None else ())
        for proxy in proxies:
            self.broker.send(Release(proxy, client, proxies[0]), out)
