"""The matcher against DuckDB on random filters, and against a dictionary through any sequence of updates."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from filter_strategies import SCHEMA, SMALL, SMALL_LITERALS, DuckOracle, filter_texts, sample_rows
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pubmatch.errors import ArgumentError, FilterError, PubmatchError
from pubmatch.filters import covers, parse
from pubmatch.matcher import Matcher
from pubmatch.schema import Number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pubmatch.filters import Filter

pytestmark = pytest.mark.oracle

ROWS = sample_rows(60, seed=2)
ARROW = pa.table(
    {
        name: pa.array([row[name] for row in ROWS], pa.timestamp("us", "UTC") if name == "at" else None)
        for name in SCHEMA
    }
)


@pytest.fixture(scope="module")
def duck() -> Iterator[DuckOracle]:
    oracle = DuckOracle(ROWS)
    yield oracle
    oracle.close()


def refusal(work: Callable[[], Any]) -> str:
    """What a filter is refused with; nothing if it is taken."""
    try:
        work()
    except FilterError as error:
        return str(error)
    return ""


@given(st.lists(filter_texts(), min_size=10, max_size=10))
@settings(max_examples=120)
def test_matches_are_what_duckdb_says(duck: DuckOracle, texts: list[str]) -> None:
    truths = duck.truths(texts)
    matcher, many = Matcher(SCHEMA), Matcher(SCHEMA)
    refused = many.subscribe_many({"key": range(len(texts)), "filter": texts}, on_error="collect")
    for key, text in enumerate(texts):
        told = refusal(lambda key=key, text=text: matcher.subscribe(key, text))
        limits = "", "no event can satisfy", "only compared exactly up to", "more than 64 boxes"
        assert any(limit in told for limit in limits if limit or not told), told
        if "no event can satisfy" in told:
            assert True not in truths[key]
    assert many.keys() == matcher.keys()
    assert refused.num_rows == len(texts) - len(matcher)
    expected = [sorted(key for key in matcher if truths[key][row] is True) for row in range(len(ROWS))]
    assert [sorted(keys) for keys in matcher.match(ROWS)] == expected
    assert [sorted(keys) for keys in matcher.match(ARROW)] == expected
    assert [sorted(keys) for keys in many.match(ARROW)] == expected
    for key in matcher:
        for row in (0, 1, 2):
            found = matcher.explain(ROWS[row], key)
            assert found.truth is truths[key][row]
            assert bool(found.failed) == (not found.matched)


@given(st.lists(filter_texts(SMALL_LITERALS, 5), min_size=6, max_size=6), filter_texts(SMALL_LITERALS, 4))
@settings(max_examples=150)
def test_covering_is_what_covers_says(texts: list[str], asked: str) -> None:
    matcher = Matcher(SMALL)
    matcher.subscribe_many({"key": range(6), "filter": texts}, on_error="collect")
    told = refusal(lambda: matcher.covering(asked))
    if told:
        assert "no event satisfies" in told
        return
    assert sorted(matcher.covering(asked)) == [
        key for key in matcher if covers(parse(texts[key]), parse(asked), SMALL)
    ]


class MatcherMachine(RuleBasedStateMachine):
    """A matcher beside a dictionary from key to filter."""

    keys = st.sampled_from(["a", "b", "c", 1, 2, 3])

    def __init__(self) -> None:
        super().__init__()
        self.matcher = Matcher(SCHEMA)
        self.model: dict[str | int, Filter] = {}

    def understood(self, text: str) -> Filter | None:
        """The filter, unless a fresh matcher refuses it."""
        try:
            Matcher(SCHEMA).subscribe("k", text)
        except FilterError:
            return None
        return parse(text)

    @rule(key=keys, text=filter_texts(max_leaves=4), replace=st.booleans())
    def subscribe(self, key: str | int, text: str, replace: bool) -> None:
        wanted = self.understood(text)
        if wanted is None or (key in self.model and not replace):
            with pytest.raises(PubmatchError):
                self.matcher.subscribe(key, text, replace=replace)
        else:
            self.matcher.subscribe(key, wanted if replace else text, replace=replace)
            self.model[key] = wanted

    @rule(rows=st.lists(st.tuples(keys, filter_texts(max_leaves=4)), max_size=5), collect=st.booleans())
    def subscribe_many(self, rows: list[tuple[str | int, str]], collect: bool) -> None:
        table = {"key": [key for key, _ in rows], "filter": [text for _, text in rows]}
        added: dict[str | int, Filter] = {}
        seen: set[str | int] = set()
        for key, text in rows:
            wanted = self.understood(text)
            if key not in self.model and key not in seen and wanted is not None:
                added[key] = wanted
            if key not in self.model:
                seen.add(key)
        if collect:
            assert self.matcher.subscribe_many(table, on_error="collect").num_rows == len(rows) - len(added)
            self.model.update(added)
        elif len(added) == len(rows):
            assert self.matcher.subscribe_many(table) == len(rows)
            self.model.update(added)
        else:
            with pytest.raises((FilterError, ArgumentError), match="row "):
                self.matcher.subscribe_many(table)

    @rule(key=keys)
    def unsubscribe(self, key: str | int) -> None:
        assert self.matcher.unsubscribe(key) == (key in self.model)
        self.model.pop(key, None)

    @rule()
    def rebuild(self) -> None:
        self.matcher._subscriptions.rebuild(self.matcher.schema)

    @precondition(lambda self: "more" not in self.matcher.schema)
    @rule()
    def add_attribute(self) -> None:
        self.matcher.add_attributes(more=Number())

    @rule(way=st.sampled_from(["pickle", "file"]))
    def save_and_load(self, way: str) -> None:
        if way == "pickle":
            self.matcher = pickle.loads(pickle.dumps(self.matcher))
            return
        with tempfile.TemporaryDirectory() as directory:
            self.matcher.save(Path(directory) / "matcher")
            self.matcher = Matcher.load(Path(directory) / "matcher")

    @rule(first=st.integers(0, 50))
    def match(self, first: int) -> None:
        rows: list[dict[str, Any]] = ROWS[first : first + 10]
        result = self.matcher.match(rows)
        expected = [
            {key for key, filter in self.model.items() if filter.matches(row) is True} for row in rows
        ]
        assert [set(keys) for keys in result] == expected
        assert result.counts.tolist() == self.matcher.count(rows).tolist() == [len(keys) for keys in expected]

    @invariant()
    def sound(self) -> None:
        assert len(self.matcher) == len(self.model)
        assert set(self.matcher) == set(self.model)
        for key, filter in self.model.items():
            assert self.matcher.filter_of(key) == filter
        self.matcher._subscriptions.snapshot.index.check()


def test_matcher_agrees_with_a_dictionary() -> None:
    run = MatcherMachine.TestCase
    run.settings = settings(max_examples=60, stateful_step_count=25)
    run("runTest").runTest()
