"""`Matcher`: subscriptions as filters over named, typed attributes, on one native index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pubmatch.arrays import checked_count, checked_flag
from pubmatch.covering import covering_keys
from pubmatch.encoding.events import event_columns, rereadable
from pubmatch.encoding.points import encode_points
from pubmatch.errors import ArgumentError, ArgumentTypeError, FilterError, SchemaError
from pubmatch.explain import Explanation, explained
from pubmatch.filters import Filter, parse
from pubmatch.index import MAX_DIMS
from pubmatch.keys import checked_key
from pubmatch.matcher_file import matcher_bytes, matcher_from_bytes, read_matcher, write_matcher
from pubmatch.matcher_result import MatcherResult
from pubmatch.schema import checked_schema
from pubmatch.subscription_table import read_subscriptions, refusals_table
from pubmatch.subscriptions import Subscriptions, collector_paused
from pubmatch.text_splitting import split_texts

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterator
    from typing import TypeVar

    import pyarrow as pa
    from numpy.typing import NDArray

    from pubmatch.attributes import AttributeType
    from pubmatch.index import Level, Order
    from pubmatch.keys import Key
    from pubmatch.schema import Schema
    from pubmatch.subscriptions import Snapshot

    Found = TypeVar("Found")

__all__ = ["Matcher"]

_ATTEMPTS = 4  # of a reader whose labels changed, before it makes the writers wait


class Matcher:
    """Tells which subscriptions each event satisfies.

    Subscriptions are filters over the attributes of a schema: SQL WHERE text, or expressions made with
    `attr`. Their truth is SQL's: a missing value satisfies no comparison. Any number of threads may match
    while others subscribe and unsubscribe; each call sees one consistent state.

    Parameters
    ----------
    schema : Schema
        The attributes, at most 255.
    max_boxes : int
        A filter that needs more boxes than this is refused.

    Examples
    --------
    >>> from pubmatch.schema import Category, Number, Schema
    >>> matcher = Matcher(Schema(price=Number(), symbol=Category()))
    >>> matcher.subscribe("ibm-cheap", "price BETWEEN 10 AND 20 AND symbol IN ('IBM', 'AMD')")
    >>> matcher.subscribe("not-ibm", "symbol <> 'IBM'")
    >>> events = [{"price": 12.5, "symbol": "IBM"}, {"price": 12.5, "symbol": "HP"}, {"price": 1.0}]
    >>> list(matcher.match(events))
    [['ibm-cheap'], ['not-ibm'], []]
    """

    __slots__ = ("__weakref__", "_subscriptions")

    def __init__(self, schema: Schema, max_boxes: int = 64) -> None:
        checked_schema(schema)
        _check_size(schema)
        self._subscriptions = Subscriptions(schema, checked_count("max_boxes", max_boxes))

    # --- subscriptions ---

    def subscribe(self, key: Key, filter: str | Filter, replace: bool = False) -> None:
        """Add a subscription.

        Parameters
        ----------
        key : str or int
            Its name in results.
        filter : str or Filter
            What an event must satisfy.
        replace : bool
            Take the place of the subscription of that key, if there is one; otherwise that is an error.

        Raises
        ------
        FilterError
            The filter cannot be parsed, does not fit the schema, is never true or needs too many boxes.
        ArgumentError
            There is a subscription of that key.
        """
        name = checked_key(key)
        replacing = checked_flag("replace", replace)
        text = _text(filter)
        with self._subscriptions.lock:
            taken = name in self._subscriptions.slot_of
            if taken and not replacing:
                raise ArgumentError(f"key {name!r} is taken; replace=True takes its place")
            try:
                prepared = self._subscriptions.shapes.prepare(split_texts([text]))
            except FilterError as error:
                raise FilterError(f"subscription {name!r}: {error}") from None
            if prepared.refused:
                raise FilterError(f"subscription {name!r}: {prepared.refused[0]}")
            self._subscriptions.add([name], prepared, name if taken else None)

    def subscribe_many(
        self, table: Any, key: str = "key", filter: str = "filter", on_error: str = "raise"
    ) -> int | pa.Table:
        """Add the subscriptions of a table, all of them or none.

        Parameters
        ----------
        table : Arrow table, pandas or Polars frame, dict of arrays, or anything with Arrow's PyCapsule
            A column of keys, and either a column of filter texts or columns `<attribute>_min` and
            `<attribute>_max`: bounds that belong to the range; null, or infinite, where there is none.
        key, filter : str
            The names of these columns.
        on_error : {"raise", "collect"}
            Whether the first bad row is an error for the whole table, or bad rows are left out and told.

        Returns
        -------
        int or pyarrow.Table
            How many subscriptions were added; with "collect" a table of the rows that were refused, with the
            columns `row`, `key`, `filter` (texts) and `error`.

        Examples
        --------
        >>> from pubmatch.schema import Number, Schema
        >>> matcher = Matcher(Schema(price=Number()))
        >>> matcher.subscribe_many({"key": ["a", "b"], "filter": ["price < 10", "price > 10"]})
        2
        >>> refused = matcher.subscribe_many({"key": ["a", "c"], "price_min": [1.0, 2.0]}, on_error="collect")
        >>> refused.column("error").to_pylist()
        ["key 'a' is taken"]
        """
        if on_error not in ("raise", "collect"):
            raise ArgumentError(f"on_error must be 'raise' or 'collect', got {on_error!r}")
        collect = on_error == "collect"
        with self._subscriptions.lock, collector_paused():
            books = self._subscriptions
            given = read_subscriptions(table, key, filter, books.snapshot.schema)
            keys, prepared, refused = given.prepare(books.shapes, books.slot_of, collect)
            books.add(keys, prepared)
        return refusals_table(refused) if collect else len(keys)

    def unsubscribe(self, key: Key) -> bool:
        """Remove the subscription of a key and tell whether there was one."""
        name = checked_key(key)
        with self._subscriptions.lock:
            return self._subscriptions.remove(name)

    def keys(self) -> list[Key]:
        """The keys of all subscriptions, in the order in which they were first added."""
        return list(self._subscriptions.slot_of)

    def filter_of(self, key: Key) -> Filter:
        """The filter of a subscription.

        Examples
        --------
        >>> from pubmatch.schema import Number, Schema
        >>> matcher = Matcher(Schema(price=Number()))
        >>> matcher.subscribe(7, "price < 10")
        >>> str(matcher.filter_of(7))
        'price < 10'
        """
        name = checked_key(key)
        with self._subscriptions.lock:
            slot = self._subscriptions.slot_of.get(name)
            if slot is None:
                raise ArgumentError(f"there is no subscription {name!r}")
            text = self._subscriptions.store.text(slot)
        return parse(text)

    def add_attributes(self, **attributes: AttributeType) -> None:
        """Add attributes to the schema; subscriptions stay as they are, and the index is built anew."""
        with self._subscriptions.lock:
            schema = self.schema.with_attributes(**attributes)
            _check_size(schema)
            if attributes:
                self._subscriptions.rebuild(schema)

    # --- events ---

    def match(
        self, events: Any, order: Order = "sjf", level: Level = "auto", threads: int = 1
    ) -> MatcherResult:
        """Find the keys of all subscriptions that each event satisfies.

        Parameters
        ----------
        events : list of dicts, dict of arrays, pandas or Polars frame, Arrow table, or PyCapsule
            Attributes are found by name. A missing column, a null, and NaN in a Number are missing values;
            other columns are ignored.
        order, level, threads
            As for `Index.match`.
        """
        snapshot, matches = self._read(
            events,
            lambda seen, points: seen.index.match(points, order=order, level=level, threads=threads),
        )
        return MatcherResult(matches, snapshot.keys)

    def stream(
        self, events: Any, chunk: int = 256, order: Order = "sjf", level: Level = "auto", threads: int = 1
    ) -> Generator[tuple[NDArray[np.int64], MatcherResult], None, None]:
        """Match as `match` does, and hand results out while later events are still being matched.

        Yields
        ------
        positions : (k,) array of int64
            Which events were completed.
        result : MatcherResult
            Their keys, in the order of `positions`.

        Examples
        --------
        >>> from pubmatch.schema import Number, Schema
        >>> matcher = Matcher(Schema(price=Number()))
        >>> matcher.subscribe("cheap", "price < 10")
        >>> for positions, result in matcher.stream({"price": [5.0, 50.0]}, chunk=1, order="fifo"):
        ...     print(positions, list(result))
        [0] [['cheap']]
        [1] [[]]
        """
        snapshot, parts = self._read(
            events,
            lambda seen, points: seen.index.stream(points, chunk, order=order, level=level, threads=threads),
        )
        return ((positions, MatcherResult(part, snapshot.keys)) for positions, part in parts)

    def count(self, events: Any, threads: int = 1) -> NDArray[np.int64]:
        """How many subscriptions each event satisfies."""

        def counted(seen: Snapshot, points: NDArray[np.float64]) -> NDArray[np.int64]:
            found = seen.index.count(points, threads=threads)
            # Shared ids are given before their boxes are inserted: without any, boxes are subscriptions.
            if len(seen.keys.shared):
                found = MatcherResult(seen.index.match(points, threads=threads), seen.keys).counts
            return found

        return self._read(events, counted)[1]

    def estimate(self, events: Any, level: int | None = None) -> NDArray[np.int64]:
        """The expected work of each event, before running: see `Index.estimate`."""
        return self._read(events, lambda seen, points: seen.index.estimate(points, level=level))[1]

    def explain(self, event: Mapping[str, Any], key: Key) -> Explanation:
        """Why an event satisfies a subscription or does not.

        Examples
        --------
        >>> from pubmatch.schema import Category, Number, Schema
        >>> matcher = Matcher(Schema(price=Number(), symbol=Category()))
        >>> matcher.subscribe("ibm", "price < 10 AND symbol = 'IBM'")
        >>> matcher.explain({"price": 12.0, "symbol": "IBM"}, "ibm").failed
        [('price < 10', 12.0)]
        """
        if not isinstance(event, Mapping):
            raise ArgumentTypeError(
                f"an event must be a dict of attribute values, got {type(event).__name__}"
            )
        self.estimate([event])  # refuses what matching would refuse
        return explained(self.filter_of(key), event, self.schema)

    # --- the rest ---

    def covering(self, filter: str | Filter) -> list[Key]:
        """The keys of all subscriptions that every event satisfying `filter` satisfies.

        Examples
        --------
        >>> from pubmatch.schema import Number, Schema
        >>> matcher = Matcher(Schema(price=Number()))
        >>> matcher.subscribe("wide", "price < 10 OR price > 20")
        >>> matcher.subscribe("narrow", "price < 5")
        >>> matcher.covering("price BETWEEN 6 AND 7")
        ['wide']
        """
        with self._subscriptions.lock:
            return covering_keys(self._subscriptions, parse(_text(filter), self.schema))

    def stats(self) -> dict[str, Any]:
        """What the matcher consists of.

        `subscriptions`, `boxes`, `boxes_per_subscription` (mean), `attribute_combinations` (how many
        different sets of attributes are constrained), `shapes` (filters that differ in more than constants),
        `nbytes` (about, labels not counted), and `index` (see `Index.stats`).
        """
        with self._subscriptions.lock:
            books = self._subscriptions
            count = len(books.slot_of)
            return {
                "subscriptions": count,
                "boxes": books.boxes,
                "boxes_per_subscription": books.boxes / count if count else 0.0,
                "attribute_combinations": books.combination_count(),
                "shapes": len(books.store.templates),
                "nbytes": books.nbytes,
                "index": books.snapshot.index.stats(),
            }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the matcher to one file: to a temporary name first, synced, then renamed."""
        write_matcher(self._subscriptions, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], mmap: bool = True, verify: bool = True) -> Self:
        """Open a file written by `save`.

        Parameters
        ----------
        path : path-like
            The file.
        mmap : bool
            Taken as for `Index.load`, but a matcher is always read into memory. The filters and the table
            of keys are taken apart when a subscription is first added, removed or looked at.
        verify : bool
            Verify the checksums of all sections; the index checks its own in any case.

        Raises
        ------
        FormatError
            The file is foreign, newer, truncated or corrupted, or (as `FileAccessError`) cannot be read.
        """
        return cls._around(read_matcher(path, mmap, verify))

    @property
    def schema(self) -> Schema:
        """The attributes."""
        return self._subscriptions.snapshot.schema

    @property
    def max_boxes(self) -> int:
        """How many boxes a filter may need."""
        return self._subscriptions.max_boxes

    def __len__(self) -> int:
        return len(self._subscriptions)

    def __contains__(self, key: object) -> bool:
        try:
            return checked_key(key) in self._subscriptions.slot_of
        except (ArgumentError, ArgumentTypeError):
            return False

    def __iter__(self) -> Iterator[Key]:
        return iter(self.keys())

    def __repr__(self) -> str:
        return f"Matcher({self.schema!r}, max_boxes={self.max_boxes}, subscriptions={len(self)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._from_bytes, (matcher_bytes(self._subscriptions),)

    @classmethod
    def _from_bytes(cls, data: bytes) -> Self:
        return cls._around(matcher_from_bytes(data))

    @classmethod
    def _around(cls, subscriptions: Subscriptions) -> Self:
        matcher = cls.__new__(cls)
        matcher._subscriptions = subscriptions
        return matcher

    def _read(
        self, events: Any, ask: Callable[[Snapshot, NDArray[np.float64]], Found]
    ) -> tuple[Snapshot, Found]:
        """What `ask` finds for the events in one consistent state, and that state."""
        table = rereadable(events)

        def attempt() -> tuple[Snapshot, Found]:
            snapshot = self._subscriptions.snapshot
            points = None
            if type(table) is list and len(table) == 1 and type(table[0]) is dict:
                points = snapshot.single.point(table[0], snapshot.labels)
            if points is None:
                columns = event_columns(table, snapshot.schema.names)
                points = encode_points(columns, snapshot.schema, snapshot.labels)
            return snapshot, ask(snapshot, points)

        for _ in range(_ATTEMPTS):
            snapshot, found = attempt()
            # Had a box with new labels been seen, they would have been published by now.
            if self._subscriptions.snapshot.labels is snapshot.labels:
                return snapshot, found
        with self._subscriptions.lock:
            return attempt()


def _text(filter: str | Filter) -> str:
    if not isinstance(filter, Filter | str):
        raise ArgumentTypeError(f"a filter must be text or an expression, got {type(filter).__name__}")
    return str(filter)


def _check_size(schema: Schema) -> None:
    if len(schema) > MAX_DIMS:
        raise SchemaError(f"a matcher has at most {MAX_DIMS} attributes, got {len(schema)}")
