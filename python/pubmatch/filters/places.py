"""Where in its text a part of a filter stands, and errors that show it."""

from __future__ import annotations

from typing import NamedTuple

from pubmatch.errors import FilterError

__all__ = ["Place", "located"]

_WIDTH = 100  # characters of a line that an error shows
_BEFORE = 40  # of which so many before the place


class Place(NamedTuple):
    """Characters `start` to `end` of a filter's text."""

    text: str
    start: int
    end: int


def located(message: str, place: Place | None, hint: str = "") -> FilterError:
    """A `FilterError` that shows the line, with carets under the place.

    Examples
    --------
    >>> print(located("unknown attribute 'prize'", Place("prize > 10", 0, 5)))
    unknown attribute 'prize' at column 1
      prize > 10
      ^^^^^
    """
    if place is None:
        return FilterError(f"{message}; {hint}" if hint else message)
    text, start, end = place
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    line = text[line_start : len(text) if line_end < 0 else line_end]
    row, column = text.count("\n", 0, start) + 1, start - line_start
    width = max(1, min(end, line_start + len(line)) - start)
    shown, offset = _window(line, column)
    carets = " " * offset + "^" * max(1, min(width, len(shown) - offset))
    where = f"line {row}, column {column + 1}" if "\n" in text else f"column {column + 1}"
    tail = f" {hint}" if hint else ""
    return FilterError(f"{message} at {where}\n  {shown}\n  {carets}{tail}")


def _window(line: str, column: int) -> tuple[str, int]:
    """The part of a long line around `column`, printable, and where `column` stands in it."""
    first = max(0, column - _BEFORE) if len(line) > _WIDTH else 0
    part = "".join(mark if mark.isprintable() else " " for mark in line[first : first + _WIDTH])
    if first:
        part = "…" + part[1:]
    if first + _WIDTH < len(line):
        part += "…"
    return part, column - first
