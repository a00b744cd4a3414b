"""The constants of filters: what Python values become, how they read as SQL, what they mean for an attribute.

A constant is None (NULL), a bool, an int, a float, a Decimal of more than 15 digits, a str, or a datetime in
UTC. Up to 15 digits a decimal fraction and the float nearest to it compare alike with every int64 and every
float64, so a float stands for both, and `attr("x") > 0.1` equals `x > 0.1`.
"""

from __future__ import annotations

import math
import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np

from pubmatch.attributes import AttributeType, Boolean, Category, Integer, Number
from pubmatch.errors import ArgumentError, FilterError
from pubmatch.filters.places import Place, located
from pubmatch.timestamps import parse_timestamp, timestamp_text, to_datetime, to_micros

__all__ = [
    "Constant",
    "checked_text",
    "constant",
    "convert",
    "decimal_constant",
    "integer_constant",
    "moment_constant",
    "number_constant",
    "sql_text",
]

Constant: TypeAlias = bool | int | float | Decimal | str | datetime | None

_SHORT = 15  # digits that a float64 always keeps
_LONGEST_DECIMAL = 38  # digits of SQL's DECIMAL; DuckDB reads a longer literal as a DOUBLE
_INTEGER_END = 10**_LONGEST_DECIMAL
_EXACT = 2**53
_LARGEST_FLOAT = 1.7976931348623157e308
_NUMBER = re.compile(r"[+-]?(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def constant(value: Any) -> Constant:
    """The constant for a Python or NumPy value.

    Examples
    --------
    >>> import numpy as np
    >>> constant(np.float32(0.5)), constant(np.int64(3)), constant(None)
    (0.5, 3, None)
    """
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, int | np.integer):
        return integer_constant(int(value))
    if isinstance(value, float | np.floating):
        return _finite(float(value))
    if isinstance(value, Decimal):
        return decimal_constant(value)
    if isinstance(value, str):
        return checked_text(str(value))
    if isinstance(value, date | np.datetime64):
        try:
            return to_datetime(value)
        except ArgumentError as error:
            raise FilterError(str(error)) from None
    raise FilterError(f"a filter compares with numbers, strings, booleans, times or None, got {value!r}")


def integer_constant(value: int) -> int | float:
    """The constant for an integer: a float if SQL has no integer of its length.

    Examples
    --------
    >>> integer_constant(2**64), integer_constant(10**40)
    (18446744073709551616, 1e+40)
    """
    if abs(value) < _INTEGER_END:
        return value
    try:
        return _finite(float(value))
    except OverflowError:
        raise FilterError("a filter compares with numbers up to 1.8e308") from None


def decimal_constant(value: Decimal) -> Constant:
    """The constant for a decimal number: a float if that means the same, exact otherwise.

    Examples
    --------
    >>> decimal_constant(Decimal("0.1")), decimal_constant(Decimal("9007199254740992.5"))
    (0.1, Decimal('9007199254740992.5'))
    """
    if not value.is_finite():
        raise FilterError(f"a filter compares with finite numbers, got {value}")
    digits = len(value.as_tuple().digits)
    exponent = int(value.as_tuple().exponent)
    if digits <= _SHORT and abs(exponent) <= 22:
        return _finite(float(value))
    if max(digits, digits + exponent, -exponent) > _LONGEST_DECIMAL:
        return _finite(float(value))
    return value


def number_constant(text: str) -> int | float | Decimal:
    """The constant that a SQL literal writes: integers and decimals exactly, with an exponent a DOUBLE.

    Examples
    --------
    >>> number_constant("1_000"), number_constant("-.5"), number_constant("1e1")
    (1000, -0.5, 10.0)
    """
    if _NUMBER.fullmatch(text) is None:
        raise FilterError(f"{text!r} is not a number")
    digits = text.replace("_", "").lower()
    try:
        if "e" in digits:
            value = constant(float(digits))
        elif "." in digits:
            value = decimal_constant(Decimal(digits))
        else:
            value = integer_constant(int(digits))
    except ValueError:  # more digits than Python reads, or an infinity
        raise FilterError("this number is too large") from None
    return value  # type: ignore[return-value]


