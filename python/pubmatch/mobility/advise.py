"""`advise`: which algorithm suits a recorded movement, by simulating it under each of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pubmatch.arrays import checked_share
from pubmatch.errors import ArgumentError
from pubmatch.mobility.algorithms import ALGORITHMS
from pubmatch.mobility.simulate import simulate
from pubmatch.mobility.topology import Topology
from pubmatch.mobility.trace import Trace, read_trace

__all__ = ["Advice", "Outcome", "advise"]

_AFTER_S = 1.0


@dataclass(frozen=True)
class Outcome:
    """What one algorithm does with the trace.

    Attributes
    ----------
    algorithm : str
        Its name.
    hops_per_move : float
        Messages between brokers that a move costs.
    lost_share : float
        Share of the deliveries due after moves that never took place.
    late_s : float
        The delay that 95 % of deliveries keep below.
    rows_per_broker : float
        Table rows, mean.
    needs_prediction : bool
        Whether the next broker must be known before the move.
    """

    algorithm: str
    hops_per_move: float
    lost_share: float
    late_s: float
    rows_per_broker: float
    needs_prediction: bool


@dataclass(frozen=True)
class Advice:
    """The outcomes of all algorithms, and the one to take.

    Attributes
    ----------
    moves : int
        Moves of the trace.
    outcomes : tuple of Outcome
        In the order of `ALGORITHMS`.
    recommended : str
        The algorithm.
    why : str
        What decided.
    """

    moves: int
    outcomes: tuple[Outcome, ...]
    recommended: str
    why: str

    def __str__(self) -> str:
        lines = ["algorithm              hops/move     lost  95 % within  rows/broker"]
        for each in self.outcomes:
            mark = "*" if each.algorithm == self.recommended else " "
            late = f"{each.late_s:.2f} s"
            lines.append(
                f"{mark} {each.algorithm:<20}{each.hops_per_move:>10.1f}{each.lost_share:>9.2%}{late:>13}"
                f"{each.rows_per_broker:>13.0f}"
            )
        return "\n".join([*lines, f"{self.recommended}: {self.why}"])


def advise(
    trace: Trace | str | os.PathLike[str],
    *,
    subscribers: int = 500,
    seed: int = 1,
    message_bytes: float = 448,
    locality: float = 0.0,
    topology: Topology | None = None,
    prediction: float | None = None,
    tolerated_loss: float = 0.0,
) -> Advice:
    """Simulate a recorded movement under every algorithm and recommend one.

    Recommended is the algorithm with fewest messages among those that lose no larger share of deliveries than
    tolerated; if all lose more, the one that loses least. Algorithms that must know the next broker in
    advance are simulated too, but recommended only if `prediction` says how often it is known.

    Parameters
    ----------
    trace : Trace or path
        The movement; see `read_trace` for the file.
    subscribers, seed, message_bytes, locality, topology
        As for `simulate`.
    prediction : float, optional
        Share of moves whose target can be predicted.
    tolerated_loss : float
        Share of the deliveries after a move that may be lost.

    Examples
    --------
    >>> from pubmatch.mobility import Move, Trace, advise
    >>> trace = Trace([Move(0, "taxi", "21"), Move(30, "taxi", "22"), Move(90, "taxi", "23")])
    >>> advice = advise(trace, subscribers=20)
    >>> advice.moves, advice.recommended
    (2, 'proxy')
    """
    tolerated_loss = checked_share("tolerated_loss", tolerated_loss)
    if not isinstance(trace, Trace):
        trace = read_trace(trace)
    outcomes, moves = [], 0
    for algorithm in ALGORITHMS:
        result = simulate(
            algorithm,
            subscribers=subscribers,
            duration_s=trace.duration_s + _AFTER_S,
            seed=seed,
            message_bytes=message_bytes,
            walk="trace",
            trace=trace,
            locality=locality,
            topology=topology,
            prediction=1.0 if prediction is None else prediction,
        )
        moves = result.moves
        late_s = float(np.quantile(result.delays_s, 0.95)) if len(result.delays_s) else float("nan")
        share = result.lost / result.due if result.due else 0.0
        outcomes.append(
            Outcome(
                algorithm,
                result.total_hops_per_move,
                share,
                late_s,
                result.rows_per_broker,
                "prefetching" in algorithm,
            )
        )
    if not moves:
        raise ArgumentError("the trace has no move to advise on: every publisher stays where it first is")
    return Advice(moves, tuple(outcomes), *_choose(outcomes, prediction, tolerated_loss))


def _choose(outcomes: Sequence[Outcome], prediction: float | None, tolerated: float) -> tuple[str, str]:
    """Return the algorithm and the reason."""
    possible = [each for each in outcomes if prediction is not None or not each.needs_prediction]
    enough = [each for each in possible if each.lost_share <= tolerated]
    if enough:
        best = min(enough, key=lambda each: (each.hops_per_move, each.rows_per_broker))
        return best.algorithm, (
            f"{best.hops_per_move:.1f} hops per move, the fewest of the {len(enough)} algorithms that lose "
            f"at most {tolerated:.2%}"
        )
    best = min(possible, key=lambda each: (each.lost_share, each.hops_per_move))
    return best.algorithm, f"loses least: {best.lost_share:.2%}, above the tolerated {tolerated:.2%}"
