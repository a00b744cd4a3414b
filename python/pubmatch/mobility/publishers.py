"""`Publishers`: the advertisements a broker keeps for its own clients, connected, held for, or away."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping

from pubmatch import Filter
from pubmatch.mobility.messages import BrokerId, ClientId, Publish
from pubmatch.mobility.routes import LOCAL, Out, Routes

__all__ = ["Build", "Publisher", "Publishers"]


class Build:
    """A tree under construction: publications wait for it, and so does whoever wants to tear it down."""

    __slots__ = ("left", "previous", "released", "waiting")

    def __init__(self, previous: BrokerId | None) -> None:
        self.left = 0
        self.previous = previous
        self.waiting: list[Publish] = []
        self.released: Publisher | None = None


class Publisher:
    """Advertisements of one client at this broker: of its connection, or held for it.

    Attributes
    ----------
    client : client id
        Whose advertisements they are.
    contents : list of int
        The advertisements.
    away : hashable or None
        While the client is away and the broker waits for it: the token of the timer.
    build : Build or None
        Set until its tree is known to be complete, where that can be known.
    implicit : bool
        Connected by a plain `Advertise`: it goes with the last `Unadvertise`.
    proxies : tuple of broker ids
        The brokers that keep a tree for it (PROXY).
    """

    __slots__ = ("away", "build", "client", "contents", "implicit", "proxies")

    def __init__(self, client: ClientId, contents: Iterable[int]) -> None:
        self.client = client
        self.contents = list(dict.fromkeys(contents))
        self.away: Hashable | None = None
        self.build: Build | None = None
        self.implicit = False
        self.proxies: tuple[BrokerId, ...] = ()


class Publishers:
    """All publishers of one broker.

    Equal advertisements of several clients, or of one client in several capacities, are one: it is withdrawn
    when the last of them goes (reference counting).
    """

    __slots__ = ("_holders", "_holds", "_owed", "_routes", "connected")

    def __init__(self, routes: Routes) -> None:
        self._routes = routes
        self.connected: dict[ClientId, Publisher] = {}
        self._holders: dict[int, dict[Publisher, None]] = {}
        self._holds: dict[tuple[ClientId, BrokerId], deque[Publisher]] = {}
        self._owed: dict[tuple[ClientId, BrokerId], int] = {}

    def clients(self, content: int) -> list[ClientId]:
        """The clients that an advertisement is kept for."""
        return [publisher.client for publisher in self._holders.get(content, ())]

    def contents(self, filters: Iterable[Filter]) -> list[int]:
        """The numbers of advertisements."""
        ad = self._routes.space.ad
        return [ad(each) for each in filters]

    def filters(self, publisher: Publisher) -> tuple[Filter, ...]:
        """The advertisements of a publisher."""
        return tuple(self._routes.space.filters[content] for content in publisher.contents)

    # --- rows ---

    def attach(
        self,
        publisher: Publisher,
        contents: Iterable[int],
        out: Out,
        acks: Mapping[int, Hashable] | None = None,
    ) -> dict[int, int]:
        """Advertise for a publisher; return to whom each advertisement was sent."""
        new = []
        for content in contents:
            holders = self._holders.get(content)
            if holders is None:
                self._holders[content] = {publisher: None}
                new.append(content)
            else:
                holders[publisher] = None
        return self._routes.add_ads(new, LOCAL, out, acks) if new else {}

    def detach(self, publisher: Publisher, contents: Iterable[int], out: Out) -> None:
        """No longer advertise for a publisher."""
        gone = []
        for content in contents:
            holders = self._holders[content]
            del holders[publisher]
            if not holders:
                del self._holders[content]
                gone.append(content)
        if gone:
            self._routes.remove_ads(gone, LOCAL, out)

    def replace(self, publisher: Publisher, contents: Iterable[int], out: Out) -> None:
        """Give a publisher other advertisements: new ones are sent before old ones are withdrawn."""
        wanted = list(dict.fromkeys(contents))
        gone = [content for content in publisher.contents if content not in set(wanted)]
        self.attach(publisher, [content for content in wanted if content not in set(publisher.contents)], out)
        publisher.contents = wanted
        self.detach(publisher, gone, out)

    # --- held for clients that are elsewhere ---

    def hold(self, publisher: Publisher, issuer: BrokerId) -> None:
        """Keep what a publisher advertises until it is released."""
        self._holds.setdefault((publisher.client, issuer), deque()).append(publisher)

    def hold_for(self, client: ClientId, issuer: BrokerId, contents: Iterable[int], out: Out) -> None:
        """Advertise for a client elsewhere, unless the release has arrived first."""
        key = (client, issuer)
        owed = self._owed.pop(key, 0)
        if owed:
            if owed > 1:
                self._owed[key] = owed - 1
            return
        publisher = Publisher(client, contents)
        self.attach(publisher, publisher.contents, out)
        self.hold(publisher, issuer)

    def release(self, client: ClientId, issuer: BrokerId, out: Out) -> None:
        """Undo one hold; one that has not arrived yet will come to nothing.

        A publisher whose tree is still being built has publications waiting for it: it is released when the
        tree is complete.
        """
        key = (client, issuer)
        held = self._holds.get(key)
        if held is None:
            self._owed[key] = self._owed.get(key, 0) + 1
            return
        publisher = held.popleft()
        if not held:
            del self._holds[key]
        if publisher.build is not None:
            publisher.build.released = publisher
        else:
            self.detach(publisher, publisher.contents, out)