def moment_constant(text: str, kind: str) -> datetime:
    """The constant that DATE, TIMESTAMP or TIMESTAMPTZ with a string is.

    Examples
    --------
    >>> moment_constant("2026-01-31", "DATE").day
    31
    """
    if kind == "DATE" and len(text) != len("2026-01-31"):
        raise ArgumentError("a DATE is written as '2026-01-31'")
    if kind == "TIMESTAMP" and text[10:].strip("0123456789 T:."):
        raise ArgumentError("a TIMESTAMP has no offset, a TIMESTAMPTZ has one")
    return parse_timestamp(text)


def checked_text(text: str) -> str:
    """`text`, if it can be written as UTF-8.

    Examples
    --------
    >>> checked_text("IBM")
    'IBM'
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise FilterError(f"a filter's strings must be valid Unicode, got {text!r}") from None
    return text


def sql_text(value: Constant) -> str:
    """The constant as a SQL literal that means exactly the same to DuckDB.

    Examples
    --------
    >>> sql_text("it's"), sql_text(0.1), sql_text(1 / 3), sql_text(None)
    ("'it''s'", '0.1', '0.3333333333333333e0', 'NULL')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime):
        return f"TIMESTAMPTZ '{timestamp_text(value)}'"
    if isinstance(value, Decimal):
        text = format(value, "f")
        return text if "." in text else text + ".0"
    text = repr(value)
    if isinstance(value, int) or "e" in text:
        return text
    # Beyond 15 digits only a literal with an exponent is sure to be read as a double.
    return text if sum(map(str.isdigit, text)) <= _SHORT else text + "e0"


def convert(value: Constant, name: str, kind: AttributeType, place: Place | None) -> Constant:
    """`value` as the attribute `name` of type `kind` compares with it; an error if it cannot.

    A fraction stays as it is beside an `Integer`: no integer equals it, but it divides them.

    Examples
    --------
    >>> convert(10, "price", Number(), None), convert(10.0, "volume", Integer(), None)
    (10.0, 10)
    """
    if value is None:
        return None
    result: Constant = None
    if isinstance(kind, Category):
        result = value if isinstance(value, str) else None
    elif isinstance(kind, Boolean):
        result = value if isinstance(value, bool) else None
    elif isinstance(kind, Number | Integer):
        if not isinstance(value, bool | str | datetime):
            result = (
                _to_number(value, name, place)
                if isinstance(kind, Number)
                else _to_integer(value, name, place)
            )
    elif isinstance(value, str | datetime):
        result = _to_moment(value, name, place)
    if result is None:
        raise located(
            f"attribute {name!r} is {kind.noun} and cannot be compared with {sql_text(value)}", place
        )
    _check_domain(result, name, kind, place)
    return result


def _finite(value: float) -> float:
    if math.isnan(value):
        raise FilterError("NaN is a missing value: ask for it with is_null()")
    if math.isinf(value):
        raise FilterError(f"a filter compares with finite numbers, got {value}")
    return value + 0.0  # no negative zero


def _to_number(value: int | float | Decimal, name: str, place: Place | None) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise located(f"attribute {name!r} is a float64 and cannot be compared with {value}", place)
    if number == -_LARGEST_FLOAT:
        raise located(f"attribute {name!r} cannot be compared with the lowest float64, {number}", place)
    return number + 0.0


def _to_integer(value: int | float | Decimal, name: str, place: Place | None) -> int | float | Decimal:
    if isinstance(value, float) and abs(value) >= _EXACT:
        raise located(
            f"attribute {name!r} is an integer and {value!r} a floating-point number beyond 2^53: "
            "write it as an integer",
            place,
        )
    return int(value) if value == int(value) else value


def _to_moment(value: str | datetime, name: str, place: Place | None) -> datetime:
    if isinstance(value, datetime):
        return value
    try:
        return parse_timestamp(value)
    except ArgumentError as error:
        raise located(f"attribute {name!r} is a timestamp: {error}", place) from None


def _check_domain(value: Constant, name: str, kind: AttributeType, place: Place | None) -> None:
    domain = getattr(kind, "domain", None)
    if domain is None:
        return
    if isinstance(kind, Category):
        if value not in domain:
            raise located(f"{sql_text(value)} is not in the domain of attribute {name!r}", place)
        return
    compared: Any = to_micros(value) if isinstance(value, datetime) else value
    if not domain[0] <= compared <= domain[1]:
        limits = f"{domain[0]} to {domain[1]}"
        raise located(f"{sql_text(value)} lies outside the domain of attribute {name!r}, {limits}", place)
