"""`FilterSpace`: the filters of a network, each known once by a small number, and how they are related.

Advertisements and subscriptions are identified by their content: equal filters, however written, are one
number. What brokers keep in their tables are these numbers; whether one covers or meets another is asked
of the native index once and remembered until a new filter comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pubmatch import Filter, Schema, covers, intersects
from pubmatch.errors import ArgumentTypeError
from pubmatch.mobility.axes import Axes
from pubmatch.mobility.messages import Advertise, Event, Subscribe, Unadvertise, Unsubscribe, checked_filter
from pubmatch.mobility.relations import Relations

__all__ = ["FilterSpace"]

_REMEMBERED_EVENTS = 65_536


class FilterSpace:
    """Numbers filters by content; give one space to all brokers of a network.

    Parameters
    ----------
    schema : Schema
        The attributes of events.

    Examples
    --------
    >>> import pubmatch as pm
    >>> space = FilterSpace(pm.Schema(price=pm.Number()))
    >>> space.sub(pm.parse("price < 10")) == space.sub(pm.parse("10 > price"))
    True
    >>> space.covers("price < 10", "price < 5"), space.intersects("price < 5", "price > 7")
    (True, False)
    """

    __slots__ = (
        "_ad_of",
        "_axes",
        "_by_filter",
        "_by_hull",
        "_hulls",
        "_matched",
        "_plain",
        "_sub_of",
        "_unused",
        "ads",
        "advertise",
        "filters",
        "subs",
        "subscribe",
        "unadvertise",
        "unsubscribe",
    )

    def __init__(self, schema: Schema) -> None:
        if not isinstance(schema, Schema):
            raise ArgumentTypeError(f"schema must be a Schema, got {type(schema).__name__}")
        self._axes = Axes(schema)
        self._by_filter: dict[Filter, int] = {}
        self._by_hull: dict[bytes, list[int]] = {}
        self._hulls: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
        self._plain: list[bool] = []
        # By identity, for the filters in `filters` only: those stay alive, so no other object gets their id.
        self._ad_of: dict[int, int] = {}
        self._sub_of: dict[int, int] = {}
        self._matched: dict[int, tuple[Event, frozenset[int]]] = {}
        self._unused: list[int] = []
        self.filters: list[Filter] = []
        self.ads = Relations(self)
        self.subs = Relations(self)
        # One message per content, reused for every hop.
        self.advertise: list[Advertise] = []
        self.unadvertise: list[Unadvertise] = []
        self.subscribe: list[Subscribe] = []
        self.unsubscribe: list[Unsubscribe] = []

    @property
    def schema(self) -> Schema:
        """The attributes of events."""
        return self._axes.schema

    def __len__(self) -> int:
        return len(self.filters) - len(self._unused)

    # --- numbering ---

    def ad(self, filter: Filter) -> int:
        """The number of an advertisement's content."""
        content = self._ad_of.get(id(filter))
        if content is None:
            content = self._number(filter)
            if self.ads.add((content,)):
                self._ad_of[id(self.filters[content])] = content
        return content

    def sub(self, filter: Filter) -> int:
        """The number of a subscription's content."""
        content = self._sub_of.get(id(filter))
        if content is None:
            content = self._number(filter)
            if self.subs.add((content,)):
                self._sub_of[id(self.filters[content])] = content
                self._matched.clear()
        return content

    def add(self, ads: Iterable[Filter | str] = (), subs: Iterable[Filter | str] = ()) -> None:
        """Number many filters at once, and relate them to each other: faster than one by one."""
        numbers = [[self._number(checked_filter(each)) for each in given] for given in (ads, subs)]
        for known, relations, contents in zip(
            (self._ad_of, self._sub_of), (self.ads, self.subs), numbers, strict=True
        ):
            if relations.add(contents):
                known.update((id(self.filters[content]), content) for content in contents)
        new_ads, new_subs = (list(dict.fromkeys(contents)) for contents in numbers)
        self.ads.prepare(new_ads, new_subs)
        self.subs.prepare(new_subs, new_ads)
        self._matched.clear()

    def _number(self, filter: Filter) -> int:
        content = self._by_filter.get(filter)
        if content is None:
            lower, upper, plain = self._axes.hull(filter)
            alike = self._by_hull.setdefault(lower.tobytes() + upper.tobytes(), [])
            content = next((each for each in alike if self._equal(each, filter, plain)), None)
            if content is None:
                content = self._place(filter, lower, upper, plain)
                alike.append(content)
            self._by_filter[filter] = content
        return content

    def _equal(self, content: int, filter: Filter, plain: bool) -> bool:
        """Whether a content of the same hull holds for exactly the same events."""
        if plain and self._plain[content]:
            return True
        other = self.filters[content]
        return covers(other, filter, self.schema) and covers(filter, other, self.schema)

    def _place(
        self, filter: Filter, lower: NDArray[np.float64], upper: NDArray[np.float64], plain: bool
    ) -> int:
        """Give a new content a number: one that was given back, or the next."""
        if not self._unused:
            self._unused.append(len(self.filters))
            for column in self._columns():
                column.append(None)
        content = self._unused.pop()
        parts = (Advertise(filter), Unadvertise(filter), Subscribe(filter), Unsubscribe(filter))
        for column, value in zip(self._columns(), (filter, (lower, upper), plain, *parts), strict=True):
            column[content] = value
        return content

    def _columns(self) -> tuple[list[Any], ...]:
        return (
            self.filters,
            self._hulls,
            self._plain,
            self.advertise,
            self.unadvertise,
            self.subscribe,
            self.unsubscribe,
        )

    def keep(self, contents: Iterable[int]) -> int:
        """Forget all contents but these; return how many were forgotten.

        A network whose clients keep inventing filters does this from time to time, between messages, with the
        `contents()` of all its brokers.

        Examples
        --------
        >>> import pubmatch as pm
        >>> space = FilterSpace(pm.Schema(price=pm.Number()))
        >>> kept, _ = space.sub(pm.parse("price < 10")), space.sub(pm.parse("price < 5"))
        >>> space.keep([kept]), len(space)
        (1, 1)
        """
        wanted = set(contents)
        gone = set(self._by_filter.values()) - wanted
        for content in gone:
            lower, upper = self._hulls[content]
            key = lower.tobytes() + upper.tobytes()
            self._by_hull[key].remove(content)
            if not self._by_hull[key]:
                del self._by_hull[key]
            for known in (self._ad_of, self._sub_of):
                known.pop(id(self.filters[content]), None)
        self._by_filter = {each: content for each, content in self._by_filter.items() if content in wanted}
        self.ads.discard(gone)
        self.subs.discard(gone)
        self._matched.clear()
        for content in sorted(gone):
            for column in self._columns():
                column[content] = None
        self._unused += sorted(gone, reverse=True)
        return len(gone)

    # --- events ---

    def matching(self, event: Event) -> frozenset[int]:
        """The subscriptions' contents that an event satisfies.

        Raises
        ------
        SchemaError
            A value does not fit its attribute.
        """
        known = self._matched.get(id(event))
        if known is not None:
            return known[1]
        found = frozenset(self.subs.matching(event))
        if len(self._matched) >= _REMEMBERED_EVENTS:
            self._matched.clear()
        self._matched[id(event)] = (event, found)  # the event is kept, so that its id stays its own
        return found

    # --- what may be asked of any filters ---

    def covers(self, a: Filter | str, b: Filter | str) -> bool:
        """Whether every event that satisfies `b` satisfies `a`."""
        first, second = self._number(checked_filter(a)), self._number(checked_filter(b))
        return first == second or self.is_covering(first, second)

    def intersects(self, a: Filter | str, b: Filter | str) -> bool:
        """Whether some event can satisfy both."""
        return self.is_meeting(self._number(checked_filter(a)), self._number(checked_filter(b)))

    def matches(self, filter: Filter | str, event: Mapping[str, Any]) -> bool:
        """Whether an event satisfies a filter."""
        content = self._number(checked_filter(filter))
        point = self._axes.point(event)[0]
        lower, upper = self._hulls[content]
        if not bool(np.all((lower <= point) & (point <= upper))):
            return False
        return self._plain[content] or self.holds(content, event)

    def is_covering(self, outer: int, inner: int) -> bool:
        """Whether one content covers another."""
        low, high = self._hulls[outer]
        lower, upper = self._hulls[inner]
        if not bool(np.all((low <= lower) & (upper <= high))):
            return False
        if self._plain[outer] and self._plain[inner]:
            return True
        return covers(self.filters[outer], self.filters[inner], self.schema)

    def is_covered(self, inner: int, outer: int) -> bool:
        """Whether one content is covered by another."""
        return self.is_covering(outer, inner)

    def is_meeting(self, one: int, other: int) -> bool:
        """Whether some event can satisfy both contents."""
        low, high = self._hulls[one]
        lower, upper = self._hulls[other]
        if not bool(np.all((low <= upper) & (lower <= high))):
            return False
        if self._plain[one] and self._plain[other]:
            return True
        return intersects(self.filters[one], self.filters[other], self.schema)

    def holds(self, content: int, event: Mapping[str, Any]) -> bool:
        """Whether a content is true of an event, asked of the filter itself."""
        return self.filters[content].bind(self.schema).matches(event) is True

    def is_plain(self, content: int) -> bool:
        """Whether the content is its hull."""
        return self._plain[content]

    def hulls(self, contents: Iterable[int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The hulls of contents, as arrays of bounds."""
        found = [self._hulls[content] for content in contents]
        return np.array([lower for lower, _ in found]), np.array([upper for _, upper in found])

    def point(self, event: Mapping[str, Any]) -> NDArray[np.float64]:
        """An event as a point of the index."""
        return self._axes.point(event)
