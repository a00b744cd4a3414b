"""How much is measured, and with which subscriptions and events."""

from __future__ import annotations

import dataclasses
from typing import Any

import pubmatch as pm
from pubmatch_bench.workloads import Boxes, FloatArray, make

DIMS = 12
PAPER_TREE = pm.Params(node_capacity=10, leaf_capacity=20, node_kernel="compare")
TREES = {"paper": PAPER_TREE, "default": pm.Params()}
"""The paper's capacities (section 5.1), and what pubmatch chooses by itself."""

_BOX_SEEDS = 1_000  # seeds of subscriptions per seed of a run
_EVENT_SEEDS = 100_000_000  # seeds of events per seed of a run


@dataclasses.dataclass(frozen=True)
class Plan:
    """Sizes and counts of a run; the defaults are the paper's, as far as its text tells them.

    Attributes
    ----------
    sizes : tuple of int
        Subscriptions at which figures 7-a and 7-c have a point.
    batches : tuple of int
        Events per batch in figures 7-b and 7-d, measured at `shape_size` subscriptions.
    sized_batches : tuple of int
        Events per batch in figures 7-a and 7-c. The paper's text does not tell them.
    shape_size : int
        Subscriptions of figures 5, 7-b and 7-d.
    shape_batches : tuple of int
        Events per batch of figures 5-a and 5-b. The paper's text does not tell them.
    shape_loops : tuple of int
        Over how many batches figure 5 sums.
    point_events : int
        Events per point, at least; as many batches as hold them.
    largest_events : int
        The same for the largest batch, whose claim has a number.
    growth : tuple of int
        Subscriptions of each stretch of figures 7-e and 7-f.
    tuned_batches : tuple of int
        Events per batch of figures 7-e and 7-f. Figure 8 gives 8 for 7-e; the text tells none for 7-f.
    loops : int
        The tuner's loop counter.
    compared : tuple of float
        Share of the unstable batches that every Level takes too, for 7-e and 7-f.
    stable_events : int
        Events per stretch that are compared after the tuner has settled.
    most_batches : int
        Unstable batches per stretch after which it goes on unsettled: four rounds.
    cheap_factor : int
        Times as many events per point on the default tree, where an event takes microseconds; all its
        unstable batches are compared.
    piece_size : int
        Subscriptions of figure 8.
    piece_compared : float
        As `compared`, for the stretch that figure 8 shows.
    seed : int
        Seed of everything random.
    """

    sizes: tuple[int, ...] = (500_000, 1_000_000, 1_500_000, 2_000_000, 2_500_000, 3_000_000)
    batches: tuple[int, ...] = (2, 4, 8, 16, 32, 64, 128)
    sized_batches: tuple[int, ...] = (8, 128)
    shape_size: int = 1_500_000
    shape_batches: tuple[int, ...] = (8, 32)
    shape_loops: tuple[int, ...] = (4, 16, 64)
    point_events: int = 512
    largest_events: int = 1024
    growth: tuple[int, ...] = tuple(range(500_000, 2_600_001, 300_000))
    tuned_batches: tuple[int, ...] = (8, 4)
    loops: int = 64
    compared: tuple[float, ...] = (1 / 16, 1 / 16)
    stable_events: int = 384
    most_batches: int = 768
    cheap_factor: int = 16
    piece_size: int = 2_000_000
    piece_compared: float = 1 / 3
    seed: int = 0

    def parameters(self) -> dict[str, Any]:
        """Return the plan as JSON would hold it."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in dataclasses.asdict(self).items()
        }

    def events_of(self, batch: int, tree: str) -> int:
        """Return how many events a point of this batch size rests on."""
        events = self.largest_events if batch == max(self.batches) else self.point_events
        return events * self.factor(tree)

    def factor(self, tree: str) -> int:
        """Return how many times the events of the paper's tree a tree gets."""
        return self.cheap_factor if tree == "default" else 1

    def step(self) -> int:
        """Return how many subscriptions each stretch of figure 7-e adds: the tuner's threshold."""
        return self.growth[1] - self.growth[0]


FULL = Plan()
QUICK = dataclasses.replace(
    FULL,
    sizes=tuple(size // 10 for size in FULL.sizes),
    shape_size=FULL.shape_size // 10,
    growth=tuple(size // 10 for size in FULL.growth),
    piece_size=FULL.piece_size // 10,
)
"""A tenth of the subscriptions."""


class Source:
    """Draws subscriptions and events as the paper did: at random, and never the same twice.

    Examples
    --------
    >>> source = Source(seed=0)
    >>> lower, upper = source.boxes(10)
    >>> lower.shape, bool((lower <= upper).all())
    ((10, 12), True)
    >>> bool((source.events(4) == source.events(4)).any())
    False
    """

    def __init__(self, seed: int) -> None:
        # One box: the workload is wanted for its distributions, which it draws from seeds of its own.
        self._workload = make("W1", scale=1e-6, seed=seed * _BOX_SEEDS)
        self._next_boxes = seed * _BOX_SEEDS + 1
        self._next_events = seed * _EVENT_SEEDS

    def boxes(self, count: int) -> Boxes:
        """Return further subscriptions: per dimension two uniform draws, in order."""
        self._next_boxes += 1
        return self._workload.fresh_boxes(count, self._next_boxes)

    def events(self, count: int) -> FloatArray:
        """Return further events, uniform."""
        self._next_events += 1
        return self._workload.events(count, self._next_events)


def new_index(tree: str) -> pm.Index:
    """Return an empty index of one of the `TREES`."""
    return pm.Index(dims=DIMS, dtype="float32", params=TREES[tree])


def grow(index: pm.Index, size: int, source: Source) -> None:
    """Insert subscriptions until there are `size`."""
    if size > len(index):
        index.insert(*source.boxes(size - len(index)))
