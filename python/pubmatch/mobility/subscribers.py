"""`Subscribers`: a broker's subscribing clients: store while they are away, replay where they come back.

A client that disconnects leaves a session behind that stores what it misses. Its next broker subscribes
and sends a `Fetch` behind the subscriptions. Every publication either finds the new subscription on its
way, or passes the place where the paths to the two brokers part before the subscription does, and then
reaches the old broker before the fetch. What goes both ways reaches the new broker before the replay: it
is known there by its id and not delivered again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from pubmatch import Filter
from pubmatch.errors import ArgumentError
from pubmatch.mobility.messages import BrokerId, ClientId, Publish
from pubmatch.mobility.routes import LOCAL, Out, Routes

__all__ = ["Session", "Subscribers"]


class Session:
    """One connection of a subscriber, or what remains of it until it is fetched.

    Attributes
    ----------
    client : client id
        The subscriber.
    move : int
        The number of the connection.
    awaits : int
        The number under which a replay to this session was asked for.
    contents : list of int
        The subscriptions.
    store : list of Publish, or None
        What the client misses while it is away; None while it is connected.
    seen : set of publication ids, or None
        While a replay is awaited: what was delivered or stored already.
    asked : (broker id or None, int), optional
        Who fetched the session before its own replay was complete, and the number of that connection.
    implicit : bool
        Begun by a plain `Subscribe`: it ends with the last `Unsubscribe`.
    """

    __slots__ = ("asked", "awaits", "client", "contents", "implicit", "move", "seen", "store")

    def __init__(self, client: ClientId, move: int, contents: Iterable[int]) -> None:
        self.implicit = False
        self.client = client
        self.move = move
        self.awaits = move
        self.contents = list(dict.fromkeys(contents))
        self.store: list[Publish] | None = None
        self.seen: set[Hashable] | None = None
        self.asked: tuple[BrokerId | None, int] | None = None

    def take(self, publication: Publish, out: Out) -> None:
        """Deliver a publication or store it, once."""
        if self.seen is not None:
            if publication.id in self.seen:
                return
            self.seen.add(publication.id)
        if self.store is None:
            out.append((self.client, publication))
        else:
            self.store.append(publication)


class Subscribers:
    """All subscribers of one broker."""

    __slots__ = ("_of_client", "_routes", "_sessions")

    def __init__(self, routes: Routes) -> None:
        self._routes = routes
        self._of_client: dict[ClientId, list[Session]] = {}
        self._sessions: dict[int, dict[Session, None]] = {}

    def clients(self, content: int) -> list[ClientId]:
        """The clients that a subscription is kept for."""
        return [session.client for session in self._sessions.get(content, ())]

    def contents(self, filters: Iterable[Filter]) -> list[int]:
        """The numbers of subscriptions."""
        sub = self._routes.space.sub
        return [sub(each) for each in filters]

    def sessions(self, client: ClientId) -> list[Session]:
        """All sessions of a client here, the oldest first."""
        return self._of_client.get(client, [])

    def live(self, client: ClientId) -> Session | None:
        """The session of a connected client."""
        return next((each for each in self.sessions(client) if each.store is None), None)

    def stored(self, client: ClientId, move: int) -> Session | None:
        """The session that the client's connection of number `move` fetches: the one before it.

        Clients that do not number their connections have one session at most.
        """
        found = [each for each in self.sessions(client) if each.store is not None and each.asked is None]
        wanted = move - 1 if move else 0
        return next((each for each in found if each.move == wanted), None)

    def awaiting(self, client: ClientId, move: int) -> Session | None:
        """The session that a replay is for."""
        return next(
            (each for each in self.sessions(client) if each.awaits == move and each.seen is not None), None
        )

    # --- sessions ---

    def open(self, client: ClientId, move: int, contents: Iterable[int], out: Out) -> Session:
        """A client has connected."""
        session = Session(client, move, contents)
        self._of_client.setdefault(client, []).append(session)
        self.attach(session, session.contents, out)
        return session

    def close(self, session: Session, out: Out) -> None:
        """Forget a session and its subscriptions."""
        sessions = self._of_client[session.client]
        sessions.remove(session)
        if not sessions:
            del self._of_client[session.client]
        self.detach(session, session.contents, out)

    def put_away(self, session: Session) -> None:
        """Store from now on; refused if a fetch could not tell two sessions apart."""
        if any(
            each.store is not None and each.move == session.move for each in self.sessions(session.client)
        ):
            raise ArgumentError(
                f"subscriber {session.client!r} moves while an earlier move is still under way: number its "
                f"connections (Connect(..., move=n))"
            )
        session.store = []
        self.changed()

    def attach(self, session: Session, contents: Iterable[int], out: Out) -> None:
        """Subscribe for a session."""
        new = []
        self.changed()
        for content in contents:
            sessions = self._sessions.get(content)
            if sessions is None:
                self._sessions[content] = {session: None}
                new.append(content)
            else:
                sessions[session] = None
        if new:
            self._routes.add_subs(new, LOCAL, out)

    def detach(self, session: Session, contents: Iterable[int], out: Out) -> None:
        """No longer subscribe for a session."""
        gone = []
        self.changed()
        for content in contents:
            sessions = self._sessions[content]
            del sessions[session]
            if not sessions:
                del self._sessions[content]
                gone.append(content)
        if gone:
            self._routes.remove_subs(gone, LOCAL, out)

    def replace(self, session: Session, contents: Iterable[int], out: Out) -> None:
        """Give a session other subscriptions: new ones are sent before old ones are withdrawn."""
        wanted = list(dict.fromkeys(contents))
        gone = [content for content in session.contents if content not in set(wanted)]
        self.attach(session, [content for content in wanted if content not in set(session.contents)], out)
        session.contents = wanted
        self.detach(session, gone, out)

    # --- publications ---

    def simply_wanting(self, matched: Iterable[int]) -> tuple[ClientId, ...] | None:
        """The clients that want an event, once each; None if one is away or has a replay to come."""
        wanting = self._wanting(matched)
        if any(session.store is not None or session.seen is not None for session in wanting):
            return None
        return tuple(session.client for session in wanting)

    def deliver(self, publication: Publish, matched: Iterable[int], out: Out) -> None:
        """Deliver to the clients that want a publication, once each, or store for them."""
        for session in self._wanting(matched):
            session.take(publication, out)

    def changed(self) -> None:
        """Forget where publications go: a session or its state has changed."""
        self._routes.plans.clear()

    def _wanting(self, matched: Iterable[int]) -> dict[Session, None]:
        groups = [group for group in map(self._sessions.get, matched) if group is not None]
        if len(groups) == 1:
            return groups[0]
        wanting: dict[Session, None] = {}
        for group in groups:
            wanting.update(group)
        return wanting
