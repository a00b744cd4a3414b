"""The self-adaptive Level of shortest-job-first matching, and the SIMD kernels in use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, SupportsFloat, SupportsIndex

from pubmatch import _core
from pubmatch.arrays import checked_count, checked_number
from pubmatch.errors import ArgumentTypeError

if TYPE_CHECKING:
    from pubmatch._core import TunerState

__all__ = ["LevelTuner", "active_kernel", "kernels"]

_INT32, _INT64 = 2**31 - 1, 2**63 - 1


class LevelTuner:
    """Chooses the Level of shortest-job-first matching from response times; every index has one.

    Per batch size the tuner is *stable* (it keeps one Level) or *unstable*: then it runs `loops` batches at
    each of the upper, the current and the lower Level, round-robin, compares the three summed mean response
    times and settles, moves one Level down the slope, or looks once more where the times are too noisy to
    tell. It always settles: one unstable phase takes at most height + 32 rounds. Batch sizes above 16 share
    records, four between two powers of two.

    Parameters
    ----------
    threshold : int
        So many inserts and deletes make a stable batch size unstable again.
    loops : int
        Batches per Level in one round.
    initial_level : int
        Where the first batch size starts; 0 means at the leaves.

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

    __slots__ = ("__weakref__", "_core")

    def __init__(
        self, threshold: SupportsIndex = 100_000, loops: SupportsIndex = 64, initial_level: SupportsIndex = 0
    ) -> None:
        self._core = _core.LevelTuner(
            checked_count("threshold", threshold, _INT64),
            checked_count("loops", loops, _INT32),
            checked_count("initial_level", initial_level, _INT32, least=0),
        )

    @classmethod
    def _around(cls, core: _core.LevelTuner) -> Self:
        tuner = cls.__new__(cls)
        tuner._core = core
        return tuner

    def next_level(self, batch_size: SupportsIndex, height: SupportsIndex) -> int:
        """The Level, from 1 to `height`, for the next batch of this size."""
        return self._core.next_level(_batch_size(batch_size), checked_count("height", height, _INT32))

    def record(self, batch_size: SupportsIndex, level: SupportsIndex, mean_response_s: SupportsFloat) -> None:
        """Tell what a batch took. Levels that are not on trial are ignored."""
        number = checked_count("level", level, _INT32)
        self._core.record(_batch_size(batch_size), number, checked_number("mean_response_s", mean_response_s))

    def updated(self, count: SupportsIndex) -> None:
        """Tell of `count` inserts and deletes."""
        self._core.updated(checked_count("count", count, _INT64, least=0))

    def state(self, batch_size: SupportsIndex) -> TunerState:
        """What is known about this batch size: `stable`, `level`, `updates`, `round` and `sums`.

        The sums are those of the mean response times since the Level was taken up: of the current, the
        upper and the lower Level.
        """
        return self._core.state(_batch_size(batch_size))

    @property
    def threshold(self) -> int:
        """Updates that make a stable batch size unstable."""
        return self._core.threshold

    @property
    def loops(self) -> int:
        """Batches per Level in one round."""
        return self._core.loops

    @property
    def initial_level(self) -> int:
        """Where to start; 0 means at the leaves."""
        return self._core.initial_level

    def __repr__(self) -> str:
        return repr(self._core)

    def __getstate__(self) -> bytes:
        return self._core.__getstate__()

    def __setstate__(self, state: bytes) -> None:
        if not isinstance(state, bytes):
            raise ArgumentTypeError(f"state must be bytes, got {type(state).__name__}")
        core = _core.LevelTuner.__new__(_core.LevelTuner)
        core.__setstate__(state)
        self._core = core


def _batch_size(value: Any) -> int:
    return checked_count("batch_size", value, _INT64)


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
