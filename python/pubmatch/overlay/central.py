"""The result of a window computed in one place from all readings: what the network's results must equal.

Nothing is shared with the way through the network: predicates are evaluated reading by reading, and sums are
fractions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from pubmatch.overlay.messages import WindowResult
from pubmatch.overlay.subscription import Calculate, Filter, Operator

__all__ = ["central_result"]


def central_result(
    operator: Operator, readings: Mapping[Filter, Sequence[Mapping[str, Any]]]
) -> WindowResult:
    """The result of an operator over readings.

    Parameters
    ----------
    operator : Filter or Calculate
        A tree without names.
    readings : mapping of Filter to readings
        For each filter, the readings of its type in its area.

    Examples
    --------
    >>> rain = Filter("rain", "value > 1")
    >>> central_result(Calculate("mean", rain), {rain: [{"value": 1.0}, {"value": 2.0}, {"value": 5.0}]})
    3.5
    """
    if isinstance(operator, Filter):
        return tuple(sorted(_passing(operator, readings[operator])))
    return _calculated(operator, readings)


def _calculated(operator: Calculate, readings: Mapping[Filter, Sequence[Mapping[str, Any]]]) -> float | None:
    values: list[float] = []
    for each in dict.fromkeys(operator.inputs):
        if isinstance(each, Filter):
            values.extend(_passing(each, readings[each]))
        elif isinstance(each, Calculate):
            result = _calculated(each, readings)
            if result is not None:
                values.append(result)
    match operator.function:
        case "count":
            return float(len(values))
        case _ if not values:
            return None
        case "min":
            return min(values) + 0.0
        case "max":
            return max(values) + 0.0
        case "sum":
            return float(sum(map(Fraction, values)))
        case _:
            return float(sum(map(Fraction, values)) / len(values))


def _passing(given: Filter, readings: Sequence[Mapping[str, Any]]) -> list[float]:
    return [
        float(each[given.value])
        for each in readings
        if each.get(given.value) is not None
        and not math.isnan(each[given.value])
        and (given.predicate is None or given.predicate.matches(each) is True)
    ]
