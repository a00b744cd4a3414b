"""The record of `bench mobility` as tables for people."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table

from pubmatch_bench.record import Record
from pubmatch_bench.tables import header, number

__all__ = ["mobility_table"]


def mobility_table(record: Record) -> list[RenderableType]:
    """Show the rates of the simulator, the large tree and the publications at one broker."""
    *runs, large, broker = record["results"]
    rates = Table(title="85 brokers, simulated events per CPU second", title_justify="left")
    for column in ("algorithm", "safe", "median", "least"):
        rates.add_column(column)
    for row in runs:
        speed = row.get("events_per_cpu_s", {"median": None, "min": None})
        safe = "yes" if row["equal"] else "NO"
        rates.add_row(row["algorithm"], safe, number(speed["median"]), number(speed["min"]))
    tree = (
        f"{large['brokers']:,} brokers, {large['clients']:,} clients, {large['publishers']} of them "
        f"publishers, 60 s under DELAYED: {number(large['cpu_s'])} CPU s, {large['events']:,} events, "
        f"{number(large['peak_bytes'] / 2**20)} MiB at most, safe: {'yes' if large['equal'] else 'NO'}"
    )
    one = (
        f"A publication at a broker with {broker['subscriptions']:,} subscriptions "
        f"({number(broker['matches_per_event'])} match): {number(broker['native_us']['median'])} µs, "
        f"plain Python table {number(broker['plain_us']['median'])} µs ({number(broker['ratio'])}×), "
        f"equal: {'yes' if broker['equal'] else 'NO'}; to subscribe: {number(broker['subscribe_us'])} µs each"
    )
    return [header(record), rates, tree, one]
