"""How low the peak could be at best: a linear program over all ways to divide the work.

What is given stays: which node receives which publishers' readings, and where the roots are. What is chosen
is where calculations take place, in any parts: flows may be divided among all nodes, which no policy can do,
so no policy gets below the bound. In messages per second, of subscription s on node n:

- `raw[s, n]`: readings that n receives as a joint of s,
- `partial[s, n]`: partial aggregates that n receives as a joint of s (local calculation only),
- `kept[s, n]`: readings of n's own publishers calculated on n itself (local calculation only),
- `sent[s, n]`: readings that n's filter passes to joints elsewhere; `combined[s, n]` the same as partials.

A joint emits `rate_calc` of what it calculates. Joints that merge partials emit at least as fast as the
fastest stream they take. What goes to the root may be buffered down to the share `emitted`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pubmatch.overlay import TransferNetwork

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

__all__ = ["FLOOR", "lower_bound"]

FLOOR = 2.0**-8
"""The share of its output rate that a joint may be halved down to."""


def lower_bound(network: TransferNetwork, *, local: bool, emitted: float = FLOOR) -> float:
    """Return a peak that no placement of the network's subscriptions can go below.

    Parameters
    ----------
    network : TransferNetwork
        Its subscriptions have one calculation over one filter each, and no publisher in common; where its
        joints are does not matter.
    local : bool
        Whether an edge may calculate what its own publishers send; otherwise everything filtered leaves it.
    emitted : float
        The share of its full output rate that a joint sends at least: 1 is without buffering.

    Examples
    --------
    One edge with 4 readings per second, half of which pass; the root is elsewhere and does the rest:

    >>> from pubmatch.overlay import Calculate, Filter, Subscription
    >>> network = TransferNetwork.from_arrays([0, 32], [0, 1, 2, 3], bits=3)
    >>> mean = Calculate("mean", Filter("reading"))
    >>> network.subscribe(Subscription("mean", mean, ranges=[(0, 32)], subscriber=40))
    >>> round(lower_bound(network, local=False), 3)
    6.0
    >>> round(lower_bound(network, local=True, emitted=1.0), 3)
    4.2
    """
    return _Program(network, local, emitted).solve()


class _Program:
    """The program's rows and columns, collected piece by piece."""

    def __init__(self, network: TransferNetwork, local: bool, emitted: float) -> None:
        self.calc, self.emitted, self.local = network.rates.rate_calc, emitted, local
        self.nodes = network.nodes
        self.count = len(self.nodes)
        self.base = np.zeros(self.count)
        self.columns = 1  # column 0 is the peak
        self.entries: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        self.equal: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        self.totals: list[float] = []
        self.above: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        self.upper: list[FloatArray] = [np.array([np.inf])]
        self.extra_rows = 0
        rate = network.rates.pub_rate
        for name in network.subscriptions:
            arrays = network.flow_arrays(name)
            if arrays["source"].any():
                raise ValueError(f"subscription {name!r} has several filters; the bound is for one each")
            edges = np.searchsorted(self.nodes, arrays["edge"])
            readings = arrays["publishers"] * rate
            np.add.at(self.base, edges, readings)
            passed = np.zeros(self.count)
            np.add.at(passed, edges, readings * network.rates.rate_fil)
            root = int(np.searchsorted(self.nodes, network.tree(name).root))
            self._add(passed, root)

    def _new(self, upper: FloatArray) -> FloatArray:
        first = self.columns
        self.columns += len(upper)
        self.upper.append(upper)
        return np.arange(first, self.columns, dtype=np.float64)

    def _load(self, nodes: FloatArray, columns: FloatArray, amount: float) -> None:
        """Let each column add to a node's load."""
        self.entries.append((nodes, columns, np.full(len(columns), amount)))

    def _add(self, passed: FloatArray, root: int) -> None:
        """Add one subscription: `passed` is the filtered rate of each node."""
        everywhere = np.arange(self.count, dtype=np.float64)
        edges = np.flatnonzero(passed).astype(np.float64)
        at_root = np.full(self.count, float(root))
        total = passed.sum()
        raw = self._new(total - passed)  # a joint does not receive its own readings
        output = self.calc * self.emitted
        others = everywhere != root
        self._load(everywhere, raw, 1.0)
        self._load(everywhere[others], raw[others], output)
        self._load(at_root[others], raw[others], output)
        sent = self._new(passed[passed > 0])
        self._load(edges, sent, 1.0)
        self._balance([(raw, 1.0), (sent, -1.0)], 0.0)
        parts = [sent, *(self._add_local(passed, edges, root, output) if self.local else ())]
        for place, whole in enumerate(passed[passed > 0].tolist()):
            self._balance([(columns[place : place + 1], 1.0) for columns in parts], whole)

    def _add_local(
        self, passed: FloatArray, edges: FloatArray, root: int, output: float
    ) -> tuple[FloatArray, FloatArray]:
        """Let edges calculate for themselves, or send partial aggregates to joints that merge them."""
        own = passed[passed > 0]
        kept = self._new(own)
        away = edges != root
        self._load(edges[away], kept[away], output)
        self._load(np.full(int(away.sum()), float(root)), kept[away], output)
        combined = self._new(own)
        self._load(edges, combined, self.calc)
        partial = self._new(np.full(self.count, np.inf))
        self._load(np.arange(self.count, dtype=np.float64), partial, 1.0)
        self._balance([(partial, 1.0), (combined, -self.calc)], 0.0)
        # The root hears merged partials at least as fast as the fastest stream they are made of.
        merged = self._new(np.array([np.inf]))
        self._load(np.array([float(root)]), merged, 1.0)
        rows = np.arange(len(edges), dtype=np.float64) + self.extra_rows
        self.extra_rows += len(edges)
        self.above.append((rows, combined, np.full(len(edges), output)))
        self.above.append((rows, np.repeat(merged, len(edges)), np.full(len(edges), -1.0)))
        return kept, combined

    def _balance(self, sides: list[tuple[FloatArray, float]], total: float) -> None:
        """Demand that columns, each times a factor, sum up to a total."""
        row = float(len(self.totals))
        for columns, factor in sides:
            self.equal.append((np.full(len(columns), row), columns, np.full(len(columns), factor)))
        self.totals.append(total)

    def solve(self) -> float:
        """Return the lowest peak."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_array

        def matrix(entries: list[tuple[FloatArray, FloatArray, FloatArray]], rows: int) -> coo_array:
            row, column, value = (np.concatenate([each[part] for each in entries]) for part in range(3))
            places = (row.astype(np.int64), column.astype(np.int64))
            return coo_array((value, places), shape=(rows, self.columns))

        everywhere = np.arange(self.count, dtype=np.float64)
        peak = (everywhere, np.zeros(self.count), np.full(self.count, -1.0))
        below = [peak, *self.entries, *((rows + self.count, c, v) for rows, c, v in self.above)]
        cost = np.zeros(self.columns)
        cost[0] = 1.0
        upper = np.concatenate(self.upper)
        solved = linprog(
            cost,
            A_ub=matrix(below, self.count + self.extra_rows).tocsr(),
            b_ub=np.concatenate((-self.base, np.zeros(self.extra_rows))),
            A_eq=matrix(self.equal, len(self.totals)).tocsr(),
            b_eq=np.array(self.totals),
            bounds=np.column_stack((np.zeros(self.columns), upper)),
            method="highs",
        )
        if solved.status != 0:
            raise RuntimeError(f"the linear program has no solution: {solved.message}")
        return float(solved.fun)
