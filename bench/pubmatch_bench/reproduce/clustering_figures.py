"""Draws the clustering thesis' figures from a report, and the picture of `docs/clustering.md`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pubmatch_bench.record import Record
from pubmatch_bench.reproduce import clustering_plan as scenarios
from pubmatch_bench.reproduce.picture import blank, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = (8.0, 4.2)
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#8c564b", "#7f7f00")
_NAMES = {
    "clusters": "clusters",
    "connections": "connections per publisher",
    "false_positives": "expected false positives, %",
    "sizes": "combinations of a cluster",
    "rates": "false positives of a cluster, %",
    "join_us": "microseconds per join",
}
_LOGARITHMIC = {"5.2": 2, "5.4": 2, "join-cost": 10}


def draw(report: Record, folder: Path) -> list[Path]:
    """Draw every figure of a report, one PNG each; return the files.

    Parameters
    ----------
    report : dict
        What `reproduce.clustering.run` returned.
    folder : Path
        An existing directory.
    """
    files = []
    for number, content in report["figures"].items():
        figure, axes = blank(*_SIZE)
        if number == "shards":
            _shards(axes, content)
        elif content["quantity"] in ("sizes", "rates"):
            _bars(axes, content)
        else:
            _lines(axes, content)
        if number in _LOGARITHMIC:
            axes.set_yscale("log", base=_LOGARITHMIC[number])
        axes.set_title(f"Figure {number}" if number[0] == "5" else number, fontsize=9, loc="left")
        files.append(save(figure, folder / f"figure-{number}.png"))
    return files


def _legend(axes: Axes) -> None:
    axes.legend(fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)


def _lines(axes: Axes, content: Record) -> None:
    """Draw means over seeds; a band of one standard deviation where there is one."""
    quantity = content["quantity"]
    factor = 100 if quantity == "false_positives" else 1
    for colour, (label, row) in zip(_COLOURS, content["series"].items(), strict=False):
        mean = [factor * value for value in row["mean"]]
        axes.plot(row["publishers"], mean, color=colour, marker="o", ms=3, label=label)
        if "sd" in row:
            low = [middle - factor * sd for middle, sd in zip(mean, row["sd"], strict=True)]
            high = [middle + factor * sd for middle, sd in zip(mean, row["sd"], strict=True)]
            axes.fill_between(row["publishers"], low, high, color=colour, alpha=0.15, lw=0)
    axes.set_xlabel("publishers")
    axes.set_ylabel(_NAMES[quantity])
    if quantity == "join_us":
        axes.set_xscale("log")
    _legend(axes)


def _bars(axes: Axes, content: Record) -> None:
    """Draw how many clusters have which size or rate, on average over the runs."""
    quantity, count = content["quantity"], len(content["series"])
    width = (1.0 if quantity == "sizes" else 5.0) * 0.8 / count
    for place, (colour, (label, row)) in enumerate(zip(_COLOURS, content["series"].items(), strict=False)):
        base = row["at"] if quantity == "sizes" else [100 * at + 2.5 for at in row["at"]]
        shift = width * (place - (count - 1) / 2)
        axes.bar([at + shift for at in base], row["clusters"], width, color=colour, label=label)
        if "sd" in row:
            axes.axvline(100 * row["mean"], color=colour, lw=1.2)
            axes.axvline(100 * (row["mean"] + row["sd"]), color=colour, lw=1, ls=":")
    axes.set_xlabel(_NAMES[quantity])
    axes.set_ylabel("clusters")
    _legend(axes)


def _shards(axes: Axes, content: Record) -> None:
    names = list(content["plans"])
    wasted = [content["plans"][name]["wasted"] for name in names]
    axes.bar(range(len(names)), wasted, 0.6, color=[_COLOURS[1], *[_COLOURS[0]] * (len(names) - 1)])
    for place, name in enumerate(names):
        row = content["plans"][name]
        text = f"fan-out {row['fan_out']:.1f}\nbalance {row['balance']:.2f}"
        axes.annotate(
            text, (place, 0), (0, 6), textcoords="offset points", ha="center", fontsize=7, color="white"
        )
    axes.set_xticks(range(len(names)), [name.replace(", ", ",\n") for name in names], fontsize=8)
    axes.set_ylabel("wasted deliveries per event")


def draw_docs(report: Record, folder: Path) -> Path:
    """Draw the picture of the docs page: connections against false positives, a point for each strategy.

    Parameters
    ----------
    report : dict
        A report of `reproduce clustering`.
    folder : Path
        The directory of the docs.
    """
    figure, axes = blank(*_SIZE)
    connections, rates = report["tradeoff"]["connections"], report["tradeoff"]["false_positives"]
    for colour, name in zip(_COLOURS, connections, strict=False):
        axes.plot(connections[name], 100 * rates[name], "o", ms=9, color=colour, label=name)
    axes.set_ylim(-4, 100)
    axes.margins(x=0.1)
    axes.set_xlabel("connections per publisher, mean")
    axes.set_ylabel("expected false positives, %")
    _legend(axes)
    about = f"{scenarios.STRATEGY_31[0].crowd()} (strategies 1 and 2: no limits)"
    axes.set_title(f"{report['parameters']['publishers']:,} publishers, {about}", fontsize=9, loc="left")
    return save(figure, folder / "clustering-strategies.png")


if __name__ == "__main__":
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    recorded = root / "bench" / "results" / "reproduce-clustering" / "clustering.json"
    draw_docs(json.loads(recorded.read_text(encoding="utf-8")), root / "docs")
