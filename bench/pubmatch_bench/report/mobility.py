"""The section on mobility: what a move costs, what is delivered and how late, under every algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pubmatch_bench.record import Record
from pubmatch_bench.report.drawing import COLOURS, draw, log_ticks
from pubmatch_bench.report.section import Section, chosen

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pubmatch_bench.report.records import Records

__all__ = ["section"]


@dataclass(frozen=True)
class _Shown:
    """One figure of the record: what of it is drawn, and the claims it is evidence for."""

    figure: str
    title: str
    y: str
    labels: tuple[str, str]
    claims: tuple[str, ...]
    log: str = ""


_PLOTS = (
    _Shown(
        "4",
        "Cost of a move over the number of publishers",
        "cost",
        ("publishers", "hops per move"),
        ("ten-times", "prefetching-cost", "delayed-below-proxy", "ack-cost"),
        log="y",
    ),
    _Shown(
        "5",
        "Probes delivered after connecting",
        "delivered",
        ("probe, one every 0.2 s", "share delivered"),
        ("first-probe-order", "rebuild-4s", "combined-first", "ack-lost"),
    ),
    _Shown(
        "6",
        "Delays of what is delivered",
        "share",
        ("seconds from publication to delivery", "share of deliveries"),
        ("median-0.3s", "standard-latency", "prefetching-latency"),
        log="x",
    ),
    _Shown(
        "7",
        "Deliveries over speed",
        "delivered",
        ("speed, km/h", "share delivered"),
        ("speed-delivery", "speed-cost"),
    ),
    _Shown(
        "9",
        "Cost of a move over publication locality",
        "cost",
        ("share of publishers that publish the same", "hops per move"),
        ("locality-90", "locality-100", "locality-approach"),
        log="y",
    ),
    _Shown(
        "proxy locality",
        "Cost of a move beyond the proxies",
        "cost",
        ("δ: cells beyond the five proxies", "hops per move"),
        ("proxy-zero", "proxy-grows", "proxy-plateau"),
    ),
    _Shown(
        "table rows",
        "State of the brokers",
        "rows",
        ("publishers", "table rows per broker"),
        ("state-proxy", "state-linear"),
    ),
)


def section(records: Records) -> Section:
    """Make the section from the record of `reproduce mobility`."""
    record = records.found["mobility"]
    colours = dict(zip(record["figures"]["4"]["series"], COLOURS, strict=False))
    plots = [
        draw(
            shown.title,
            partial(_lines, content=record["figures"][shown.figure], shown=shown, colours=colours),
            chosen(record, *shown.claims),
        )
        for shown in _PLOTS
    ]
    about = (
        "Publishers roam along the leaves of a tree of brokers; a move costs hops of (un)advertisements, "
        "(un)subscriptions and control messages. Means over the seeds. Dashed: not in the paper."
    )
    return Section("mobility", "Mobility: what a move costs", about, plots, record)


def _lines(axes: Axes, content: Record, shown: _Shown, colours: dict[str, str]) -> None:
    """Draw a line for each algorithm, in its colour of all plots."""
    for algorithm, row in content["series"].items():
        style, colour = "--" if "+" in algorithm else "-", colours[algorithm]
        axes.plot(row[content["x"]], row[shown.y], style, color=colour, marker="o", ms=3, label=algorithm)
    if shown.log:
        axis, key = (axes.xaxis, content["x"]) if shown.log == "x" else (axes.yaxis, shown.y)
        values = [value for row in content["series"].values() for value in row[key] if value and value > 0]
        axes.set(**{f"{shown.log}scale": "log"})
        low, high = min(values), max(values)
        log_ticks(axis, low, high)
        axes.set(**{f"{shown.log}lim": (0.7 * low, 1.4 * high)})
    axes.set_xlabel(shown.labels[0])
    axes.set_ylabel(shown.labels[1])
