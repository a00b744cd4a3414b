"""The paper's tables as they are shown.

inAds and inSubs have rows (filter, sender), outAds and outSubs (filter, neighbour, sent).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from pubmatch import Filter
from pubmatch.mobility.messages import BrokerId, ClientId, NodeId
from pubmatch.mobility.routes import Routes

__all__ = ["InTable", "OutTable"]


class InTable:
    """Who sent a filter: one row per filter and sender.

    Examples
    --------
    >>> import pubmatch as pm
    >>> from pubmatch.mobility import Advertise, Broker
    >>> broker = Broker("a", ["b"], schema=pm.Schema(price=pm.Number()))
    >>> _ = broker.handle("b", Advertise("price < 10"))
    >>> len(broker.in_ads), [(str(filter), sender) for filter, sender in broker.in_ads]
    (1, [('price < 10', 'b')])
    """

    __slots__ = ("_clients", "_routes", "_senders")

    def __init__(
        self, routes: Routes, senders: Mapping[int, int], clients: Callable[[int], Iterable[ClientId]]
    ) -> None:
        self._routes = routes
        self._senders = senders
        self._clients = clients

    def __len__(self) -> int:
        everyone = self._routes.everyone
        neighbours = sum((mask & everyone).bit_count() for mask in self._senders.values())
        return neighbours + sum(len(set(self._clients(c))) for c, mask in self._senders.items() if mask & 1)

    def __iter__(self) -> Iterator[tuple[Filter, NodeId]]:
        filters = self._routes.space.filters
        for content, mask in self._senders.items():
            for neighbour in self._routes.named(mask & self._routes.everyone):
                yield filters[content], neighbour
            if mask & 1:
                for client in dict.fromkeys(self._clients(content)):
                    yield filters[content], client

    rows = __iter__

    def __repr__(self) -> str:
        return f"InTable({[(str(filter), sender) for filter, sender in self]})"


class OutTable:
    """To whom a filter goes: one row per filter and neighbour, and whether it was sent or is covered.

    Examples
    --------
    >>> import pubmatch as pm
    >>> from pubmatch.mobility import Advertise, Broker
    >>> broker = Broker("a", ["b"], schema=pm.Schema(price=pm.Number()))
    >>> for text in ("price < 10", "price < 5"):
    ...     _ = broker.handle("client", Advertise(text))
    >>> [(str(filter), neighbour, sent) for filter, neighbour, sent in broker.out_ads]
    [('price < 10', 'b', True), ('price < 5', 'b', False)]
    """

    __slots__ = ("_contents", "_hidden", "_required", "_routes")

    def __init__(
        self,
        routes: Routes,
        contents: Mapping[int, int],
        required: Callable[[int], int],
        hidden: Mapping[int, int],
    ) -> None:
        self._routes = routes
        self._contents = contents
        self._required = required
        self._hidden = hidden

    def __len__(self) -> int:
        return sum(self._required(content).bit_count() for content in self._contents)

    def __iter__(self) -> Iterator[tuple[Filter, BrokerId, bool]]:
        filters = self._routes.space.filters
        for content in self._contents:
            hidden = self._hidden.get(content, 0)
            for neighbour in self._routes.named(self._required(content)):
                yield filters[content], neighbour, not hidden & self._routes.bit_of[neighbour]

    rows = __iter__

    def __repr__(self) -> str:
        return f"OutTable({[(str(filter), neighbour, sent) for filter, neighbour, sent in self]})"
