"""Completion acknowledgements: when an advertisement has been spread everywhere and all answers have come.

A broker acknowledges an advertisement to whom it came from after it has sent its own matching
subscriptions and after every neighbour it sent the advertisement on to has acknowledged. Links are FIFOs,
so behind an acknowledgement no subscription is missing: the end of the rebuild, the paper's period t4, is
known.

If the same content, or one that covers it, was sent to a neighbour before and is not acknowledged yet,
the new advertisement waits for that too, except for the neighbour it came from. Every wait is then for
something that happens farther away from the advertisement's origin, so waits cannot form a circle.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from pubmatch.mobility.messages import BrokerId, NodeId

__all__ = ["Acknowledgements", "Pending"]


@dataclass(slots=True, eq=False)
class Pending:
    """An advertisement that is still being spread: how many acknowledgements are missing, and who waits."""

    token: Hashable
    reply_to: NodeId | None
    left: int = 0


class Acknowledgements:
    """The acknowledgements that one broker waits for.

    Examples
    --------
    >>> waits = Acknowledgements()
    >>> waits.begin("t", "origin", (7,), ("b", "c")).left
    2
    >>> waits.received("t", "b"), [pending.reply_to for pending in waits.received("t", "c")]
    ([], ['origin'])
    """

    __slots__ = ("_content_of", "_open", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[tuple[Hashable, BrokerId], list[Pending]] = {}
        self._open: dict[int, dict[tuple[Hashable, BrokerId], None]] = {}
        self._content_of: dict[tuple[Hashable, BrokerId], int] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def begin(
        self, token: Hashable, reply_to: NodeId | None, contents: Iterable[int], sent_to: Iterable[BrokerId]
    ) -> Pending:
        """An advertisement was sent on.

        Parameters
        ----------
        token : hashable
            As it came.
        reply_to : node id or None
            Whom to acknowledge to; None at the origin.
        contents : iterable of int
            Its content, then the contents that cover it.
        sent_to : iterable of broker ids
            The neighbours it was sent to.
        """
        pending = Pending(token, reply_to)
        own, *covering = contents
        for content in (own, *covering):
            for key in self._open.get(content, ()):
                if key[1] != reply_to:
                    self._waiting[key].append(pending)
                    pending.left += 1
        for neighbour in sent_to:
            key = (token, neighbour)
            self._waiting[key] = [pending]
            self._content_of[key] = own
            self._open.setdefault(own, {})[key] = None
            pending.left += 1
        return pending

    def received(self, token: Hashable, neighbour: BrokerId) -> list[Pending]:
        """A neighbour acknowledged: what now misses nothing more. An unknown token is ignored."""
        key = (token, neighbour)
        waiting = self._waiting.pop(key, [])
        if waiting:
            content = self._content_of.pop(key)
            del self._open[content][key]
            if not self._open[content]:
                del self._open[content]
        for pending in waiting:
            pending.left -= 1
        return [pending for pending in waiting if not pending.left]
