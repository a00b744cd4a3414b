"""What nodes send each other in the value-level simulation, and what a piece of a stream is called.

A stream is what one edge has for one filter in one window. Its readings are numbered from 0; a segment is a
range of these numbers that goes to one joint.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pubmatch.overlay.partials import Partial

__all__ = [
    "Close",
    "Data",
    "Gathered",
    "Message",
    "Part",
    "Result",
    "SegmentEnd",
    "StreamKey",
    "WindowResult",
]

WindowResult = float | tuple[float, ...] | None
"""What a subscriber receives for a window: a number, None if there is none, or sorted readings."""


@dataclass(frozen=True, slots=True, order=True)
class StreamKey:
    """Which stream: of a subscription, in a window, for a source, from the edge that had it at the start."""

    subscription: str
    window: int
    source: int
    edge: int


@dataclass(frozen=True, slots=True)
class Gathered:
    """Readings on their way: partial aggregates by source, or the values where nothing is calculated."""

    partials: dict[int, Partial] = field(default_factory=dict)
    values: tuple[float, ...] = ()

    def __add__(self, other: Gathered) -> Gathered:
        partials = dict(self.partials)
        for source, each in other.partials.items():
            partials[source] = partials[source] + each if source in partials else each
        return Gathered(partials, self.values + other.values)


@dataclass(frozen=True, slots=True)
class SegmentEnd:
    """A segment that is complete: readings from `start` up to `end`; `final` if the stream ends there."""

    key: StreamKey
    serial: int
    start: int
    end: int
    final: bool


@dataclass(frozen=True, slots=True)
class Data:
    """Edge to joint: some readings of a segment."""

    key: StreamKey
    serial: int
    generation: int
    gathered: Gathered


@dataclass(frozen=True, slots=True)
class Close:
    """Edge to joint: a segment is complete."""

    generation: int
    segment: SegmentEnd


@dataclass(frozen=True, slots=True)
class Part:
    """Joint to root: what a joint has gathered since the part before; the last of a batch names its segments.

    Attributes
    ----------
    joint, generation : int
        The sender, and when its operator was installed.
    epoch : int
        Which root it is meant for; grows when a root crashes.
    batch, number : int
        The place of the part: a batch counts once all its parts are there.
    segments : tuple of SegmentEnd or None
        None for all but the last part of a batch.
    """

    subscription: str
    window: int
    joint: int
    generation: int
    epoch: int
    batch: int
    number: int
    gathered: Gathered
    segments: tuple[SegmentEnd, ...] | None


@dataclass(frozen=True, slots=True)
class Result:
    """Root to subscriber: the result of a window."""

    subscription: str
    window: int
    value: WindowResult


Message = Data | Close | Part | Result
