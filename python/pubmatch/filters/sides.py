"""`Side`: what one box says about one attribute, a contiguous set of its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Side", "Value"]

Value: TypeAlias = float | int | str | bool


@dataclass(frozen=True, slots=True)
class Side:
    """A contiguous set of values of one attribute; a missing value sorts below every other.

    Values are float for `Number`, int for `Integer`, str for `Category`, bool for `Boolean` and int
    microseconds since 1970 for `Timestamp`. Where every value has a neighbour of its own type (`Integer`,
    `Timestamp`, `Boolean`, a `Category` with a domain) bounds are closed.

    Parameters
    ----------
    lower, upper : optional
        The limits; None means that there is none.
    lower_open, upper_open : bool
        Whether the limit itself is left out.
    absent : bool
        Whether the side also holds for a missing value; only without a lower limit.
    values : bool
        False if the side holds for a missing value only (`IS NULL`).

    Examples
    --------
    >>> from pubmatch.filters import boxes, parse
    >>> from pubmatch.schema import Integer, Schema
    >>> boxes(parse("volume > 3"), Schema(volume=Integer()))
    ({'volume': Side(lower=4, upper=None, lower_open=False, upper_open=False, absent=False, values=True)},)
    """

    lower: Value | None = None
    upper: Value | None = None
    lower_open: bool = False
    upper_open: bool = False
    absent: bool = False
    values: bool = True
