"""`Relations`: which filters cover or meet another, asked of the native index and remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pubmatch import Index

if TYPE_CHECKING:
    from pubmatch.mobility.space import FilterSpace

__all__ = ["Relations"]

_LARGEST = float(np.finfo(np.float64).max)
_REMEMBERED_IDS = 4_000_000  # in the answers of one `Relations`
_TOGETHER = 64  # contents asked about in one call; each may be related to all others


class Relations:
    """The contents in one role (advertised, or subscribed to), and which of them cover or meet another.

    Examples
    --------
    >>> import pubmatch as pm
    >>> from pubmatch.mobility import FilterSpace
    >>> space = FilterSpace(pm.Schema(price=pm.Number()))
    >>> wide, narrow = space.sub(pm.parse("price < 10")), space.sub(pm.parse("price < 5"))
    >>> space.subs.covering(narrow) == (wide,), space.subs.covered(narrow)
    (True, ())
    >>> space.subs.meeting(space.ad(pm.parse("price = 7"))) == (wide,)
    True
    """

    __slots__ = (
        "_alone",
        "_contents",
        "_covered",
        "_covering",
        "_general",
        "_index",
        "_meeting",
        "_remembered",
        "_space",
    )

    def __init__(self, space: FilterSpace) -> None:
        self._space = space
        self._index = Index(dims=len(space.schema))
        self._contents: set[int] = set()
        self._general: set[int] = set()
        self._forget()

    def _forget(self) -> None:
        self._alone: dict[int, bool] = {}
        self._covering: dict[int, tuple[int, ...]] = {}
        self._covered: dict[int, tuple[int, ...]] = {}
        self._meeting: dict[int, tuple[int, ...]] = {}
        self._remembered = 0

    def __len__(self) -> int:
        return len(self._contents)

    def add(self, contents: Iterable[int]) -> bool:
        """Take contents in; tell whether any were given."""
        given = list(dict.fromkeys(contents))
        new = [content for content in given if content not in self._contents]
        if new:
            self._index.insert(*self._space.hulls(new), ids=np.array(new, np.int64))
            self._contents.update(new)
            self._general.update(content for content in new if not self._space.is_plain(content))
            self._forget()
        return bool(given)

    def discard(self, contents: set[int]) -> None:
        """Give contents up."""
        gone = contents & self._contents
        if gone:
            self._index.delete(np.array(sorted(gone), np.int64))
            self._contents -= gone
            self._general -= gone
        self._forget()

    def is_alone(self, content: int) -> bool:
        """Whether no other covers a content or is covered by it."""
        alone = self._alone.get(content)
        if alone is None:
            alone = self._alone[content] = not self.covering(content) and not self.covered(content)
        return alone

    def covering(self, content: int) -> tuple[int, ...]:
        """The others that cover a content."""
        found = self._covering.get(content)
        return self._ask_covering((content,)) if found is None else found

    def covered(self, content: int) -> tuple[int, ...]:
        """The others that a content covers."""
        found = self._covered.get(content)
        return self._ask_covered((content,)) if found is None else found

    def meeting(self, content: int) -> tuple[int, ...]:
        """Those that some event can satisfy together with a content, be it of this role or of the other."""
        found = self._meeting.get(content)
        return self._ask_meeting((content,)) if found is None else found

    def prepare(self, own: Sequence[int], others: Sequence[int]) -> None:
        """Ask about many contents together, of this role and of the other, as far as there is room."""
        asked = ((self._ask_covering, own), (self._ask_covered, own), (self._ask_meeting, others))
        for ask, contents in asked:
            for start in range(0, len(contents), _TOGETHER):
                if self._remembered > _REMEMBERED_IDS // 2:
                    return
                ask(contents[start : start + _TOGETHER])

    def widest_first(self, contents: Iterable[int]) -> list[int]:
        """Contents by falling width of their hulls: hardly ever one before another that covers it."""
        given = list(contents)
        if len(given) < 2:
            return given
        lower, upper = (np.arcsinh(np.clip(side, -_LARGEST, _LARGEST)) for side in self._space.hulls(given))
        order = np.argsort(-(upper - lower).sum(axis=1), kind="stable")
        return [given[place] for place in order.tolist()]

    def matching(self, event: Mapping[str, Any]) -> list[int]:
        """Those that an event satisfies."""
        near: list[int] = self._index.match(self._space.point(event), order="fifo", level=1)[0].tolist()
        if self._general:
            general, holds = self._general, self._space.holds
            near = [each for each in near if each not in general or holds(each, event)]
        return near

    def _ask_covering(self, contents: Sequence[int]) -> tuple[int, ...]:
        """Ask the index and remember; return the last answer."""
        found: tuple[int, ...] = ()
        near = self._index.covering(*self._space.hulls(contents))
        for place, content in enumerate(contents):
            found = self._exact(content, near[place].tolist(), self._space.is_covered)
            self._covering[content] = self._remember(found)
        return found

    def _ask_covered(self, contents: Sequence[int]) -> tuple[int, ...]:
        found: tuple[int, ...] = ()
        near = self._index.covered(*self._space.hulls(contents))
        for place, content in enumerate(contents):
            found = self._exact(content, near[place].tolist(), self._space.is_covering)
            self._covered[content] = self._remember(found)
        return found

    def _ask_meeting(self, contents: Sequence[int]) -> tuple[int, ...]:
        found: tuple[int, ...] = ()
        near = self._index.intersecting(*self._space.hulls(contents))
        for place, content in enumerate(contents):
            found = self._exact(content, near[place].tolist(), self._space.is_meeting, itself=True)
            self._meeting[content] = self._remember(found)
        return found

    def _exact(
        self, content: int, near: list[int], ask: Callable[[int, int], bool], itself: bool = False
    ) -> tuple[int, ...]:
        """Those of the index's answer for which it is true; what it says of two plain ones is."""
        if not itself and content in self._contents:
            near.remove(content)
        if not self._space.is_plain(content):
            return tuple(each for each in near if ask(content, each))
        if not self._general:
            return tuple(near)
        return tuple(each for each in near if each not in self._general or ask(content, each))

    def _remember(self, found: tuple[int, ...]) -> tuple[int, ...]:
        self._remembered += len(found)
        if self._remembered > _REMEMBERED_IDS:
            self._forget()
        return found
