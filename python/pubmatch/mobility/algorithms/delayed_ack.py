"""DELAYED+ACK: the old tree stays until the new one is known to be complete; not in the paper.

The new broker asks for acknowledgements of its advertisements. Until they are there it keeps the
publications of its client; then it sends them, and has the old broker tear down. No timer, no prediction,
nothing lost.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, ClassVar

from pubmatch.mobility.algorithms.standard import Standard
from pubmatch.mobility.messages import ClientId, Connect, Disconnect, Leave, Release
from pubmatch.mobility.publishers import Build, Publisher
from pubmatch.mobility.routes import LOCAL, Out

if TYPE_CHECKING:
    from pubmatch.mobility.broker import Broker

__all__ = ["DelayedAck"]


class DelayedAck(Standard):
    """Completion acknowledgements instead of a timer."""

    __slots__ = ("_builds", "_serial")
    name: ClassVar[str] = "delayed+ack"

    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        self._builds: dict[Hashable, Publisher] = {}
        self._serial = 0

    def connect(self, client: ClientId, message: Connect, contents: list[int], out: Out) -> None:
        """Advertise and wait for the acknowledgements."""
        broker = self.broker
        publisher = Publisher(client, contents)
        broker.publishers.connected[client] = publisher
        build = publisher.build = Build(message.previous)
        tokens = {
            content: (broker.id, self._serial + place) for place, content in enumerate(publisher.contents)
        }
        self._serial += len(tokens)
        sent = broker.publishers.attach(publisher, publisher.contents, out, tokens)
        for content, token in tokens.items():
            if broker.await_acks(token, None, content, sent):
                self._builds[token] = publisher
                build.left += 1
        if not build.left:
            self._finish(publisher, build, out)

    def disconnect(self, publisher: Publisher, message: Disconnect, out: Out) -> None:
        """Leave everything as it is; the next broker will say when it may go."""
        broker = self.broker
        del broker.publishers.connected[publisher.client]
        broker.publishers.hold(publisher, broker.id)

    def leave(self, client: ClientId, publisher: Publisher | None, message: Leave, out: Out) -> None:
        """Tear down here if the publisher was connected, else where it was."""
        broker = self.broker
        if publisher is not None:
            del broker.publishers.connected[client]
            broker.publishers.hold(publisher, broker.id)
            broker.publishers.release(client, broker.id, out)
        else:
            broker.send(Release(message.previous, client, message.previous), out)

    def completed(self, token: Hashable, out: Out) -> None:
        """One more advertisement is known everywhere."""
        publisher = self._builds.pop(token)
        build = publisher.build
        if build is not None:
            build.left -= 1
            if not build.left:
                self._finish(publisher, build, out)

    def _finish(self, publisher: Publisher, build: Build, out: Out) -> None:
        broker = self.broker
        publisher.build = None
        for publication in build.waiting:
            broker.route_publication(publication, LOCAL, out)
        if build.previous is not None:
            broker.send(Release(build.previous, publisher.client, build.previous), out)
        if build.released is not None:
            broker.publishers.detach(publisher, publisher.contents, out)
