"""The benchmark workloads W1 to W7: seeded boxes and events, by name.

A workload is a distribution of subscriptions together with a distribution of events. Three random streams
are kept apart: the *shape* (where clusters lie, which attributes are popular) belongs to the name alone, the
subscriptions and the events have their own seeds. So an index can never be tuned on the very events it is
measured on, and any two runs that name the same workload, scale and seeds see the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]
Boxes = tuple[FloatArray, FloatArray]

_SUBSCRIPTIONS, _EVENTS, _SHAPE = range(3)

MOST_ROWS = 2**31
"""Most boxes or events of one draw: beyond it no memory holds them, and far beyond it numpy cannot count."""


@dataclass(frozen=True)
class Spec:
    """What a workload's name stands for.

    Attributes
    ----------
    name : str
        "W1" to "W7".
    about : str
        One line for tables and help texts.
    dims : int
        Number of attributes.
    size : int
        Number of subscriptions at scale 1.
    matches_per_event : float
        Expected matches per event at scale 1: computed where sides are independent (W1, W4, W6, W7), else
        measured by brute force at full size. It grows with the scale.
    """

    name: str
    about: str
    dims: int
    size: int
    matches_per_event: float
    _boxes: Callable[[np.random.Generator, int], Boxes]
    _points: Callable[[np.random.Generator, int], FloatArray]

    def stream(self, purpose: int, seed: int) -> np.random.Generator:
        """Return the generator of one purpose, independent of all others."""
        return np.random.default_rng([int(self.name[1:]), purpose, seed])


@dataclass(frozen=True)
class Workload:
    """Subscriptions as two float32 arrays, and events on demand.

    Examples
    --------
    >>> workload = make("W3", scale=0.001)
    >>> workload.lower.shape, workload.lower.dtype.name
    ((1000, 2), 'float32')
    >>> workload.events(4, seed=7).shape
    (4, 2)
    """

    name: str
    dims: int
    lower: FloatArray
    upper: FloatArray
    spec: Spec
    scale: float = 1.0
    seed: int = 0

    def __len__(self) -> int:
        return len(self.lower)

    def events(self, n: int, seed: int) -> FloatArray:
        """Return `n` events as an (n, dims) float32 array.

        Parameters
        ----------
        n : int
            How many.
        seed : int
            Seed of the events; equal seeds never mean equal draws as the subscriptions.
        """
        if not 0 <= n <= MOST_ROWS:
            raise ValueError(f"events must be from 0 to {MOST_ROWS}, got {n}")
        return self.spec._points(self.spec.stream(_EVENTS, seed), n)

    def fresh_boxes(self, n: int, seed: int) -> Boxes:
        """Return `n` further subscriptions of the same distribution, for inserts."""
        if seed == self.seed:
            raise ValueError(f"seed {seed} already made the workload's own subscriptions")
        return self.spec._boxes(self.spec.stream(_SUBSCRIPTIONS, seed), n)


def make(name: str, scale: float = 1.0, seed: int = 0) -> Workload:
    """Generate a workload.

    Parameters
    ----------
    name : str
        "W1" to "W7", in either case.
    scale : float
        Factor on the number of subscriptions.
    seed : int
        Seed of the subscriptions.

    Examples
    --------
    >>> len(make("W1", scale=0.001))
    1500
    """
    spec = spec_of(name)
    check_scale(spec, scale)
    size = max(1, round(spec.size * scale))
    lower, upper = spec._boxes(spec.stream(_SUBSCRIPTIONS, seed), size)
    return Workload(spec.name, spec.dims, lower, upper, spec, scale, seed)


def check_scale(spec: Spec, scale: float) -> None:
    """Refuse a factor that makes no workload, or one of more subscriptions than can be drawn.

    Examples
    --------
    >>> check_scale(SPECS["W3"], 1e300)
    Traceback (most recent call last):
    ...
    ValueError: scale must be at most 2147.48 for W3, got 1e+300
    """
    if not 0 < scale < float("inf"):
        raise ValueError(f"scale must be positive and finite, got {scale}")
    if spec.size * scale > MOST_ROWS:
        raise ValueError(f"scale must be at most {MOST_ROWS / spec.size:g} for {spec.name}, got {scale}")


def spec_of(name: str) -> Spec:
    """Return the definition behind a name."""
    spec = SPECS.get(name.upper())
    if spec is None:
        raise ValueError(f"unknown workload {name!r}; known are {', '.join(SPECS)}")
    return spec


def _uniform_points(dims: int) -> Callable[[np.random.Generator, int], FloatArray]:
    def points(rng: np.random.Generator, n: int) -> FloatArray:
        return rng.random((n, dims), dtype=np.float32)

    return points


def _between(rng: np.random.Generator, low: float, high: float, shape: tuple[int, ...]) -> FloatArray:
    """Uniform float32 draws from [low, high), scaled in place: full-size workloads are hundreds of MB."""
    values = rng.random(shape, dtype=np.float32)
    values *= np.float32(high - low)
    values += np.float32(low)
    return values


def _inside_unit(rng: np.random.Generator, width: FloatArray) -> Boxes:
    """Place intervals of the given widths uniformly so that they lie inside [0, 1]."""
    lower = rng.random(width.shape, dtype=np.float32)
    lower *= 1 - width
    return lower, lower + width


def _unconstrain(boxes: Boxes, constrained: npt.NDArray[np.bool_]) -> Boxes:
    lower, upper = boxes
    lower[~constrained] = -np.inf
    upper[~constrained] = np.inf
    return lower, upper


def _sorted_draws(rng: np.random.Generator, n: int) -> Boxes:
    """W1: each side of a box is two uniform draws in order."""
    first = rng.random((n, 12), dtype=np.float32)
    second = rng.random((n, 12), dtype=np.float32)
    return np.minimum(first, second), np.maximum(first, second)


def _zipf_filters(rng: np.random.Generator, n: int) -> Boxes:
    """W2: 2 to 5 of 20 attributes, popular ones more often, widths 5 to 15 %."""
    popularity = np.log(1.0 / np.arange(1, 21))
    # Adding Gumbel noise to log weights and keeping the largest draws without replacement by weight.
    keys = rng.gumbel(size=(n, 20)) + popularity
    rank_limits = np.sort(keys, axis=1)[np.arange(n), 20 - rng.integers(2, 6, size=n)]
    half = _between(rng, 0.025, 0.075, (n, 20))
    centre = rng.random((n, 20), dtype=np.float32)
    boxes = np.maximum(centre - half, 0), np.minimum(centre + half, 1)
    return _unconstrain(boxes, keys >= rank_limits[:, None])


def _cities() -> tuple[FloatArray, FloatArray, npt.NDArray[np.float64]]:
    """W3's shape: centres, spreads and weights of 48 towns."""
    rng = np.random.default_rng([3, _SHAPE])
    weight = 1.0 / np.sqrt(np.arange(1, 49))
    return (
        _between(rng, 0.08, 0.92, (48, 2)),
        _between(rng, 0.0235, 0.064, (48, 1)),
        weight / weight.sum(),
    )


