"""Values in messages: as Python writes them, but never longer than a line."""

from __future__ import annotations

__all__ = ["shown"]

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
    text = repr(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
