"""Filters as frozen trees: the nodes that SQL text and Python expressions both become.

A node knows its SQL text, its truth for an event and how to check itself against a schema. Nodes of the same
kind never nest (AND in AND, NOT in NOT), so that equal conditions written in different ways are more often
equal trees; and trees deeper than `MAX_DEPTH` are refused, so that walking one never exhausts the stack.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn

from pubmatch.errors import ArgumentTypeError, FilterError
from pubmatch.filters.constants import sql_text
from pubmatch.filters.truth import Truth, all_of, any_of, negation
from pubmatch.schema import Schema, checked_schema

__all__ = [
    "MAX_DEPTH",
    "And",
    "Filter",
    "Literal",
    "Not",
    "Or",
    "TruthTest",
    "conjunction",
    "disjunction",
    "negate",
    "truth_test",
]

MAX_DEPTH = 200


class Filter:
    """A condition on events; combine filters with `&`, `|` and `~`.

    Made by `pubmatch.parse` or from `pubmatch.attr`. Equal trees are equal and hash alike; `str` gives SQL
    text that parses back to an equal filter.

    Examples
    --------
    >>> from pubmatch.filters import attr, parse
    >>> cheap = (attr("price") < 10) & ~(attr("symbol") == "IBM")
    >>> str(cheap)
    "price < 10 AND NOT (symbol = 'IBM')"
    >>> cheap == parse("price < 10 AND NOT symbol = 'IBM'")
    True
    >>> cheap.matches({"price": 9.5, "symbol": "AMD"}), cheap.matches({"price": 9.5})
    (True, None)
    """

    __slots__ = ()
    depth: ClassVar[int] = 1
    bare: ClassVar[bool] = False  # needs no parentheses anywhere

    def matches(self, event: Mapping[str, Any]) -> Truth:
        """True, False, or None where SQL says NULL, for an event given as a dict.

        Missing keys, None, NaN and NaT all mean that the value is missing.

        Examples
        --------
        >>> from pubmatch.filters import parse
        >>> parse("x NOT IN (1, NULL)").matches({"x": 2}) is None
        True
        """
        raise NotImplementedError

    @property
    def attributes(self) -> frozenset[str]:
        """The names of the attributes the filter looks at."""
        raise NotImplementedError

    def bind(self, schema: Schema) -> Filter:
        """The same filter with its constants checked and converted to the attributes' types.

        Examples
        --------
        >>> from pubmatch.filters import parse
        >>> from pubmatch.schema import Schema, Timestamp
        >>> print(parse("since >= '2026-01-01'").bind(Schema(since=Timestamp())))
        since >= TIMESTAMPTZ '2026-01-01 00:00:00+00:00'
        """
        return self._bound(checked_schema(schema))

    def as_filter(self) -> Filter:
        """The filter itself; a bare boolean attribute becomes the condition that it is true."""
        return self

    def _bound(self, schema: Schema) -> Filter:
        raise NotImplementedError

    def _negated_text(self) -> str:
        return f"NOT {self}" if self.bare else f"NOT ({self})"

    def _is(self, value: bool | None) -> Filter:
        return TruthTest(self, value)

    def __and__(self, other: object) -> Filter:
        return conjunction((self.as_filter(), _operand(other, "&")))

    def __or__(self, other: object) -> Filter:
        return disjunction((self.as_filter(), _operand(other, "|")))

    def __invert__(self) -> Filter:
        return negate(self.as_filter())

    def __bool__(self) -> NoReturn:
        raise ArgumentTypeError(
            "a filter is neither true nor false by itself: combine filters with & | ~ in parentheses instead "
            "of and, or, not, write a <= x <= b as .between(a, b), and ask an event with .matches(event)"
        )


@dataclass(frozen=True, slots=True)
class Literal(Filter):
    """TRUE, FALSE or NULL."""

    value: bool | None
    bare: ClassVar[bool] = True

    def matches(self, event: Mapping[str, Any]) -> Truth:
        """The value itself."""
        return self.value

    @property
    def attributes(self) -> frozenset[str]:
        """None at all."""
        return frozenset()

    def _bound(self, schema: Schema) -> Filter:
        return self

    def __str__(self) -> str:
        return sql_text(self.value)


@dataclass(frozen=True, slots=True)
class _Combined(Filter):
    """A filter made of others; `depth` counts the levels."""

    depth: int = field(init=False, compare=False, repr=False)  # type: ignore[misc]

    def _set_depth(self, parts: Iterable[Filter]) -> None:
        depth = 1 + max(part.depth for part in parts)
        if depth > MAX_DEPTH:
            raise FilterError(f"a filter may be nested {MAX_DEPTH} levels deep, not more")
        object.__setattr__(self, "depth", depth)


@dataclass(frozen=True, slots=True)
class Not(_Combined):
    """NOT: null stays null."""

    part: Filter

    def __post_init__(self) -> None:
        self._set_depth((self.part,))

    def matches(self, event: Mapping[str, Any]) -> Truth:
        """The opposite of the part's truth."""
        return negation(self.part.matches(event))

    @property
    def attributes(self) -> frozenset[str]:
        """Those of the part."""
        return self.part.attributes

    def _bound(self, schema: Schema) -> Filter:
        return Not(self.part._bound(schema))

    def __str__(self) -> str:
        return self.part._negated_text()


