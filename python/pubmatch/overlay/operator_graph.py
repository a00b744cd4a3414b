"""The operators of a subscription in the order in which they can run, and what they emit where.

Equal filters are one source: one stream serves all calculations over it. A calculation runs on a joint if
everything it needs arrives there. If not, the joint sends partial aggregates of what it has, and the
calculation, with all that depend on it, runs on the root (paper, figure 7b).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pubmatch.overlay.subscription import Calculate, Filter, Operator

__all__ = ["Calculation", "OperatorGraph"]


@dataclass(frozen=True, slots=True)
class Calculation:
    """One calculation of a graph.

    Attributes
    ----------
    function : str
        One of `FUNCTIONS`.
    sources : tuple of int
        The filters it reads itself.
    inputs : tuple of int
        The calculations whose results it reads, all of them earlier in the graph.
    support : frozenset of int
        The filters it depends on, itself or through other calculations.
    """

    function: str
    sources: tuple[int, ...]
    inputs: tuple[int, ...]
    support: frozenset[int]


@dataclass(frozen=True, slots=True)
class OperatorGraph:
    """Filters and calculations of one subscription, each once, inputs before what depends on them.

    Attributes
    ----------
    sources : tuple of Filter
        The distinct filters.
    calculations : tuple of Calculation
        The distinct calculations; the last one is what the subscriber receives. None: it receives the
        readings of the only source.
    consumers : tuple of tuple of int
        For each calculation, those that read its result.
    """

    sources: tuple[Filter, ...]
    calculations: tuple[Calculation, ...]
    consumers: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, operator: Operator) -> OperatorGraph:
        """The graph of an operator tree without names.

        Examples
        --------
        >>> rain, level = Filter("rain"), Filter("level")
        >>> graph = OperatorGraph.of(Calculate("max", Calculate("mean", rain), Calculate("mean", level)))
        >>> [each.function for each in graph.calculations], graph.calculations[-1].inputs
        (['mean', 'mean', 'max'], (0, 1))
        """
        sources: dict[Filter, int] = {}
        numbers: dict[Calculate, int] = {}
        calculations: list[Calculation] = []
        _number(operator, sources, numbers, calculations)
        consumers: list[list[int]] = [[] for _ in calculations]
        for number, each in enumerate(calculations):
            for given in each.inputs:
                consumers[given].append(number)
        return cls(tuple(sources), tuple(calculations), tuple(tuple(each) for each in consumers))

    def here(self, whole: Sequence[bool]) -> list[bool]:
        """Which calculations can run on a joint, given which sources arrive there wholly."""
        return [all(whole[source] for source in each.support) for each in self.calculations]

    def emitted(
        self, arriving: Sequence[float], peaks: Sequence[float], whole: Sequence[bool], rate_calc: float
    ) -> float:
        """The rate at which a joint sends to the root.

        Parameters
        ----------
        arriving : sequence of float
            For each source, the rate of all its readings that are calculated on here.
        peaks : sequence of float
            With partial aggregates made on the edges: for each source, the rate of its fastest stream, at
            which merged ones leave; empty if readings arrive one by one.
        whole : sequence of bool
            For each source, whether all of it arrives here.
        rate_calc : float
            What a calculation emits for each message it takes.

        Examples
        --------
        >>> graph = OperatorGraph.of(Calculate("mean", Filter("rain")))
        >>> graph.emitted([100.0], [], [True], rate_calc=0.1)
        10.0
        """
        if not self.calculations:
            return float(arriving[0])
        if len(self.calculations) == 1:  # most are; here or in parts, its output is the same
            return max(peaks) if peaks else rate_calc * sum(arriving)
        here = self.here(whole)
        rates: list[float] = []
        total = 0.0
        for number, each in enumerate(self.calculations):
            if peaks:
                own = max((peaks[source] for source in each.sources), default=0.0)
            else:
                own = rate_calc * sum(arriving[source] for source in each.sources)
            if here[number]:
                own += rate_calc * sum(rates[given] for given in each.inputs)
            rates.append(own)
            # What only calculations on this joint read never leaves it.
            if not (here[number] and self.consumers[number] and all(here[c] for c in self.consumers[number])):
                total += own
        return total


def _number(
    operator: Operator,
    sources: dict[Filter, int],
    numbers: dict[Calculate, int],
    calculations: list[Calculation],
) -> int:
    """Give an operator and all below it their numbers; depth is limited by `Calculate`."""
    if isinstance(operator, Filter):
        return sources.setdefault(operator, len(sources))
    if operator in numbers:
        return numbers[operator]
    own: dict[int, None] = {}
    inputs: dict[int, None] = {}
    for each in operator.inputs:
        if isinstance(each, str):
            raise AssertionError(f"operator {each!r} was not resolved")
        kind = own if isinstance(each, Filter) else inputs
        kind[_number(each, sources, numbers, calculations)] = None
    support = frozenset(own).union(*(calculations[each].support for each in inputs))
    numbers[operator] = len(calculations)
    calculations.append(Calculation(operator.function, tuple(own), tuple(inputs), support))
    return numbers[operator]
