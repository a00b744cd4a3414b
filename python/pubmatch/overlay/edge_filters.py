"""The filter operators of one edge: all predicates on one type of readings in one native index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pubmatch as pm
from pubmatch.overlay.subscription import Filter

__all__ = ["EdgeFilters"]


def has_value(reading: Mapping[str, Any], name: str) -> bool:
    """Whether a reading has a value; NaN counts as missing, as it does in filters."""
    value = reading.get(name)
    return value is not None and value == value


class EdgeFilters:
    """Tells which filters each reading passes.

    Parameters
    ----------
    schema : Schema
        The attributes of the readings.

    Examples
    --------
    >>> import pubmatch as pm
    >>> filters = EdgeFilters(pm.Schema(value=pm.Number()))
    >>> high, all_of_them = Filter("rain", "value > 30"), Filter("rain")
    >>> filters.install([high, all_of_them])
    >>> passed = filters.passing([{"value": 31.0}, {"value": 3.0}])
    >>> [(high in each, all_of_them in each) for each in passed]
    [(True, True), (False, True)]
    """

    def __init__(self, schema: pm.Schema) -> None:
        self._matcher = pm.Matcher(schema)
        self._filters: list[Filter] = []

    def install(self, filters: Iterable[Filter]) -> None:
        """Have exactly these filters from now on."""
        wanted = list(dict.fromkeys(filters))
        texts = {str(each.predicate) for each in wanted if each.predicate is not None}
        present = set(map(str, self._matcher.keys()))
        for text in sorted(present - texts):
            self._matcher.unsubscribe(text)
        for text in sorted(texts - present):
            self._matcher.subscribe(text, text)
        self._filters = wanted

    def passing(self, readings: Sequence[Mapping[str, Any]]) -> list[set[Filter]]:
        """For each reading, the filters it passes; one whose value is missing passes none of them."""
        if len(self._matcher):
            matched = [set(keys) for keys in self._matcher.match(list(readings))]
        else:
            matched = [set() for _ in readings]
        return [
            {
                each
                for each in self._filters
                if has_value(reading, each.value) and (each.predicate is None or str(each.predicate) in keys)
            }
            for reading, keys in zip(readings, matched, strict=True)
        ]
