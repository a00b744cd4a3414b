"""The conditions on one attribute that filters are made of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, ClassVar, Self

from pubmatch.attributes import AttributeType, Boolean, Category, Integer
from pubmatch.errors import FilterError, SchemaError
from pubmatch.filters.constants import Constant, convert, sql_text
from pubmatch.filters.expressions import And, Filter, Not, Or, TruthTest
from pubmatch.filters.places import Place, located
from pubmatch.filters.truth import Truth, all_of, any_of, compare, event_value
from pubmatch.schema import Schema

__all__ = ["Between", "Compare", "Condition", "Flag", "In", "IsNull", "Prefix", "constants_of", "name_text"]

_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)
# Words that DuckDB does not take, or not always, as a column's name without quotes.
_RESERVED = """
    all analyse analyze and anti any array as asc asof asymmetric at authorization between binary both
    by case cast check coalesce collate collation column concurrently constraint create cross
    current_date current_time current_timestamp current_user date default deferrable desc describe
    distinct do else end escape except exists false fetch for foreign freeze from full glob grant group
    having ilike in initially inner intersect interval into is isnull join lambda lateral leading left
    like limit localtime localtimestamp map natural not notnull null offset on only or order outer
    overlaps pivot pivot_longer pivot_wider placing positional primary qualify references returning
    right row select semi show similar some starts_with struct summarize symmetric table tablesample
    then time timestamp timestamptz to trailing true try_cast union unique unknown unpack unpivot user
    using variadic verbose when where window with
