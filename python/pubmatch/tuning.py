"""The self-adaptive Level of shortest-job-first matching, and the SIMD kernels in use.

`LevelTuner` is the native tuner, the one every index has as `Index.tuner`. Per batch size it is *stable* (it
keeps one Level) or *unstable*: then it runs `loops` batches at each of the upper, the current and the lower
Level, round-robin, compares the three summed mean response times and either settles or moves one Level down
the slope. After `threshold` inserts and deletes a stable tuner looks again. The methods are

- `next_level(batch_size, height)`: the Level for the next batch of that size;
- `record(batch_size, level, mean_response_s)`: what that batch took;
- `updated(count)`: so many boxes were inserted or deleted;
- `state(batch_size)`: an object with `stable`, `level`, `updates`, `round` and `sums`.

Examples
--------
>>> import pubmatch as pm
>>> tuner = pm.LevelTuner(threshold=100_000, loops=2)
>>> while not tuner.state(128).stable:
...     level = tuner.next_level(128, height=7)
...     tuner.record(128, level, mean_response_s=(level - 5) ** 2 + 1.0)
>>> tuner.state(128).level
5
"""

from __future__ import annotations

from pubmatch import _core
from pubmatch._core import LevelTuner

__all__ = ["LevelTuner", "active_kernel", "kernels"]


def kernels() -> tuple[str, ...]:
    """The SIMD kernels this machine can run, best first; each is a value of `PUBMATCH_FORCE_KERNEL`.

    Examples
    --------
    >>> import pubmatch as pm
    >>> pm.active_kernel() in pm.kernels()
    True
    """
    return _core.kernels()


def active_kernel() -> str:
    """The SIMD kernel in use: the best one, or what `PUBMATCH_FORCE_KERNEL` said when pubmatch was imported.

    Examples
    --------
    >>> import pubmatch as pm
    >>> isinstance(pm.active_kernel(), str)
    True
    """
    return _core.active_kernel()
