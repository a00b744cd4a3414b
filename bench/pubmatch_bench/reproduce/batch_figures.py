"""Draws the batch paper's figures from a report, and the pictures of `docs/batches.md` from records."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pubmatch_bench.record import Record
from pubmatch_bench.reproduce.picture import blank, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = (7.0, 4.2)
_AUTO, _BEST, _FIFO = "#0072b2", "#009e73", "#d55e00"  # told apart by the colour-blind as well
_LOOPS = ("#7fb8d9", "#3a8fbf", "#0072b2")
_LOOPS_DIFFERENT = ("#f0b78f", "#e2874a", "#d55e00")
_TREES = {"": "paper's tree", "default": "default tree"}


def draw(report: Record, folder: Path) -> list[Path]:
    """Draw every figure of a report, one PNG each; return the files.

    Parameters
    ----------
    report : dict
        What `reproduce.batch.run` returned.
    folder : Path
        An existing directory.
    """
    files = []
    for name, series in report["figures"].items():
        number, _, tree = name.partition("-")
        figure, axes = blank(*_SIZE)
        about = _DRAWERS[number](axes, series)
        axes.set_title(f"Figure {number}, {_TREES[tree]}: {about}", fontsize=9, loc="left")
        files.append(save(figure, folder / f"figure-{name}.png"))
    return files


def _legend(axes: Axes, columns: int = 1) -> None:
    """Place the legend beside the lines, never on them."""
    axes.legend(fontsize=8, frameon=False, ncols=columns, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _shape(axes: Axes, series: Record) -> str:
    levels = series["levels"]
    for kind, colours, style in (("same", _LOOPS, "-"), ("different", _LOOPS_DIFFERENT, "--")):
        for colour, (loops, sums) in zip(colours, series[f"{kind}_ms"].items(), strict=False):
            axes.plot(
                levels, sums, style, color=colour, marker="o", ms=4, label=f"{kind} events, {loops} loops"
            )
    axes.set_yscale("log")
    axes.set_xticks(levels)
    axes.set_xlabel(f"Level (1 is the root, {series['height']} the leaves)")
    axes.set_ylabel("sum of mean responses, ms (log scale)")
    _legend(axes)
    return f"{series['events']} events, {series['subscriptions']:,} subscriptions"


def _level_axis(axes: Axes, height: int) -> None:
    axes.set_ylim(0.5, height + 0.5)
    axes.set_yticks(range(1, height + 1))
    axes.set_ylabel("best Level (1 is the root)")


def _best_by_size(axes: Axes, series: Record) -> str:
    millions = [size / 1e6 for size in series["subscriptions"]]
    for shift, (colour, (batch, row)) in enumerate(
        zip((_AUTO, _FIFO, _BEST), series["series"].items(), strict=False)
    ):
        _levels(axes, millions, row, colour, f"{batch} events", 0.006 * shift * millions[-1])
    axes.step(millions, series["height"], where="mid", color="#999999", ls=":", label="height of the tree")
    _level_axis(axes, max(series["height"]))
    axes.set_xlabel("subscriptions, millions")
    _legend(axes)
    return "best Level over index size; bars: as good within the noise"


def _levels(axes: Axes, x: list[float], row: Record, colour: str, label: str, shift: float = 0.0) -> None:
    """Draw best levels, and as a bar behind each the levels that cannot be told from it."""
    places = [place + shift for place in x]
    for place, tied in zip(places, row["tied_levels"], strict=True):
        axes.plot(
            [place, place], [min(tied), max(tied)], color=colour, lw=5, alpha=0.25, solid_capstyle="round"
        )
    axes.plot(places, row["best_level"], color=colour, marker="o", ms=5, label=label)


def _best_by_batch(axes: Axes, series: Record) -> str:
    _levels(axes, series["events"], series, _AUTO, "best Level")
    _batch_axis(axes, series["events"])
    _level_axis(axes, series["height"])
    _legend(axes)
    return f"best Level over batch size, {series['subscriptions']:,} subscriptions"


def _batch_axis(axes: Axes, events: list[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(events, [str(count) for count in events])
    axes.set_xlabel("events per batch")


def _response_by_size(axes: Axes, series: Record) -> str:
    millions = [size / 1e6 for size in series["subscriptions"]]
    for marker, (batch, row) in zip("os^", series["series"].items(), strict=False):
        axes.plot(
            millions,
            row["fifo_ms"],
            "--",
            color=_FIFO,
            marker=marker,
            label=f"no BatchSearch, {batch} events",
        )
        axes.plot(millions, row["best_ms"], color=_BEST, marker=marker, label=f"BatchSearch, {batch} events")
    axes.set_yscale("log")
    axes.set_xlabel("subscriptions, millions")
    axes.set_ylabel("mean response, ms (log scale)")
    _legend(axes)
    return "mean response over index size"


def _response_by_batch(axes: Axes, series: Record) -> str:
    axes.plot(series["events"], series["fifo_ms"], "--", color=_FIFO, marker="o", label="no BatchSearch")
    axes.plot(series["events"], series["best_ms"], color=_BEST, marker="o", label="BatchSearch, best Level")
    for x, y, saved in zip(series["events"], series["best_ms"], series["improvement_percent"], strict=True):
        axes.annotate(
            f"{-saved:+.0f} %", (x, y), (0, -13), textcoords="offset points", ha="center", fontsize=8
        )
    axes.set_yscale("log")
    axes.margins(y=0.12)
    _batch_axis(axes, series["events"])
    axes.set_ylabel("mean response, ms (log scale)")
    _legend(axes)
    return f"mean response over batch size, {series['subscriptions']:,} subscriptions"


def _sequence(axes: Axes, sequence: Record) -> None:
    """Draw three lines; each point is the mean of a block of batches that all three took."""
    axes.plot(
        sequence["batch"], sequence["fifo_ms"], "--s", ms=3, color=_FIFO, lw=1.2, label="no BatchSearch"
    )
    axes.plot(
        sequence["batch"], sequence["auto_ms"], "-o", ms=3, color=_AUTO, lw=1.8, label="self-adaptive Level"
    )
    axes.plot(
        sequence["batch"], sequence["best_ms"], ":^", ms=3, color=_BEST, lw=1.8, label="best fixed Level"
    )
    axes.set_ylim(bottom=0)
    axes.set_xlabel("batch, in the order of arrival (unstable status only)")
    axes.set_ylabel("mean response, ms")
    _legend(axes)


def _growth(axes: Axes, series: Record) -> str:
    sequence = series["sequence"]
    _sequence(axes, sequence)
    sizes = sequence["subscriptions"]
    top = axes.get_ylim()[1]
    for position, size in enumerate(sizes):
        if position == 0 or sizes[position - 1] != size:
            axes.axvline(sequence["batch"][position], color="#bbbbbb", lw=0.8, zorder=0)
            where = (sequence["batch"][position], top)
            axes.annotate(f"{size / 1e6:g}M ", where, fontsize=7, va="top", color="#666666", rotation=90)
    return f"{series['events']} events, subscriptions inserted at the grey lines"


def _piece(axes: Axes, series: Record) -> str:
    _sequence(axes, series["sequence"])
    return f"{series['events']} events, {series['subscriptions']:,} subscriptions"


_DRAWERS: dict[str, Callable[[Axes, Record], str]] = {
    "5a": _shape,
    "5b": _shape,
    "7a": _best_by_size,
    "7b": _best_by_batch,
    "7c": _response_by_size,
    "7d": _response_by_batch,
    "7e": _growth,
    "7f": _growth,
    "8": _piece,
}


def draw_docs(results: Path, folder: Path) -> list[Path]:
    """Draw the pictures of `docs/batches.md`: response over Level, and SJF against first-come per workload.

    Parameters
    ----------
    results : Path
        Where `reproduce-batch/batch.json` and `sjf.json` lie, the records of full runs.
    folder : Path
        An existing directory for `batches-level.png` and `batches-workloads.png`.
    """
    report = json.loads((results / "reproduce-batch" / "batch.json").read_text())
    workloads = json.loads((results / "sjf.json").read_text())
    figure, axes = blank(*_SIZE)
    _over_level(axes, report["points"]["paper"])
    level = save(figure, folder / "batches-level.png")
    figure, axes = blank(*_SIZE)
    _over_workloads(axes, workloads["results"])
    return [level, save(figure, folder / "batches-workloads.png")]


def _over_level(axes: Axes, points: list[Record]) -> None:
    """Draw the U: response at each Level over first-come's, for the index that has most batch sizes."""
    sizes = [point["subscriptions"] for point in points]
    size = max(sizes, key=sizes.count)
    shown = [
        point for point in points if point["subscriptions"] == size and point["batch"] in (2, 8, 32, 128)
    ]
    for colour, point in zip((*_LOOPS, "#00416a"), shown, strict=False):
        ratios = [ratio["ratio"] for ratio in point["level_ratio"]]
        axes.plot(point["levels"], ratios, color=colour, marker="o", ms=4, label=f"{point['batch']} events")
    axes.axhline(1.0, color=_FIFO, ls="--", label="first-come order")
    axes.set_xticks(shown[0]["levels"])
    axes.set_xlabel(f"Level (1 is the root, {shown[0]['height']} the leaves)")
    axes.set_ylabel("mean response, first-come order = 1")
    axes.set_ylim(bottom=0)
    axes.set_title(f"Paper's tree, {size:,} subscriptions", fontsize=10, loc="left")
    _legend(axes)


