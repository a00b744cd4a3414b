"""Readers beside writers, and labels that run out of room."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from together import run_together

from pubmatch.matcher import Matcher
from pubmatch.schema import Category, Number, Schema
from pubmatch.subscriptions import Subscriptions

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = Schema(word=Category(), price=Number())


def between(first: str, second: str) -> str:
    """A word between two."""
    return first + "m" if first + "m" < second else first + "a"


READERS: dict[str, Callable[[Matcher, Any], list[list[Any]]]] = {
    "match": lambda matcher, events: list(matcher.match(events)),
    "threads": lambda matcher, events: list(matcher.match(events, threads=2)),
    "stream": lambda matcher, events: [
        row
        for _, row in sorted(
            (position, keys)
            for positions, part in matcher.stream(events, chunk=2)
            for position, keys in zip(positions.tolist(), part, strict=True)
        )
    ],
}


@pytest.mark.parametrize("reader", READERS)
def test_new_labels_never_mislead_a_reader(reader: str) -> None:
    """Each new subscription `word >= w` splits the gap in which the events lie.

    The writer adds them in order, so a consistent state is a number n: an event has exactly those keys
    below n whose word is not after its own.
    """
    rng = np.random.default_rng(1)
    words = [f"k{''.join(rng.choice(list('abz'), 6))}{number}" for number in range(400)]
    events = {
        "word": [f"k{letter}" for letter in ("", "a", "ab", "b", "bz", "z", "zz")] + [words[3], words[250]]
    }
    holds = [[word <= event for word in words] for event in events["word"]]
    matcher = Matcher(SCHEMA)
    finished = threading.Event()
    reads = [0, 0]
    failed = threading.Event()

    def write() -> None:
        try:
            for number, word in enumerate(words):
                matcher.subscribe(number, f"word >= '{word}'")
                seen = sum(reads)
                while number % 8 == 0 and sum(reads) < seen + 1 and not failed.is_set():
                    finished.wait(0.0005)
        finally:
            finished.set()

    def read(place: int) -> None:
        latest = 0
        try:
            while not finished.is_set():
                rows = READERS[reader](matcher, events)
                # The state is at least what was found; what was not found beyond it bounds it from above.
                state = max(max(row, default=-1) for row in rows) + 1
                assert state >= latest, "a reader went back in time"
                for row, truths in zip(rows, holds, strict=True):
                    assert sorted(row) == [key for key in range(state) if truths[key]]
                latest = state
                reads[place] += 1
        except BaseException:
            failed.set()
            raise

    run_together(write, lambda: read(0), lambda: read(1))
    assert min(reads) > 0
    rows = READERS[reader](matcher, events)
    assert [sorted(row) for row in rows] == [np.flatnonzero(truths).tolist() for truths in holds]


def test_replacing_and_rebuilding_beside_readers() -> None:
    """A key is there with its old filter or its new one, never with both, whatever is rebuilt meanwhile.

    Every filter of "key" matches the event, so a reader finds the key once.
    """
    matcher = Matcher(SCHEMA)
    matcher.subscribe("key", "price > 0 OR word = 'x'")
    matcher.subscribe("other", "word = 'w'")
    finished = threading.Event()

    def write() -> None:
        try:
            for number in range(300):
                matcher.subscribe(
                    "key", f"price > 0 OR word = 'x{number}' OR word > 'y{number}'", replace=True
                )
                if number % 50 == 0:
                    with matcher._subscriptions.lock:
                        matcher._subscriptions.rebuild(matcher.schema)
        finally:
            finished.set()

    def read() -> None:
        while True:
            rows = list(matcher.match([{"price": 1.0}, {"word": "w"}, {"word": "a"}]))
            assert [sorted(row) for row in rows] == [["key"], ["other"], []]
            if finished.is_set():
                return

    run_together(write, read, read)


def test_a_reader_that_never_gets_its_turn_makes_the_writers_wait() -> None:
    matcher = Matcher(SCHEMA)
    matcher.subscribe("a", "word = 'a'")
    labels = matcher._subscriptions.snapshot.labels
    asked = []

    class Restless(dict[str, Any]):
        """Events whose every reading brings a new label."""

        def __getitem__(self, name: str) -> Any:
            if name == "word" and not matcher._subscriptions.lock._is_owned():
                asked.append(len(asked))
                matcher.subscribe(f"new{len(asked)}", f"word = 'b{len(asked)}'")
            return super().__getitem__(name)

    assert list(matcher.match(Restless(word=["a"]))) == [["a"]]
    assert 4 <= len(asked) < 40
    assert matcher._subscriptions.snapshot.labels is not labels


def test_labels_out_of_room_are_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every new word lies just after the one before and before all others: each halves the last gap."""
    rebuilt = []
    rebuild = Subscriptions.rebuild

    def counted(self: Subscriptions, *arguments: Any) -> None:
        rebuilt.append(len(self.slot_of))
        rebuild(self, *arguments)

    monkeypatch.setattr(Subscriptions, "rebuild", counted)
    matcher = Matcher(SCHEMA)
    words = []
    low, high = "a", "b"
    for number in range(200):
        word = between(low, high)
        low, high = (word, high) if number % 2 else (low, word)
        words.append(word)
        matcher.subscribe(number, f"word {'>=' if number % 3 else '<'} '{word}'")
    assert len(set(words)) == 200
    assert len(rebuilt) >= 2
    events = {"word": [*words, *(word + "!" for word in words), "a", "b", "", "zzz"]}
    expected = [
        [key for key, word in enumerate(words) if (event >= word if key % 3 else event < word)]
        for event in events["word"]
    ]
    assert [sorted(keys) for keys in matcher.match(events)] == expected
    table = {"key": [f"m{n}" for n in range(500)], "filter": [f"word = '{low}{n:03}'" for n in range(500)]}
    assert matcher.subscribe_many(table) == 500
    assert [keys for keys in matcher.match({"word": [f"{low}007"]})[0] if isinstance(keys, str)] == ["m7"]
    matcher._subscriptions.snapshot.index.check()


def test_writers_take_turns() -> None:
    matcher = Matcher(SCHEMA)

    def write(number: int) -> None:
        for step in range(40):
            matcher.subscribe(f"{number}-{step}", f"word = 'w{number}' OR price = {step}")
            if step % 2:
                assert matcher.unsubscribe(f"{number}-{step - 1}")

    run_together(*(lambda number=number: write(number) for number in range(4)))
    left = {f"{number}-{step}" for number in range(4) for step in range(1, 40, 2)}
    assert set(matcher) == left
    assert set(matcher.match([{"word": "w2"}])[0]) == {key for key in left if key.startswith("2-")}
