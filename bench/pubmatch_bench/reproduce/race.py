"""Several ways of matching take the same batches; mean responses are compared batch by batch.

A *run* is a row of batches. The ways take turns batch by batch, so that the machine's mood hits them alike;
but each begins at another batch of the run, for otherwise the later ones would find the nodes of those very
events in the caches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

import pubmatch as pm
from pubmatch_bench.peers.protocol import Csr
from pubmatch_bench.workloads import FloatArray

Match = Callable[[FloatArray], pm.Matches]

FIFO = "fifo"
"""The name of first-come order, the paper's "no BatchSearch": one event after another, nothing estimated."""

NOISE = 2.0
"""Standard errors within which two ways count as equal."""

_SPIKE = 8.0


@dataclass(frozen=True)
class Ratio:
    """A ratio of mean responses and its standard error (infinite if a single batch was measured)."""

    value: float
    error: float

    def record(self) -> dict[str, float | None]:
        """Return both for JSON, which has no infinity."""
        return {"ratio": self.value, "error": self.error if np.isfinite(self.error) else None}


def ratio_of(times: Sequence[float], reference: Sequence[float]) -> Ratio:
    """Compare paired times: the ratio of their means.

    The standard error is that of a ratio estimate, from what each pair departs from the common ratio: what a
    batch costs in either way cancels out.

    Examples
    --------
    >>> ratio_of([2.0, 2.5, 3.5], [4.0, 5.0, 7.0])
    Ratio(value=0.5, error=0.0)
    """
    ours, theirs = tamed(times), tamed(reference)
    value = float(ours.mean() / theirs.mean())
    if len(ours) < 2:
        return Ratio(value, float("inf"))
    departure = ours - value * theirs
    variance = float((departure**2).sum()) / (len(ours) - 1) / len(ours)
    return Ratio(value, float(np.sqrt(variance) / theirs.mean()))


def tamed(times: Sequence[float]) -> npt.NDArray[np.float64]:
    """Return the times, spikes cut: a batch that lost its processor can outweigh a hundred others.

    A time further above the median than 8 times the upper quartile counts as no more than that, as in
    `pubmatch.LevelTuner`.

    Examples
    --------
    >>> tamed([1.0, 2.0, 3.0, 4.0, 5.0, 900.0]).max()
    np.float64(13.5)
    """
    values = np.asarray(times, dtype=np.float64)
    middle, upper = np.quantile(values, (0.5, 0.75))
    return values if upper == middle else np.minimum(values, middle + _SPIKE * (upper - middle))


@dataclass
class Race:
    """Mean responses in seconds: per way of matching one entry for each batch, the same batches for all."""

    response_s: dict[str, list[float]] = field(default_factory=dict)
    equal: bool = True

    def batches(self) -> int:
        """Return how many batches every way has taken."""
        return min((len(times) for times in self.response_s.values()), default=0)

    def levels(self) -> list[int]:
        """Return the levels that took part, ascending."""
        return sorted(int(name) for name in self.response_s if name.isdecimal())

    def mean_ms(self, name: str, part: slice = slice(None)) -> float:
        """Return the mean response of one way, over all batches or some of them."""
        return 1e3 * float(tamed(self.response_s[name][part]).mean())

    def best(self, part: slice = slice(None)) -> int:
        """Return the level with the least mean response."""
        return min(self.levels(), key=lambda level: self.mean_ms(str(level), part))

    def ratio(self, name: str, reference: str) -> Ratio:
        """Compare two ways."""
        return ratio_of(self.response_s[name], self.response_s[reference])

    def slower(self, name: int, reference: int) -> bool:
        """Tell whether a level is slower than another one by more than the noise."""
        ratio = self.ratio(str(name), str(reference))
        return ratio.value - NOISE * ratio.error > 1.0

    def tied(self) -> list[int]:
        """Return the levels that the batches measured cannot tell from the best one."""
        best = self.best()
        return [level for level in self.levels() if not self.slower(level, best)]

    def best_ratio(self) -> Ratio:
        """Compare the best level with first-come order.

        Each half of the batches is judged by the level that was best on the other half: the least of several
        noisy means, taken on the very batches that chose it, would flatter.

        Examples
        --------
        >>> race = Race({"fifo": [4.0, 4.0, 8.0, 8.0], "1": [4.0, 4.0, 8.0, 8.0], "2": [2.0, 2.0, 4.0, 4.0]})
        >>> race.best(), race.best_ratio()
        (2, Ratio(value=0.5, error=0.0))
        """
        first_come = self.response_s[FIFO]
        if len(first_come) < 2:
            return self.ratio(str(self.best()), FIFO)
        chosen = list(first_come)
        for judged, other in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
            chosen[judged] = self.response_s[str(self.best(other))][judged]
        return ratio_of(chosen, first_come)

    def join(self, other: Race) -> None:
        """Add the batches of another run."""
        for name, times in other.response_s.items():
            self.response_s.setdefault(name, []).extend(times)
        self.equal &= other.equal


def race(run: Sequence[FloatArray], ways: Mapping[str, Match], rng: np.random.Generator) -> Race:
    """Let every way take one run of batches, taking turns, and compare what they found.

    Parameters
    ----------
    run : sequence of arrays
        The batches.
    ways : mapping of str to callable
        The ways of matching.
    rng : Generator
        Draws who begins where.
    """
    names = list(ways)
    found: dict[str, dict[int, pm.Matches]] = {name: {} for name in names}
    seated = [names[position] for position in rng.permutation(len(names))]
    for turn in range(len(run)):
        for seat, name in enumerate(seated):
            batch = (turn + seat * len(run) // len(names)) % len(run)
            found[name][batch] = ways[name](run[batch])
    taken = {name: [found[name][batch] for batch in range(len(run))] for name in names}
    answers = [[Csr(batch.offsets, batch.ids) for batch in taken[name]] for name in names]
    equal = all(
        mine.same_sets(theirs)
        for other in answers[1:]
        for mine, theirs in zip(answers[0], other, strict=True)
    )
    return Race({name: [batch.mean_response_s for batch in taken[name]] for name in names}, equal)