@dataclass(frozen=True, slots=True)
class TruthTest(_Combined):
    """`(…) IS TRUE`, `IS FALSE` or `IS NULL`: never null itself."""

    part: Filter
    value: bool | None

    def __post_init__(self) -> None:
        self._set_depth((self.part,))

    def matches(self, event: Mapping[str, Any]) -> Truth:
        """Whether the part has this truth."""
        return self.part.matches(event) is self.value

    @property
    def attributes(self) -> frozenset[str]:
        """Those of the part."""
        return self.part.attributes

    def _bound(self, schema: Schema) -> Filter:
        return TruthTest(self.part._bound(schema), self.value)

    def __str__(self) -> str:
        part = str(self.part) if self.part.bare else f"({self.part})"
        return f"{part} IS {sql_text(self.value)}"


@dataclass(frozen=True, slots=True)
class _Several(_Combined):
    """Two or more filters together."""

    parts: tuple[Filter, ...]
    word: ClassVar[str] = ""

    def __post_init__(self) -> None:
        self._set_depth(self.parts)

    @property
    def attributes(self) -> frozenset[str]:
        """Those of all parts."""
        names: set[str] = set()
        for part in self.parts:
            names |= part.attributes
        return frozenset(names)

    def _bound(self, schema: Schema) -> Filter:
        bound = []
        for part in self.parts:
            bound.append(part._bound(schema))  # a loop, not a comprehension: one stack frame per level
        return type(self)(tuple(bound))

    def __str__(self) -> str:
        texts = []
        for part in self.parts:
            text = str(part)
            texts.append(f"({text})" if isinstance(part, _Several) else text)
        return f" {self.word} ".join(texts)


@dataclass(frozen=True, slots=True)
class And(_Several):
    """All of the parts."""

    word: ClassVar[str] = "AND"

    def matches(self, event: Mapping[str, Any]) -> Truth:
        """False if a part is, else null if a part is."""
        truths = []
        for part in self.parts:
            truths.append(part.matches(event))
        return all_of(truths)


@dataclass(frozen=True, slots=True)
class Or(_Several):
    """Any of the parts."""

    word: ClassVar[str] = "OR"

    def matches(self, event: Mapping[str, Any]) -> Truth:
        """True if a part is, else null if a part is."""
        truths = []
        for part in self.parts:
            truths.append(part.matches(event))
        return any_of(truths)


def _flat(parts: Iterable[Filter], kind: type[_Several]) -> tuple[Filter, ...]:
    flat: list[Filter] = []
    for part in parts:
        if isinstance(part, kind):
            flat.extend(part.parts)
        else:
            flat.append(part)
    return tuple(flat)


def conjunction(parts: Iterable[Filter]) -> Filter:
    """AND of `parts`, one or more, without AND inside AND.

    Examples
    --------
    >>> str(conjunction([Literal(True), conjunction([Literal(None), Literal(False)])]))
    'TRUE AND NULL AND FALSE'
    """
    flat = _flat(parts, And)
    return flat[0] if len(flat) == 1 else And(flat)


def disjunction(parts: Iterable[Filter]) -> Filter:
    """OR of `parts`, one or more, without OR inside OR.

    Examples
    --------
    >>> str(disjunction([Literal(True), conjunction([Literal(None), Literal(False)])]))
    'TRUE OR (NULL AND FALSE)'
    """
    flat = _flat(parts, Or)
    return flat[0] if len(flat) == 1 else Or(flat)


def negate(part: Filter) -> Filter:
    """NOT `part`, without NOT inside NOT.

    Examples
    --------
    >>> str(negate(negate(Literal(None))))
    'NULL'
    """
    return part.part if isinstance(part, Not) else Not(part)


def truth_test(part: Filter, value: bool | None) -> Filter:
    """`part IS value`.

    Examples
    --------
    >>> str(truth_test(negate(Literal(True)), False))
    '(NOT TRUE) IS FALSE'
    """
    return part._is(value)


def _operand(other: object, symbol: str) -> Filter:
    if isinstance(other, Filter):
        return other.as_filter()
    raise ArgumentTypeError(f"{symbol} combines filters, got {other!r}")
