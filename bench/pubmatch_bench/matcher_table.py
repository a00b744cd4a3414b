"""The record of `bench matcher` as tables."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table

from pubmatch_bench.record import Record
from pubmatch_bench.tables import number


def matcher_tables(record: Record) -> Iterator[RenderableType]:
    """One table for each part of the record."""
    for result in record["results"]:
        if result["workload"] == "flights":
            yield _flights(result)
        elif result["workload"] == "subscribing":
            yield _subscribing(result)
        else:
            yield _ways(result)


def _ways(result: Record) -> Table:
    title = f"{result['workload']}: {result['subscriptions']:,} subscriptions, batches of 1,000"
    table = Table("way", "ms per event", "quartiles", "× Index.match", "equal", title=title)
    for way in result["ways"]:
        ms = way["ms_per_event"]
        quartiles = f"{number(ms['q1'])} – {number(ms['q3'])}"
        equal = "yes" if result["equal"] else "NO"
        table.add_row(way["way"], number(ms["median"]), quartiles, number(way["ratio"]), equal)
    return table


def _flights(result: Record) -> Table:
    title = f"flights: {result['subscriptions']:,} filters, {result['events']:,} events"
    table = Table("what", "value", title=title)
    table.add_row("subscribe_many, s", number(result["subscribe_s"]))
    table.add_row("match and to_arrow, s", number(result["match_s"]))
    table.add_row("events/s", number(result["events_per_s"]))
    table.add_row("matches/event", number(result["matches_per_event"]))
    for name, times in result["single"].items():
        table.add_row(f"one {name.removesuffix('_us')}, µs", number(times["median"]))
    sample = result["sample"]
    if sample is not None:
        asked = f"{sample['filters']:,} filters × {sample['events']:,} flights"
        table.add_row(f"DuckDB, {asked}, × pubmatch", number(sample["ratio"]))
        table.add_row("equal", "yes" if sample["equal"] else "NO")
    return table


def _subscribing(result: Record) -> Table:
    title = "subscribe_many of tables"
    table = Table("table", "rows", "s", "boxes", "shapes", "save s", "load s", "MB", title=title)
    for row in result["tables"]:
        sizes = [f"{row[name]:,}" for name in ("boxes", "shapes")]
        files = [number(row["save_s"]), number(row["load_s"]), number(row["bytes"] / 1e6)]
        table.add_row(row["table"], f"{row['rows']:,}", number(row["seconds"]), *sizes, *files)
    return table
