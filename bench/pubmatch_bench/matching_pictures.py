"""Draws the pictures of `docs/matching.md`: the tree, a block of bitmaps, and the order that a Level gives.

The pictures are small worked examples; what they show is calculated here, not drawn by hand.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubmatch_bench.reproduce.picture import save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_docs"]

Floats = npt.NDArray[np.float64]

_MET, _PLAIN, _GROUPS, _EVENT = "#0072b2", "#b9bdc4", "#d55e00", "#009e73"
_BOXES, _SEED = 24, 5
_BUCKETS = 8


@dataclass
class _Node:
    """A node of the example's tree: its envelope, and its children or the boxes of a leaf."""

    lower: Floats
    upper: Floats
    children: list[_Node]
    boxes: list[int]

    def meets(self, point: Floats) -> bool:
        return bool(np.all(self.lower <= point) and np.all(point <= self.upper))


def draw_docs(folder: Path) -> list[Path]:
    """Draw all pictures of the page; return the files.

    Parameters
    ----------
    folder : Path
        The directory of the docs.
    """
    lower, upper = _example_boxes()
    tree = _tree(lower, upper)
    point = np.array([0.50, 0.50])
    return [
        save(_tree_picture(tree, lower, upper, point), folder / "matching-tree.png"),
        save(_block_picture(*_wide_boxes(), np.array([0.60, 0.42])), folder / "matching-block.png"),
        save(_level_picture(tree), folder / "matching-level.png"),
    ]


def _canvas(width: float, height: float, columns: int, widths: list[float]) -> tuple[Figure, list[Axes]]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, columns, width_ratios=widths, squeeze=False)[0]
    return figure, list(axes)


# The tree


def _example_boxes() -> tuple[Floats, Floats]:
    rng = np.random.default_rng(_SEED)
    centre = rng.random((_BOXES, 2)) * 0.84 + 0.08
    half = rng.random((_BOXES, 2)) * 0.09 + 0.02
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)


