"""The root of one tree, with real values: it merges the joints' batches and gives each window's result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pubmatch.overlay.messages import Gathered, Part, SegmentEnd, StreamKey, WindowResult
from pubmatch.overlay.operator_graph import OperatorGraph
from pubmatch.overlay.partials import Partial

__all__ = ["RootOperator"]


@dataclass(slots=True)
class _Batch:
    """The parts of one batch that have arrived."""

    parts: dict[int, Gathered] = field(default_factory=dict)
    last: int | None = None
    segments: tuple[SegmentEnd, ...] = ()

    def complete(self) -> bool:
        return self.last is not None and len(self.parts) == self.last + 1


_BatchName = tuple[int, int, int]  # joint, generation, number


class RootOperator:
    """Takes parts, and tells the result of a window once every reading of it is there.

    Parameters
    ----------
    graph : OperatorGraph
        What is calculated.
    epoch : int
        Parts for another root's epoch are not taken.
    """

    def __init__(self, graph: OperatorGraph, epoch: int) -> None:
        self._graph, self.epoch = graph, epoch
        self._batches: dict[int, dict[_BatchName, _Batch]] = {}
        self._fences: dict[int, int] = {}

    def fence(self, joint: int, generation: int) -> None:
        """From now on take nothing that a joint sent in an older generation, unless it counts already."""
        self._fences[joint] = generation
        for batches in self._batches.values():
            late = [
                name
                for name, batch in batches.items()
                if name[0] == joint and name[1] < generation and not batch.complete()
            ]
            for name in late:
                del batches[name]

    def take(self, part: Part) -> None:
        """Take a part of a batch."""
        if part.epoch != self.epoch or part.generation < self._fences.get(part.joint, 0):
            return
        name = (part.joint, part.generation, part.batch)
        batch = self._batches.setdefault(part.window, {}).setdefault(name, _Batch())
        batch.parts[part.number] = part.gathered
        if part.segments is not None:
            batch.last, batch.segments = part.number, part.segments

    def counted(self, window: int) -> list[SegmentEnd]:
        """The segments of a window that count."""
        batches = self._batches.get(window, {}).values()
        return [each for batch in batches if batch.complete() for each in batch.segments]

    def complete(self, window: int, keys: Iterable[StreamKey]) -> bool:
        """Whether all readings of all these streams are there."""
        ends: dict[StreamKey, list[SegmentEnd]] = {}
        for each in self.counted(window):
            ends.setdefault(each.key, []).append(each)
        return all(_covered(ends.get(key, [])) for key in keys)

    def result(self, window: int) -> WindowResult:
        """The result of a window, from what counts."""
        total = Gathered()
        for batch in self._batches.get(window, {}).values():
            if batch.complete():
                for each in batch.parts.values():
                    total += each
        return evaluated(self._graph, total)

    def done(self, window: int) -> None:
        """Forget a window: its result was sent."""
        self._batches.pop(window, None)


def evaluated(graph: OperatorGraph, gathered: Gathered) -> WindowResult:
    """The result of a graph over all that was gathered."""
    if not graph.calculations:
        return tuple(sorted(gathered.values))
    results: list[float | None] = []
    for each in graph.calculations:
        partial = Partial.of(value for given in each.inputs if (value := results[given]) is not None)
        for source in each.sources:
            partial = partial + gathered.partials.get(source, Partial())
        results.append(partial.result(each.function))
    return results[-1]


def _covered(ends: list[SegmentEnd]) -> bool:
    """Whether segments reach from the first reading to the final one without a gap."""
    reached = 0
    for each in sorted(ends, key=lambda end: (end.start, end.end)):
        if each.start > reached:
            return False
        reached = max(reached, each.end)
    last = [each.end for each in ends if each.final]
    return bool(last) and reached >= max(last)
