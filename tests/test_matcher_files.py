"""Saved, pickled and damaged matchers."""

from __future__ import annotations

import copy
import json
import os
import pickle
import stat
import threading
import zlib
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from together import run_together

from pubmatch.errors import ArgumentTypeError, FileAccessError, FormatError, MissingFileError
from pubmatch.matcher import Matcher
from pubmatch.matcher_file import _START, matcher_bytes, matcher_from_bytes
from pubmatch.schema import Category, Integer, Number, Schema, Timestamp
from pubmatch.subscriptions import Subscriptions

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., subprocess.CompletedProcess[str]]

SCHEMA = Schema(
    price=Number(domain=(0, 100)), volume=Integer(), symbol=Category(), at=Timestamp(), city=Category()
)
EVENTS: list[dict[str, Any]] = [
    {"price": 12.5, "volume": 2**53 + 1, "symbol": "IBM"},
    {"price": 40.0, "symbol": "HP", "city": "Bonn"},
    {"volume": 3, "symbol": "it's"},
    {},
]


def small_matcher(count: int = 8) -> Matcher:
    matcher = Matcher(SCHEMA, max_boxes=9)
    matcher.subscribe("gone", "symbol = 'gone' OR symbol = 'too'")
    for number in range(count):
        matcher.subscribe(number, f"price > {number * 5} AND symbol = 'IBM'")
    matcher.subscribe("né", "symbol IN ('IBM', 'it''s') OR price BETWEEN 30 AND 50")
    matcher.subscribe("exact", f"volume > {2**53}")
    matcher.subscribe("all", "TRUE")
    matcher.subscribe(2, "city >= 'A' AND city < 'C' OR city = 'Z'", replace=True)
    matcher.unsubscribe("gone")
    return matcher


def assert_same(one: Matcher, other: Matcher) -> None:
    def rows(matcher: Matcher) -> list[list[str]]:
        return [sorted(map(repr, keys)) for keys in matcher.match(EVENTS)]

    assert rows(one) == rows(other)
    assert any(rows(one))
    assert (one.keys(), one.schema, one.max_boxes) == (other.keys(), other.schema, other.max_boxes)
    assert [one.filter_of(key) for key in one] == [other.filter_of(key) for key in other]
    for name in ("subscriptions", "boxes", "attribute_combinations"):
        assert one.stats()[name] == other.stats()[name]
    assert sorted(map(repr, one.covering("price = 31"))) == sorted(map(repr, other.covering("price = 31")))


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("verify", [True, False])
def test_save_and_load(tmp_path: Path, mmap: bool, verify: bool) -> None:
    matcher = small_matcher()
    matcher.save(tmp_path / "matcher")
    loaded = Matcher.load(tmp_path / "matcher", mmap=mmap, verify=verify)
    assert_same(matcher, loaded)
    # It is alive: slots, labels and shared ids go on where they were.
    for one in (matcher, loaded):
        one.subscribe("new", "symbol > 'I' AND symbol < 'IBN' OR city = 'Bonn'")
        one.unsubscribe("né")
        one.subscribe("exact", "symbol <> 'IBM'", replace=True)
    assert_same(matcher, loaded)
    loaded._subscriptions.snapshot.index.check()


def test_empty_matcher(tmp_path: Path) -> None:
    matcher = Matcher(SCHEMA)
    matcher.save(tmp_path / "matcher")
    loaded = Matcher.load(tmp_path / "matcher")
    assert (len(loaded), loaded.schema, loaded.max_boxes) == (0, SCHEMA, 64)
    loaded.subscribe("a", "symbol = 'b'")
    assert list(loaded.match([{"symbol": "b"}])) == [["a"]]


def test_pickle_and_copy() -> None:
    matcher = small_matcher()
    assert_same(matcher, pickle.loads(pickle.dumps(matcher)))
    twin = copy.deepcopy(matcher)
    twin.unsubscribe("all")
    assert "all" in matcher
    assert pickle.loads(pickle.dumps(twin)).keys() == twin.keys()


def test_the_file_is_what_a_pickle_holds(tmp_path: Path) -> None:
    matcher = small_matcher()
    matcher.save(tmp_path / "matcher")
    data = (tmp_path / "matcher").read_bytes()
    assert data == matcher_bytes(matcher._subscriptions)
    assert data in pickle.dumps(matcher)
    assert matcher_bytes(matcher_from_bytes(data)) == data