def _city_points(rng: np.random.Generator, n: int) -> FloatArray:
    centre, spread, weight = _cities()
    city = rng.choice(len(centre), size=n, p=weight)
    return centre[city] + spread[city] * rng.standard_normal((n, 2), dtype=np.float32)


def _geofences(rng: np.random.Generator, n: int) -> Boxes:
    """W3: rectangles of 0.1 to 1 % a side around points of a mixture of Gaussians."""
    centre = _city_points(rng, n)
    half = _between(rng, 0.0005, 0.005, (n, 2))
    return centre - half, centre + half


def _narrow_boxes(rng: np.random.Generator, n: int) -> Boxes:
    """W4: widths 10 to 30 % in every one of 12 dimensions."""
    return _inside_unit(rng, _between(rng, 0.1, 0.3, (n, 12)))


def _factors() -> tuple[FloatArray, FloatArray, FloatArray, npt.NDArray[np.float64]]:
    """W5's shape: centres, loadings of 3 hidden factors, skew exponents and weights of 24 groups."""
    rng = np.random.default_rng([5, _SHAPE])
    weight = 1.0 / np.arange(1, 25)
    centre = _between(rng, 0.2, 0.8, (24, 12))
    loading = rng.standard_normal((24, 3, 12), dtype=np.float32) * np.float32(0.12)
    exponent = _between(rng, 1.0, 2.0, (12,))
    return centre, loading, exponent, weight / weight.sum()


