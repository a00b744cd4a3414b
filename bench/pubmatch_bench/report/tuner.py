"""The section on the tuner: its mean responses beside those of first-come order and the best fixed Level."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pubmatch_bench.record import Record
from pubmatch_bench.report.drawing import COLOURS, FAINT, draw
from pubmatch_bench.report.section import Section, chosen
from pubmatch_bench.tables import tuner_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pubmatch_bench.report.records import Records

__all__ = ["section"]

_LINES = (
    ("fifo_ms", "--", COLOURS[1], "first-come order"),
    ("auto_ms", "-", COLOURS[0], "self-adaptive Level"),
    ("best_ms", ":", COLOURS[2], "best fixed Level"),
)


def section(records: Records) -> Section:
    """Make the section from the records of `reproduce batch` and, if there, `bench tuner`."""
    record = records.found["batch"]
    figures = record["figures"]
    plots = [
        draw(
            f"Tuner trace as the index grows, {figures[name]['events']} events",
            partial(_growth, sequence=figures[name]["sequence"]),
            chosen(
                record,
                *(
                    f"{claim}-{figures[name]['events']}"
                    for claim in ("tuner", "tuner-unstable", "tuner-fifo")
                ),
            ),
        )
        for name in ("7e", "7f")
    ]
    piece = figures["8"]
    plots.append(
        draw(
            f"Tuner trace at {piece['subscriptions']:,} subscriptions, {piece['events']} events",
            partial(_trace, sequence=piece["sequence"]),
            chosen(record, "piece"),
        )
    )
    about = (
        "While the tuner looks for the Level (unstable status), every batch is matched three ways; a point "
        "is the mean of a block of batches. The paper's tree; grey lines: subscriptions were inserted."
    )
    tables = tuner_table(records.found["tuner"])[1:] if "tuner" in records.found else []
    return Section("tuner", "Tuner: trace of the self-adaptive Level", about, plots, record, tables)


def _trace(axes: Axes, sequence: Record) -> None:
    for key, style, colour, label in _LINES:
        axes.plot(sequence["batch"], sequence[key], style, color=colour, label=label)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("batch, in the order of arrival")
    axes.set_ylabel("mean response, ms")


def _growth(axes: Axes, sequence: Record) -> None:
    _trace(axes, sequence)
    sizes = sequence["subscriptions"]
    top = axes.get_ylim()[1]
    for place, size in enumerate(sizes):
        if place == 0 or sizes[place - 1] != size:
            axes.axvline(sequence["batch"][place], color=FAINT, lw=1.2, zorder=0)
            axes.annotate(
                f"{size / 1e6:g}M ", (sequence["batch"][place], top), fontsize=10, va="top", rotation=90
            )