"""
_QUOTED = frozenset(_RESERVED.split())


def name_text(name: str) -> str:
    """An attribute's name as SQL has it, quoted if it must be.

    Examples
    --------
    >>> name_text("price"), name_text("unit price")
    ('price', '"unit price"')
    """
    if _PLAIN_NAME.fullmatch(name) and name not in _QUOTED:
        return name
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class Condition(Filter):
    """A condition on one attribute; `place` is the whole of it in its text, `name_place` the name alone."""

    name: str
    place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)
    name_place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def attributes(self) -> frozenset[str]:
        """The one attribute."""
        return frozenset((self.name,))

    def at(self, place: Place, name_place: Place) -> Self:
        """The same condition, standing at a place of a text."""
        return replace(self, place=place, name_place=name_place)

    def _type(self, schema: Schema) -> AttributeType:
        if self.name in schema:
            return schema[self.name]
        close = [name for name in schema if name.lower() == self.name.lower()]
        close = close or get_close_matches(self.name, schema.names, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(schema.names)[:200]}"
        raise located(f"unknown attribute {self.name!r}", self.name_place, hint)

    def _mistyped(self, kind: AttributeType, doing: str) -> FilterError:
        return located(f"attribute {self.name!r} is {kind.noun} and {doing}", self.place)


@dataclass(frozen=True, slots=True)
class Flag(Condition):
    """A boolean attribute by itself."""

    bare: ClassVar[bool] = True

    def matches(self, event: Mapping[str, Any]) -> Truth:
        """The value of the attribute."""
        value = event_value(event, self.name)
        if value is None or isinstance(value, bool):
            return value
        raise SchemaError(f"attribute {self.name!r} of the event is {value!r}, not a boolean")

    def _bound(self, schema: Schema) -> Filter:
        kind = self._type(schema)
        if not isinstance(kind, Boolean):
            raise self._mistyped(kind, "is no condition by itself")
        return self

    def _is(self, value: bool | None) -> Filter:
        if value is None:
            return IsNull(self.name, place=self.place, name_place=self.name_place)
        return super(Flag, self)._is(value)

    def __str__(self) -> str:
        return name_text(self.name)


@dataclass(frozen=True, slots=True)
class IsNull(Condition):
    """`x IS NULL`: the value is missing."""

    def matches(self, event: Mapping[str, Any]) -> Truth:
        """Whether the value is missing."""
        return event_value(event, self.name) is None

    def _bound(self, schema: Schema) -> Filter:
        self._type(schema)
        return self

    def _negated_text(self) -> str:
        return f"{name_text(self.name)} IS NOT NULL"

    def __str__(self) -> str:
        return f"{name_text(self.name)} IS NULL"


@dataclass(frozen=True, slots=True)
class Prefix(Condition):
    """`s LIKE 'text%'`: the string begins with `text`."""

    text: str

    def matches(self, event: Mapping[str, Any]) -> Truth:
        """Whether the value begins with the text."""
        value = event_value(event, self.name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise SchemaError(f"attribute {self.name!r} of the event is {value!r}, not a string")
        return value.startswith(self.text)

    def _bound(self, schema: Schema) -> Filter:
        kind = self._type(schema)
        if not isinstance(kind, Category):
            raise self._mistyped(kind, "has no prefixes")
        return self

    def _sql(self, word: str) -> str:
        return f"{name_text(self.name)} {word} {sql_text(self.text + '%')}"

    def _plain(self) -> bool:
        return "%" not in self.text and "_" not in self.text

    def _negated_text(self) -> str:
        return self._sql("NOT LIKE") if self._plain() else f"NOT {self}"

    def __str__(self) -> str:
        if self._plain():
            return self._sql("LIKE")
        return f"starts_with({name_text(self.name)}, {sql_text(self.text)})"


@dataclass(frozen=True, slots=True, eq=False)
class _WithConstants(Condition):
    """A condition that compares one attribute with constants; TRUE and 1 are different constants."""

    def _constants(self) -> tuple[Constant, ...]:
        raise NotImplementedError

    def _key(self) -> tuple[Any, ...]:
        return self.name, tuple((type(value) is bool, value) for value in self._constants())

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._key()))

    def _converted(self, schema: Schema) -> tuple[Constant, ...]:
        kind = self._type(schema)
        constants = self._constants()
        if isinstance(kind, Integer) and len(constants) > 1:
            mixed = any(isinstance(value, float) for value in constants)
            if mixed and any(map(_is_rounded, constants)):
                doing = (
                    "is compared at once with floats and with numbers that floats may round: "
                    "write several conditions"
                )
                raise self._mistyped(kind, doing)
        return tuple([convert(value, self.name, kind, self.place) for value in constants])


def _is_rounded(value: Constant) -> bool:
    """Whether a number may become another one as a DOUBLE, which SQL makes of all if one of them is."""
    return isinstance(value, int | Decimal) and (not -(2**53) < value < 2**53 or value != float(value))


@dataclass(frozen=True, slots=True, eq=False)
class Compare(_WithConstants):
    """`x < 3` and the like; `symbol` is one of `< <= > >= = <>`."""

    symbol: str
    value: Constant

    def matches(self, event: Mapping[str, Any]) -> Truth:
        """The truth of the comparison, None if either side is missing."""
        return compare(event_value(event, self.name), self.symbol, self.value, self.name)

    def _constants(self) -> tuple[Constant, ...]:
        return (self.value,)

    def _key(self) -> tuple[Any, ...]:
        return self.name, self.symbol, type(self.value) is bool, self.value

    def _bound(self, schema: Schema) -> Filter:
        (value,) = self._converted(schema)
        return Compare(self.name, self.symbol, value, place=self.place, name_place=self.name_place)

    def __str__(self) -> str:
        return f"{name_text(self.name)} {self.symbol} {sql_text(self.value)}"


@dataclass(frozen=True, slots=True, eq=False)
class Between(_WithConstants):
    """`x BETWEEN low AND high`, both included: `x >= low AND x <= high`."""

    low: Constant
    high: Constant

    def matches(self, event: Mapping[str, Any]) -> Truth:
        """The truth of both comparisons together."""
        value = event_value(event, self.name)
        low = compare(value, ">=", self.low, self.name)
        return all_of((low, compare(value, "<=", self.high, self.name)))

    def _constants(self) -> tuple[Constant, ...]:
        return self.low, self.high

    def _bound(self, schema: Schema) -> Filter:
        low, high = self._converted(schema)
        return Between(self.name, low, high, place=self.place, name_place=self.name_place)

    def _sql(self, word: str) -> str:
        return f"{name_text(self.name)} {word} {sql_text(self.low)} AND {sql_text(self.high)}"

    def _negated_text(self) -> str:
        return self._sql("NOT BETWEEN")

    def __str__(self) -> str:
        return self._sql("BETWEEN")


@dataclass(frozen=True, slots=True, eq=False)
class In(_WithConstants):
    """`x IN (…)`: equal to one of the values; a NULL among them leaves open what is equal to no other."""

    values: tuple[Constant, ...]

    def matches(self, event: Mapping[str, Any]) -> Truth:
        """Whether the value is one of them."""
        value = event_value(event, self.name)
        return any_of(compare(value, "=", other, self.name) for other in self.values)

    def _constants(self) -> tuple[Constant, ...]:
        return self.values

    def _bound(self, schema: Schema) -> Filter:
        return In(self.name, self._converted(schema), place=self.place, name_place=self.name_place)

    def _sql(self, word: str) -> str:
        return f"{name_text(self.name)} {word} ({', '.join(map(sql_text, self.values))})"

    def _negated_text(self) -> str:
        return self._sql("NOT IN")

    def __str__(self) -> str:
        return self._sql("IN")


def constants_of(filter: Filter, name: str) -> Iterator[Constant]:
    """The constants that a filter compares an attribute with, in their order.

    Examples
    --------
    >>> from pubmatch.filters import parse
    >>> list(constants_of(parse("x > 1 AND NOT (y < 2 OR x IN (3, 4))"), "x"))
    [1, 3, 4]
    """
    waiting = [filter]
    while waiting:
        node = waiting.pop()
        if isinstance(node, And | Or):
            waiting += reversed(node.parts)
        elif isinstance(node, Not | TruthTest):
            waiting.append(node.part)
        elif isinstance(node, _WithConstants) and node.name == name:
            yield from node._constants()
