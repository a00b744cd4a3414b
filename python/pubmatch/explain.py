"""Why an event satisfies a filter or does not: the predicates that decided it, with the event's values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pubmatch.filters.expressions import And, Not, Or, negate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pubmatch.filters import Filter
    from pubmatch.schema import Schema

__all__ = ["Explanation", "explained"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What `Matcher.explain` tells.

    Attributes
    ----------
    matched : bool
        Whether the event satisfies the filter.
    truth : bool or None
        True, False, or None where SQL says NULL.
    failed : list of (str, value)
        The predicates that kept the filter from being true, as SQL text with their bounds, each with the
        event's value: None if it is missing, a dict if a predicate looks at several attributes.
    """

    matched: bool
    truth: bool | None
    failed: list[tuple[str, Any]] = field(default_factory=list)

    def __str__(self) -> str:
        if self.matched:
            return "matched"
        return "\n".join(
            ["not matched", *(f"  {text}: the event has {value!r}" for text, value in self.failed)]
        )


def explained(filter: Filter, event: Mapping[str, Any], schema: Schema) -> Explanation:
    """Why `event` satisfies `filter` or does not.

    Examples
    --------
    >>> from pubmatch.filters import parse
    >>> from pubmatch.schema import Number, Schema
    >>> schema = Schema(x=Number(), y=Number())
    >>> found = explained(parse("x > 3 AND NOT (y < 5 OR y > 9)"), {"x": 4.0, "y": 2.0}, schema)
    >>> found.truth, found.failed
    (False, [('NOT (y < 5)', 2.0)])
    """
    bound = filter.bind(schema)
    truth = bound.matches(event)
    if truth is True:
        return Explanation(True, True)
    return Explanation(False, truth, list(_failures(filter, bound, event, True)))


def _failures(
    shown: Filter, bound: Filter, event: Mapping[str, Any], wanted: bool
) -> Iterator[tuple[str, Any]]:
    """The predicates of a part that is not `wanted`, as written; `bound` is the same tree, bound."""
    if isinstance(bound, Not) and isinstance(shown, Not):
        yield from _failures(shown.part, bound.part, event, not wanted)
    elif isinstance(bound, And | Or) and isinstance(shown, And | Or):
        # Any part of an AND can fail it; an OR fails by all its parts, which then are all not wanted.
        for one, part in zip(shown.parts, bound.parts, strict=True):
            if part.matches(event) is not wanted:
                yield from _failures(one, part, event, wanted)
    else:
        yield str(shown if wanted else negate(shown)), _value(bound, event)


def _value(part: Filter, event: Mapping[str, Any]) -> Any:
    names = sorted(part.attributes)
    if len(names) > 1:
        return {name: event.get(name) for name in names}
    return event.get(names[0]) if names else None
