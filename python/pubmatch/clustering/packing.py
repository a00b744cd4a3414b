"""Puts weighted combinations into a fixed number of shards, at the least cost within limits."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

__all__ = ["Packing"]

_SLACK = 1.25  # times the mean number of subscriptions that a shard may hold, if there is a choice

_Ints = npt.NDArray[np.int64]


class Packing:
    """An assignment in the making; its cost is the sum over shards of subscriptions times publishers.

    Parameters
    ----------
    holds : array of bool
        Which kind of publisher offers which combination; a row for each combination.
    subscriptions : array of int
        Subscriptions with each combination.
    publishers : array of int
        Publishers of each kind.
    shards : int
        Number of shards.
    limit : int
        The most shards that a kind may be connected to.

    Examples
    --------
    >>> holds = np.array([[True, False], [False, True], [True, False]])
    >>> packing = Packing(holds, np.array([5, 5, 1]), np.array([1, 1]), shards=2, limit=1)
    >>> packing.place_all()
    >>> packing.shard, packing.cost()
    (array([0, 1, 0]), 11)
    """

    def __init__(
        self, holds: npt.NDArray[np.bool_], subscriptions: _Ints, publishers: _Ints, shards: int, limit: int
    ) -> None:
        self.shard: _Ints = np.full(len(holds), -1, dtype=np.int64)
        self._holds, self._subscriptions, self._publishers = holds, subscriptions, publishers
        self._limit = limit
        self._held: _Ints = np.zeros(
            (shards, len(publishers)), dtype=np.int64
        )  # combinations of a kind in a shard
        self._load: _Ints = np.zeros(shards, dtype=np.int64)
        mean = float(subscriptions.sum()) / shards
        # A combination cannot be divided, so loads cannot be more even than the largest allows.
        self._most = max(_SLACK * mean, mean + float(subscriptions.max(initial=0)))

    def cost(self) -> int:
        """Return the deliveries if every publisher sends one event."""
        return int(self._load @ ((self._held > 0) @ self._publishers))

    def place_all(self) -> None:
        """Place every combination, those with most deliveries first."""
        weight = self._subscriptions * (self._holds @ self._publishers)
        for combination in np.argsort(-weight, kind="stable").tolist():
            costs, possible = self._costs(combination)
            while not possible.any():
                self._merge_cheapest()
                costs, possible = self._costs(combination)
            self._put(combination, self._cheapest(combination, costs, possible))

    def improve(self, rounds: int) -> None:
        """Look at every combination again and put it where it now costs least, so many times at most."""
        for _ in range(rounds):
            moved = False
            for combination in range(len(self.shard)):
                old = int(self.shard[combination])
                self._take(combination)
                costs, possible = self._costs(combination)
                new = self._cheapest(combination, costs, possible)
                fits = self._load[new] + self._subscriptions[combination] <= max(self._most, self._load[old])
                if costs[new] >= costs[old] or not fits:
                    new = old
                self._put(combination, new)
                moved |= new != old
            if not moved:
                return

    def _costs(self, combination: int) -> tuple[_Ints, npt.NDArray[np.bool_]]:
        """Return by how much each shard's cost would grow, and which shards the limits allow."""
        connected = self._held > 0
        entering = self._holds[combination] & ~connected
        rate, gain = connected @ self._publishers, entering @ self._publishers
        exhausted = connected.sum(axis=0) >= self._limit
        costs = self._subscriptions[combination] * (rate + gain) + self._load * gain
        return costs, ~(entering & exhausted).any(axis=1)

    def _cheapest(self, combination: int, costs: _Ints, possible: npt.NDArray[np.bool_]) -> int:
        """Choose among the allowed shards; full ones only if all are, then the least full."""
        room = possible & (self._load + self._subscriptions[combination] <= self._most)
        if room.any():
            # Of equal costs the emptier shard.
            order = np.lexsort((self._load, costs, ~room))
        else:
            order = np.lexsort((costs, self._load, ~possible))
        return int(order[0])

    def _put(self, combination: int, shard: int) -> None:
        self.shard[combination] = shard
        self._held[shard] += self._holds[combination]
        self._load[shard] += self._subscriptions[combination]

    def _take(self, combination: int) -> None:
        shard = self.shard[combination]
        self.shard[combination] = -1
        self._held[shard] -= self._holds[combination]
        self._load[shard] -= self._subscriptions[combination]

    def _merge_cheapest(self) -> None:
        """Make one shard of two, where that adds least: every kind in both has a connection again."""
        connected = self._held > 0
        rate = connected @ self._publishers
        used = np.flatnonzero(connected.any(axis=1)).tolist()

        def added(pair: tuple[int, int]) -> int:
            one, two = pair
            both = int((connected[one] | connected[two]) @ self._publishers)
            now = self._load[one] * rate[one] + self._load[two] * rate[two]
            return int((self._load[one] + self._load[two]) * both - now)

        kept, emptied = min(itertools.combinations(used, 2), key=added)
        self.shard[self.shard == emptied] = kept
        self._held[kept] += self._held[emptied]
        self._load[kept] += self._load[emptied]
        self._held[emptied] = 0
        self._load[emptied] = 0
