"""`attr`: filters written as Python expressions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pubmatch.errors import FilterError
from pubmatch.filters.constants import checked_text, constant
from pubmatch.filters.expressions import Filter, negate
from pubmatch.filters.patterns import like
from pubmatch.filters.predicates import Between, Compare, Flag, In, IsNull, Prefix, name_text
from pubmatch.filters.truth import Truth
from pubmatch.schema import Schema

__all__ = ["Attribute", "attr"]


def attr(name: str) -> Attribute:
    """The attribute `name`, to be compared.

    Examples
    --------
    >>> str((attr("price") > 10) & attr("symbol").isin(["IBM", "AMD"]) | attr("halted"))
    "(price > 10 AND symbol IN ('IBM', 'AMD')) OR halted"
    """
    if not isinstance(name, str) or not name:
        raise FilterError(f"an attribute's name must be a non-empty string, got {name!r}")
    return Attribute(checked_text(name))


class Attribute(Filter):
    """An attribute in an expression: comparisons with it are filters, and a boolean one is a filter itself.

    Examples
    --------
    >>> price = attr("price")
    >>> str(price.between(10, 20)), str(20 >= price), str(~attr("halted"))
    ('price BETWEEN 10 AND 20', 'price <= 20', 'NOT halted')
    """

    __slots__ = ("name",)
    name: str

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "name", name)

    def __lt__(self, other: object) -> Compare:
        return self._compare("<", other)

    def __le__(self, other: object) -> Compare:
        return self._compare("<=", other)

    def __gt__(self, other: object) -> Compare:
        return self._compare(">", other)

    def __ge__(self, other: object) -> Compare:
        return self._compare(">=", other)

    def __eq__(self, other: object) -> Compare:  # type: ignore[override]
        return self._compare("=", other)

    def __ne__(self, other: object) -> Compare:  # type: ignore[override]
        return self._compare("<>", other)

    def __hash__(self) -> int:
        return hash(("Attribute", self.name))

    def between(self, low: object, high: object) -> Filter:
        """`low <= x <= high`.

        Examples
        --------
        >>> str(attr("x").between(1, 2))
        'x BETWEEN 1 AND 2'
        """
        return Between(self.name, constant(low), constant(high))

    def isin(self, values: Iterable[object]) -> Filter:
        """Equal to one of `values`, of which there is at least one.

        Examples
        --------
        >>> str(~attr("x").isin([1, 2]))
        'x NOT IN (1, 2)'
        """
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise FilterError(f"isin needs a list of values, got {values!r}")
        constants = tuple(constant(value) for value in values)
        if not constants:
            raise FilterError("isin needs at least one value")
        return In(self.name, constants)

    def is_null(self) -> Filter:
        """The value is missing.

        Examples
        --------
        >>> str(attr("x").is_null())
        'x IS NULL'
        """
        return IsNull(self.name)

    def is_not_null(self) -> Filter:
        """The value is there.

        Examples
        --------
        >>> str(attr("x").is_not_null())
        'x IS NOT NULL'
        """
        return negate(IsNull(self.name))

    def like(self, pattern: str) -> Filter:
        """SQL's LIKE with a pattern that is plain text or a prefix followed by `%`.

        Examples
        --------
        >>> str(attr("symbol").like("AB%")), str(attr("symbol").like("IBM"))
        ("symbol LIKE 'AB%'", "symbol = 'IBM'")
        """
        if not isinstance(pattern, str):
            raise FilterError(f"like needs a pattern, got {pattern!r}")
        return like(self.name, checked_text(pattern), None)

    def startswith(self, text: str) -> Filter:
        """The string begins with `text`, taken as it is.

        Examples
        --------
        >>> str(attr("symbol").startswith("AB"))
        "symbol LIKE 'AB%'"
        """
        if not isinstance(text, str):
            raise FilterError(f"startswith needs a string, got {text!r}")
        return Prefix(self.name, checked_text(text))

    def matches(self, event: Mapping[str, Any]) -> Truth:
        """The value of a boolean attribute in `event`.

        Examples
        --------
        >>> attr("halted").matches({"halted": True})
        True
        """
        return Flag(self.name).matches(event)

    @property
    def attributes(self) -> frozenset[str]:
        """The attribute itself."""
        return frozenset((self.name,))

    def as_filter(self) -> Flag:
        """The filter that a boolean attribute is by itself.

        Examples
        --------
        >>> attr("halted").as_filter()
        Flag(name='halted')
        """
        return Flag(self.name)

    def _bound(self, schema: Schema) -> Filter:
        return self.as_filter()._bound(schema)

    def _compare(self, symbol: str, other: object) -> Compare:
        if isinstance(other, Attribute):
            raise FilterError(
                f"a filter compares attributes with constants, not {self.name!r} with {other.name!r}"
            )
        return Compare(self.name, symbol, constant(other))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an attribute of an expression cannot be changed ({name})")

    def __reduce__(self) -> tuple[Any, ...]:
        return Attribute, (self.name,)

    def __repr__(self) -> str:
        return f"attr({self.name!r})"

    def __str__(self) -> str:
        return name_text(self.name)
