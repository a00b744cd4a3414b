"""PREFETCHING and DELAYED together (section 3.1): the prefetched tree finds the old one to graft onto."""

from __future__ import annotations

from typing import ClassVar

from pubmatch.mobility.algorithms.delayed import Delayed
from pubmatch.mobility.algorithms.prefetching import Prefetching

__all__ = ["PrefetchingDelayed"]


class PrefetchingDelayed(Prefetching, Delayed):
    """Prefetches as PREFETCHING does; the old tree stays as in DELAYED."""

    __slots__ = ()
    name: ClassVar[str] = "prefetching+delayed"
