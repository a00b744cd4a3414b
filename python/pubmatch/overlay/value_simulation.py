"""The transfer network with real readings, message by message: every result must equal the central one.

Sensors publish in every tick; edges filter with the native index and send what passes to their joints; joints
gather partial aggregates; the root merges them and sends one result per window to the subscriber. Trees are
those of a `TransferNetwork`, and may change at any time.

Messages with readings take time; orders (where to send, what to forget) are obeyed at once. Which publishers
an edge listens to changes at the next window, where an edge sends to changes at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pubmatch.arrays import checked_count
from pubmatch.errors import ArgumentError
from pubmatch.overlay.central import central_result
from pubmatch.overlay.messages import WindowResult
from pubmatch.overlay.subscription import Filter
from pubmatch.overlay.value_recovery import ValueRecovery

__all__ = ["ValueSimulation"]


class ValueSimulation(ValueRecovery):
    """Readings flow through the trees of a transfer network.

    Parameters
    ----------
    network : TransferNetwork
        Nodes, publishers and subscriptions. Change it by `apply` and `crash` only.
    readings : callable
        `readings(type, publisher, tick)` gives the reading of a publisher as a mapping of attributes, or None
        if it sends none; the same each time it is asked.
    schemas : mapping of str to Schema, optional
        The attributes of readings by type; one Number called value if not given.
    window : int
        Ticks per window.
    delays : (int, int)
        The fewest and the most ticks that a message takes.
    detection : int
        Ticks until a crash is noticed.
    seed : int
        Of the delays.

    Examples
    --------
    >>> import numpy as np
    >>> from pubmatch.overlay import Calculate, Filter, Subscription, TransferNetwork, ValueSimulation
    >>> network = TransferNetwork.from_arrays(np.arange(0, 64, 8), np.arange(64), bits=3)
    >>> mean = Calculate("mean", Filter("reading", "value > 8"))
    >>> network.subscribe(Subscription("s", mean, ranges=[(0, 32)]))
    >>> simulation = ValueSimulation(network, lambda kind, sensor, tick: {"value": float(sensor % 10 + tick)})
    >>> simulation.run(24)
    >>> simulation.drain()
    >>> simulation.results["s"][0], simulation.central("s", 0)
    (11.333333333333334, 11.333333333333334)
    """

    # Time

    def run(self, ticks: int) -> None:
        """Let time pass."""
        for _ in range(checked_count("ticks", ticks)):
            if self.now % self._window_ticks == 0:
                self._begin_window()
            self._publish()
            self._deliver()
            self.now += 1
            if self.now % self._window_ticks == 0:
                self._end_window()
            self._detect()

    def drain(self) -> None:
        """End the present window, and let time pass without readings until nothing is under way."""
        self._end_window()
        while len(self._transport) or self._crashes:
            self._deliver()
            self.now += 1
            self._detect()
        self._deliver()
        # A new run begins with a window of its own.
        self.now = -(-self.now // self._window_ticks) * self._window_ticks

    # Results

    def central(self, name: str, window: int) -> WindowResult:
        """The result of a window, computed in one place from all readings."""
        if (name, window) not in self._listening:
            raise ArgumentError(f"subscription {name!r} has no window {window}")
        readings: dict[Filter, list[Mapping[str, Any]]] = {}
        for given, publishers in self._listening[name, window]:
            published = self._published.get((given.type, window), [])
            readings[given] = [each for publisher, each in published if publisher in publishers]
        return central_result(self.network.subscription(name).operator, readings)

    def errors(self) -> list[tuple[str, int]]:
        """Windows that have begun and whose result is missing or differs from the central one."""
        return [
            (name, window)
            for name, window in self._listening
            if name in self.network
            and (
                window not in self.results.get(name, {})
                or self.results[name][window] != self.central(name, window)
            )
        ]
