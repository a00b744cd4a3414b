"""`Broker`: one broker of a network that routes by content; messages in, messages out, no I/O, no clock."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeAlias

from pubmatch import Schema
from pubmatch.arrays import checked_number
from pubmatch.errors import ArgumentError, ArgumentTypeError
from pubmatch.mobility import moving_subscribers
from pubmatch.mobility.acknowledgements import Acknowledgements
from pubmatch.mobility.algorithms import algorithm_named
from pubmatch.mobility.messages import (
    Acknowledge,
    Advertise,
    BrokerId,
    ClientId,
    Connect,
    Disconnect,
    Event,
    Fetch,
    Hold,
    Leave,
    Message,
    NodeId,
    Publish,
    Release,
    Replay,
    ReplayEnd,
    Subscribe,
    Timer,
    Unadvertise,
    Unsubscribe,
    checked_id,
    checked_ids,
)
from pubmatch.mobility.publishers import Publisher, Publishers
from pubmatch.mobility.routes import LOCAL, Out, Plan, Routes
from pubmatch.mobility.space import FilterSpace
from pubmatch.mobility.subscribers import Subscribers
from pubmatch.mobility.tables import InTable, OutTable

__all__ = ["Broker", "Route"]

_MOST_PLANS = 1024

Route: TypeAlias = Mapping[BrokerId, BrokerId] | Callable[[BrokerId], BrokerId]


class Broker:
    """One broker: hand it messages, carry its answers.

    Parameters
    ----------
    id : hashable
        Its name.
    neighbours : iterable of hashable
        The brokers it has links to. All links together must form a tree.
    schema : Schema, optional
        The attributes of events; may be left out if `space` is given.
    algorithm : str
        What happens when publishers move: one of `ALGORITHMS`.
    space : FilterSpace, optional
        The numbering of filters, shared by all brokers of a network in one process; else a new one.
    route : mapping or callable, optional
        The neighbour towards any other broker. Without it only neighbours can be reached by control messages.
    delay_s : float
        How long DELAYED waits before it tears a tree down.

    Examples
    --------
    Two brokers; a subscriber at the second gets what a publisher at the first publishes.

    >>> import pubmatch as pm
    >>> from pubmatch.mobility import Advertise, Broker, Publish, Subscribe
    >>> schema = pm.Schema(price=pm.Number())
    >>> a, b = Broker("a", ["b"], schema=schema), Broker("b", ["a"], schema=schema)
    >>> [(to, message)] = a.handle("publisher", Advertise("price BETWEEN 0 AND 100"))
    >>> b.handle("a", message)
    []
    >>> [(to, message)] = b.handle("subscriber", Subscribe("price < 10"))
    >>> to, str(message.filter), a.handle("b", message)
    ('a', 'price < 10', [])
    >>> [(to, message)] = a.handle("publisher", Publish({"price": 9.5}, 1))
    >>> b.handle("a", message)
    [('subscriber', Publish(event={'price': 9.5}, id=1))]
    """

    __slots__ = (
        "_route",
        "acknowledgements",
        "algorithm",
        "delay_s",
        "id",
        "publishers",
        "routes",
        "subscribers",
    )

    def __init__(
        self,
        id: BrokerId,
        neighbours: Iterable[BrokerId],
        schema: Schema | None = None,
        algorithm: str = "standard",
        space: FilterSpace | None = None,
        route: Route | None = None,
        delay_s: float = 10.0,
    ) -> None:
        self.id = checked_id("id", id)
        known = checked_ids("neighbours", neighbours)
        _check_neighbours(id, known)
        self.delay_s = checked_number("delay_s", delay_s)
        if not self.delay_s >= 0:
            raise ArgumentError(f"delay_s must not be negative, got {self.delay_s}")
        self._route = route
        self.routes = Routes(known, _space(schema, space))
        self.publishers = Publishers(self.routes)
        self.subscribers = Subscribers(self.routes)
        self.acknowledgements = Acknowledgements()
        self.algorithm = algorithm_named(algorithm)(self)

    # --- tables ---

    @property
    def neighbours(self) -> tuple[BrokerId, ...]:
        """The brokers it has links to."""
        return self.routes.neighbours

    @property
    def space(self) -> FilterSpace:
        """The numbering of filters."""
        return self.routes.space

    @property
    def in_ads(self) -> InTable:
        """The advertisements received: rows (filter, sender)."""
        return InTable(self.routes, self.routes.ads, self.publishers.clients)

    @property
    def out_ads(self) -> OutTable:
        """The advertisements for each neighbour: rows (filter, neighbour, sent)."""
        routes = self.routes
        return OutTable(routes, routes.ads, routes.ads_required, routes.hidden_ads)

    @property
    def in_subs(self) -> InTable:
        """The subscriptions received: rows (filter, sender)."""
        return InTable(self.routes, self.routes.subs, self.subscribers.clients)

    @property
    def out_subs(self) -> OutTable:
        """The subscriptions for each neighbour: rows (filter, neighbour, sent)."""
        routes = self.routes
        return OutTable(routes, routes.out_subs, routes.subs_required, routes.hidden_subs)

    def contents(self) -> set[int]:
        """The numbers of all filters in the tables: what `FilterSpace.keep` must keep for this broker."""
        return self.routes.ads.keys() | self.routes.subs.keys()

    def __repr__(self) -> str:
        return f"Broker({self.id!r}, {list(self.neighbours)!r}, algorithm={self.algorithm.name!r})"

    # --- messages ---

    def handle(self, sender: NodeId, message: Message) -> Out:
        """Take a message and tell what is to be sent.

        Parameters
        ----------
        sender : hashable
            The neighbour it came from; the broker's own id for a `Timer`; anything else is a client.
        message : one of the message classes
            What came.

        Returns
        -------
        list of (destination, message)
            In sending order; a destination that is no neighbour is a client, or the broker itself (`Timer`).

        Raises
        ------
        ArgumentError
            The message does not make sense here, for instance from a client that is not connected.
        ArgumentTypeError
            It is no message of this protocol, or the sender is not hashable.
        FilterError, SchemaError
            A filter or an event does not fit the schema.
        """
        out: Out = []
        try:
            bit = self.routes.bit_of.get(sender)
        except TypeError:
            raise ArgumentTypeError(f"sender must be hashable, got {sender!r}") from None
        if bit is not None and type(message) is Publish:
            self.route_publication(message, bit, out)
            return out
        handler = _HANDLERS.get(type(message))
        if handler is None:
            raise ArgumentTypeError(f"not a message of this protocol: {message!r}")
        handler(self, sender, message, out)
        return out

    def next_hop(self, target: BrokerId) -> BrokerId:
        """The neighbour towards another broker."""
        neighbours = self.routes.bit_of
        try:
            if target in neighbours:
                return target
            if self._route is not None:
                hop = self._route(target) if callable(self._route) else self._route[target]
                if hop in neighbours:
                    return hop
        except (LookupError, ValueError, TypeError):  # TypeError: also an id that is not hashable
            pass
        raise ArgumentError(f"broker {self.id!r} knows no route to broker {target!r}")

    def send(self, message: Hold | Release | Fetch | Replay | ReplayEnd, out: Out) -> None:
        """Send a control message on its way to its target, which may be this broker."""
        if message.target == self.id:
            _ARRIVED[type(message)](self, message, out)
        else:
            out.append((self.next_hop(message.target), message))

    def route_publication(self, publication: Publish, bit: int, out: Out) -> None:
        """Send a publication wherever a matching subscription came from, but not back."""
        routes = self.routes
        event = publication.event
        plan = routes.plans.get(id(event))
        if plan is None:
            plan = self._plan(event)
        _, mask, clients = plan
        onwards = mask & ~(bit | LOCAL)
        if onwards:
            for neighbour in routes.named(onwards):
                out.append((neighbour, publication))
        if clients:
            for client in clients:
                out.append((client, publication))
        elif clients is None:
            self.subscribers.deliver(publication, self.space.matching(event), out)

    def _plan(self, event: Event) -> Plan:
        """Where publications of an event go as long as subscriptions stay as they are."""
        matched = self.space.matching(event)
        subs, mask = self.routes.subs, 0
        if len(matched) <= len(subs):
            for content in matched:
                mask |= subs.get(content, 0)
        else:
            for content, senders in subs.items():
                if content in matched:
                    mask |= senders
        plans = self.routes.plans
        if len(plans) >= _MOST_PLANS:
            plans.clear()
        clients = self.subscribers.simply_wanting(matched) if mask & LOCAL else ()
        plan = plans[id(event)] = (event, mask, clients)  # the event is kept, so that its id stays its own
        return plan

    # --- advertisements and subscriptions ---

    def _on_advertise(self, sender: NodeId, message: Advertise, out: Out) -> None:
        content = self.space.ad(message.filter)
        bit = self.routes.bit_of.get(sender)
        acks = None if message.ack is None else {content: message.ack}
        if bit is not None:
            sent = self.routes.add_ads((content,), bit, out, acks)
        else:
            publisher = self._publisher(sender)
            sent = {}
            if content not in publisher.contents:
                self.algorithm.check_change(publisher)
                sent = self.publishers.attach(publisher, (content,), out, acks)
                publisher.contents.append(content)
        if message.ack is not None and not self.await_acks(message.ack, sender, content, sent):
            out.append((sender, Acknowledge(message.ack)))

    def await_acks(
        self, token: Hashable, reply_to: NodeId | None, content: int, sent: Mapping[int, int]
    ) -> bool:
        """Wait for the acknowledgements of an advertisement sent on; tell whether there are any."""
        contents = (content, *self.space.ads.covering(content))
        sent_to = self.routes.named(sent.get(content, 0))
        return self.acknowledgements.begin(token, reply_to, contents, sent_to).left > 0

    def _publisher(self, client: ClientId) -> Publisher:
        self._check_client(client)
        publisher = self.publishers.connected.get(client)
        if publisher is None:
            publisher = self.publishers.connected[client] = Publisher(client, ())
            publisher.implicit = True
        elif publisher.away is not None:
            raise ArgumentError(f"publisher {client!r} is not connected to broker {self.id!r}")
        return publisher

    def _on_unadvertise(self, sender: NodeId, message: Unadvertise, out: Out) -> None:
        content = self.space.ad(message.filter)
        bit = self.routes.bit_of.get(sender)
        if bit is not None:
            if not self.routes.ads.get(content, 0) & bit:
                raise ArgumentError(f"neighbour {sender!r} has not advertised {message.filter}")
            self.routes.remove_ads((content,), bit, out)
            return
        publisher = self.publishers.connected.get(sender)
        if publisher is None or publisher.away is not None or content not in publisher.contents:
            raise ArgumentError(
                f"client {sender!r} has not advertised {message.filter} at broker {self.id!r}"
            )
        self.algorithm.check_change(publisher)
        publisher.contents.remove(content)
        self.publishers.detach(publisher, (content,), out)
        if publisher.implicit and not publisher.contents:
            del self.publishers.connected[sender]

    def _on_subscribe(self, sender: NodeId, message: Subscribe, out: Out) -> None:
        content = self.space.sub(message.filter)
        bit = self.routes.bit_of.get(sender)
        if bit is not None:
            self.routes.add_subs((content,), bit, out)
            return
        self._check_client(sender)
        session = self.subscribers.live(sender)
        if session is None:
            if self.subscribers.sessions(sender):
                raise ArgumentError(f"subscriber {sender!r} is not connected to broker {self.id!r}")
            session = self.subscribers.open(sender, 0, (), out)
            session.implicit = True
        if content not in session.contents:
            session.contents.append(content)
            self.subscribers.attach(session, (content,), out)

    def _on_unsubscribe(self, sender: NodeId, message: Unsubscribe, out: Out) -> None:
        content = self.space.sub(message.filter)
        bit = self.routes.bit_of.get(sender)
        if bit is not None:
            if not self.routes.subs.get(content, 0) & bit:
                raise ArgumentError(f"neighbour {sender!r} has not subscribed to {message.filter}")
            self.routes.remove_subs((content,), bit, out)
            return
        session = self.subscribers.live(sender)
        if session is None or content not in session.contents:
            raise ArgumentError(
                f"client {sender!r} has not subscribed to {message.filter} at broker {self.id!r}"
            )
        session.contents.remove(content)
        self.subscribers.detach(session, (content,), out)
        if session.implicit and not session.contents:
            self.subscribers.close(session, out)

    def _on_publish(self, sender: NodeId, message: Publish, out: Out) -> None:
        publisher = self.publishers.connected.get(sender)
        if publisher is not None:
            if publisher.away is not None:
                raise ArgumentError(f"publisher {sender!r} is not connected to broker {self.id!r}")
            if publisher.build is not None:
                self.space.matching(message.event)  # refuses what could not be sent later
                publisher.build.waiting.append(message)
                return
        self.route_publication(message, LOCAL, out)

    # --- moves of clients ---

    def _on_connect(self, sender: NodeId, message: Connect, out: Out) -> None:
        self._check_client(sender)
        self._check_brokers(message.previous, message.predicted, *message.proxies)
        if message.role == "subscriber":
            moving_subscribers.connect(self, sender, message, out)
            return
        publisher = self.publishers.connected.get(sender)
        if publisher is not None and publisher.away is None:
            raise ArgumentError(f"publisher {sender!r} is already connected to broker {self.id!r}")
        self.algorithm.connect(sender, message, self.publishers.contents(message.filters), out)

    def _on_disconnect(self, sender: NodeId, message: Disconnect, out: Out) -> None:
        if message.next == self.id:
            raise ArgumentError(f"client {sender!r} cannot move to broker {self.id!r}: it is there")
        self._check_brokers(message.next)
        if message.role == "subscriber":
            moving_subscribers.disconnect(self, sender)
            return
        publisher = self.publishers.connected.get(sender)
        if publisher is None or publisher.away is not None:
            raise ArgumentError(f"publisher {sender!r} is not connected to broker {self.id!r}")
        self.algorithm.disconnect(publisher, message, out)

    def _on_leave(self, sender: NodeId, message: Leave, out: Out) -> None:
        self._check_client(sender)
        self._check_brokers(message.previous, message.predicted, *message.proxies)
        if message.role == "subscriber":
            moving_subscribers.leave(self, sender, message, out)
            return
        publisher = self.publishers.connected.get(sender)
        if publisher is None and message.previous is None:
            raise ArgumentError(
                f"publisher {sender!r} is not at broker {self.id!r}: previous= must say where it was"
            )
        self.algorithm.leave(sender, publisher, message, out)

    def _check_client(self, sender: NodeId) -> None:
        if sender in self.routes.bit_of or sender == self.id:
            raise ArgumentError(f"{sender!r} is a broker, not a client of broker {self.id!r}")

    def _check_brokers(self, *brokers: BrokerId | None) -> None:
        for each in brokers:
            if each is not None and each != self.id:
                self.next_hop(each)

    # --- control messages ---

    def _on_control(self, sender: NodeId, message: Any, out: Out) -> None:
        if sender not in self.routes.bit_of:
            raise ArgumentError(f"{type(message).__name__} is sent by brokers, not by client {sender!r}")
        self.send(message, out)

    def _on_acknowledge(self, sender: NodeId, message: Acknowledge, out: Out) -> None:
        if sender not in self.routes.bit_of:
            raise ArgumentError(f"Acknowledge is sent by brokers, not by client {sender!r}")
        for pending in self.acknowledgements.received(message.token, sender):
            if pending.reply_to is None:
                self.algorithm.completed(pending.token, out)
            else:
                out.append((pending.reply_to, Acknowledge(pending.token)))

    def _on_timer(self, sender: NodeId, message: Timer, out: Out) -> None:
        if sender != self.id:
            raise ArgumentError(f"a Timer comes from broker {self.id!r} itself, not from {sender!r}")
        self.algorithm.timer(message.token, out)

    def _hold_arrived(self, message: Hold, out: Out) -> None:
        contents = self.publishers.contents(message.filters)
        self.publishers.hold_for(message.client, message.issuer, contents, out)

    def _release_arrived(self, message: Release, out: Out) -> None:
        self.publishers.release(message.client, message.issuer, out)


def _space(schema: Schema | None, space: FilterSpace | None) -> FilterSpace:
    if space is None:
        if schema is None:
            raise ArgumentError("a broker needs a schema, or a space that has one")
        return FilterSpace(schema)
    if not isinstance(space, FilterSpace):
        raise ArgumentTypeError(f"space must be a FilterSpace, got {type(space).__name__}")
    if schema is not None and schema != space.schema:
        raise ArgumentError("schema and the schema of space differ")
    return space


def _check_neighbours(id: BrokerId, neighbours: tuple[BrokerId, ...]) -> None:
    if id in neighbours:
        raise ArgumentError(f"broker {id!r} cannot be its own neighbour")
    if len(set(neighbours)) != len(neighbours):
        raise ArgumentError(f"a neighbour of broker {id!r} is named twice: {list(neighbours)!r}")


_HANDLERS: dict[type, Callable[[Broker, NodeId, Any, Out], None]] = {
    Publish: Broker._on_publish,
    Subscribe: Broker._on_subscribe,
    Unsubscribe: Broker._on_unsubscribe,
    Advertise: Broker._on_advertise,
    Unadvertise: Broker._on_unadvertise,
    Connect: Broker._on_connect,
    Disconnect: Broker._on_disconnect,
    Leave: Broker._on_leave,
    Acknowledge: Broker._on_acknowledge,
    Timer: Broker._on_timer,
    Hold: Broker._on_control,
    Release: Broker._on_control,
    Fetch: Broker._on_control,
    Replay: Broker._on_control,
    ReplayEnd: Broker._on_control,
}

_ARRIVED: dict[type, Callable[[Broker, Any, Out], None]] = {
    Hold: Broker._hold_arrived,
    Release: Broker._release_arrived,
    Fetch: moving_subscribers.fetched,
    Replay: moving_subscribers.replayed,
    ReplayEnd: moving_subscribers.replay_ended,
}
