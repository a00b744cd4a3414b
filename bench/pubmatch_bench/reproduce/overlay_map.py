"""The map of `reproduce overlay --map`: one page with everything in it, a typhoon to follow hour by hour.

Beside the paper's subscriptions there is one whose area moves (section III-B: "monitor a moving typhoon"). It
crosses the antimeridian. For every hour the page has all loads and all trees before and after balancing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from pubmatch.overlay import Calculate, Filter, Subscription, TransferNetwork, zorder
from pubmatch_bench.record import Record
from pubmatch_bench.reproduce import overlay_plan as settings
from pubmatch_bench.reproduce.overlay_plan import Plan

__all__ = ["HOURS", "draw_docs", "map_data", "map_page"]

HOURS = 24
_TYPHOON = "typhoon"
_TRACK = ((6.0, -150.0), (38.0, -222.0))  # degrees of the centre at the first and the last hour, going west
_EXTENT = (36.0, 48.0)
_SUBSCRIBER = (35.7, 139.7)
_RANGES = 8
_CELL_BITS = 6


def map_page(plan: Plan) -> str:
    """Return the page: HTML that loads nothing from elsewhere.

    Parameters
    ----------
    plan : Plan
        Nodes, publishers and subscriptions.
    """
    template = resources.files("pubmatch_bench.reproduce").joinpath("overlay_map.html").read_text("utf-8")
    text = json.dumps(map_data(plan), separators=(",", ":"), allow_nan=False)
    return template.replace("/*DATA*/", text.replace("</", "<\\/"))


def map_data(plan: Plan) -> Record:
    """Return what the page shows.

    Nodes are numbered by id. `owner` has the node of every cell of a grid of `side` rows and columns, row by
    row from the south; `trees` are shared: frames name them by number.
    """
    network = plan.ours(settings.BUSY)
    network.subscribe(_typhoon(plan, 0))
    lat, lon = zorder.decode(network.nodes, bits=plan.bits)
    shelf = _Shelf(network)
    frames = [_frame(network, plan, hour, shelf) for hour in range(HOURS)]
    return {
        "about": f"{plan.nodes} nodes, {plan.publishers:,} publishers, {plan.subscriptions} subscriptions to "
        f"a cell each and one to a typhoon. A node above {plan.threshold:g} messages per second is "
        "overloaded; balancing gives flows to other joints.",
        "threshold": plan.threshold,
        "ids": network.nodes.tolist(),
        "lat": np.round(lat, 2).tolist(),
        "lon": np.round(lon, 2).tolist(),
        "side": 2**_CELL_BITS,
        "owner": _owners(network),
        "subscriptions": list(network.subscriptions),
        "moving": network.subscriptions.index(_TYPHOON),
        "areas": [_cell_area(each, plan) for each in plan.asked()],
        "trees": shelf.trees,
        "frames": frames,
    }


def _frame(network: TransferNetwork, plan: Plan, hour: int, shelf: _Shelf) -> Record:
    """Move the typhoon's area to where it is at an hour, then balance."""
    cut: tuple[int, ...] = ()
    added: tuple[int, ...] = ()
    if hour:
        moved = network.move_area(_TYPHOON, ranges=_ranges(plan, hour))
        cut, added = moved.cut, moved.added
    before = shelf.snapshot()
    done = network.balance()
    return {
        "area": [round(each, 2) for each in _area(hour)],
        "cut": len(cut),
        "added": len(added),
        "moves": len(done.moves),
        "before": before,
        "after": shelf.snapshot(),
    }


class _Shelf:
    """Trees seen so far, each once."""

    def __init__(self, network: TransferNetwork) -> None:
        self._network = network
        self._places = {number: place for place, number in enumerate(network.nodes.tolist())}
        self._known: dict[str, int] = {}
        self.trees: list[Record] = []

    def snapshot(self) -> Record:
        """Return the loads and trees of this moment."""
        network = self._network
        return {
            "loads": np.rint(network.loads).astype(int).tolist(),
            "trees": [self._number(name) for name in network.subscriptions],
        }

    def _number(self, name: str) -> int:
        tree = self._network.tree(name)
        joints: list[Any] = [
            [self._places[joint.node], [self._places[flow.edge] for flow in joint.flows]]
            for joint in tree.joints
        ]
        shown = {"root": self._places[tree.root], "joints": joints}
        key = json.dumps(shown)
        if key not in self._known:
            self._known[key] = len(self.trees)
            self.trees.append(shown)
        return self._known[key]


def _typhoon(plan: Plan, hour: int) -> Subscription:
    mean = Calculate("mean", Filter("reading"))
    return Subscription(_TYPHOON, mean, ranges=_ranges(plan, hour), subscriber=_SUBSCRIBER)


def _ranges(plan: Plan, hour: int) -> list[tuple[int, int]]:
    return zorder.ranges(*_area(hour), bits=plan.bits, max_ranges=_RANGES)


def _area(hour: int) -> tuple[float, float, float, float]:
    """Return south, west, north and east of the typhoon at an hour.

    Examples
    --------
    >>> _area(0)
    (-12.0, -174.0, 24.0, -126.0)
    """
    part = hour / (HOURS - 1)
    lat, lon = (first + part * (last - first) for first, last in zip(*_TRACK, strict=True))
    south, north = lat - _EXTENT[0] / 2, lat + _EXTENT[0] / 2
    west, east = (_turned(lon + side * _EXTENT[1] / 2) for side in (-1, 1))
    return south, west, north, east


def _turned(lon: float) -> float:
    return (lon + 180) % 360 - 180


def _cell_area(subscription: Subscription, plan: Plan) -> list[float]:
    """Return south, west, north and east of a subscription's cell."""
    assert subscription.ranges is not None
    (low, high), *_ = subscription.ranges
    south, west = zorder.decode(low, bits=plan.bits)
    north, east = zorder.decode(high - 1, bits=plan.bits)
    height, width = 180 / 2**plan.bits, 360 / 2**plan.bits  # from centres to edges of the corner cells
    return [south - height / 2, west - width / 2, north + height / 2, east + width / 2]


def _owners(network: TransferNetwork) -> list[int]:
    side = 2**_CELL_BITS
    lat = -90 + (np.arange(side) + 0.5) * 180 / side
    lon = -180 + (np.arange(side) + 0.5) * 360 / side
    ids = zorder.encode(lat[:, None], lon[None, :], bits=network.bits)
    places = np.maximum(np.searchsorted(network.nodes, ids, side="right") - 1, 0)
    owners: list[int] = places.ravel().tolist()
    return owners


def draw_docs(folder: Path) -> Path:
    """Take the picture of the docs page with a headless browser: the first hour, before balancing.

    Parameters
    ----------
    folder : Path
        The directory of the docs.
    """
    file = folder / "overlay-map.png"
    with tempfile.TemporaryDirectory() as place:
        page = Path(place) / "map.html"
        page.write_text(map_page(settings.FULL), encoding="utf-8")
        flags = (
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--window-size=1100,1040",
        )
        profile = f"--user-data-dir={place}/profile"
        subprocess.run(
            ["chromium", *flags, profile, f"--screenshot={file.resolve()}", page.as_uri()],
            check=True,
            capture_output=True,
        )
    return file


if __name__ == "__main__":
    draw_docs(Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "docs")
