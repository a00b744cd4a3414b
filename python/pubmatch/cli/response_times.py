"""Mean and quantiles of any number of response times, in constant memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ResponseTimes"]

_SHORTEST_S = 1e-9
_BINS_PER_E = 100  # a bin is one percent wide
_BINS = 40 * _BINS_PER_E  # to more than a thousand years


class ResponseTimes:
    """A histogram of seconds whose bins are each one percent wide.

    Examples
    --------
    >>> times = ResponseTimes()
    >>> times.add(np.array([0.001] * 99 + [0.5]))
    >>> round(times.mean_s, 5), round(times.quantile(0.5), 3), round(times.quantile(1.0), 2)
    (0.00599, 0.001, 0.5)
    """

    def __init__(self) -> None:
        self._counts = np.zeros(_BINS, np.int64)
        self._sum_s = 0.0

    def add(self, seconds: NDArray[np.float64]) -> None:
        """Count the response times of some events."""
        places = (np.log(np.maximum(seconds, _SHORTEST_S)) - math.log(_SHORTEST_S)) * _BINS_PER_E
        bins = np.clip(places.astype(np.int64), 0, _BINS - 1)
        self._counts += np.bincount(bins, minlength=_BINS)
        self._sum_s += float(seconds.sum())

    def merge(self, other: ResponseTimes) -> None:
        """Count the response times that another histogram holds."""
        self._counts += other._counts
        self._sum_s += other._sum_s

    def __len__(self) -> int:
        return int(self._counts.sum())

    @property
    def mean_s(self) -> float | None:
        """The exact mean; None if there was no event."""
        return self._sum_s / len(self) if len(self) else None

    def quantile(self, share: float) -> float | None:
        """The time within which a share of the events was complete, to one percent; None without events."""
        count = len(self)
        if not count:
            return None
        place = int(np.searchsorted(np.cumsum(self._counts), max(math.ceil(share * count), 1)))
        return _SHORTEST_S * math.exp((place + 0.5) / _BINS_PER_E)
