"""Taking times and summing them up: medians with quartiles, never a bare best."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

import numpy as np

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def timed(
    call: Callable[Arguments, Result], *arguments: Arguments.args, **options: Arguments.kwargs
) -> tuple[float, Result]:
    """Make a call with the garbage collector held back; return its seconds and its result.

    The result is handed back alive, so neither its destruction nor a collection falls into the timed part.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        start = time.perf_counter()
        result = call(*arguments, **options)
        return time.perf_counter() - start, result
    finally:
        if collecting:
            gc.enable()


def spread(values: Sequence[float]) -> dict[str, float]:
    """Sum up repeated measurements.

    Examples
    --------
    >>> spread([1.0, 2.0, 3.0, 4.0, 10.0])
    {'median': 3.0, 'q1': 2.0, 'q3': 4.0, 'min': 1.0, 'max': 10.0, 'mean': 4.0}
    """
    low, q1, median, q3, high = (float(v) for v in np.quantile(values, (0, 0.25, 0.5, 0.75, 1)))
    mean = float(np.mean(values))
    return {"median": median, "q1": q1, "q3": q3, "min": low, "max": high, "mean": mean}
