"""What a broker does when a publisher connects, disconnects or leaves: one interface, chosen by name."""

from __future__ import annotations

from pubmatch.errors import ArgumentError
from pubmatch.mobility.algorithms.delayed import Delayed
from pubmatch.mobility.algorithms.delayed_ack import DelayedAck
from pubmatch.mobility.algorithms.prefetching import Prefetching
from pubmatch.mobility.algorithms.prefetching_delayed import PrefetchingDelayed
from pubmatch.mobility.algorithms.proxy import Proxy
from pubmatch.mobility.algorithms.standard import Standard

__all__ = [
    "ALGORITHMS",
    "Delayed",
    "DelayedAck",
    "Prefetching",
    "PrefetchingDelayed",
    "Proxy",
    "Standard",
    "algorithm_named",
]

_CLASSES: tuple[type[Standard], ...] = (Standard, Prefetching, Proxy, Delayed, PrefetchingDelayed, DelayedAck)
_BY_NAME = {each.name: each for each in _CLASSES}
ALGORITHMS = tuple(_BY_NAME)


def algorithm_named(name: str) -> type[Standard]:
    """The algorithm of that name.

    Examples
    --------
    >>> algorithm_named("delayed").__name__
    'Delayed'
    """
    found = _BY_NAME.get(name) if isinstance(name, str) else None
    if found is None:
        raise ArgumentError(f"algorithm must be one of {', '.join(ALGORITHMS)}, got {name!r}")
    return found
