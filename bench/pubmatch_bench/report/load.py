"""The section on load: messages per second and node in the overlay, beside DSM-Pub/Sub."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pubmatch_bench.record import Record
from pubmatch_bench.report.drawing import COLOURS, INK, Plot, draw, log_ticks
from pubmatch_bench.report.section import Section, starting

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pubmatch_bench.report.records import Records

__all__ = ["section"]

_FIGURES = ("8", "9", "10", "11", "12", "13")


def section(records: Records) -> Section:
    """Make the section from the record of `reproduce overlay`."""
    record = records.found["overlay"]
    plots = [_distribution(record, number) for number in _FIGURES if number in record["figures"]]
    plots += [_thresholds(record), _policies(record), _lookups(record)]
    about = (
        "Messages in and out per second of every node, the busiest first. Ours is the two-tier overlay; "
        "DSM-Pub/Sub is the paper's comparison."
    )
    return Section("load", "Load distributions in the overlay", about, plots, record)


def _distribution(record: Record, number: str) -> Plot:
    figure = record["figures"][number]

    def paint(axes: Axes) -> None:
        for colour, key, name in ((COLOURS[0], "ours", "ours"), (COLOURS[1], "dsm", "DSM-Pub/Sub")):
            _ranked(axes, figure[key]["loads"], colour, f"{name}, peak {figure[key]['peak']:,.0f}")
        axes.set_ylim(bottom=0)

    return draw(f"Load of the nodes, figure {number}", paint, starting(record, f"fig{number}-"))


def _ranked(axes: Axes, loads: list[float], colour: str, label: str) -> None:
    """Draw loads in falling order, so that two networks can be compared at a glance."""
    ranked = sorted(loads, reverse=True)
    axes.step([*range(1, len(ranked) + 1)], ranked, where="mid", color=colour, label=label)
    axes.set_xlabel("nodes, the busiest first")
    axes.set_ylabel("messages per second")


def _thresholds(record: Record) -> Plot:
    def paint(axes: Axes) -> None:
        for colour, (threshold, row) in zip(COLOURS, record["thresholds"].items(), strict=False):
            stays = f", {_count(row['unrelieved'])} nodes stay above it" if _count(row["unrelieved"]) else ""
            _ranked(axes, row["loads"], colour, f"threshold {threshold}{stays}")
            axes.axhline(float(threshold), color=colour, ls="--", lw=1)
        axes.set_ylim(bottom=0)

    return draw("Load with low thresholds", paint, starting(record, "threshold-"))


def _count(value: object) -> int:
    return len(value) if isinstance(value, list | dict) else int(str(value))


def _policies(record: Record) -> Plot:
    policies = record["policies"]

    def paint(axes: Axes) -> None:
        places = range(len(policies))
        axes.bar(
            places, [row["peak"] for row in policies.values()], 0.55, color=COLOURS[0], label="peak load"
        )
        for place, row in zip(places, policies.values(), strict=True):
            text = f"{row['moves']:,} moves\n{row['probes']:,} probes"
            axes.annotate(
                text, (place, row["peak"]), (0, 3), textcoords="offset points", ha="center", fontsize=10
            )
        for bound in record["lower_bound"].values():
            axes.axhline(bound, color=INK, ls=":", lw=1)
        axes.margins(y=0.2)
        axes.set_xticks(list(places), list(policies))
        axes.set_ylabel("messages per second")

    bounds = ", ".join(f"{name} {bound:,.0f}" for name, bound in record["lower_bound"].items())
    return draw(
        f"Policies against overload; dotted: lower bounds ({bounds})",
        paint,
        starting(record, *(f"{name}-" for name in policies), "lower-bound"),
    )


def _lookups(record: Record) -> Plot:
    def paint(axes: Axes) -> None:
        sizes = [row["nodes"] for row in record["hops"]]
        for colour, spread in zip(COLOURS, ("even", "random"), strict=False):
            mean = [row[spread]["mean"] for row in record["hops"]]
            most = [row[spread]["max"] for row in record["hops"]]
            axes.plot(sizes, mean, "o-", color=colour, label=f"mean, {spread} ids")
            axes.plot(sizes, most, "^:", color=colour, label=f"longest, {spread} ids")
        axes.set_xscale("log")
        log_ticks(axes.xaxis, min(sizes), max(sizes), "{:,g}")
        axes.set_xlim(0.7 * min(sizes), 1.4 * max(sizes))
        axes.set_ylim(bottom=0)
        axes.set_xlabel("nodes of the core network")
        axes.set_ylabel("hops of a lookup")

    return draw("Lookups in the core network", paint, starting(record, "lookup-"))
