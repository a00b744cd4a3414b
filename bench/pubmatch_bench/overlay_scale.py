"""Places and balances a large overlay in a process of its own, and prints what it took as one line of JSON.

Run as `python -m pubmatch_bench.overlay_scale AREAS POLICY SCALE`. AREAS is `cells`, one per subscription and
disjoint as in the paper, or `rectangles`, drawn at random and overlapping.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

from pubmatch.overlay import Calculate, CoreNetwork, Filter, Subscription, TransferNetwork
from pubmatch.overlay.evaluation import cell_subscriptions, equal_intervals
from pubmatch_bench.record import Record
from pubmatch_bench.resident import peak_bytes

NODES, PUBLISHERS, SUBSCRIPTIONS = 100_000, 10_000_000, 4_000
AREAS = ("cells", "rectangles")
BITS = 16
SEED = 0
_RANGES = 8
_SIDES = (1.0, 5.0)


def probe(areas: str, policy: str, scale: float) -> Record:
    """Place and balance; return the seconds of every step, the peak of memory and what balancing came to.

    Parameters
    ----------
    areas : {"cells", "rectangles"}
        What subscriptions ask for.
    policy : str
        A policy of `TransferNetwork`.
    scale : float
        Factor on all numbers.

    Examples
    --------
    >>> row = probe("cells", "paper", 0.001)
    >>> row["nodes"], row["publishers"], row["subscriptions"], row["unrelieved"], row["equal"]
    (100, 10000, 4, 0, True)
    """
    nodes, publishers, count = (round(each * scale) for each in (NODES, PUBLISHERS, SUBSCRIPTIONS))
    clock = _Clock()
    core = CoreNetwork(bits=BITS)
    core.join(equal_intervals(nodes, BITS))
    core.register(np.arange(publishers), equal_intervals(publishers, BITS), "reading")
    network = TransferNetwork(core, pub_rate=1.0, threshold=500.0, policy=policy, max_ranges=_RANGES)
    clock.lap("register_s")
    for each in _asked(areas, count):
        network.subscribe(each)
    clock.lap("place_s")
    before = network.peak
    clock.skip()
    done = network.balance()
    clock.lap("balance_s")
    row = {
        "areas": areas,
        "policy": policy,
        "nodes": nodes,
        "publishers": publishers,
        "subscriptions": count,
        **clock.laps,
        "seconds": sum(clock.laps.values()),
        "cpu_seconds": clock.cpu,
        "peak_bytes": peak_bytes(),
        "peak_before": before,
        "peak": network.peak,
        "moves": len(done.moves),
        "probes": done.probes,
        "halvings": done.halvings,
        "unrelieved": len(done.unrelieved),
    }
    exact = done.unrelieved == network.nodes[network.loads > network.rates.threshold].tolist()
    return row | {"equal": exact and _consistent(network)}


class _Clock:
    """Seconds between laps, and the processor's seconds in all of them."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self.cpu = 0.0
        self.skip()

    def skip(self) -> None:
        """Start anew without counting what has passed."""
        self._wall, self._processor = time.perf_counter(), time.process_time()

    def lap(self, name: str) -> None:
        """Count what has passed under a name."""
        self.laps[name] = time.perf_counter() - self._wall
        self.cpu += time.process_time() - self._processor
        self.skip()


def _asked(areas: str, count: int) -> list[Subscription]:
    if areas == "cells":
        return cell_subscriptions(count, max((count - 1).bit_length(), 1), bits=BITS)
    rng = np.random.default_rng(SEED)
    height, width = rng.uniform(*_SIDES, (2, count))
    south, west = rng.uniform(-90, 90 - height), rng.uniform(-180, 180 - width)
    mean = Calculate("mean", Filter("reading"))
    corners = np.column_stack((south, west, south + height, west + width)).tolist()
    return [Subscription(f"area {number}", mean, area=tuple(each)) for number, each in enumerate(corners)]


def _consistent(network: TransferNetwork) -> bool:
    """Say whether loads kept step by step equal loads counted anew, which a change of rates does."""
    kept = network.loads
    network.set_rates()
    return bool(np.array_equal(kept, network.loads))


if __name__ == "__main__":
    areas_name, policy_name, scale_text = sys.argv[1:]
    sys.stdout.write(json.dumps(probe(areas_name, policy_name, float(scale_text))) + "\n")
