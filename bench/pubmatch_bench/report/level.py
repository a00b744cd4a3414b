"""The section on Level: mean response over the level and the batch size, and what the order is worth."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pubmatch_bench.record import Record
from pubmatch_bench.report.drawing import COLOURS, INK, Plot, draw, log_ticks
from pubmatch_bench.report.section import Claim, Section, chosen, statement

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pubmatch_bench.report.records import Records

__all__ = ["section"]

_BATCHES = (2, 8, 32, 128)
_TREES = {"paper": "the paper's tree", "default": "the default tree"}


def section(records: Records) -> Section:
    """Make the section from the records of `reproduce batch` and, if there, `bench sjf`."""
    record = records.found["batch"]
    plots = [
        draw(
            f"Mean response over Level, {_TREES[tree]}",
            partial(_over_level, points=points),
            chosen(record, *ids),
        )
        for (tree, points), ids in zip(
            record["points"].items(), (["u-shape"], ["u-shape-default"]), strict=True
        )
    ]
    plots.append(
        draw(
            "Mean response over batch size, the paper's tree",
            partial(_over_batch, series=record["figures"]["7d"]),
            chosen(record, "grows", "largest-batch", "fewer-events"),
        )
    )
    if "sjf" in records.found:
        plots.append(_over_workloads(records.found["sjf"]))
    about = (
        "All events of a batch go down the tree together to one Level; those with fewer search paths there "
        "are matched first. First-come order on the same tree is 1."
    )
    return Section("level", "Level: response over the Level of the estimate", about, plots, record)


def _over_level(axes: Axes, points: list[Record]) -> None:
    """Draw the size that most batch sizes were measured at."""
    sizes = [point["subscriptions"] for point in points]
    size = max(sizes, key=sizes.count)
    shown = [point for point in points if point["subscriptions"] == size and point["batch"] in _BATCHES]
    for colour, point in zip(COLOURS, shown, strict=False):
        ratios = [ratio["ratio"] for ratio in point["level_ratio"]]
        axes.plot(point["levels"], ratios, "o-", color=colour, label=f"{point['batch']} events")
    axes.axhline(1.0, color=INK, ls="--", lw=1.2, label="first-come order")
    axes.set_xticks(shown[0]["levels"])
    axes.set_xlabel(f"Level (1: the root, {shown[0]['height']}: the leaves), {size / 1e6:g}M boxes")
    axes.set_ylim(bottom=0)


def _over_batch(axes: Axes, series: Record) -> None:
    axes.plot(series["events"], series["fifo_ms"], "o--", color=COLOURS[1], label="first-come order")
    axes.plot(series["events"], series["best_ms"], "o-", color=COLOURS[0], label="BatchSearch, best Level")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    log_ticks(axes.yaxis, min(series["best_ms"]), max(series["fifo_ms"]))
    axes.set_ylim(0.7 * min(series["best_ms"]), 1.5 * max(series["fifo_ms"]))
    axes.set_xticks(series["events"], [str(count) for count in series["events"]])
    axes.set_xlabel("events per batch")
    axes.set_ylabel("mean response, ms")


def _over_workloads(record: Record) -> Plot:
    """Draw what the default index saves on every workload, from the record of `bench sjf`."""
    rows = [
        (result["workload"], max(result["batches"], key=lambda row: int(row["batch"])))
        for result in record["results"]
    ]

    def paint(axes: Axes) -> None:
        places = range(len(rows))
        axes.bar(
            places,
            [row["response"]["ratio"] for _, row in rows],
            0.6,
            color=COLOURS[0],
            label="shortest job first",
        )
        for place, (_, row) in enumerate(rows):
            ideal = row["ideal_response"]["ratio"]
            label = None if place else "ideal order"
            axes.plot([place - 0.35, place + 0.35], [ideal, ideal], "-", color=COLOURS[2], lw=3, label=label)
        axes.axhline(1.0, color=INK, ls="--", lw=1.2, label="first-come order")
        axes.set_xticks(list(places), [name for name, _ in rows])
        axes.set_ylabel("mean response")

    return draw(
        f"Shortest job first, batches of {rows[0][1]['batch']}, default index", paint, _targets(record)
    )


def _targets(record: Record) -> list[Claim]:
    return [
        statement(
            f"{row['target']} ({row['place']})",
            f"at most {row['at_most']:.2f} of first-come order",
            f"{row['ratio']:.3f}" + ("" if row["certain"] else ", not certain"),
            holds=row["met"],
        )
        for row in record["targets"]
    ]
