"""Plots as SVG inside the page: text stays text, colours are the page's and follow light and dark."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COLOURS", "FAINT", "INK", "Plot", "draw", "log_ticks"]

INK, FAINT = "#101112", "#c0c1c2"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b07d00", "#2f9fd0", "#6a5acd", "#8c564b")
"""Stand-ins while drawing; in the SVG each becomes a variable of the page's style."""

_STYLE = {INK: "currentColor", FAINT: "var(--faint)"} | {
    colour: f"var(--c{number})" for number, colour in enumerate(COLOURS, 1)
}
# Units are those of the phone's screen: at 350 pixels wide a plot shows its text as large as it is here.
_WIDTH, _HEIGHT, _FONT = 350, 250, 11.5
_SETTINGS: dict[Any, Any] = {
    "font.size": _FONT,
    "axes.labelsize": _FONT,
    "xtick.labelsize": _FONT - 1,
    "ytick.labelsize": _FONT - 1,
    "svg.fonttype": "none",
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.edgecolor": INK,
    "lines.linewidth": 1.8,
    "lines.markersize": 4,
}


@dataclass(frozen=True)
class Plot:
    """A picture with the claims it bears out or refutes.

    Attributes
    ----------
    title : str
        What it shows.
    svg, legend : str
        HTML.
    claims : sequence of dict
        As in the records: `claim`, `expected`, `measured`, `holds`, `why`.
    """

    title: str
    svg: str
    legend: str
    claims: Sequence[Mapping[str, Any]]


def draw(
    title: str,
    paint: Callable[[Axes], None],
    claims: Sequence[Mapping[str, Any]],
    *,
    height: int = _HEIGHT,
) -> Plot:
    """Paint a plot; lines and bars with a label enter the legend below it.

    Parameters
    ----------
    title : str
        What the plot shows.
    paint : callable
        Takes empty axes; uses `COLOURS`, `INK` and `FAINT` only.
    claims : sequence of dict
        What the plot is evidence for.
    height : int
        In the units of `_WIDTH`.
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({**_SETTINGS, "svg.hashsalt": title}):
        figure = Figure(figsize=(_WIDTH / 72, height / 72), layout="constrained")
        axes = figure.add_subplot()
        axes.grid(True, color=FAINT, linewidth=0.5)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        paint(axes)
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        legend = _legend(axes)
    return Plot(title, _inline(file.getvalue(), title), legend, claims)


def _inline(svg: str, title: str) -> str:
    """Return what a page needs of an SVG file: no head, names of its own, the page's colours and letters."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"| version="[^"]*"| width="[^"]*pt"| height="[^"]*pt"', "", svg)
    svg = svg.replace("xlink:href", "href")
    svg = re.sub(r"font: ([^;\"]*?)([\d.]+)px [^;\"]*", r"font: \1\2px system-ui, sans-serif", svg)
    own = re.sub(r"\W+", "-", title.lower()).strip("-")
    svg = re.sub(r'(id="|href="#|url\(#)', rf"\1{own}--", svg)
    for stand_in, colour in _STYLE.items():
        svg = svg.replace(stand_in, colour)
    return svg.replace("<svg", f'<svg role="img" aria-label="{html.escape(title)}"', 1).strip()


def _legend(axes: Axes) -> str:
    """Return the labels with their colours as a list that wraps on a narrow screen."""
    entries = []
    for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
        colour, shape = _look(handle)
        sample = f'<i class="{shape}" style="color:{_STYLE.get(colour, "currentColor")}"></i>'
        entries.append(f"<li>{sample}{html.escape(label)}</li>")
    return f'<ul class="legend">{"".join(entries)}</ul>' if entries else ""


def _look(handle: Any) -> tuple[str, str]:
    """Colour and shape of a label's sample: a line, a dashed line, a dot or an area."""
    from matplotlib.colors import to_hex
    from matplotlib.lines import Line2D

    if not isinstance(handle, Line2D):
        patch = handle[0] if isinstance(handle, tuple) else handle
        return to_hex(patch.get_facecolor()), "area"
    style = handle.get_linestyle()
    shape = "dot" if style in ("None", "") else "line" if style == "-" else "dashed"
    return to_hex(handle.get_color()), shape


def log_ticks(axis: Any, low: float, high: float, text: str = "{:g}") -> None:
    """Set ticks at the powers of ten between two values, written in full; at 1, 2, 5 if they lie close.

    Parameters
    ----------
    axis : matplotlib axis
        One with a logarithmic scale.
    low, high : float
        The smallest and the largest value shown.
    text : str
        A format of the tick's value.
    """
    steps = (1, 2, 5) if high < 100 * low else (1,)
    places = [step * 10.0**power for power in range(-9, 10) for step in steps]
    shown = [place for place in places if low / 10 <= place <= high * 10]
    axis.set_ticks(shown, [text.format(place) for place in shown])
    axis.set_ticks([], minor=True)