def _factor_points(rng: np.random.Generator, n: int) -> FloatArray:
    """Correlated inside a group through hidden factors, then skewed towards 0 by a power."""
    centre, loading, exponent, weight = _factors()
    group = rng.choice(len(centre), size=n, p=weight)
    points = rng.standard_normal((n, 12), dtype=np.float32)
    points *= np.float32(0.115)
    for g in range(len(centre)):
        members = np.flatnonzero(group == g)
        hidden = rng.standard_normal((len(members), 3), dtype=np.float32)
        points[members] += centre[g] + hidden @ loading[g]
    np.clip(points, 0, 1, out=points)
    return np.power(points, exponent, out=points)


def _factor_boxes(rng: np.random.Generator, n: int) -> Boxes:
    """W5: widths 1 to 60 % around points of the same mixture as the events."""
    centre = _factor_points(rng, n)
    half = _between(rng, 0.005, 0.3, (n, 12))
    return np.maximum(centre - half, 0), np.minimum(centre + half, 1)


def _ten_of_twenty(width: float) -> Callable[[np.random.Generator, int], Boxes]:
    """W6 and W7: 10 of 20 attributes, chosen uniformly, all intervals of one width inside [0, 1]."""

    def boxes(rng: np.random.Generator, n: int) -> Boxes:
        keys = rng.random((n, 20), dtype=np.float32)
        # Ranks instead of a threshold: equal float32 keys must not make an eleventh attribute.
        chosen = np.argpartition(keys, 10, axis=1)[:, :10]
        constrained = np.zeros((n, 20), dtype=np.bool_)
        np.put_along_axis(constrained, chosen, True, axis=1)
        sides = _inside_unit(rng, np.full((n, 20), width, dtype=np.float32))
        return _unconstrain(sides, constrained)

    return boxes


SPECS: dict[str, Spec] = {
    spec.name: spec
    for spec in (
        Spec(
            "W1",
            "12-D, each interval two sorted uniform draws",
            12,
            1_500_000,
            2.8,
            _sorted_draws,
            _uniform_points(12),
        ),
        Spec(
            "W2",
            "20 attributes, 2-5 constrained (Zipf), width about 10 %",
            20,
            1_000_000,
            2_622,
            _zipf_filters,
            _uniform_points(20),
        ),
        Spec("W3", "2-D geofences, sides 0.1-1 %, clustered", 2, 1_000_000, 78, _geofences, _city_points),
        Spec("W4", "12-D, widths 10-30 %", 12, 1_500_000, 0.006, _narrow_boxes, _uniform_points(12)),
        Spec(
            "W5",
            "12-D, skewed and correlated mixture, widths 1-60 %",
            12,
            1_500_000,
            32,
            _factor_boxes,
            _factor_points,
        ),
        Spec(
            "W6",
            "20 attributes, 10 constrained, width 0.4",
            20,
            1_000_000,
            105,
            _ten_of_twenty(0.4),
            _uniform_points(20),
        ),
        Spec(
            "W7",
            "20 attributes, 10 constrained, width 0.7",
            20,
            1_000_000,
            28_250,
            _ten_of_twenty(0.7),
            _uniform_points(20),
        ),
    )
}
