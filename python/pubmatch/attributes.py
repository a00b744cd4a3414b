"""The types an attribute can have: what a value is, how values are ordered, which there are.

Every type writes itself as JSON.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pubmatch.errors import PubmatchError, SchemaError
from pubmatch.shown import shown
from pubmatch.timestamps import to_datetime, to_micros

__all__ = [
    "ATTRIBUTE_TYPES",
    "INTEGER_LIMITS",
    "AttributeType",
    "Boolean",
    "Category",
    "Integer",
    "Number",
    "Timestamp",
]

INTEGER_LIMITS = (-(2**63), 2**63 - 1)


class AttributeType:
    """What `Number`, `Integer`, `Category`, `Boolean` and `Timestamp` have in common."""

    __slots__ = ()
    kind: ClassVar[str] = ""

    @property
    def noun(self) -> str:
        """What a value is, for messages: "a number", "an integer"."""
        return f"an {self.kind}" if self.kind == "integer" else f"a {self.kind}"

    def to_dict(self) -> dict[str, Any]:
        """The type, and its domain if it has one, as JSON has them."""
        limits = getattr(self, "domain", None)
        domain = {} if limits is None else {"domain": list(limits)}
        return {"type": self.kind, **domain}


@dataclass(frozen=True, slots=True)
class Number(AttributeType):
    """A float64; NaN means that the value is missing.

    Parameters
    ----------
    domain : (min, max), optional
        Finite limits, both included; a value outside is an error in filters and in events.

    Examples
    --------
    >>> Number(domain=(0, 100))
    Number(domain=(0.0, 100.0))
    """

    domain: tuple[float, float] | None = None
    kind: ClassVar[str] = "number"

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", _range(self.kind, self.domain, _finite))


@dataclass(frozen=True, slots=True)
class Integer(AttributeType):
    """An int64, exact over its whole range.

    Parameters
    ----------
    domain : (min, max), optional
        Limits, both included; a value outside is an error in filters and in events.

    Examples
    --------
    >>> Integer(domain=(0, 2**60))
    Integer(domain=(0, 1152921504606846976))
    """

    domain: tuple[int, int] | None = None
    kind: ClassVar[str] = "integer"

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", _range(self.kind, self.domain, _whole))


@dataclass(frozen=True, slots=True)
class Category(AttributeType):
    """A string; strings are ordered by their code points, as their UTF-8 bytes are.

    Parameters
    ----------
    domain : iterable of str, optional
        All values there are, kept sorted; any other is an error in filters and in events.

    Examples
    --------
    >>> Category(domain=["IBM", "AMD"])
    Category(domain=('AMD', 'IBM'))
    """

    domain: tuple[str, ...] | None = None
    kind: ClassVar[str] = "category"

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", _values(self.kind, self.domain))


@dataclass(frozen=True, slots=True)
class Boolean(AttributeType):
    """True or false, ordered as false < true.

    Examples
    --------
    >>> Boolean() == Boolean()
    True
    """

    kind: ClassVar[str] = "boolean"

    @property
    def domain(self) -> None:
        """Always None: both values are always there."""


@dataclass(frozen=True, slots=True)
class Timestamp(AttributeType):
    """A point in time, in whole microseconds; without a time zone it is UTC.

    Parameters
    ----------
    domain : (min, max), optional
        Limits, both included, as anything `pubmatch.timestamps.to_datetime` takes or as microseconds since
        1970, which is how they are kept.

    Examples
    --------
    >>> Timestamp(domain=("1970-01-01", "1970-01-02"))
    Timestamp(domain=(0, 86400000000))
    """

    domain: tuple[int, int] | None = None
    kind: ClassVar[str] = "timestamp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", _range(self.kind, self.domain, _micros))


ATTRIBUTE_TYPES: dict[str, type[AttributeType]] = {
    kind.kind: kind for kind in (Number, Integer, Category, Boolean, Timestamp)
}


def _finite(value: object) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise SchemaError(f"{value!r} is not a number")
    try:
        limit = float(value)
    except OverflowError:
        limit = math.inf
    if not math.isfinite(limit):
        raise SchemaError(f"{shown(value)} is not finite")
    return limit + 0.0  # no negative zero


def _whole(value: object) -> int:
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise SchemaError(f"{value!r} is not an integer")
    whole = int(value)
    if not INTEGER_LIMITS[0] <= whole <= INTEGER_LIMITS[1]:
        raise SchemaError(f"{shown(value)} is not an int64")
    return whole


def _micros(value: Any) -> int:
    return _whole(value) if isinstance(value, numbers.Integral) else to_micros(to_datetime(value))


def _range(kind: str, domain: Any, convert: Any) -> tuple[Any, Any] | None:
    if domain is None:
        return None
    if not isinstance(domain, list | tuple | np.ndarray) or len(domain) != 2:
        raise SchemaError(f"the domain of a {kind} must be (min, max), got {domain!r}")
    try:
        low, high = convert(domain[0]), convert(domain[1])
    except PubmatchError as error:
        raise SchemaError(f"the domain of a {kind} must be (min, max): {error}") from None
    if low > high:
        raise SchemaError(f"the domain of a {kind} must have min <= max, got ({low}, {high})")
    return low, high


def _values(kind: str, domain: Any) -> tuple[str, ...] | None:
    if domain is None:
        return None
    if isinstance(domain, str | bytes) or not isinstance(domain, Iterable):
        raise SchemaError(f"the domain of a {kind} must be a list of strings, got {domain!r}")
    values = list(domain)
    for value in values:
        if not isinstance(value, str):
            raise SchemaError(f"the domain of a {kind} must hold strings, got {value!r}")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise SchemaError(f"the domain of a {kind} must hold valid Unicode, got {value!r}") from None
    if not values:
        raise SchemaError(f"the domain of a {kind} must not be empty")
    return tuple(sorted({str(value) for value in values}))
