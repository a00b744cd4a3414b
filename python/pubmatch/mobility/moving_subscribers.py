"""Moves of subscribers: subscribe at the new broker, fetch behind it, replay, forget at the old one.

This is the same for every algorithm: those differ in what they do for publishers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pubmatch.errors import ArgumentError
from pubmatch.mobility.messages import ClientId, Connect, Fetch, Leave, Replay, ReplayEnd
from pubmatch.mobility.routes import Out
from pubmatch.mobility.subscribers import Session

if TYPE_CHECKING:
    from pubmatch.mobility.broker import Broker

__all__ = ["connect", "disconnect", "fetched", "leave", "replay_ended", "replayed"]


def connect(broker: Broker, client: ClientId, message: Connect, out: Out) -> None:
    """A subscriber arrives, perhaps from another broker, perhaps after a break here."""
    subscribers = broker.subscribers
    if subscribers.live(client) is not None:
        raise ArgumentError(f"subscriber {client!r} is already connected to broker {broker.id!r}")
    contents = subscribers.contents(message.filters)
    here = subscribers.stored(client, message.move) if message.previous == broker.id else None
    if here is not None:
        _resume(broker, here, contents, message.move, out)
        return
    session = subscribers.open(client, message.move, contents, out)
    if message.previous is not None and message.previous != broker.id:
        session.seen = set(message.seen)
        subscribers.changed()
        broker.send(Fetch(message.previous, client, message.move, broker.id), out)


def _resume(broker: Broker, session: Session, contents: list[int], move: int, out: Out) -> None:
    missed, session.store = session.store, None
    session.move = move
    broker.subscribers.changed()
    broker.subscribers.replace(session, contents, out)
    out += [(session.client, publication) for publication in missed or ()]


def disconnect(broker: Broker, client: ClientId) -> None:
    """A subscriber goes away: store for it."""
    session = broker.subscribers.live(client)
    if session is None:
        raise ArgumentError(f"subscriber {client!r} is not connected to broker {broker.id!r}")
    broker.subscribers.put_away(session)


def leave(broker: Broker, client: ClientId, message: Leave, out: Out) -> None:
    """A subscriber leaves for good."""
    session = broker.subscribers.live(client)
    if session is not None:
        broker.subscribers.close(session, out)
    elif message.previous is not None:
        broker.send(Fetch(message.previous, client, message.move + 1 if message.move else 0, None), out)
    else:
        raise ArgumentError(
            f"subscriber {client!r} is not at broker {broker.id!r}: previous= must say where it was"
        )


def fetched(broker: Broker, message: Fetch, out: Out) -> None:
    """The client's next broker asks for what was stored here; nothing is stored for a client unknown here."""
    session = broker.subscribers.stored(message.client, message.move)
    if session is None:
        if message.reply_to is not None:
            broker.send(ReplayEnd(message.reply_to, message.client, message.move), out)
    elif session.seen is not None and message.reply_to is not None:
        session.asked = (message.reply_to, message.move)
    else:
        session.asked = (message.reply_to, message.move)
        _answer(broker, session, out)


def _answer(broker: Broker, session: Session, out: Out) -> None:
    """Send what is stored to who asked for it, and forget the session."""
    if session.asked is not None and session.asked[0] is not None:
        target, move = session.asked
        for publication in session.store or ():
            broker.send(Replay(target, session.client, move, publication), out)
        broker.send(ReplayEnd(target, session.client, move), out)
    broker.subscribers.close(session, out)


def replayed(broker: Broker, message: Replay, out: Out) -> None:
    """A stored publication has come; if its subscriber has left for good, nobody wants it."""
    session = broker.subscribers.awaiting(message.client, message.move)
    if session is not None:
        session.take(message.publication, out)


def replay_ended(broker: Broker, message: ReplayEnd, out: Out) -> None:
    """Nothing more comes from the last broker: answer a fetch that had to wait for that."""
    session = broker.subscribers.awaiting(message.client, message.move)
    if session is not None:
        session.seen = None
        broker.subscribers.changed()
        if session.asked is not None:
            _answer(broker, session, out)
