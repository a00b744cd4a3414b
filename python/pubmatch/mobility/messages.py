"""The messages of the protocol: frozen, so that one object may travel over any number of hops.

`kind` says how a hop of the message is counted. Messages with a `target` are routed over the tree, broker
by broker, to the broker of that id.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NoReturn, TypeAlias

from pubmatch import Filter, parse
from pubmatch.errors import ArgumentError, ArgumentTypeError

__all__ = [
    "Acknowledge",
    "Advertise",
    "BrokerId",
    "ClientId",
    "Connect",
    "Disconnect",
    "Event",
    "Fetch",
    "Hold",
    "Kind",
    "Leave",
    "Message",
    "NodeId",
    "Publish",
    "Release",
    "Replay",
    "ReplayEnd",
    "Role",
    "Subscribe",
    "Timer",
    "Unadvertise",
    "Unsubscribe",
    "checked_filter",
    "checked_id",
    "checked_ids",
]

BrokerId: TypeAlias = Hashable
ClientId: TypeAlias = Hashable
NodeId: TypeAlias = Hashable
Role: TypeAlias = Literal["publisher", "subscriber"]
Kind: TypeAlias = Literal[
    "advertise",
    "unadvertise",
    "subscribe",
    "unsubscribe",
    "publish",
    "control",
    "acknowledge",
    "timer",
    "connect",
    "disconnect",
]


class Event(dict[str, Any]):
    """The attribute values of a publication; a dict that cannot be changed.

    A broker network matches an `Event` object once and remembers the answer by its identity, so a publisher
    that publishes the same values again and again makes one `Event` and reuses it.

    Examples
    --------
    >>> event = Event(price=12.5)
    >>> event == {"price": 12.5}
    True
    >>> event["price"] = 13
    Traceback (most recent call last):
    ...
    pubmatch.errors.ArgumentTypeError: an Event cannot be changed: make a new one
    """

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise ArgumentTypeError("an Event cannot be changed: make a new one")

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted(self.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        return Event, (dict(self),)


def checked_id(name: str, value: object) -> NodeId:
    """An id as it is; what cannot be hashed names nobody."""
    try:
        hash(value)
    except TypeError:
        raise ArgumentTypeError(f"{name} must be hashable, got {value!r}") from None
    return value


def checked_ids(name: str, value: object) -> tuple[BrokerId, ...]:
    """Several ids; a bare text is one id, not the ids of its letters.

    Examples
    --------
    >>> checked_ids("proxies", ["b1", "b2"])
    ('b1', 'b2')
    """
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ArgumentTypeError(f"{name} must be a sequence of broker ids, got {value!r}")
    return tuple(checked_id(f"each of {name}", each) for each in value)


def checked_filter(value: object) -> Filter:
    """A filter, or the filter that a text says."""
    if isinstance(value, Filter):
        return value.as_filter()
    if isinstance(value, str):
        return parse(value)
    raise ArgumentTypeError(f"filter must be a Filter or SQL text, got {type(value).__name__}")


@dataclass(frozen=True, slots=True)
class _Filtered:
    filter: Filter

    def __post_init__(self) -> None:
        object.__setattr__(self, "filter", checked_filter(self.filter))


@dataclass(frozen=True, slots=True)
class Advertise(_Filtered):
    """What a publisher is going to publish; `ack` asks for an `Acknowledge` of that token when all is built.

    Examples
    --------
    >>> Advertise("price < 10") == Advertise(parse("price < 10"))
    True
    """

    ack: Hashable = None
    kind: ClassVar[Kind] = "advertise"


@dataclass(frozen=True, slots=True)
class Unadvertise(_Filtered):
    """Withdraws an advertisement."""

    kind: ClassVar[Kind] = "unadvertise"


@dataclass(frozen=True, slots=True)
class Subscribe(_Filtered):
    """What a subscriber wants to get."""

    kind: ClassVar[Kind] = "subscribe"


@dataclass(frozen=True, slots=True)
class Unsubscribe(_Filtered):
    """Withdraws a subscription."""

    kind: ClassVar[Kind] = "unsubscribe"


@dataclass(frozen=True, slots=True)
class Publish:
    """A publication; to a client it is the delivery. `id` tells publications of one network apart.

    Examples
    --------
    >>> Publish({"price": 9.5}, 1).event
    {'price': 9.5}
    """

    event: Event
    id: Hashable
    kind: ClassVar[Kind] = "publish"

    def __post_init__(self) -> None:
        if type(self.event) is not Event:
            if not isinstance(self.event, Mapping):
                raise ArgumentTypeError(
                    f"event must be a mapping of attribute values, got {type(self.event).__name__}"
                )
            object.__setattr__(self, "event", Event(self.event))


# --- what clients say when they move ---


def _role(value: object) -> None:
    if value not in ("publisher", "subscriber"):
        raise ArgumentError(f"role must be 'publisher' or 'subscriber', got {value!r}")


def _filters(value: object) -> tuple[Filter, ...]:
    if isinstance(value, Filter | str) or not isinstance(value, Iterable):
        raise ArgumentTypeError(f"filters must be a sequence of filters, got {type(value).__name__}")
    return tuple(checked_filter(each) for each in value)


@dataclass(frozen=True, slots=True)
class Connect:
    """A client arrives at a broker ("movein").

    Parameters
    ----------
    role : {"publisher", "subscriber"}
        A client that is both sends two messages.
    filters : sequence of Filter or str
        All its advertisements, or all its subscriptions.
    previous : broker id, optional
        Where it was connected before; None when it enters the network.
    predicted : broker id, optional
        The `next` of its last `Disconnect`, right or wrong: what was prefetched there is claimed or cleaned
        up.
    proxies : sequence of broker ids
        The brokers that keep a tree for this publisher (PROXY); the same at every `Connect`, and at `Leave`.
    move : int
        How many times the client has connected before. Needed only if a subscriber may come back to a broker
        while an earlier move of its own is still under way.
    seen : iterable of publication ids
        What a subscriber has got lately and shall not get again: it may have been faster than a publication
        that was on its way to both brokers.
    """

    role: Role
    filters: tuple[Filter, ...]
    previous: BrokerId | None = None
    predicted: BrokerId | None = None
    proxies: tuple[BrokerId, ...] = ()
    move: int = 0
    seen: frozenset[Hashable] = frozenset()
    kind: ClassVar[Kind] = "connect"

    def __post_init__(self) -> None:
        _role(self.role)
        if self.predicted is not None and self.previous is None:
            raise ArgumentError(f"predicted ({self.predicted!r}) needs previous: who made the prediction")
        object.__setattr__(self, "filters", _filters(self.filters))
        object.__setattr__(self, "seen", frozenset(self.seen))
        object.__setattr__(self, "proxies", checked_ids("proxies", self.proxies))


@dataclass(frozen=True, slots=True)
class Disconnect:
    """A client goes away to come back, here or elsewhere ("moveout").

    Parameters
    ----------
    role : {"publisher", "subscriber"}
        As in `Connect`.
    next : broker id, optional
        Where it will probably connect (PREFETCHING); None if nobody knows.
    """

    role: Role
    next: BrokerId | None = None
    kind: ClassVar[Kind] = "disconnect"

    def __post_init__(self) -> None:
        _role(self.role)


@dataclass(frozen=True, slots=True)
class Leave:
    """A client leaves for good: nothing of it remains in the network.

    Said to the broker it is connected to, or, after a `Disconnect`, to any broker; then `previous` (and
    `predicted`, `move`: those of the last connection) tell where something is left to clean up.

    Parameters
    ----------
    role : {"publisher", "subscriber"}
        As in `Connect`.
    previous, predicted : broker id, optional
        Only if it is not connected: where it was last, and the `next` it named when it disconnected.
    proxies : sequence of broker ids
        As in `Connect`.
    move : int
        Only if it is not connected: the `move` of its last `Connect`.
    """

    role: Role
    previous: BrokerId | None = None
    predicted: BrokerId | None = None
    proxies: tuple[BrokerId, ...] = ()
    move: int = 0
    kind: ClassVar[Kind] = "disconnect"

    def __post_init__(self) -> None:
        _role(self.role)
        if self.predicted is not None and self.previous is None:
            raise ArgumentError(f"predicted ({self.predicted!r}) needs previous: who made the prediction")
        object.__setattr__(self, "proxies", checked_ids("proxies", self.proxies))


# --- what brokers say to each other, or to themselves ---


@dataclass(frozen=True, slots=True)
class Hold:
    """Advertise for a publisher that is not connected to `target`: the prefetch message, or a proxy's task.

    `issuer` names the reason; every `Hold` is undone by one `Release` of the same client and issuer, in
    whatever order the two arrive.
    """

    target: BrokerId
    client: ClientId
    issuer: BrokerId
    filters: tuple[Filter, ...]
    kind: ClassVar[Kind] = "control"


@dataclass(frozen=True, slots=True)
class Release:
    """Undoes one `Hold`, or ends what the broker `target` kept when the client disconnected there."""

    target: BrokerId
    client: ClientId
    issuer: BrokerId
    kind: ClassVar[Kind] = "control"


@dataclass(frozen=True, slots=True)
class Fetch:
    """Asks `target` for what it stored for a subscriber, and to forget it; `reply_to` None: just to forget.

    It is sent behind the subscription, over the same FIFO links, and so flushes them: whatever the new broker
    does not get itself is stored at the old one before the fetch arrives.
    """

    target: BrokerId
    client: ClientId
    move: int
    reply_to: BrokerId | None
    kind: ClassVar[Kind] = "control"


@dataclass(frozen=True, slots=True)
class Replay:
    """One stored publication on its way to the subscriber's new broker."""

    target: BrokerId
    client: ClientId
    move: int
    publication: Publish
    kind: ClassVar[Kind] = "publish"


@dataclass(frozen=True, slots=True)
class ReplayEnd:
    """All stored publications have been sent."""

    target: BrokerId
    client: ClientId
    move: int
    kind: ClassVar[Kind] = "control"


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """The advertisement of that token has been spread, and the subscriptions that meet it have been sent."""

    token: Hashable
    kind: ClassVar[Kind] = "acknowledge"


@dataclass(frozen=True, slots=True)
class Timer:
    """Sent by a broker to itself: to be handed back after `after_s` seconds."""

    token: Hashable
    after_s: float
    kind: ClassVar[Kind] = "timer"


Message: TypeAlias = (
    Advertise
    | Unadvertise
    | Subscribe
    | Unsubscribe
    | Publish
    | Connect
    | Disconnect
    | Leave
    | Hold
    | Release
    | Fetch
    | Replay
    | ReplayEnd
    | Acknowledge
    | Timer
)
