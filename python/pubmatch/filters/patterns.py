"""LIKE patterns that are ranges of strings: plain text, and a prefix followed by `%`."""

from __future__ import annotations

from pubmatch.errors import FilterError
from pubmatch.filters.expressions import Filter
from pubmatch.filters.predicates import Compare, Prefix

__all__ = ["like", "prefix_end"]

_SURROGATES = (0xD800, 0xDFFF)
_LAST = 0x10FFFF


def like(name: str, pattern: str, escape: str | None) -> Filter:
    """`name LIKE pattern [ESCAPE escape]`, if that is one range of strings.

    Examples
    --------
    >>> str(like("s", "AB%", None)), str(like("s", "100!%", "!"))
    ("s LIKE 'AB%'", "s = '100%'")
    >>> like("s", "A%B", None)
    Traceback (most recent call last):
    ...
    pubmatch.errors.FilterError: LIKE takes plain text or a prefix followed by %, got 'A%B'
    """
    if escape is not None and len(escape) > 1:
        raise FilterError(f"ESCAPE takes one character, got {escape!r}")
    text, wild, position = "", False, 0
    while position < len(pattern):
        mark = pattern[position]
        position += 1
        if escape and mark == escape:
            if position == len(pattern):
                raise FilterError(f"the LIKE pattern {pattern!r} ends with its escape character")
            mark = pattern[position]
            position += 1
            wrong = wild
        else:
            wrong = mark == "_" or (wild and mark != "%")
            wild = wild or mark == "%"
        if wrong:
            raise FilterError(f"LIKE takes plain text or a prefix followed by %, got {pattern!r}")
        if not wild:
            text += mark
    return Prefix(name, text) if wild else Compare(name, "=", text)


def prefix_end(prefix: str) -> str | None:
    """The first string after all that begin with `prefix`; None if there is none.

    Examples
    --------
    >>> prefix_end("AB"), prefix_end(chr(0x10FFFF))
    ('AC', None)
    """
    stem = prefix.rstrip(chr(_LAST))
    if not stem:
        return None
    following = ord(stem[-1]) + 1
    if following == _SURROGATES[0]:
        following = _SURROGATES[1] + 1
    return stem[:-1] + chr(following)
