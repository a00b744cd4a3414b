"""What a user may choose about a benchmark, checked once for all runners."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pubmatch_bench.peers import PEERS
from pubmatch_bench.workloads import MOST_ROWS, SPECS, FloatArray, check_scale, spec_of

Notify = Callable[[str, float], None]
"""Told what is being done, and which fraction of the whole is done."""

Events = Callable[[int, int], FloatArray]
"""Draws a number of events from a seed."""

QUICK_SCALE = 0.05
QUICK_ROUNDS = 3

SUBSCRIPTION_SEED = 0
WARM_UP_SEED = 900
EVENT_SEED = 1000
"""Round `r` draws its events from seed `EVENT_SEED + r`; no round sees an event twice."""

SEEDS = {
    "subscriptions": str(SUBSCRIPTION_SEED),
    "warm-up events": str(WARM_UP_SEED),
    "events": f"{EVENT_SEED} + round",
}


@dataclass(frozen=True)
class Options:
    """The choices of one run."""

    workloads: tuple[str, ...]
    peers: tuple[str, ...]
    rounds: int
    scale: float
    quick: bool = False
    batch: int = 128
    threads: int = 2

    def parameters(self, *names: str) -> dict[str, Any]:
        """Return the named choices for the record."""
        return {name: getattr(self, name) for name in names}


def choose(
    workloads: str | None,
    peers: str | None,
    rounds: int | None,
    scale: float | None,
    quick: bool,
    *,
    default_workloads: str,
    default_rounds: int,
    known_peers: tuple[str, ...] = tuple(PEERS),
    **others: int,
) -> Options:
    """Turn the text of a command line into `Options`.

    Parameters
    ----------
    workloads : str or None
        Names with commas between; None takes the default.
    peers : str or None
        Names with commas between, or "none"; None takes all there are.
    rounds, scale : int, float or None
        None takes the default, or the small value of a quick run.
    quick : bool
        A trial run of a twentieth of the size.
    known_peers : tuple of str
        The peers this benchmark can measure.

    Examples
    --------
    >>> choose("w1,W3", "none", None, None, True, default_workloads="W1", default_rounds=15)
    Options(workloads=('W1', 'W3'), peers=(), rounds=3, scale=0.05, quick=True, batch=128, threads=2)
    """
    if rounds is None:
        rounds = QUICK_ROUNDS if quick else default_rounds
    if scale is None:
        scale = QUICK_SCALE if quick else 1.0
    for name, value in {"rounds": rounds, **others}.items():
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
        if value > MOST_ROWS:
            raise ValueError(f"{name} must be at most {MOST_ROWS}, got {value}")
    names = tuple(spec_of(name).name for name in _split(workloads or default_workloads))
    if not names:
        raise ValueError(f"no workload named; known are {', '.join(SPECS)}")
    for name in names:
        check_scale(SPECS[name], scale)
    return Options(names, _peer_names(peers, known_peers), rounds, scale, quick, **others)


def part(notify: Notify, workload: str, options: Options) -> Notify:
    """Return what one workload's share of a run tells, so that fractions count for the whole run.

    Examples
    --------
    >>> options = Options(("W1", "W2"), (), rounds=1, scale=1.0)
    >>> part(lambda what, done: print(what, done), "W2", options)("build", 0.5)
    W2 build 0.75
    """
    before, whole = options.workloads.index(workload), len(options.workloads)

    def tell(what: str, done: float) -> None:
        notify(f"{workload} {what}", (before + done) / whole)

    return tell


def _split(text: str) -> list[str]:
    """Split at commas; a name given twice counts once."""
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _peer_names(text: str | None, known: tuple[str, ...]) -> tuple[str, ...]:
    names = known if text is None else tuple(name.lower() for name in _split(text))
    if names == ("none",):
        return ()
    for name in names:
        if name not in known:
            raise ValueError(f"unknown peer {name!r}; known are {', '.join(known)}, or none")
    return names
