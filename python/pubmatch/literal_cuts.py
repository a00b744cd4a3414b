"""Literals as cuts of an attribute's axis: what the parser would make of them, one literal at a time.

Only what is certain is converted. Whatever is unusual about a literal, or wrong with it, is None: the parser
then reads the whole text, which knows all of SQL and words the errors.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pubmatch.encoding.axes import LARGEST_BOUND, LOWEST
from pubmatch.errors import ArgumentError, FilterError
from pubmatch.filters.axes import axis_of
from pubmatch.filters.constants import checked_text, convert, moment_constant, number_constant
from pubmatch.filters.patterns import like, prefix_end
from pubmatch.filters.predicates import Prefix
from pubmatch.filters.regions import TOP
from pubmatch.schema import Boolean, Category, Integer, Number, Timestamp
from pubmatch.timestamps import to_micros

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pubmatch.filters.regions import Cut
    from pubmatch.literal_uses import Use
    from pubmatch.schema import Schema

__all__ = ["LiteralCuts"]

_WHOLE = re.compile(r"-?[0-9]+\Z")
_BEFORE, _AFTER = (False,), (True,)
_SIDES = {
    "<": _BEFORE,
    ">=": _BEFORE,
    "<=": _AFTER,
    ">": _AFTER,
    "=": _BEFORE + _AFTER,
    "<>": _BEFORE + _AFTER,
}
_FLAGS = {"TRUE": True, "FALSE": False}


class LiteralCuts:
    r"""The cuts that literals mean for one attribute.

    Examples
    --------
    >>> from pubmatch.literal_uses import uses_of
    >>> from pubmatch.schema import Integer, Schema
    >>> cuts = LiteralCuts("volume", Schema(volume=Integer()))
    >>> between, = uses_of("volume BETWEEN \0 AND \0", ["volume"])
    >>> cuts.of(between, ["3", "7"])
    (0, [(2, 3), (2, 8)])
    """

    def __init__(self, name: str, schema: Schema) -> None:
        self._name = name
        self.kind: Any = schema[name]
        self.axis = axis_of(self.kind)

    def of(self, use: Use, literals: Sequence[str]) -> tuple[int, list[Cut]] | None:
        """The cuts of a condition, and which of the ways to read it applies; None for the parser.

        There are two ways to read LIKE: as an equality and as a prefix. The values of IN come sorted.
        """
        if use.op in ("like", "starts_with"):
            return self.of_pattern(use.op, literals)
        several = len(literals) > 1
        values = [self.value(text, time, several) for text, time in zip(literals, use.times, strict=True)]
        if None in values:
            return None
        if use.op == "between":
            cuts = [self.axis.before(values[0]), self.axis.after(values[1])]
        else:
            sides = _SIDES["=" if use.op == "in" else use.op]
            if several:
                values.sort(key=self.axis.before)
            cuts = [self.cut(value, after) for value in values for after in sides]
        return (0, cuts) if self.are_exact(cuts) else None

    def of_pattern(self, op: str, literals: Sequence[str]) -> tuple[int, list[Cut]] | None:
        """The cuts of LIKE or of `starts_with`, and which of the two it is after all."""
        words = [_string(literal) for literal in literals]
        if not isinstance(self.kind, Category) or None in words:
            return None
        text = words[0] or ""
        if op == "like":
            try:
                part: Any = like(self._name, text, (words[1] or "") if len(words) > 1 else "")
            except FilterError:
                return None
            if not isinstance(part, Prefix):
                value = self._converted(part.value)
                return None if value is None else (0, [self.axis.before(value), self.axis.after(value)])
            text = part.text
        end = prefix_end(text)
        return 1, [self.axis.before(text), TOP if end is None else self.axis.before(end)]

    def value(self, literal: str, time: str = "", several: bool = False) -> Any:
        """What the attribute's values are compared with; None for the parser.

        With `several` the literal is one of those of a condition, which are converted together.
        """
        kind = self.kind
        if isinstance(kind, Boolean):
            return _FLAGS.get(literal)
        if isinstance(kind, Category):
            return None if time else self._converted(_string(literal))
        try:
            if isinstance(kind, Timestamp):
                text = _string(literal)
                if text is None:
                    return None
                moment = self._converted(moment_constant(text, time) if time else text)
                return None if moment is None else to_micros(moment)
            if time or literal[0] == "'":
                return None
            if isinstance(kind, Integer) and several and not _WHOLE.match(literal):
                return None
            number = self._converted(number_constant(literal))
        except (ArgumentError, FilterError):
            return None
        if isinstance(kind, Number) and number is not None and abs(number) >= -LOWEST:
            return None
        return number

    def cut(self, value: Any, after: bool) -> Cut:
        """The cut in front of `value`, or behind it."""
        return self.axis.after(value) if after else self.axis.before(value)

    def are_exact(self, cuts: Sequence[Cut]) -> bool:
        """Whether bounds at these cuts can be told from their neighbours."""
        if not isinstance(self.kind, Integer | Timestamp):
            return True
        return all(len(cut) == 1 or abs(cut[1]) < LARGEST_BOUND for cut in cuts)

    def _converted(self, constant: Any) -> Any:
        """The constant in the attribute's type, inside its domain; None if it has no such thing."""
        try:
            return convert(constant, self._name, self.kind, None)
        except FilterError:
            return None


def _string(literal: str) -> str | None:
    """The string that a literal writes, None if it is none."""
    if literal[0] != "'":
        return None
    text = literal[1:-1].replace("''", "'")
    try:
        return checked_text(text)
    except FilterError:
        return None