def test_saving_replaces_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "matcher"
    small_matcher(3).save(path)
    os.chmod(path, 0o640)
    small_matcher(5).save(path)
    assert len(Matcher.load(path)) == len(small_matcher(5))
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    (tmp_path / "link").symlink_to(path)
    small_matcher(4).save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert len(Matcher.load(path)) == len(small_matcher(4))
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link", "matcher"]


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    matcher = small_matcher()
    with pytest.raises(MissingFileError):
        Matcher.load(tmp_path / "none")
    with pytest.raises(FileAccessError):
        Matcher.load(tmp_path)
    with pytest.raises(FileAccessError):
        matcher.save(tmp_path)
    with pytest.raises(MissingFileError):
        matcher.save(tmp_path / "none" / "matcher")
    with pytest.raises(ArgumentTypeError, match="path must be a path"):
        matcher.save(5)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="mmap must be"):
        Matcher.load(tmp_path / "matcher", mmap="yes")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("data", [b"", b"x", b"PUBMATCH" * 100, bytes(100)])
def test_foreign_files(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "matcher").write_bytes(data)
    with pytest.raises(FormatError, match="matcher: not a matcher file"):
        Matcher.load(tmp_path / "matcher")


def test_an_index_is_no_matcher_and_a_newer_file_says_so(tmp_path: Path) -> None:
    matcher = small_matcher()
    matcher._subscriptions.snapshot.index.save(tmp_path / "index")
    with pytest.raises(FormatError, match="not a matcher file"):
        Matcher.load(tmp_path / "index")
    data = bytearray(matcher_bytes(matcher._subscriptions))
    data[16] = 9
    with pytest.raises(FormatError, match="version 9 of the matcher file; this release reads version 1"):
        matcher_from_bytes(bytes(data))


EVERY_BYTE = """
import sys, zlib
from pubmatch.errors import FormatError
from pubmatch.matcher_file import matcher_from_bytes
data = bytearray(open(sys.argv[1], "rb").read())
wrong = []
step = int(sys.argv[2])
places = [*range(min(4000, len(data))), *range(4000, len(data), step)]
for place in places:
    for flip in (0xFF, 1 << place % 8):
        data[place] ^= flip
        try:
            matcher_from_bytes(bytes(data))
            wrong.append((place, flip))
        except FormatError:
            pass
        data[place] ^= flip
matcher_from_bytes(bytes(data))
print(wrong)
"""


def test_flipped_bytes_are_found(run_python: Run, tmp_path: Path) -> None:
    small_matcher(3).save(tmp_path / "matcher")
    done = run_python(EVERY_BYTE, tmp_path / "matcher", 7)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_wrong_lengths_are_found() -> None:
    data = matcher_bytes(small_matcher(3)._subscriptions)
    for length in [*range(0, 600, 7), *range(600, len(data), 501), len(data) - 1]:
        with pytest.raises(FormatError):
            matcher_from_bytes(data[:length])
    with pytest.raises(FormatError, match="more bytes than the head says"):
        matcher_from_bytes(data + b"\0")


def with_rows(data: bytes, change: Callable[[list[Any]], Any]) -> bytes:
    """A file whose head, checksum and all, tells the changed rows."""
    magic, version, _, length = _START.unpack_from(data)
    rows = json.loads(data[_START.size : _START.size + length])["sections"]
    head = json.dumps({"sections": change(rows)}).encode()
    start = _START.pack(magic, version, zlib.crc32(head), len(head))
    return start + head + data[_START.size + length :]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: 3, "no list"),
        (lambda rows: [[]], r"the head has \[\]"),
        (lambda rows: [3], "the head has 3"),
        (lambda rows: [[[], 1, 1]], "the head has"),
        (lambda rows: [[row[0], True, row[2]] for row in rows], "the head has"),
        (lambda rows: [[row[0], 1.5, row[2]] for row in rows], "the head has"),
        (lambda rows: [[row[0], -1, row[2]] for row in rows], "'schema' has -1 bytes"),
        (lambda rows: [[row[0], 10**30, row[2]] for row in rows], "fewer than the"),
        (lambda rows: [[row[0], 2**62, row[2]] for row in rows], "fewer than the"),
        (lambda rows: [[row[0], 2**40, row[2]] for row in rows], "fewer than the"),
        (lambda rows: rows[1:], "other sections"),
    ],
)
def test_heads_that_lie(change: Callable[[list[Any]], Any], words: str, tmp_path: Path) -> None:
    data = with_rows(matcher_bytes(small_matcher(3)._subscriptions), change)
    with pytest.raises(FormatError, match=words):
        matcher_from_bytes(data)
    (tmp_path / "matcher").write_bytes(data)
    with pytest.raises(FormatError, match=words):
        Matcher.load(tmp_path / "matcher")


def test_a_matcher_comes_through_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    matcher = small_matcher()
    writer = threading.Thread(target=matcher.save, args=(pipe,))
    writer.start()
    loaded = Matcher.load(pipe)
    writer.join()
    assert_same(matcher, loaded)


