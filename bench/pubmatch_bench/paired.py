"""Paired batches: several ways of matching answer the same fresh batches; times are compared pair by pair.

In a lap the ways take turns batch by batch, so that a change of the machine's pace meets all of them alike;
but each starts at another batch and goes round from there. So none finds in the caches what another has just
fetched for the same events, and each is the first to see its share of the batches. That matters: on a small
W4 the second to see a batch of 128 took half as long when three calls lay between. A lap is one unit of the
statistics: within it noise is shared, between laps it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

import pubmatch as pm
from pubmatch_bench.record import Record
from pubmatch_bench.timing import timed
from pubmatch_bench.workloads import FloatArray

Match = Callable[[FloatArray], pm.Matches]
Run = tuple[Match, Sequence[FloatArray]]
"""A way of matching, and the batches of a lap as it gets them."""

Fingerprints = npt.NDArray[np.uint64]

LAP_EVENTS = 6144
"""Events of a lap, or somewhat more: far more than caches keep between two visits of a batch."""

LAP_SECONDS = 2.0
"""Where events take milliseconds, each reading most of the index, a lap takes one way no longer."""

PRECISION = 0.01
"""Laps go on until the standard error of a ratio falls below this, or their cap is reached."""

_SPIKE = 8.0
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


@dataclass
class Taken:
    """What one way took: an entry per batch, and per batch a fingerprint of each event's answer."""

    response_s: list[float] = field(default_factory=list)
    call_s: list[float] = field(default_factory=list)
    answers: list[Fingerprints] = field(default_factory=list)

    def add(self, later: Taken) -> None:
        """Append the times of another lap; the answers have been compared by then."""
        self.response_s += later.response_s
        self.call_s += later.call_s


