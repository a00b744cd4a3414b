"""A joint's part of one tree, with real values: it gathers what edges send and passes it on in batches.

What it sends counts at the root only when a batch is complete; until the root has the window's result, the
joint keeps what it gathered, so that it can send it again to another root.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pubmatch.overlay.messages import Close, Data, Gathered, Part, SegmentEnd, StreamKey

__all__ = ["JointOperator"]

_Segment = tuple[StreamKey, int]


@dataclass(slots=True)
class _Window:
    """What a joint has of one window."""

    expected: set[_Segment] = field(default_factory=set)  # segments that edges were told to send here
    gathered: dict[_Segment, Gathered] = field(default_factory=dict)  # of the batch that is open
    closed: dict[_Segment, SegmentEnd] = field(default_factory=dict)
    sent: list[tuple[Gathered, tuple[SegmentEnd, ...]]] = field(default_factory=list)  # complete batches
    waiting: Gathered = field(default_factory=Gathered)
    inputs: int = 0
    batch: int = 0
    number: int = 0


class JointOperator:
    """Takes data of segments, gives parts for the root.

    Parameters
    ----------
    subscription : str
        The tree.
    node : int
        Where it runs.
    generation : int
        Of the tree when the operator was installed.
    """

    def __init__(self, subscription: str, node: int, generation: int) -> None:
        self.subscription, self.node, self.generation = subscription, node, generation
        self._windows: dict[int, _Window] = {}
        self._oldest: dict[StreamKey, int] = {}  # data of an older generation of a stream is not taken

    def expect(self, key: StreamKey, serial: int) -> None:
        """Be told that a segment will come."""
        self._windows.setdefault(key.window, _Window()).expected.add((key, serial))

    def take(self, data: Data, every: int, epoch: int) -> Iterator[Part]:
        """Take readings; after `every` messages pass on what was gathered (0: not before the end)."""
        window = self._windows.get(data.key.window)
        segment = (data.key, data.serial)
        if window is None or segment not in window.expected or self._stale(data.key, data.generation):
            return
        window.gathered[segment] = window.gathered.get(segment, Gathered()) + data.gathered
        window.waiting += data.gathered
        window.inputs += 1
        if every and window.inputs % every == 0:
            yield self._part(data.key.window, window, epoch, None)

    def close(self, close: Close, epoch: int) -> Iterator[Part]:
        """Take the end of a segment; when none is open any more, complete the batch."""
        key, serial = close.segment.key, close.segment.serial
        window = self._windows.get(key.window)
        if window is None or (key, serial) not in window.expected or self._stale(key, close.generation):
            return
        window.closed[key, serial] = close.segment
        yield from self._complete(key.window, window, epoch)

    def _complete(self, number: int, window: _Window, epoch: int) -> Iterator[Part]:
        if not window.closed or window.expected != window.closed.keys():
            return
        ends = tuple(window.closed.values())
        total = Gathered()
        for each in window.gathered.values():
            total += each
        yield self._part(number, window, epoch, ends)
        window.sent.append((total, ends))
        window.expected.clear()
        window.gathered.clear()
        window.closed.clear()

    def holds(self, key: StreamKey, serial: int) -> bool:
        """Whether a segment is complete here, passed on or not."""
        window = self._windows.get(key.window)
        if window is None:
            return False
        passed = any(end.key == key and end.serial == serial for _, ends in window.sent for end in ends)
        return passed or (key, serial) in window.closed

    def forget(self, key: StreamKey, generation: int, epoch: int) -> Iterator[Part]:
        """Drop segments of a stream that are not complete: its edge crashed, and another one sends anew."""
        self._oldest[key] = generation
        window = self._windows.get(key.window)
        if window is None:
            return
        lost = [each for each in window.expected if each[0] == key and each not in window.closed]
        for each in lost:
            window.expected.discard(each)
            window.gathered.pop(each, None)
        if lost:
            self._reopen(window)
            yield from self._complete(key.window, window, epoch)

    def send_again(self, epoch: int) -> Iterator[Part]:
        """Send everything of all windows once more, to a root that knows nothing of it."""
        for number, window in list(self._windows.items()):
            self._reopen(window)
            for total, ends in window.sent:
                yield self._numbered(number, window, epoch, total, ends)

    def done(self, window: int) -> None:
        """Forget a window: its result is there."""
        self._windows.pop(window, None)

    def _reopen(self, window: _Window) -> None:
        """Begin the open batch anew: parts of it that were sent will never count."""
        window.batch, window.number = window.batch + 1, 0
        window.waiting = Gathered()
        for each in window.gathered.values():
            window.waiting += each

    def _part(self, number: int, window: _Window, epoch: int, ends: tuple[SegmentEnd, ...] | None) -> Part:
        gathered, window.waiting = window.waiting, Gathered()
        return self._numbered(number, window, epoch, gathered, ends)

    def _numbered(
        self,
        number: int,
        window: _Window,
        epoch: int,
        gathered: Gathered,
        ends: tuple[SegmentEnd, ...] | None,
    ) -> Part:
        part = Part(
            self.subscription,
            number,
            self.node,
            self.generation,
            epoch,
            window.batch,
            window.number,
            gathered,
            ends,
        )
        window.number += 1
        if ends is not None:
            window.batch, window.number = window.batch + 1, 0
        return part

    def _stale(self, key: StreamKey, generation: int) -> bool:
        return generation < self._oldest.get(key, 0)
