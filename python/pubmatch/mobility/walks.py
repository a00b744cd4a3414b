"""How clients move: along the line of cells, or as a trace recorded it.

A client on the line has a place in kilometres and a fixed speed; every cell is `CELL_KM` wide. Its place
within a cell is uniform at the start, so that clients change cells at different times. A synchronised start
would leave a backlog of messages that corrupts the latencies (this made the speed anomaly of the paper's
figures 7 and 8).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from pubmatch.arrays import checked_number
from pubmatch.errors import ArgumentError

__all__ = [
    "CELL_KM",
    "PROXIES",
    "Range",
    "Walk",
    "checked_speed",
    "persistent_walk",
    "proxies_of",
    "random_walk",
    "roamed",
]

CELL_KM = 0.5
"""Each broker serves half a kilometre (section 4.1 of the paper)."""

PROXIES = 5
"""The brokers closest to the first one, which is among them."""


@dataclass(frozen=True)
class Walk:
    """A client's way.

    Attributes
    ----------
    first : int or None
        The broker at time 0; None if it comes later.
    moves : iterator of (float, int or None)
        When the client leaves its broker (seconds, ascending) and which broker it goes to; None: for good.
    home : int
        The broker the client connected to first of all, before it roamed: proxies lie around it.
    """

    first: int | None
    moves: Iterator[tuple[float, int | None]] = field(compare=False)
    home: int


@dataclass(frozen=True)
class Range:
    """The cells a client keeps to, `low` to `high`, both included.

    Examples
    --------
    >>> Range.around(Range(0, 63), home=10, overshoot=1)
    Range(low=7, high=13)
    >>> Range.around(Range(0, 63), home=0, overshoot=1)
    Range(low=0, high=5)
    """

    low: int
    high: int

    @classmethod
    def around(cls, line: Range, home: int, overshoot: int) -> Range:
        """Return the proxies of a client that began at `home`, with `overshoot` cells on both sides."""
        low = proxies_of(line.high + 1, home)[0]
        last = min(line.high, low + PROXIES - 1)
        return cls(max(line.low, low - overshoot), min(line.high, last + overshoot))


def proxies_of(cells: int, home: int) -> range:
    """Return the five cells around `home`, itself included; at an end of the line they are shifted inwards.

    Examples
    --------
    >>> list(proxies_of(64, 10)), list(proxies_of(64, 0)), list(proxies_of(64, 62))
    ([8, 9, 10, 11, 12], [0, 1, 2, 3, 4], [59, 60, 61, 62, 63])
    """
    count = min(PROXIES, cells)
    low = min(max(0, home - PROXIES // 2), cells - count)
    return range(low, low + count)


def persistent_walk(
    rng: random.Random, within: Range, home: int, speed_kmh: float
) -> Iterator[tuple[float, int]]:
    """Keep the direction; turn where the range of cells ends. Every cell takes the same time.

    Parameters
    ----------
    rng : random.Random
        For the direction, and for the place within the first cell.
    within : Range
        Where the client may go.
    home : int
        The first cell.
    speed_kmh : float
        The speed.

    Yields
    ------
    (float, int)
        When the client passes into a cell, from time 0 at `home`, and which cell.

    Examples
    --------
    >>> walk = persistent_walk(random.Random("a"), Range(0, 2), home=1, speed_kmh=50)
    >>> [cell for _, (_, cell) in zip(range(6), walk)]
    [2, 1, 0, 1, 2, 1]
    """
    period = CELL_KM / speed_kmh * 3600
    step, at = rng.choice((-1, 1)), rng.random() * period
    if within.low == within.high:
        return
    cell = home
    while True:
        if not within.low <= cell + step <= within.high:
            step = -step
        cell += step
        yield at, cell
        at += period


def random_walk(
    rng: random.Random, within: Range, home: int, speed_kmh: float
) -> Iterator[tuple[float, int]]:
    """Choose a neighbouring cell at random after every half kilometre; at an end there is only one.

    Parameters and results are those of `persistent_walk`.

    Examples
    --------
    >>> walk = random_walk(random.Random("a"), Range(0, 5), home=0, speed_kmh=50)
    >>> [cell for _, (_, cell) in zip(range(6), walk)]
    [1, 0, 1, 2, 1, 2]
    """
    period = CELL_KM / speed_kmh * 3600
    at = rng.random() * period
    if within.low == within.high:
        return
    cell = home
    while True:
        steps = [step for step in (-1, 1) if within.low <= cell + step <= within.high]
        cell += rng.choice(steps)
        yield at, cell
        at += period


def roamed(moves: Iterator[tuple[float, int]], cells: tuple[int, ...], home: int, roaming_s: float) -> Walk:
    """Let `roaming_s` seconds of a walk pass before time 0.

    Examples
    --------
    >>> walk = roamed(iter([(5.0, 1), (15.0, 2), (25.0, 3)]), (40, 41, 42, 43), home=0, roaming_s=20)
    >>> walk.first, list(walk.moves), walk.home
    (42, [(5.0, 43)], 40)
    """
    cell = home
    rest: tuple[float, int] | None = None
    for when, reached in moves:
        if when > roaming_s:
            rest = (when, reached)
            break
        cell = reached

    def later() -> Iterator[tuple[float, int | None]]:
        if rest is not None:
            yield rest[0] - roaming_s, cells[rest[1]]
        for when, reached in moves:
            yield when - roaming_s, cells[reached]

    return Walk(cells[cell], later(), cells[home])


def checked_speed(speed_kmh: float, away_s: float) -> float:
    """Return a speed as a float; one at which clients leave a cell before they connect there is refused."""
    speed = checked_number("speed_kmh", speed_kmh)
    if not 0 < speed < float("inf"):
        raise ArgumentError(f"speed_kmh must be positive and finite, got {speed}")
    period = CELL_KM / speed * 3600
    if period <= away_s:
        raise ArgumentError(
            f"speed_kmh must leave more than the {away_s:g} s of disconnection in each cell of {CELL_KM} km, "
            f"got {speed} ({period:.3g} s)"
        )
    return speed
