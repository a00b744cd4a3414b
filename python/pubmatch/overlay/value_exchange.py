"""How real readings go from edges over joints to roots, window by window, along the trees of a network."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import pubmatch as pm
from pubmatch.arrays import checked_count, checked_integer
from pubmatch.errors import ArgumentError, ArgumentTypeError
from pubmatch.overlay.edge_filters import EdgeFilters
from pubmatch.overlay.joint_operator import JointOperator
from pubmatch.overlay.messages import Close, Data, Message, Part, Result, SegmentEnd, StreamKey, WindowResult
from pubmatch.overlay.operator_graph import OperatorGraph
from pubmatch.overlay.root_operator import RootOperator
from pubmatch.overlay.subscription import Calculate, Filter
from pubmatch.overlay.transfer_network import TransferNetwork
from pubmatch.overlay.transport import SUBSCRIBER, Transport
from pubmatch.overlay.value_streams import Segment, Stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Readings", "ValueExchange"]

Readings = Callable[[str, int, int], Mapping[str, Any] | None]
"""The reading of a publisher: its type, its place in the network's array of that type, and the tick."""


class ValueExchange:
    """Edges, joints and roots with real readings; see `ValueSimulation` for the parameters."""

    def __init__(
        self,
        network: TransferNetwork,
        readings: Readings,
        *,
        schemas: Mapping[str, pm.Schema] | None = None,
        window: int = 8,
        delays: tuple[int, int] = (1, 4),
        detection: int = 3,
        seed: int = 0,
    ) -> None:
        if not callable(readings):
            raise ArgumentTypeError(f"readings must be callable, got {readings!r}")
        self.network = network
        self.now = 0
        self.results: dict[str, dict[int, WindowResult]] = {}
        self.messages: dict[str, Counter[int]] = {role: Counter() for role in ("edge", "joint", "root")}
        self._readings, self._schemas = readings, dict(schemas or {})
        self._window_ticks = checked_count("window", window)
        self._detection = checked_count("detection", detection)
        self._transport = Transport(_checked_delays(delays), checked_integer("seed", seed))
        self._streams: dict[tuple[str, int], dict[StreamKey, Stream]] = {}
        self._graphs: dict[str, OperatorGraph] = {}
        self._roots: dict[str, tuple[int, RootOperator]] = {}
        self._joints: dict[tuple[str, int], JointOperator] = {}
        self._generations: Counter[str] = Counter()
        self._filters: dict[tuple[int, str], EdgeFilters] = {}
        self._published: dict[tuple[str, int], list[tuple[int, Mapping[str, Any]]]] = {}
        self._listening: dict[tuple[str, int], list[tuple[Filter, frozenset[int]]]] = {}
        self._hosts: dict[tuple[str, int], list[Stream]] = {}
        self._over = 0  # windows before this one have ended
        self._batches: dict[tuple[str, int], int] = {}
        self._crashes: list[tuple[int, int]] = []  # when each will be noticed, and the node

    @property
    def window(self) -> int:
        """The window that the present tick is in."""
        return self.now // self._window_ticks

    # Windows

    def _begin_window(self) -> None:
        self._read_batches()
        wanted: dict[tuple[int, str], list[Filter]] = {}
        for name in self.network.subscriptions:
            self._begin_tree(name)
            for stream in self._streams[name, self.window].values():
                wanted.setdefault((stream.host, stream.filter.type), []).append(stream.filter)
        for place, filters in wanted.items():
            self._edge_filters(*place).install(filters)
        self._hosts = self._listeners()

    def _listeners(self) -> dict[tuple[str, int], list[Stream]]:
        """The streams of this window that each publisher is in, in the order in which publishers send."""
        hosts: dict[tuple[str, int], list[Stream]] = {}
        for (_, number), streams in self._streams.items():
            if number == self.window:
                for stream in streams.values():
                    for publisher in stream.publishers:
                        hosts.setdefault((stream.filter.type, publisher), []).append(stream)
        return dict(sorted(hosts.items()))

    def _read_batches(self) -> None:
        """After how many messages each joint passes on what it has; twice as many after each halving.

        As in the rate model: a joint passes readings on one by one if nothing is calculated, makes one
        message of several if it calculates, and one of each edge's if the edges do.
        """
        self._batches = {}
        for name in self.network.subscriptions:
            calculated = isinstance(self.network.subscription(name).operator, Calculate)
            for joint in self.network.tree(name).joints:
                if not calculated:
                    inputs = 1
                elif self.network.policy == "combiner":
                    inputs = len(joint.flows)
                else:
                    inputs = self._inputs_per_output()
                self._batches[name, joint.node] = inputs << joint.halvings

    def _begin_tree(self, name: str) -> None:
        tree, window = self.network.tree(name), self.window
        if name not in self._roots:
            self._graphs[name] = OperatorGraph.of(self.network.subscription(name).operator)
            self._roots[name] = (tree.root, RootOperator(self._graphs[name], 0))
        graph = self._graphs[name]
        heard = [self._heard(graph.sources[s].type, ranges) for s, ranges in enumerate(tree.ranges)]
        self._listening[name, window] = [
            (given, frozenset(publishers.tolist()))
            for given, publishers in zip(graph.sources, heard, strict=True)
        ]
        self._streams[name, window] = {}
        for flow in tree.flows:
            given = graph.sources[flow.source]
            publishers = self._owned(given.type, flow.edge, heard[flow.source])
            key = StreamKey(name, window, flow.source, flow.edge)
            stream = Stream(key, given, bool(graph.calculations), publishers, flow.edge)
            self._streams[name, window][key] = stream
            self._open(stream, 0, flow.joint)

    def _heard(self, kind: str, ranges: Iterable[tuple[int, int]]) -> NDArray[np.int64]:
        ids = self.network.publishers(kind)
        parts = [np.arange(*np.searchsorted(ids, each)) for each in ranges]
        return np.concatenate(parts)

    def _owned(self, kind: str, edge: int, heard: NDArray[np.int64]) -> frozenset[int]:
        nodes, ids = self.network.nodes, self.network.publishers(kind)[heard]
        owners = nodes[np.maximum(np.searchsorted(nodes, ids, side="right") - 1, 0)]
        return frozenset(heard[owners == edge].tolist())

    def _end_window(self) -> None:
        """End all windows that have begun."""
        self._over = max((window + 1 for _, window in self._streams), default=self._over)
        for name in list(self._roots):
            self._finish_silent(name)
        for streams in self._streams.values():
            for stream in streams.values():
                if not stream.ended:
                    stream.ended = True
                    if stream.open is not None and self._transport.alive(stream.host):
                        self._close(stream, stream.open, final=True)

    # Edges

    def _publish(self) -> None:
        """All publishers send; every edge filters what it receives, and sends on what passes."""
        window, hosts = self.window, self._hosts
        received: dict[tuple[int, str], list[tuple[int, Mapping[str, Any]]]] = {}
        for kind, publisher in hosts:
            reading = self._reading(kind, publisher)
            if reading is None:
                continue
            self._published.setdefault((kind, window), []).append((publisher, reading))
            host = hosts[kind, publisher][0].host
            if self._transport.alive(host):
                self.messages["edge"][host] += 1
                received.setdefault((host, kind), []).append((publisher, reading))
        for (host, kind), readings in received.items():
            passed = self._edge_filters(host, kind).passing([each for _, each in readings])
            for (publisher, reading), filters in zip(readings, passed, strict=True):
                for stream in hosts[kind, publisher]:
                    if stream.filter in filters:
                        stream.log.append(float(reading[stream.filter.value]))
                        self._send_log(stream, self._edge_batch(stream))

    def _reading(self, kind: str, publisher: int) -> Mapping[str, Any] | None:
        """What a publisher sends in this tick, checked."""
        reading = self._readings(kind, publisher, self.now)
        if reading is None:
            return None
        if not isinstance(reading, Mapping):
            raise ArgumentTypeError(
                f"readings must give a mapping of attributes or None, got {reading!r} "
                f"for publisher {publisher} of type {kind!r} at tick {self.now}"
            )
        for name, value in reading.items():
            if isinstance(value, float) and math.isinf(value):
                raise ArgumentError(f"a reading of type {kind!r} must be finite, got {name} = {value}")
        return reading

    def _edge_filters(self, node: int, kind: str) -> EdgeFilters:
        if (node, kind) not in self._filters:
            schema = self._schemas.get(kind) or pm.Schema(value=pm.Number())
            self._filters[node, kind] = EdgeFilters(schema)
        return self._filters[node, kind]

    def _edge_batch(self, stream: Stream) -> int:
        """How many readings an edge sends in one message: one, or as many as its calculation makes one of."""
        if self.network.policy != "combiner" or not stream.calculated:
            return 1
        return self._inputs_per_output() or len(stream.log) + 1

    def _inputs_per_output(self) -> int:
        rate = self.network.rates.rate_calc
        return round(1 / rate) if rate else 0

    def _send_log(self, stream: Stream, batch: int) -> None:
        """Send what has not been sent yet, in whole messages."""
        opened = stream.open
        while opened is not None and len(stream.log) - stream.sent >= batch:
            self._send_data(stream, opened, stream.sent, stream.sent + batch)
            stream.sent += batch

    def _send_data(self, stream: Stream, segment: Segment, start: int, end: int) -> None:
        gathered = stream.gathered(start, end)
        data = Data(stream.key, segment.serial, stream.generation, gathered)
        self._send(stream.host, segment.joint, data, "edge", "joint")

    def _open(self, stream: Stream, start: int, joint: int) -> Segment:
        """Let a stream's readings from `start` on go to a joint."""
        segment = stream.begin(start, joint, self._transport.incarnation(joint))
        self._expect(stream, segment)
        return segment

    def _expect(self, stream: Stream, segment: Segment) -> None:
        name = stream.key.subscription
        if self._transport.alive(segment.joint):
            if (name, segment.joint) not in self._joints:
                operator = JointOperator(name, segment.joint, self._generations[name])
                self._joints[name, segment.joint] = operator
            self._joints[name, segment.joint].expect(stream.key, segment.serial)

    def _close(self, stream: Stream, segment: Segment, final: bool) -> None:
        """End a segment: send the readings still held back, then say that there are no more."""
        if stream.sent < len(stream.log):
            self._send_data(stream, segment, stream.sent, len(stream.log))
            stream.sent = len(stream.log)
        segment.end, segment.final = len(stream.log), final
        self._send_close(stream, segment)

    def _send_close(self, stream: Stream, segment: Segment) -> None:
        end = segment.end or 0
        close = Close(
            stream.generation, SegmentEnd(stream.key, segment.serial, segment.start, end, segment.final)
        )
        self._transport.send(self.now, stream.host, segment.joint, close)

    # Joints and roots

    def _deliver(self) -> None:
        while (due := self._transport.due(self.now)) is not None:
            target, message = due
            match message:
                case Data():
                    self._at_joint(target, message.key.subscription, message)
                case Close():
                    self._at_joint(target, message.segment.key.subscription, message)
                case Part():
                    self._at_root(target, message)
                case Result():
                    self.results.setdefault(message.subscription, {}).setdefault(
                        message.window, message.value
                    )

    def _at_joint(self, node: int, name: str, message: Data | Close) -> None:
        joint = self._joints.get((name, node))
        if joint is None:
            return
        epoch = self._roots[name][1].epoch
        if isinstance(message, Data):
            self._send_parts(joint, joint.take(message, self._batches.get((name, node), 0), epoch))
        else:
            self._send_parts(joint, joint.close(message, epoch))

    def _send_parts(self, joint: JointOperator, parts: Iterable[Part]) -> None:
        for part in parts:
            self._send(joint.node, self._roots[joint.subscription][0], part, "joint", "root")

    def _at_root(self, node: int, part: Part) -> None:
        name = part.subscription
        if name not in self._roots:
            return
        root, operator = self._roots[name]
        if node != root:  # it was the root before: pass on
            self._send(node, root, part, "root", "root")
        elif (name, part.window) in self._streams:
            operator.take(part)
            if operator.complete(part.window, self._streams[name, part.window]):
                self._finish(name, part.window)

    def _finish(self, name: str, window: int) -> None:
        """Send a result, and let everybody forget the window."""
        root, operator = self._roots[name]
        result = Result(name, window, operator.result(window))
        self._transport.send(self.now, root, SUBSCRIBER, result)
        operator.done(window)
        del self._streams[name, window]
        for (given, _), joint in self._joints.items():
            if given == name:
                joint.done(window)

    def _finish_silent(self, name: str) -> None:
        """Send the results of windows that are over and in which nobody had anything to send."""
        if self._transport.alive(self._roots[name][0]):
            for given, window in list(self._streams):
                if given == name and window < self._over and not self._streams[name, window]:
                    self._finish(name, window)

    def _send(self, source: int, target: int, message: Message, sender: str, receiver: str) -> None:
        if source != target:
            self.messages[sender][source] += 1
            self.messages[receiver][target] += 1
        self._transport.send(self.now, source, target, message)


def _checked_delays(delays: tuple[int, int]) -> tuple[int, int]:
    try:
        fewest, most = delays
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"delays must be a pair (fewest, most), got {delays!r}") from None
    low, high = checked_integer("delays", fewest), checked_integer("delays", most)
    if not 0 <= low <= high:
        raise ArgumentError(f"delays must be from 0 on and in order, got {delays}")
    return low, high
