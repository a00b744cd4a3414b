"""Streams of real readings: what an edge keeps of a window until the subscriber's result is there."""

from __future__ import annotations

from dataclasses import dataclass, field

from pubmatch.overlay.messages import Gathered, StreamKey
from pubmatch.overlay.partials import Partial
from pubmatch.overlay.subscription import Filter

__all__ = ["Segment", "Stream"]


@dataclass(slots=True)
class Segment:
    """Readings from `start` up to `end` that go to one joint; `end` is None while it is open."""

    serial: int
    start: int
    joint: int
    incarnation: int
    end: int | None = None
    final: bool = False


@dataclass(slots=True)
class Stream:
    """What one edge has for one filter in one window.

    Attributes
    ----------
    publishers : frozenset of int
        The publishers it listens to, by their place in the network's array of that type.
    host : int
        The node that filters: the edge, or its heir.
    log : list of float
        The values that passed, in order; kept until the window's result is there, for replay.
    sent : int
        How many of them were sent.
    ended : bool
        Whether the window is over, so that no more readings come.
    """

    key: StreamKey
    filter: Filter
    calculated: bool
    publishers: frozenset[int]
    host: int
    generation: int = 0
    log: list[float] = field(default_factory=list)
    sent: int = 0
    ended: bool = False
    serial: int = 0
    segments: list[Segment] = field(default_factory=list)

    @property
    def open(self) -> Segment | None:
        """The segment that readings go to now."""
        return next((each for each in self.segments if each.end is None), None)

    def begin(self, start: int, joint: int, incarnation: int) -> Segment:
        """A new segment, to a joint."""
        self.segments.append(Segment(self.serial, start, joint, incarnation))
        self.serial += 1
        return self.segments[-1]

    def gathered(self, start: int, end: int) -> Gathered:
        """The readings from one number to another, as a message carries them."""
        values = self.log[start:end]
        if self.calculated:
            return Gathered({self.key.source: Partial.of(values)})
        return Gathered(values=tuple(values))
