"""Points in time as whole microseconds since 1970, UTC: one meaning for every way to write them.

Without an offset a time is UTC. What is finer than a microsecond is refused, never rounded.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np

from pubmatch.errors import ArgumentError, ArgumentTypeError

__all__ = ["from_micros", "parse_timestamp", "timestamp_text", "to_datetime", "to_micros"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_TEXT = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[ T](?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<fraction>\d{1,9}))?)?"
    r"(?P<offset>Z|[+-]\d{2}(?::?\d{2})?)?)?",
    re.ASCII,
)


def to_micros(moment: datetime) -> int:
    """Microseconds from 1970 to `moment`; naive means UTC.

    Examples
    --------
    >>> from datetime import datetime
    >>> to_micros(datetime(1970, 1, 1, 0, 0, 1))
    1000000
    """
    return (to_datetime(moment) - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The inverse of `to_micros`, in UTC, for the years 1 to 9999.

    Examples
    --------
    >>> from_micros(1_000_000).isoformat()
    '1970-01-01T00:00:01+00:00'
    """
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise ArgumentError(f"{micros} microseconds lie outside the years 1 to 9999") from None


def to_datetime(value: object) -> datetime:
    """A time given as `datetime`, `date`, `numpy.datetime64` or text, as a `datetime` in UTC.

    Examples
    --------
    >>> import numpy as np
    >>> to_datetime(np.datetime64("2026-01-01T10:00:00", "ns")).isoformat()
    '2026-01-01T10:00:00+00:00'
    >>> to_datetime("2026-01-01 12:00:00+02:00").isoformat()
    '2026-01-01T10:00:00+00:00'
    """
    if isinstance(value, str):
        return parse_timestamp(value)
    if isinstance(value, np.datetime64):
        return _from_numpy(value)
    if isinstance(value, datetime):
        return _from_datetime(value)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    raise ArgumentTypeError(f"a time must be a datetime, a date, a datetime64 or text, got {value!r}")


def parse_timestamp(text: str) -> datetime:
    """The time that `text` writes as `YYYY-MM-DD[ HH:MM[:SS[.ffffff]][offset]]`, in UTC.

    Examples
    --------
    >>> parse_timestamp("2026-01-01").isoformat()
    '2026-01-01T00:00:00+00:00'
    >>> parse_timestamp("yesterday")
    Traceback (most recent call last):
    ...
    pubmatch.errors.ArgumentError: 'yesterday' is not a time like '2026-01-31 10:00:00'
    """
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ArgumentError(f"{text!r} is not a time like '2026-01-31 10:00:00'")
    fraction = found["fraction"] or ""
    if fraction[6:].strip("0"):
        raise ArgumentError(f"{text!r} is finer than a microsecond")
    year, month, day = map(int, found["date"].split("-"))
    hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second"))
    try:
        local = datetime(year, month, day, hour, minute, second, int(fraction[:6].ljust(6, "0")))
        return local.replace(tzinfo=_offset(found["offset"])).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ArgumentError(f"{text!r} is not a time: {error}") from None


def timestamp_text(moment: datetime) -> str:
    """`moment` as text that `parse_timestamp` reads back, with its offset.

    Examples
    --------
    >>> timestamp_text(parse_timestamp("2026-01-01 12:00:00.5+02:00"))
    '2026-01-01 10:00:00.500000+00:00'
    """
    return to_datetime(moment).isoformat(sep=" ")


def _offset(text: str | None) -> timezone:
    if text is None or text == "Z":
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    if int(digits[2:]) > 59:
        raise ValueError(f"offset minutes must be in 0..59, not {text}")
    span = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-span if text[0] == "-" else span)


def _from_datetime(value: datetime) -> datetime:
    if value != value:  # pandas' NaT calls itself a datetime
        raise ArgumentError("NaT is not a time")
    if getattr(value, "nanosecond", 0):  # pandas.Timestamp
        raise ArgumentError(f"{value!s} is finer than a microsecond")
    plain = datetime(
        value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond,
        tzinfo=value.tzinfo or UTC, fold=value.fold,
    )  # fmt: skip
    try:
        return plain.astimezone(UTC)
    except OverflowError:
        raise ArgumentError(f"{value!s} lies outside the years 1 to 9999 in UTC") from None


def _from_numpy(value: np.datetime64) -> datetime:
    if np.isnat(value):
        raise ArgumentError("NaT is not a time")
    micros = value.astype("datetime64[us]")
    # Numpy wraps silently when a year is too far away; what does not convert back was changed.
    if micros.astype(value.dtype) != value or micros.astype("datetime64[Y]") != value.astype("datetime64[Y]"):
        raise ArgumentError(f"{value!s} is not a whole number of microseconds within the years 1 to 9999")
    return from_micros(int(micros.astype(np.int64)))
