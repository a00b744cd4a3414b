"""Draws the overlay paper's figures 8 to 13 from a report, and what goes beyond them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pubmatch_bench.record import Record
from pubmatch_bench.reproduce.picture import blank, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw"]

_SIZE = (8.0, 4.2)
_OURS, _DSM, _THIRD = "#0072b2", "#d55e00", "#009e73"


def draw(report: Record, folder: Path) -> list[Path]:
    """Draw everything, one PNG each; return the files.

    Parameters
    ----------
    report : dict
        What `reproduce.overlay.run` returned.
    folder : Path
        An existing directory.
    """
    limit = report["parameters"]["threshold"]
    files = [
        _one(folder / f"figure-{number}.png", _title(number, row), functools.partial(_pair, row, limit))
        for number, row in report["figures"].items()
    ]
    rate = report["figures"]["10"]["setting"]["pub_rate"]
    files += [
        _one(folder / "policies.png", f"Policies, pub_rate {rate:g}", functools.partial(_policies, report)),
        _one(
            folder / "thresholds.png",
            f"Low thresholds, pub_rate {rate:g}",
            functools.partial(_thresholds, report),
        ),
        _one(folder / "hops.png", "Lookups in the core network", functools.partial(_hops, report["hops"])),
    ]
    return files


def _one(file: Path, title: str, paint: Callable[[Axes], None]) -> Path:
    figure, axes = blank(*_SIZE)
    paint(axes)
    axes.set_title(title, fontsize=9, loc="left")
    return save(figure, file)


def _title(number: str, row: Record) -> str:
    setting = row["setting"]
    balancing = "with" if setting["balance"] else "without"
    calculates = ", DSM-Pub/Sub with calculation" if row["dsm"]["calculates"] else ""
    rates = f"pub_rate {setting['pub_rate']:g}, rate_fil {setting['rate_fil']:g}"
    return f"Figure {number}: {balancing} load balancing, {rates}{calculates}"


def _rising(axes: Axes, loads: list[float], colour: str, label: str) -> None:
    """Draw how many nodes carry at most how much, as the paper does: the busy ones on the right."""
    ranked = sorted(loads)
    axes.plot(ranked, range(1, len(ranked) + 1), color=colour, drawstyle="steps-post", label=label)
    axes.plot(ranked[-1:], [len(ranked)], "o", color=colour, ms=5)


def _axes(axes: Axes) -> None:
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("messages per second of a node, in and out")
    axes.set_ylabel("nodes with at most as many")
    axes.legend(fontsize=8, frameon=False, loc="lower right")


def _pair(row: Record, limit: float, axes: Axes) -> None:
    _rising(axes, row["ours"]["loads"], _OURS, f"two-tier overlay, peak {row['ours']['peak']:,.4g}")
    dsm = row["dsm"]
    label = f"DSM-Pub/Sub, root {dsm['root_peak']:,.4g}, edge {dsm['edge_peak']:,.4g}"
    _rising(axes, dsm["loads"], _DSM, label)
    if row["setting"]["balance"]:
        axes.axvline(limit, color="#555555", lw=1, ls=":")
    _axes(axes)


def _policies(report: Record, axes: Axes) -> None:
    for colour, (name, row) in zip((_OURS, _DSM, _THIRD), report["policies"].items(), strict=True):
        wait = 1000 * row["latency"]["wait_s"]
        cost = f"{row['moves']} moves, {row['probes']:,} probes, wait {wait:.0f} ms"
        _rising(axes, row["loads"], colour, f"{name}: peak {row['peak']:.4g}, {cost}")
    for kind, bound in report["lower_bound"].items():
        axes.axvline(bound, color="#555555", lw=1, ls="--" if kind == "local" else ":")
        axes.annotate(
            f"bound, {kind}", (bound, 0), (2, 4), textcoords="offset points", fontsize=7, rotation=90
        )
    _axes(axes)


def _thresholds(report: Record, axes: Axes) -> None:
    for colour, (value, row) in zip((_OURS, _DSM), report["thresholds"].items(), strict=True):
        _rising(axes, row["loads"], colour, f"threshold {value}: {len(row['unrelieved'])} nodes unrelieved")
        axes.axvline(float(value), color=colour, lw=1, ls=":")
    _axes(axes)


def _hops(rows: list[Record], axes: Axes) -> None:
    sizes = [row["nodes"] for row in rows]
    axes.fill_between(
        sizes,
        [0.7 * row["log4"] for row in rows],
        [0.9 * row["log4"] for row in rows],
        color="#dddddd",
        label="0.70 to 0.90 log4(N)",
    )
    for colour, spread in ((_OURS, "even"), (_DSM, "random")):
        axes.plot(
            sizes,
            [row[spread]["mean"] for row in rows],
            "o-",
            ms=4,
            color=colour,
            label=f"mean, {spread} ids",
        )
        axes.plot(
            sizes,
            [row[spread]["max"] for row in rows],
            "^:",
            ms=4,
            color=colour,
            label=f"longest, {spread} ids",
        )
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("nodes")
    axes.set_ylabel("hops")
    axes.legend(fontsize=8, frameon=False)
