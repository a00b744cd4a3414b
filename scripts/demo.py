"""Build an index of a million 12-D boxes, match a batch of events, show what was found and how fast."""

import statistics
import sys
import time
from typing import Literal

import numpy as np
import numpy.typing as npt

import pubmatch as pm

SUBSCRIPTIONS = 1_000_000
DIMS = 12
BATCH = 128
ROUNDS = 25
BUSIEST = 8

Order = Literal["fifo", "sjf"]
Floats = npt.NDArray[np.float32]


def random_boxes(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Boxes whose every side lies between two uniform draws."""
    first = rng.random((SUBSCRIPTIONS, DIMS), dtype=np.float32)
    second = rng.random((SUBSCRIPTIONS, DIMS), dtype=np.float32)
    return np.minimum(first, second), np.maximum(first, second)


def mean_responses(index: pm.Index, rng: np.random.Generator) -> dict[Order, float]:
    """Median over fresh batches of the mean response time, both orders on the same events."""
    means: dict[Order, list[float]] = {"fifo": [], "sjf": []}
    for round_number in range(ROUNDS):
        points = rng.random((BATCH, DIMS), dtype=np.float32)
        index.count(points)  # both orders then find the same pages in the caches
        orders = list(means) if round_number % 2 else list(reversed(means))
        for order in orders:
            means[order].append(index.match(points, order=order).mean_response_s)
    return {order: statistics.median(values) for order, values in means.items()}


def print_busiest(points: Floats, matches: pm.Matches, lower: Floats, upper: Floats) -> bool:
    """Table of the events with most matches; each row is checked against a scan of all boxes."""
    print(f"{'event':>6}  {'matches':>7}  {'answered after':>14}  {'a scan agrees':>13}  subscriptions")
    all_agree = True
    for event in np.argsort(-matches.counts, kind="stable")[:BUSIEST]:
        ids = np.sort(matches[event])
        scanned = np.flatnonzero(((lower <= points[event]) & (points[event] <= upper)).all(axis=1))
        agrees = np.array_equal(ids, scanned)
        all_agree &= agrees
        shown = ", ".join(str(i) for i in ids[:5]) + (", ..." if len(ids) > 5 else "")
        after = f"{matches.response_s[event] * 1e6:,.0f} µs"
        print(f"{event:>6}  {len(ids):>7}  {after:>14}  {'yes' if agrees else 'NO':>13}  {shown}")
    return all_agree


def main() -> int:
    """Run the demonstration; the exit code is 1 if a result was wrong."""
    rng = np.random.default_rng(2024)
    lower, upper = random_boxes(rng)
    points = rng.random((BATCH, DIMS), dtype=np.float32)

    started = time.perf_counter()
    index = pm.Index.build(lower, upper)
    build_s = time.perf_counter() - started
    means = mean_responses(index, rng)
    started = time.perf_counter()
    matches = index.match(points)
    match_s = time.perf_counter() - started

    change = means["sjf"] / means["fifo"] - 1
    rows = [
        ("subscriptions", f"{len(index):,} boxes in {index.dims} dimensions, float32"),
        ("kernel", pm.active_kernel()),
        ("build", f"{build_s:.2f} s, {index.nbytes / len(index):.0f} bytes per subscription"),
        ("batch", f"{BATCH} events, {matches.counts.sum():,} matches"),
        ("match", f"{match_s / BATCH * 1e6:.1f} µs per event, one thread"),
        ("mean response", f"first come first served {means['fifo'] * 1e6:,.0f} µs"),
        ("", f"shortest job first      {means['sjf'] * 1e6:,.0f} µs ({change:+.0%})"),
    ]
    for name, value in rows:
        print(f"{name:<14} {value}")
    print(f"\nThe {BUSIEST} events of the batch with most matches:")
    return 0 if print_busiest(points, matches, lower, upper) else 1


if __name__ == "__main__":
    sys.exit(main())
