"""The section on peers: how many times as long others took on the same events."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rich.table import Table

from pubmatch_bench.record import Record
from pubmatch_bench.report.drawing import COLOURS, INK, draw, log_ticks
from pubmatch_bench.report.section import Claim, Section, statement
from pubmatch_bench.tables import match_table, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pubmatch_bench.report.records import Records

__all__ = ["paint_ratios", "section"]


def section(records: Records) -> Section:
    """Make the section from the record of `bench match`."""
    record = records.found["match"]
    ratios = _ratios(record)
    height = 90 + 26 * len(record["results"])
    plot = draw(
        "Time per event, pubmatch = 1",
        partial(paint_ratios, record=record),
        _claims(record, ratios),
        height=height,
    )
    batch = record["parameters"]["batch"]
    about = (
        f"Batches of {batch} fresh events, matched by pubmatch and its peers in turn, in one process, on one "
        "thread; medians of interleaved rounds. Further right: the peer takes longer."
    )
    tables = [_workloads(record), *match_table(record)[1:]]
    return Section("peers", "Peers: ratios on the same events", about, [plot], record, tables)


def _workloads(record: Record) -> Table:
    """Say what the names W1, W2 … stand for."""
    table = Table("workload", "what it is", "subscriptions", "matches per event", title="Workloads")
    for result in record["results"]:
        found = number(result["matches_per_event"])
        table.add_row(result["workload"], result["about"], f"{result['subscriptions']:,}", found)
    return table


def _ratios(record: Record) -> dict[str, dict[str, float]]:
    """Ratios by peer and workload, of those that ran."""
    ratios: dict[str, dict[str, float]] = {}
    for result in record["results"]:
        for row in result["contenders"]:
            if row["status"] == "ok" and row["peer"] != "pubmatch":
                ratios.setdefault(row["peer"], {})[result["workload"]] = row["ratio"]
    return ratios


def paint_ratios(axes: Axes, record: Record) -> None:
    """Draw a point for every peer and workload, the line of pubmatch at 1.

    Parameters
    ----------
    axes : matplotlib axes
        Empty ones.
    record : dict
        A record of `bench match`.
    """
    ratios = _ratios(record)
    names = [result["workload"] for result in record["results"]]
    for colour, (peer, by_workload) in zip(COLOURS, ratios.items(), strict=False):
        places = [names.index(name) for name in by_workload]
        axes.plot(list(by_workload.values()), places, "o", color=colour, ms=7, label=peer)
    axes.axvline(1, color=INK, lw=1.2)
    axes.set_xscale("log")
    found = [ratio for row in ratios.values() for ratio in row.values()] or [1.0]
    log_ticks(axes.xaxis, min(1, *found), max(10, *found), "{:,g}×")
    axes.set_xlim(0.8 * min(1, *found), 1.6 * max(found))
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()


def _claims(record: Record, ratios: dict[str, dict[str, float]]) -> list[Claim]:
    """Faster than every peer on every workload, with the same matches."""
    found = [(ratio, peer, name) for peer, row in ratios.items() for name, ratio in row.items()]
    claims = []
    if found:
        least, most = min(found), max(found)
        claims.append(
            statement(
                "pubmatch takes less time per event than every peer on every workload",
                "every ratio above 1",
                f"from {number(least[0])}× ({least[1]} on {least[2]}) "
                f"to {number(most[0])}× ({most[1]} on {most[2]})",
                holds=least[0] > 1,
            )
        )
    equal = [
        row["equal"] for result in record["results"] for row in result["contenders"] if row["status"] == "ok"
    ]
    claims.append(
        statement(
            "all contenders found the same matches",
            "equal on every event that was compared",
            f"{sum(equal)} of {len(equal)} contenders agree",
            holds=all(equal),
        )
    )
    return claims
