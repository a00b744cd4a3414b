"""Amounts that callers give, as plain floats: no array scalar enters the simulated clock."""

from __future__ import annotations

from typing import Any

import numpy as np

from pubmatch.errors import ArgumentError, ArgumentTypeError
from pubmatch.shown import shown

__all__ = ["checked_number", "checked_share"]


def checked_number(name: str, value: Any) -> float:
    """`value` as a float; a bool is no number here, nor is a text.

    Examples
    --------
    >>> checked_number("speed_kmh", np.float32(50))
    50.0
    >>> checked_number("speed_kmh", "50")
    Traceback (most recent call last):
    ...
    pubmatch.errors.ArgumentTypeError: speed_kmh must be a number, got '50'
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ArgumentTypeError(f"{name} must be a number, got {shown(value)}")
    try:
        return float(value)
    except OverflowError:
        raise ArgumentError(f"{name} must fit a float64, got {shown(value)}") from None


def checked_share(name: str, value: Any) -> float:
    """`value` as a float from 0 to 1.

    Examples
    --------
    >>> checked_share("locality", 1)
    1.0
    """
    share = checked_number(name, value)
    if not 0 <= share <= 1:
        raise ArgumentError(f"{name} must be from 0 to 1, got {share}")
    return share