def _over_workloads(axes: Axes, results: list[Record]) -> None:
    """Draw the mean response at the largest batch over first-come's, and that of the ideal order."""
    names = [result["workload"] for result in results]
    rows = [max(result["batches"], key=lambda row: int(row["batch"])) for result in results]
    places = range(len(names))
    ratios = [row["response"]["ratio"] for row in rows]
    axes.bar(places, ratios, 0.55, color=_AUTO, label="shortest job first")
    for place, row in zip(places, rows, strict=True):
        ideal = row["ideal_response"]["ratio"]
        label = "ideal order" if place == 0 else None
        axes.plot([place - 0.3, place + 0.3], [ideal, ideal], color=_BEST, lw=2.5, label=label)
        axes.annotate(f"{ratios[place]:.2f}", (place, 0.03), ha="center", fontsize=8, color="white")
    axes.axhline(1.0, color=_FIFO, ls="--", label="first-come order")
    axes.set_xticks(list(places), names)
    axes.set_xlabel("workload")
    axes.set_ylabel("mean response, first-come order = 1")
    axes.set_title(f"Default index, batches of {rows[0]['batch']} events", fontsize=10, loc="left")
    _legend(axes)


if __name__ == "__main__":
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    draw_docs(root / "bench" / "results", root / "docs")