def lap_batches(batch: int, ways: int, event_s: float = 0.0) -> int:
    """Return how many batches a lap has: a multiple of the ways, so that each is first to see equally many.

    Parameters
    ----------
    batch : int
        Events per batch.
    ways : int
        How many ways take part.
    event_s : float
        About how long an event takes.

    Examples
    --------
    >>> lap_batches(128, ways=6), lap_batches(128, ways=5), lap_batches(9999, ways=2)
    (48, 50, 2)
    >>> lap_batches(8, ways=6, event_s=0.002)
    126
    """
    events = LAP_EVENTS if event_s * LAP_EVENTS <= LAP_SECONDS else int(LAP_SECONDS / event_s)
    return max(1, -(-events // (batch * ways))) * ways


def split(points: FloatArray, batch: int) -> list[FloatArray]:
    """Cut the events of a lap into batches.

    Examples
    --------
    >>> [len(part) for part in split(np.zeros((6, 2), dtype=np.float32), 2)]
    [2, 2, 2]
    """
    return [points[start : start + batch] for start in range(0, len(points), batch)]


def take_lap(runs: Mapping[str, Run], number: int) -> dict[str, Taken]:
    """Let every way match its batches, taking turns; only the calls are timed.

    Parameters
    ----------
    runs : mapping of str to Run
        The ways by name; all have equally many batches.
    number : int
        Of the lap, from which follows who starts where.
    """
    names = turns(list(runs), number)
    size = len(runs[names[0]][1])
    taken = {
        name: Taken([0.0] * size, [0.0] * size, [np.empty((0, 2), dtype=np.uint64)] * size) for name in names
    }
    for step in range(size):
        for place, name in enumerate(names):
            match, batches = runs[name]
            position = (step + place * size // len(names)) % size
            seconds, matches = timed(match, batches[position])
            own = taken[name]
            own.call_s[position] = seconds
            own.response_s[position] = matches.mean_response_s
            own.answers[position] = fingerprints(matches.offsets, matches.ids)
    return taken


def turns(names: Sequence[str], number: int) -> list[str]:
    """Return who goes when in a lap: rotated from lap to lap, then all rotations backwards.

    Examples
    --------
    >>> ["".join(turns("abc", number)) for number in range(6)]
    ['abc', 'bca', 'cab', 'cba', 'acb', 'bac']
    """
    shift = number % len(names)
    rotated = [*names[shift:], *names[:shift]]
    return rotated[::-1] if number // len(names) % 2 else rotated


def fingerprints(offsets: npt.NDArray[np.int64], ids: npt.NDArray[np.int64]) -> Fingerprints:
    """Return two numbers per event, alike for equal sets of ids: how many, and a sum of mixed ids.

    Sorting the ids instead would take longer than matching where events find thousands; unequal sets of
    one size agree by chance once in 2**64.

    Examples
    --------
    >>> one = fingerprints(np.array([0, 2, 2]), np.array([7, 3]))
    >>> other = fingerprints(np.array([0, 2, 2]), np.array([3, 7]))
    >>> bool((one == other).all()), one[:, 0].tolist()
    (True, [2, 0])
    """
    mixed = ids.astype(np.uint64) + np.uint64(1)
    mixed *= _MIX
    mixed ^= mixed >> _SHIFT
    mixed *= _MIX
    sums = np.zeros(len(ids) + 1, dtype=np.uint64)
    np.cumsum(mixed, out=sums[1:])
    ends = sums[offsets]
    return np.stack([np.diff(offsets).astype(np.uint64), ends[1:] - ends[:-1]], axis=1)


def same_answers(one: Sequence[Fingerprints], other: Sequence[Fingerprints]) -> bool:
    """Tell whether two ways found the same ids for every event of every batch."""
    return len(one) == len(other) and all(
        np.array_equal(mine, theirs) for mine, theirs in zip(one, other, strict=True)
    )


def compare(times: Sequence[float], reference: Sequence[float], lap: int) -> Record:
    """Compare paired times: the ratio of the means, how sure it is, and the median of the laps' ratios.

    A batch that lost its processor can outweigh a hundred others. A time that lies further above the median
    of all than 8 times the upper quartile does, counts as no more than that; `clipped` tells how many.
    The standard error is that of a ratio estimate, from what each lap departs from the common ratio; the
    interval holds about 95 %. One lap alone tells nothing about it.

    Parameters
    ----------
    times, reference : sequence of float
        One entry per batch, the same batches in both.
    lap : int
        Batches per lap.

    Examples
    --------
    >>> compare([2.0, 2.5, 3.5, 3.0], [4.0, 5.0, 7.0, 6.0], lap=2)["ratio"]
    0.5
    >>> compare([1.0], [2.0], lap=1)["standard_error"] is None
    True
    """
    both = np.array([times, reference])
    middle, quartile = np.quantile(both, (0.5, 0.75))
    limit = middle + _SPIKE * (quartile - middle)
    ours, theirs = np.minimum(both, limit).reshape(2, -1, lap).mean(axis=2)
    ratio = float(ours.mean() / theirs.mean())
    error, margin = None, 0.0
    if len(ours) > 1:
        departure = ours - ratio * theirs
        error = float(np.sqrt((departure**2).sum() / (len(ours) - 1) / len(ours)) / theirs.mean())
        # Two standard errors, widened for few laps about as Student's distribution is.
        margin = (2 + 4 / (len(ours) - 1)) * error
    return {
        "ratio": ratio,
        "standard_error": error,
        "low": None if error is None else ratio - margin,
        "high": None if error is None else ratio + margin,
        "median": float(np.median(ours / theirs)),
        "pairs": both.shape[1],
        "clipped": int((both > limit).sum()),
    }


def precise(comparison: Record) -> bool:
    """Tell whether a comparison needs no further rounds."""
    error = comparison["standard_error"]
    return error is not None and error < PRECISION


def judge(target: str, place: str, comparison: Record, most: float) -> Record:
    """Judge a ratio that should be at most `most` by its estimate; certain if the whole interval agrees.

    Examples
    --------
    >>> verdict = judge("no slower", "W1", {"ratio": 0.9, "low": 0.7, "high": 1.1}, most=1.0)
    >>> verdict["met"], verdict["certain"]
    (True, False)
    """
    ratio, low, high = (comparison[key] for key in ("ratio", "low", "high"))
    met = ratio <= most
    certain = low is not None and (high <= most if met else low > most)
    return {
        "target": target,
        "place": place,
        "ratio": ratio,
        "low": low,
        "high": high,
        "at_most": most,
        "met": met,
        "certain": certain,
    }
