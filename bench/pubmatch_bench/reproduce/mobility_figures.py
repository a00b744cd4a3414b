"""Draws the mobility paper's figures from a report, and the picture of `docs/mobility.md`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pubmatch_bench.record import Record
from pubmatch_bench.reproduce.mobility_plan import ALL
from pubmatch_bench.reproduce.picture import blank, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = (8.0, 4.2)
_COLOURS = dict(zip(ALL, ("#d55e00", "#e69f00", "#009e73", "#0072b2", "#56b4e9", "#cc79a7"), strict=True))
_NAMES = {
    "publishers": "publishers",
    "probe": "probe after connecting (one every 0.2 s)",
    "delay_s": "seconds from publication to delivery",
    "speed_kmh": "speed, km/h",
    "locality": "share of publishers that publish the same",
    "overshoot": "δ: cells beyond the five proxies",
    "subscribers": "subscribers",
    "message_bytes": "bytes of a message",
    "cost_per_s": "messages per second between brokers",
    "cost": "hops per move",
    "delivered": "share of deliveries",
    "share": "share of deliveries",
    "delay_mean_s": "mean delay, s",
    "delay_median_s": "median delay, s",
    "rows": "table rows per broker",
}
_TITLES = {
    "4": "Figure 4: cost of rebuilding trees",
    "5": "Figure 5: probes delivered",
    "6": "Figure 6: delays",
    "7": "Figure 7: deliveries over speed",
    "8": "Figure 8: delay over speed",
    "9": "Figure 9: cost over publication locality",
    "10": "Figure 10: delay over publication locality",
}
_LOGARITHMIC = {"4", "6", "9", "subscribers"}


def draw(report: Record, folder: Path) -> list[Path]:
    """Draw every figure of a report, one PNG each; return the files.

    Parameters
    ----------
    report : dict
        What `reproduce.mobility.run` returned.
    folder : Path
        An existing directory.
    """
    files = []
    for name, content in report["figures"].items():
        figure, axes = blank(*_SIZE)
        if len(next(iter(content["series"].values()))[content["x"]]) == 1:
            _bars(axes, content)
        else:
            _lines(axes, content)
        if name in _LOGARITHMIC:
            (axes.set_xscale if name == "6" else axes.set_yscale)("log")
        axes.set_title(_TITLES.get(name, name), fontsize=9, loc="left")
        files.append(save(figure, folder / f"figure-{name.replace(' ', '-')}.png"))
    return files


def _lines(axes: Axes, content: Record) -> None:
    for algorithm, row in content["series"].items():
        style = "--" if "+" in algorithm else "-"
        axes.plot(
            row[content["x"]],
            row[content["y"]],
            style,
            color=_COLOURS[algorithm],
            marker="o",
            ms=3,
            label=algorithm,
        )
    axes.set_xlabel(_NAMES[content["x"]])
    axes.set_ylabel(_NAMES[content["y"]])
    axes.legend(fontsize=8, frameon=False)


def _bars(axes: Axes, content: Record) -> None:
    names = list(content["series"])
    values = [content["series"][name][content["y"]][0] for name in names]
    bars = axes.bar(names, values, 0.6, color=[_COLOURS[name] for name in names])
    axes.bar_label(bars, [f"{value:.1f}" for value in values], fontsize=8)
    axes.tick_params(axis="x", labelsize=8)
    axes.set_ylabel(_NAMES[content["y"]])


def draw_docs(report: Record, folder: Path) -> Path:
    """Draw the picture of the docs page: cost against what the first publication after a move loses.

    Parameters
    ----------
    report : dict
        A report of `reproduce mobility`.
    folder : Path
        The directory of the docs.
    """
    figure, axes = blank(*_SIZE)
    crowd = report["parameters"]["crowd"]
    for algorithm, row in report["figures"]["4"]["series"].items():
        cost = row["cost"][row["publishers"].index(crowd)]
        lost = 100 * (1 - report["figures"]["5"]["series"][algorithm]["delivered"][0])
        axes.plot(cost, lost, "o", ms=10, color=_COLOURS[algorithm], label=algorithm)
        text = f"{algorithm}\n{cost:.1f} hops, {lost:.1f} % lost"
        axes.annotate(text, (cost, lost), *_OFFSETS[algorithm], textcoords="offset points", fontsize=8)
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=0.1)
    axes.set_xlim(4, 700)
    axes.set_ylim(-0.04, 200)
    axes.set_yticks([0, 0.1, 1, 10, 100], ["0", "0.1", "1", "10", "100"])
    axes.set_xticks([5, 10, 20, 50, 100, 200, 500], ["5", "10", "20", "50", "100", "200", "500"])
    axes.set_xlabel("hops per move (messages between brokers, no publications)")
    axes.set_ylabel("first publication after a move: % of deliveries lost")
    axes.set_title(f"{crowd} publishers at 50 km/h, 500 subscribers, 85 brokers", fontsize=9, loc="left")
    return save(figure, folder / "mobility-algorithms.png")


_OFFSETS: dict[str, tuple[tuple[float, float]]] = {
    "standard": ((10, -4),),
    "prefetching": ((10, -4),),
    "proxy": ((10, -4),),
    "delayed": ((-38, 12),),
    "prefetching+delayed": ((-60, 12),),
    "delayed+ack": ((12, 6),),
}


if __name__ == "__main__":
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    recorded = root / "bench" / "results" / "reproduce-mobility" / "mobility.json"
    draw_docs(json.loads(recorded.read_text(encoding="utf-8")), root / "docs")
