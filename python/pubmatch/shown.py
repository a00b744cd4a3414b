"""Values in messages: as Python writes them, but never longer than a line."""

from __future__ import annotations

__all__ = ["shown", "shown_text"]

_LONGEST = 100


def shown(value: object) -> str:
    """`value` as text for a message.

    Examples
    --------
    >>> shown("IBM"), shown(10**5000)
    ("'IBM'", 'an integer of 16610 bits')
    """
    if isinstance(value, int) and abs(value).bit_length() > 4 * _LONGEST:
        return f"an integer of {value.bit_length()} bits"  # Python writes no integer of many digits
    return shown_text(repr(value))


def shown_text(text: str) -> str:
    """`text`, such as a filter's, as it is but for its end if it is long.

    Examples
    --------
    >>> shown_text("price < 10")
    'price < 10'
    """
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
