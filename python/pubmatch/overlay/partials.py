"""Partial aggregates that merge exactly: however readings are grouped on the way, the result is the same.

A partial carries count, sum, lowest and highest value, so that an average is never an average of averages.
Sums are kept without rounding, as a whole number of 2^-1074 (every float64 is one), and rounded once, when
the result is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from pubmatch.errors import ArgumentError, ArgumentTypeError
from pubmatch.overlay.subscription import FUNCTIONS

__all__ = ["Partial", "aggregate"]

_SCALE_BITS = 1074  # the smallest positive float64 is 2^-1074


@dataclass(frozen=True, slots=True)
class Partial:
    """What is known of some readings: enough for all functions, and mergeable.

    Attributes
    ----------
    count : int
        How many readings.
    total : int
        Their exact sum, in 2^-1074.
    low, high : float
        The lowest and the highest; infinite if there are none.

    Examples
    --------
    >>> a, b = Partial.of([0.1, 0.2]), Partial.of([0.3])
    >>> (a + b).result("mean") == (b + a).result("mean") == Partial.of([0.3, 0.2, 0.1]).result("mean")
    True
    >>> Partial.of([1e16, 1.0, -1e16]).result("sum")
    1.0
    >>> Partial().result("mean") is None, Partial().result("count")
    (True, 0.0)
    """

    count: int = 0
    total: int = 0
    low: float = math.inf
    high: float = -math.inf

    @classmethod
    def of(cls, values: Iterable[float]) -> Partial:
        """The partial of some readings."""
        count, total, low, high = 0, 0, math.inf, -math.inf
        for value in values:
            if not math.isfinite(value):
                raise ArgumentError(f"readings must be finite, got {value}")
            numerator, denominator = float(value).as_integer_ratio()
            total += numerator << (_SCALE_BITS + 1 - denominator.bit_length())
            count += 1
            # A zero has no sign: otherwise the order would decide which of 0.0 and -0.0 is the lowest.
            low, high = min(low, value + 0.0), max(high, value + 0.0)
        return cls(count, total, low, high)

    def __add__(self, other: Partial) -> Partial:
        if not isinstance(other, Partial):
            return NotImplemented
        return Partial(
            self.count + other.count,
            self.total + other.total,
            min(self.low, other.low),
            max(self.high, other.high),
        )

    def result(self, function: str) -> float | None:
        """The result of a function, rounded once; None if it has none because there are no readings."""
        if function not in FUNCTIONS:
            raise ArgumentError(f"function must be one of {', '.join(FUNCTIONS)}, got {function!r}")
        if function == "count":
            return float(self.count)
        if not self.count:
            return None
        if function == "min":
            return self.low
        if function == "max":
            return self.high
        divisor = self.count if function == "mean" else 1
        return _rounded(Fraction(self.total, divisor << _SCALE_BITS))


def aggregate(partials: Iterable[Partial]) -> Partial:
    """All partials merged.

    Examples
    --------
    >>> aggregate([Partial.of([1.0]), Partial.of([4.0, 1.0])]).result("mean")
    2.0
    """
    merged = Partial()
    for each in partials:
        if not isinstance(each, Partial):
            raise ArgumentTypeError(f"a Partial is needed, got {each!r}")
        merged = merged + each
    return merged


def _rounded(value: Fraction) -> float:
    """The nearest float; infinite beyond the largest, as a sum of floats would be."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
