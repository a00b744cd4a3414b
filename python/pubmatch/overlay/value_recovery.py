"""Recovery from a crash: the dead joint is fenced off, and what was lost is replayed, each reading once.

Every tree counts generations. A joint's parts carry the generation its operator was installed in; after a
crash the root takes nothing older from that node, because the edges send all that does not count yet anew: a
part that was still under way would make it count twice. Streams of a crashed edge begin a new generation the
same way, and parts for a crashed root carry its epoch.
"""

from __future__ import annotations

from pubmatch.errors import ArgumentError
from pubmatch.overlay.root_operator import RootOperator
from pubmatch.overlay.value_changes import ValueChanges
from pubmatch.overlay.value_streams import Segment, Stream

__all__ = ["ValueRecovery"]


class ValueRecovery(ValueChanges):
    """Readings that survive crashes; see `ValueSimulation` for the parameters."""

    def crash(self, node: int) -> None:
        """Let a node crash: all it has and all that is under way to it is lost; others notice later."""
        if node not in self.network.nodes.tolist() or not self._transport.alive(node):
            raise ArgumentError(f"there is no node {node!r}")
        if len(self.network.nodes) - len(self._crashes) < 2:
            raise ArgumentError(f"node {node} is the last one and cannot crash")
        self._transport.crash(node)
        self._crashes.append((self.now + self._detection, node))
        for name in self._roots:
            self._joints.pop((name, node), None)
            root, operator = self._roots[name]
            if root == node:
                self._roots[name] = (node, RootOperator(self._graphs[name], operator.epoch + 1))
        for kind in self.network.types:
            self._filters.pop((node, kind), None)

    def _detect(self) -> None:
        while self._crashes and self._crashes[0][0] <= self.now:
            _, node = self._crashes.pop(0)
            if node in self.network.nodes.tolist():
                self.network.crash(node)
            self._read_batches()
            for name in list(self._roots):
                self._generations[name] += 1
                self._recover(name, node)

    def _recover(self, name: str, node: int) -> None:
        """Mend a tree after a crash: fence the dead joint off, move the root, replay what is lost."""
        root, operator = self._roots[name]
        if root == node:
            root = self.network.tree(name).root
            self._roots[name] = (root, operator)
            for (given, _), joint in self._joints.items():
                if given == name:
                    self._send_parts(joint, joint.send_again(operator.epoch))
            self._finish_silent(name)
        self._fence(name, node)
        for stream in self._undone(name):
            if stream.host == node:
                self._rehost(stream)
            self._mend(stream)

    def _fence(self, name: str, node: int) -> None:
        """Let the root take nothing more from the joint that crashed: its edges send all of it anew."""
        self._roots[name][1].fence(node, self._generations[name])

    def _rehost(self, stream: Stream) -> None:
        """Let an edge's heir take over a stream: its publishers send the window's readings once more."""
        stream.host = self.network.owner(stream.key.edge)
        stream.generation = self._generations[stream.key.subscription]
        kind, window = stream.filter.type, stream.key.window
        filters = self._edge_filters(stream.host, kind)
        hosted = [
            each for each in self._all_streams() if (each.host, each.filter.type) == (stream.host, kind)
        ]
        filters.install(each.filter for each in hosted)
        published = self._published.get((kind, window), [])
        readings = [each for publisher, each in published if publisher in stream.publishers]
        passed = filters.passing(readings)
        stream.log = [
            float(reading[stream.filter.value])
            for reading, given in zip(readings, passed, strict=True)
            if stream.filter in given
        ]
        stream.sent = len(stream.log)
        for segment in stream.segments:
            joint = self._joints.get((stream.key.subscription, segment.joint))
            if joint is not None and not joint.holds(stream.key, segment.serial):
                epoch = self._roots[stream.key.subscription][1].epoch
                self._send_parts(joint, joint.forget(stream.key, stream.generation, epoch))
                segment.incarnation = -1  # lost

    def _all_streams(self) -> list[Stream]:
        return [stream for streams in self._streams.values() for stream in streams.values()]

    def _mend(self, stream: Stream) -> None:
        """Replay the segments of a stream that neither its joint nor the root has any more."""
        root = self._roots[stream.key.subscription][1]
        safe = {each.serial for each in root.counted(stream.key.window) if each.key == stream.key}
        lost = [each for each in stream.segments if each.serial not in safe and not self._kept(each)]
        if not lost or not self._transport.alive(stream.host):
            return
        for segment in lost:
            stream.segments.remove(segment)
        joint = self._joint_of_lost(stream, lost)
        for segment in lost:
            end = len(stream.log) if segment.end is None else segment.end
            self._replay(stream, segment.start, end, joint, open_end=segment.end is None, final=segment.final)

    def _kept(self, segment: Segment) -> bool:
        """Whether the joint of a segment is still the one it was sent to."""
        joint = segment.joint
        return self._transport.alive(joint) and self._transport.incarnation(joint) == segment.incarnation

    def _joint_of_lost(self, stream: Stream, lost: list[Segment]) -> int:
        stream.segments.append(lost[-1])  # where the stream went last, should its flow be gone
        joint = self._joint_of(stream)
        stream.segments.pop()
        return joint

    def _replay(
        self, stream: Stream, start: int, end: int, joint: int, *, open_end: bool, final: bool
    ) -> None:
        """Send readings once more, as a segment of their own; an open one goes on with what comes next."""
        segment = self._open(stream, start, joint)
        self._send_again(stream, segment, start, end)
        if open_end:
            stream.sent = end
        if open_end and not stream.ended:
            return
        segment.end, segment.final = end, final or open_end
        self._send_close(stream, segment)

    def _send_again(self, stream: Stream, segment: Segment, start: int, end: int) -> None:
        """Send readings that the edge has kept, in messages of the usual size."""
        batch = self._edge_batch(stream)
        for place in range(start, end, batch):
            self._send_data(stream, segment, place, min(place + batch, end))