UNVERIFIED = """
import sys
import numpy as np
from pubmatch.errors import PubmatchError
from pubmatch.matcher_file import matcher_from_bytes
from pubmatch.matcher import Matcher
data = np.fromfile(sys.argv[1], np.uint8)
rng = np.random.default_rng(5)
refused = used = 0
for trial in range(600):
    bad = data.copy()
    first = int(rng.integers(500, 2500)) if trial % 4 else int(rng.integers(0, len(bad)))
    places = (first + rng.integers(0, 64, int(rng.choice([1, 2, 8])))) % len(bad)
    values = [0, 1, 0x22, 0x2C, 0x30, 0x7F, 0x80, 0xFF, *rng.integers(0, 256, 5)]
    bad[places] = rng.choice(values, len(places))
    try:
        matcher = Matcher._around(matcher_from_bytes(bad.tobytes(), verify=False))
    except PubmatchError:
        refused += 1
        continue
    used += 1
    for use in (
        lambda: list(matcher.match([{"price": 12.5, "symbol": "IBM"}, {}])),
        lambda: [matcher.filter_of(key) for key in matcher],
        lambda: matcher.subscribe("fresh", "symbol = 'zz' OR price = 3"),
        lambda: matcher.add_attributes(more=matcher.schema[matcher.schema.names[0]]),
        lambda: (matcher.stats(), repr(matcher), matcher_from_bytes(matcher.__reduce__()[1][0])),
    ):
        try:
            use()
        except PubmatchError:
            pass
print(refused > 0, used > 0)
"""


def test_unverified_files_never_crash(run_python: Run, tmp_path: Path) -> None:
    small_matcher().save(tmp_path / "matcher")
    done = run_python(UNVERIFIED, tmp_path / "matcher")
    assert (done.returncode, done.stdout) == (0, "True True\n"), done.stderr


def test_the_index_begins_at_a_page() -> None:
    matcher = small_matcher()
    data = matcher_bytes(matcher._subscriptions)
    index = matcher._subscriptions.snapshot.index.to_bytes()
    assert data.endswith(index)
    assert (len(data) - len(index)) % 4096 == 0
    assert _START.size == 32


def test_books_are_made_when_they_are_wanted(tmp_path: Path) -> None:
    matcher = small_matcher()
    matcher.save(tmp_path / "matcher")
    loaded = Matcher.load(tmp_path / "matcher")
    books = loaded._subscriptions
    list(loaded.match(EVENTS))
    loaded.count(EVENTS)
    assert len(loaded) == len(matcher)
    assert books._later is not None  # matching and counting took no filter apart
    assert loaded.keys() == matcher.keys()
    assert books._later is None
    assert_same(matcher, loaded)


def test_books_are_made_once_whoever_asks(tmp_path: Path) -> None:
    small_matcher().save(tmp_path / "matcher")
    loaded = Matcher.load(tmp_path / "matcher")
    run_together(*(partial(loaded.subscribe, f"new {number}", "TRUE") for number in range(8)))
    assert sum(str(key).startswith("new") for key in loaded) == 8
    assert len(loaded) == len(small_matcher()) + 8


def test_ids_in_another_order_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Release 0.1.0 did not give the boxes of one subscription neighbouring ids."""

    def scattered(self: Subscriptions, first: int, owner: Any, count: int) -> Any:
        ids = owner + first
        several = np.flatnonzero(np.bincount(owner)[owner] > 1)[::-1]
        several = np.concatenate([several[::2], several[1::2]])
        ids[several] = self.snapshot.keys.share(ids[several])
        return ids

    matcher = Matcher(SCHEMA)
    texts = [f"price <> {number}" if number % 2 else f"volume NOT IN ({number}, 90)" for number in range(40)]
    with monkeypatch.context() as patch:
        patch.setattr(Subscriptions, "_new_ids", scattered)
        matcher.subscribe_many({"key": range(40), "filter": texts})
        matcher.save(tmp_path / "matcher")
    loaded = Matcher.load(tmp_path / "matcher")
    fresh = Matcher(SCHEMA)
    fresh.subscribe_many({"key": range(40), "filter": texts})
    events = [{"price": 3.0, "volume": 4}, {"volume": 90}, {"price": 5.0}]
    for one in (loaded, fresh):
        assert all(one.unsubscribe(key) for key in range(5, 25))
        one.subscribe(3, "price < 1 OR price > 2", replace=True)
    assert [sorted(keys) for keys in loaded.match(events)] == [sorted(keys) for keys in fresh.match(events)]
    assert loaded.stats()["boxes"] == fresh.stats()["boxes"]
    loaded._subscriptions.snapshot.index.check()
