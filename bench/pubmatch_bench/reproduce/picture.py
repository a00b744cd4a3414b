"""An empty picture and its file, alike for the figures of all papers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["blank", "save"]


def blank(width: float, height: float) -> tuple[Figure, Axes]:
    """Return an empty picture, made without `pyplot`: nothing global, no window, nothing to close."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def save(figure: Figure, file: Path) -> Path:
    """Write a picture that tells nothing of the program that made it; return the file."""
    figure.savefig(file, dpi=130, metadata={"Software": None})
    return file
