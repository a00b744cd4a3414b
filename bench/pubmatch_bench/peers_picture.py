"""Draws the picture of README.md and docs/benchmarks.md: peers' times over pubmatch's, from `match.json`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pubmatch_bench.report.peers import paint_ratios
from pubmatch_bench.reproduce.picture import blank, save

__all__ = ["draw_docs"]


def draw_docs(results: Path, folder: Path) -> Path:
    """Draw the picture; return its file.

    Parameters
    ----------
    results : Path
        Where `match.json` lies.
    folder : Path
        The directory of the docs.
    """
    record = json.loads((results / "match.json").read_text(encoding="utf-8"))
    figure, axes = blank(7.0, 3.4)
    paint_ratios(axes, record)
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    batch = record["parameters"]["batch"]
    axes.set_xlabel(f"time per event, pubmatch = 1 (batches of {batch}, one thread)")
    return save(figure, folder / "peers.png")


if __name__ == "__main__":
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    draw_docs(root / "bench" / "results", root / "docs")