def _tree(lower: Floats, upper: Floats) -> _Node:
    """Divide the boxes in half by their centres, along x and y in turn: three levels, leaves of six boxes."""

    def build(boxes: list[int], axis: int, depth: int) -> _Node:
        envelope = (lower[boxes].min(axis=0), upper[boxes].max(axis=0))
        if depth == 2:
            return _Node(*envelope, [], boxes)
        ordered = sorted(boxes, key=lambda box: float(lower[box, axis] + upper[box, axis]))
        halves = (ordered[: len(boxes) // 2], ordered[len(boxes) // 2 :])
        return _Node(*envelope, [build(half, 1 - axis, depth + 1) for half in halves], [])

    return build(list(range(_BOXES)), 0, 0)


def _levels(tree: _Node) -> list[list[_Node]]:
    levels = [[tree]]
    while levels[-1][0].children:
        levels.append([child for node in levels[-1] for child in node.children])
    return levels


def _visited(tree: _Node, point: Floats) -> set[int]:
    """Identities of the nodes on the search paths of an event."""
    if not tree.meets(point):
        return set()
    return {id(tree)}.union(*(_visited(child, point) for child in tree.children))


def _tree_picture(tree: _Node, lower: Floats, upper: Floats, point: Floats) -> Figure:
    figure, (plane, graph) = _canvas(9.2, 4.1, 2, [1.0, 1.25])
    visited = _visited(tree, point)
    for box in range(_BOXES):
        met = bool(np.all(lower[box] <= point) and np.all(point <= upper[box]))
        _rectangle(
            plane, lower[box], upper[box], _MET if met else _PLAIN, fill=0.35 if met else 0.12, width=1
        )
    for leaf in _levels(tree)[-1]:
        reached = id(leaf) in visited
        _rectangle(
            plane, leaf.lower, leaf.upper, _GROUPS, fill=0, width=2 if reached else 0.9, dashed=not reached
        )
    plane.plot(*point, marker="*", ms=15, color=_EVENT, mec="white")
    plane.set(xlim=(0, 1), ylim=(0, 1), xlabel="attribute 1", ylabel="attribute 2", aspect="equal")
    plane.set_title("Subscriptions (boxes), leaves (orange), an event (star)", fontsize=9, loc="left")
    _graph(graph, tree, visited)
    graph.set_title("The same as a tree; blue: what the event visits", fontsize=9, loc="left")
    return figure


def _rectangle(
    axes: Axes, lower: Floats, upper: Floats, colour: str, *, fill: float, width: float, dashed: bool = False
) -> None:
    from matplotlib.patches import Rectangle

    size = upper - lower
    style = "--" if dashed else "-"
    axes.add_patch(
        Rectangle((lower[0], lower[1]), size[0], size[1], fill=False, ec=colour, lw=width, ls=style)
    )
    if fill:
        axes.add_patch(Rectangle((lower[0], lower[1]), size[0], size[1], fc=colour, alpha=fill, lw=0))


def _graph(axes: Axes, tree: _Node, visited: set[int]) -> dict[int, tuple[float, float]]:
    """Draw the nodes level by level; return where each lies."""
    levels = _levels(tree)
    places = {
        id(node): ((position + 0.5) / len(nodes), 1.0 - depth / len(levels))
        for depth, nodes in enumerate(levels)
        for position, node in enumerate(nodes)
    }
    for nodes in levels:
        for node in nodes:
            x, y = places[id(node)]
            for child in node.children:
                met = id(child) in visited
                axes.plot(
                    *zip((x, y), places[id(child)], strict=True),
                    color=_MET if met else _PLAIN,
                    lw=2 if met else 1,
                )
    for depth, nodes in enumerate(levels):
        for node in nodes:
            x, y = places[id(node)]
            text = "root" if depth == 0 else f"{len(node.boxes)} boxes" if node.boxes else "node"
            _label(axes, x, y, text, _MET if id(node) in visited else _PLAIN)
        axes.annotate(
            f"Level {depth + 1}", (-0.02, 1.0 - depth / len(levels)), ha="right", va="center", fontsize=9
        )
    axes.set(xlim=(-0.12, 1.02), ylim=(0.2, 1.12))
    axes.axis("off")
    return places


def _label(axes: Axes, x: float, y: float, text: str, colour: str) -> None:
    box = {"boxstyle": "round,pad=0.45", "fc": colour, "ec": "none"}
    axes.text(x, y, text, ha="center", va="center", fontsize=9, color="white", bbox=box)


# A block of bitmaps


def _wide_boxes() -> tuple[Floats, Floats]:
    """Twelve boxes, so wide that several meet any event's buckets."""
    rng = np.random.default_rng(_SEED)
    centre = rng.random((12, 2))
    half = rng.random((12, 2)) * 0.3 + 0.05
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)


def _block_picture(lower: Floats, upper: Floats, point: Floats) -> Figure:
    figure, (first, second, result) = _canvas(9.2, 3.9, 3, [1.0, 1.0, 0.42])
    bits, chosen = [], []
    for axis, axes in enumerate((first, second)):
        lines = _bit_lines(lower[:, axis], upper[:, axis])
        bucket = int(point[axis] * _BUCKETS)
        bits.append(lines[bucket])
        chosen.append(bucket)
        _bit_grid(axes, lines, bucket)
        axes.set_title(f"attribute {axis + 1}: the event falls in bucket {bucket}", fontsize=9, loc="left")
    survivors = bits[0] & bits[1]
    exact = np.all((lower <= point) & (point <= upper), axis=1)
    _outcome(result, bits, survivors, exact)
    return figure


def _bit_lines(lower: Floats, upper: Floats) -> npt.NDArray[np.bool_]:
    """One line per bucket: bit c says that box c may match a value of that bucket."""
    edges = np.linspace(0, 1, _BUCKETS + 1)
    return (lower[None, :] <= edges[1:, None]) & (upper[None, :] >= edges[:-1, None])


def _bit_grid(axes: Axes, lines: npt.NDArray[np.bool_], bucket: int) -> None:
    from matplotlib.patches import Rectangle

    count = lines.shape[1]
    for row, line in enumerate(lines):
        for column, bit in enumerate(line):
            colour = (_MET if bit else "white") if row == bucket else ("#dfe2e6" if bit else "white")
            ink = "white" if bit and row == bucket else "#777777"
            axes.add_patch(Rectangle((column, row), 1, 1, fc=colour, ec="#e5e7ea", lw=0.6))
            axes.text(column + 0.5, row + 0.5, str(int(bit)), ha="center", va="center", fontsize=7, color=ink)
    axes.add_patch(Rectangle((0, bucket), count, 1, fill=False, ec=_EVENT, lw=2.2))
    axes.set(xlim=(0, count), ylim=(0, _BUCKETS), xlabel="subscriptions of the block", ylabel="bucket")
    axes.set_xticks([])
    axes.set_yticks([row + 0.5 for row in range(_BUCKETS)], [str(row) for row in range(_BUCKETS)])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _outcome(
    axes: Axes, bits: list[Any], survivors: npt.NDArray[np.bool_], exact: npt.NDArray[np.bool_]
) -> None:
    """Draw the two lines, their AND, and what is left after the stored bounds were looked at."""
    from matplotlib.patches import Rectangle

    columns = ("line 1", "line 2", "AND", "exact")
    rows = len(survivors)
    for column, (name, line) in enumerate(zip(columns, (*bits, survivors, exact), strict=True)):
        colour = _EVENT if name == "exact" else _MET
        for row, bit in enumerate(line):
            asked = name != "exact" or survivors[row]
            axes.add_patch(
                Rectangle((column, row), 1, 1, fc=colour if bit else "white", ec="#e5e7ea", lw=0.6)
            )
            ink = "white" if bit else "#777777"
            axes.text(
                column + 0.5,
                row + 0.5,
                str(int(bit)) if asked else "·",
                ha="center",
                va="center",
                fontsize=7,
                color=ink,
            )
    axes.set(xlim=(0, len(columns)), ylim=(rows, 0))
    axes.set_xticks([column + 0.5 for column in range(len(columns))], columns, fontsize=8)
    axes.xaxis.tick_top()
    axes.set_yticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("one row for each\nsubscription", fontsize=8)


# The order that a Level gives


def _level_picture(tree: _Node) -> Figure:
    """Draw three events: their search paths, counted at the leaves, and two orders on a line of time."""
    figure, (graph, line) = _canvas(9.2, 3.9, 2, [1.0, 1.25])
    events = {"a": np.array([0.505, 0.50]), "b": np.array([0.50, 0.15]), "c": np.array([0.25, 0.80])}
    levels = _levels(tree)
    paths = {name: sum(node.meets(point) for node in levels[-1]) for name, point in events.items()}
    places = _graph(graph, tree, set())
    colours = dict(zip(events, (_MET, _GROUPS, _EVENT), strict=True))
    for depth, nodes in enumerate(levels):
        for node in nodes:
            x, y = places[id(node)]
            stopping = [name for name, point in events.items() if node.meets(point)]
            for position, name in enumerate(stopping if depth else []):
                graph.text(
                    x - 0.05 + 0.05 * position,
                    y - 0.11,
                    name,
                    color=colours[name],
                    fontsize=12,
                    weight="bold",
                )
    told = ", ".join(f"{name}: {count}" for name, count in paths.items())
    graph.set_title(f"Search paths at Level {len(levels)}: {told}", fontsize=9, loc="left")
    _timelines(line, paths, colours)
    return figure


def _timelines(axes: Axes, work: dict[str, int], colours: dict[str, str]) -> None:
    orders = {"as given": list(work), "shortest job first": sorted(work, key=lambda name: work[name])}
    for row, (title, order) in enumerate(orders.items()):
        y, clock, responses = 1.0 - row, 0, []
        for name in order:
            axes.barh(y, work[name], 0.34, left=clock, color=colours[name], ec="white")
            axes.text(clock + work[name] / 2, y, name, ha="center", va="center", color="white", weight="bold")
            clock += work[name]
            responses.append(clock)
        mean = sum(responses) / len(responses)
        sums = ", ".join(str(response) for response in responses)
        axes.text(0, y + 0.24, f"{title}: complete after {sums}, mean {mean:.1f}", fontsize=9)
        axes.plot([mean, mean], [y - 0.24, y + 0.2], color="black", lw=1.4, ls=":")
    axes.set(xlim=(0, sum(work.values()) + 0.2), ylim=(-0.5, 1.5), xlabel="time, in units of one path")
    axes.set_yticks([])
    axes.spines[["top", "right", "left"]].set_visible(False)


if __name__ == "__main__":
    draw_docs(Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "docs")
