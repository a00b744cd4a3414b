"""Published versions: complete or not there, the same matches as the matcher, checked before use."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pubmatch as pm
import pubmatch_spark as ps
from pubmatch.errors import ArgumentError, ArgumentTypeError, FileAccessError, FormatError, MissingFileError
from pubmatch.published import FILES, PublishedMatcher, write_published
from pubmatch_spark import worker_cache
from pubmatch_spark.match import CHUNK, pairs_of

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = pm.Schema(price=pm.Number(), volume=pm.Integer(), symbol=pm.Category(), at=pm.Timestamp())
EVENTS: list[dict[str, Any]] = [
    {"price": 12.5, "volume": 2**53 + 1, "symbol": "IBM"},
    {"price": 40.0, "symbol": "HP", "at": "2024-05-01"},
    {"volume": 3, "symbol": "it's"},
    {},
]
for event in EVENTS:
    if "at" in event:
        event["at"] = np.datetime64(event["at"], "us")


def small_matcher(*keys: str | int) -> pm.Matcher:
    matcher = pm.Matcher(SCHEMA)
    for key in keys or ("a", "b"):
        matcher.subscribe(key, "price > 5 OR symbol = 'it''s' OR volume = 3")
    return matcher


def rows(result: Any) -> list[list[str]]:
    return [sorted(map(str, keys)) for keys in result]


@pytest.mark.parametrize("kind", ["strings", "integers", "both"])
def test_the_same_matches_as_the_matcher(tmp_path: Path, kind: str) -> None:
    names: list[Any] = ["x", "né", "it's", "gone"] if kind == "strings" else [5, -7, 2**60, 0]
    if kind == "both":
        names[1] = "text"
    matcher = pm.Matcher(SCHEMA)
    texts = ["price BETWEEN 10 AND 20", "symbol IN ('IBM', 'HP') OR volume < 5", "at > '2024-01-01'", "TRUE"]
    for name, text in zip(names, texts, strict=True):
        matcher.subscribe(name, text)
    matcher.unsubscribe(names[3])
    matcher.subscribe(names[0], "symbol <> 'IBM' OR price IS NULL", replace=True)
    write_published(matcher, str(tmp_path))
    reader = PublishedMatcher.open(str(tmp_path), verify=True)
    assert rows(reader.match(EVENTS)) == rows(matcher.match(EVENTS))
    assert any(rows(reader.match(EVENTS)))
    expected, found = matcher.match(EVENTS).to_arrow(), reader.match(EVENTS).to_arrow()
    assert found.schema == expected.schema
    assert sorted(found.to_pylist(), key=str) == sorted(expected.to_pylist(), key=str)
    assert len(reader.match(EVENTS).pairs()[1]) == len(expected)
    streamed = {
        int(p): keys
        for ps_, part in reader.stream(EVENTS, chunk=1)
        for p, keys in zip(ps_, part, strict=True)
    }
    assert [sorted(map(str, streamed[place])) for place in range(len(EVENTS))] == rows(matcher.match(EVENTS))


def test_an_empty_matcher(tmp_path: Path) -> None:
    ref = ps.publish(pm.Matcher(SCHEMA), tmp_path, 1)
    assert (ref.subscriptions, ref.schema, ref.version) == (0, SCHEMA, 1)
    assert list(worker_cache.opened(ref).match(EVENTS)) == [[], [], [], []]


def test_versions_only_go_up(tmp_path: Path) -> None:
    root = tmp_path / "new" / "versions"
    assert ps.versions(root) == []
    with pytest.raises(MissingFileError, match="No version was published"):
        ps.latest(root)
    first = ps.publish(small_matcher("a"), root, 3)
    matcher = small_matcher("a")
    second = ps.publish(matcher, root, np.int64(1_234_567))  # type: ignore[arg-type]
    for taken in (2, 3, 1_234_567):
        with pytest.raises(ArgumentError, match=f"version must be above 1234567, .* got {taken}"):
            ps.publish(matcher, root, taken)
    matcher.subscribe("later", "TRUE")
    (root / ".v000009-x").mkdir()  # what a killed process leaves
    (root / "v8").mkdir()
    assert ps.versions(root) == [3, 1_234_567]
    assert ps.latest(root) == second == ps.ref_of(root, 1_234_567)
    assert ps.ref_of(root, 3) == first
    assert rows(worker_cache.opened(second).match(EVENTS)) == [["a"], ["a"], ["a"], []]
    assert sorted(os.listdir(root)) == [".v000009-x", "v000003", "v1234567", "v8"]


def test_a_reference_is_small_and_travels(tmp_path: Path) -> None:
    ref = ps.publish(small_matcher(*map(str, range(2000))), tmp_path, 1)
    copy = pickle.loads(pickle.dumps(ref))
    assert (copy, copy.schema, copy.path) == (ref, SCHEMA, str(tmp_path))
    assert hash(copy) == hash(ref)
    assert len(pickle.dumps(ref)) < 2000 < ref.nbytes
    copy.check()


@pytest.mark.parametrize("name", [*FILES, "manifest.json"])
def test_damage_is_found(tmp_path: Path, name: str) -> None:
    ref = ps.publish(small_matcher(), tmp_path, 1)
    ref.check()
    path = Path(ref.directory) / name
    data, seen = path.read_bytes(), path.stat()
    for place in range(0, len(data), max(1, len(data) // 7)):
        bad = bytearray(data)
        bad[place] ^= 1
        path.write_bytes(bad)
        os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
        with pytest.raises(FormatError, match=name):
            ref.check()
    path.write_bytes(data[:-1])
    with pytest.raises(FormatError, match=name):
        ref.check()
    path.write_bytes(data)
    ref.check()
    path.unlink()
    with pytest.raises(MissingFileError, match=name):
        ref.check()


def test_another_version_in_its_place(tmp_path: Path) -> None:
    ref = ps.publish(small_matcher("a"), tmp_path, 1)
    os.rename(ref.directory, tmp_path / "aside")
    ps.publish(small_matcher("b"), tmp_path, 1)
    with pytest.raises(FormatError, match="not the one this reference was made from"):
        ref.check()
    with pytest.raises(MissingFileError, match="executor does not see the version"):
        worker_cache.opened(ref)


@pytest.mark.parametrize(
    ("matcher", "path", "version", "error", "told"),
    [
        (None, "x", 1, ArgumentTypeError, "a pubmatch.Matcher is published, got NoneType"),
        (small_matcher(), "x", -1, ArgumentError, "version must be from 0"),
        (small_matcher(), "x", True, ArgumentTypeError, "version must be an integer, got True"),
        (small_matcher(), "x", "1", ArgumentTypeError, "version must be an integer, got '1'"),
        (small_matcher(), 5, 1, ArgumentTypeError, "path must be a path"),
        (small_matcher(), "", 1, ArgumentError, "path must not be empty"),
        (small_matcher(), "s3://bucket/x", 1, ArgumentError, "path must be in a mounted file system"),
        (small_matcher(), "/dev/null/x", 1, FileAccessError, "Not a directory"),
    ],
)
def test_bad_arguments(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    matcher: Any,
    path: Any,
    version: Any,
    error: type[Exception],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=told):
        ps.publish(matcher, path, version)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_publish_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ps.publish(small_matcher(), tmp_path, 1)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(FileAccessError, match="No space left on device"):
        ps.publish(small_matcher(), tmp_path, 2)
    assert os.listdir(tmp_path) == ["v000001"]


def test_one_load_per_version_and_old_ones_leave(tmp_path: Path) -> None:
    refs = [ps.publish(small_matcher(str(number)), tmp_path, number) for number in range(4)]

    def mapped() -> list[str]:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
        return sorted({Path(line.split()[-1]).parent.name for line in lines if str(tmp_path) in line})

    readers = [worker_cache.opened(ref) for ref in refs]
    assert worker_cache.opened(refs[3]) is readers[3]
    assert worker_cache.opened(refs[2]) is readers[2]
    del readers
    assert mapped() == ["v000002", "v000003"]
    worker_cache.opened(refs[0])
    assert mapped() == ["v000000", "v000002"]


def test_pairs_leave_in_the_order_of_completion(tmp_path: Path) -> None:
    import pyarrow as pa

    # Six attributes: the index knows from their values alone how much work an event will be.
    names = [f"x{number}" for number in range(6)]
    upper = np.arange(5000) / 5000
    matcher = pm.Matcher(pm.Schema(**{name: pm.Number() for name in names}))
    bounds = {f"{name}_min": np.zeros(5000) for name in names} | {f"{name}_max": upper for name in names}
    matcher.subscribe_many({"key": np.arange(5000), **bounds})
    ref = ps.publish(matcher, tmp_path, 1)
    count = 3 * CHUNK
    values = np.random.default_rng(1).random(count)
    events = dict.fromkeys(names, values)
    batch = pa.record_batch({"event_id": np.arange(count), **events})
    batches = list(pairs_of(batch, ref, "event_id", None))
    assert len(batches) >= 3
    found = pa.Table.from_batches(batches)
    ids = found.column("event_id").to_numpy()
    firsts = ids[np.sort(np.unique(ids, return_index=True)[1])]
    assert not np.array_equal(firsts, np.sort(firsts))  # not as given
    # Large values match few subscriptions: they come first.
    assert values[firsts[: count // 4]].mean() > values[firsts[-count // 4 :]].mean()
    expected = matcher.match(events)
    assert np.array_equal(np.bincount(ids, minlength=count), expected.counts)


IMPORT = """
import os, sys
import pubmatch as pm, pubmatch_spark as ps
matcher = pm.Matcher(pm.Schema(x=pm.Number()))
matcher.subscribe("a", "x > 1")
print("pyspark" in sys.modules, "pyarrow" in sys.modules)
"""


def test_importing_needs_neither_spark_nor_arrow(run_python: Callable[..., Any]) -> None:
    done = run_python(IMPORT)
    assert (done.returncode, done.stdout) == (0, "False False\n"), done.stderr
