"""The section on clusters: connections and false positives of the strategies."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pubmatch_bench.record import Record
from pubmatch_bench.report.drawing import COLOURS, draw
from pubmatch_bench.report.section import Section, chosen

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pubmatch_bench.report.records import Records

__all__ = ["section"]


def section(records: Records) -> Section:
    """Make the section from the record of `reproduce clustering`."""
    record = records.found["clustering"]
    figures = record["figures"]
    plots = [
        draw(
            "Connections against false positives, a point for each strategy",
            partial(_tradeoff, tradeoff=record["tradeoff"]),
            chosen(record, "s1-fp", "s4-fp", "s31-below-s3"),
        ),
        draw(
            "False positives as publishers join, limits 11 to 15",
            partial(_growth, content=figures["strategy-4"], factor=100, ylabel="false positives, %"),
            chosen(record, "s31-fp", "s4-moves-fp"),
        ),
        draw(
            "Clusters as publishers join",
            partial(_growth, content=figures["5.11"], factor=1, ylabel="clusters"),
            chosen(record, "s1-50", "s3-15", "s3-13"),
        ),
        draw(
            "Sizes of the clusters of strategy 3.1",
            partial(_sizes, content=figures["5.19"]),
            chosen(record, "s31-clusters", "s31r-clusters", "s31-gap"),
        ),
    ]
    about = (
        "Publishers join with the attribute combinations they offer; a subscriber listens to the cluster "
        "that owns its combination. Means over the seeds, bands of one standard deviation."
    )
    return Section("clusters", "Clusters of publishers", about, plots, record)


def _tradeoff(axes: Axes, tradeoff: Record) -> None:
    for colour, (name, connections) in zip(COLOURS, tradeoff["connections"].items(), strict=False):
        axes.plot(connections, 100 * tradeoff["false_positives"][name], "o", ms=8, color=colour, label=name)
    axes.set_ylim(-5, 100)
    axes.margins(x=0.1)
    axes.set_xlabel("connections per publisher, mean")
    axes.set_ylabel("false positives, %")


def _growth(axes: Axes, content: Record, factor: float, ylabel: str) -> None:
    for colour, (label, row) in zip(COLOURS, content["series"].items(), strict=False):
        mean = [factor * value for value in row["mean"]]
        spread = [factor * value for value in row["sd"]]
        axes.plot(row["publishers"], mean, "-", color=colour, label=label)
        low = [middle - sd for middle, sd in zip(mean, spread, strict=True)]
        high = [middle + sd for middle, sd in zip(mean, spread, strict=True)]
        axes.fill_between(row["publishers"], low, high, color=colour, alpha=0.18, lw=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("publishers")
    axes.set_ylabel(ylabel)


def _sizes(axes: Axes, content: Record) -> None:
    width = 0.8 / len(content["series"])
    for place, (colour, (label, row)) in enumerate(zip(COLOURS, content["series"].items(), strict=False)):
        shift = width * (place - (len(content["series"]) - 1) / 2)
        axes.bar([at + shift for at in row["at"]], row["clusters"], width, color=colour, label=label)
    axes.set_xlabel("combinations of a cluster")
    axes.set_ylabel("clusters")
