"""Tokens of SQL text with their places, from sqlglot's DuckDB tokenizer."""

from __future__ import annotations

import re
from typing import NamedTuple

from pubmatch.errors import FilterError
from pubmatch.filters.constants import checked_text
from pubmatch.filters.places import Place, located

__all__ = ["Token", "tokenize"]

_NUMBER = re.compile(r"(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WORD = re.compile(r"[^\W\d][\w$]*")


class Token(NamedTuple):
    """A piece of the text: a "number", "string", quoted "name", "word", "symbol", or the "end"."""

    kind: str
    text: str  # of strings and names without their quotes
    start: int
    end: int
    word: str  # upper case, empty for strings and quoted names


def tokenize(text: str) -> list[Token]:
    """The tokens of `text`, the last one being its end.

    Examples
    --------
    >>> [token.kind for token in tokenize("price > 10")]
    ['word', 'symbol', 'number', 'end']
    """
    try:
        from sqlglot import Dialect
        from sqlglot.errors import SqlglotError
    except ImportError:
        raise FilterError("filters given as text need sqlglot: pip install 'pubmatch[sql]'") from None

    checked_text(text)
    try:
        raw = Dialect.get_or_raise("duckdb").tokenize(text)
    except SqlglotError:
        start = _open_quote(text)
        raise located("this is never closed", Place(text, start, start + 1)) from None
    tokens: list[Token] = []
    for each in raw:
        start, end = each.start, each.end + 1
        source = text[start:end]
        if each.token_type.name == "STRING" and source.startswith("'"):
            tokens.append(Token("string", each.text, start, end, ""))
        elif each.token_type.name == "IDENTIFIER" and source.startswith('"'):
            tokens.append(Token("name", each.text, start, end, ""))
        elif each.token_type.name == "NUMBER":
            _append_number(tokens, text, start, end)
        else:
            kind = "word" if _WORD.fullmatch(source) else "symbol"
            tokens.append(Token(kind, source, start, end, source.upper()))
    end = len(text.rstrip())
    return [*tokens, Token("end", "", end, end + 1, "")]


def _append_number(tokens: list[Token], text: str, start: int, end: int) -> None:
    """A number; the tokenizer takes the dot of `.5` for a token of its own."""
    if tokens and tokens[-1].text == "." and tokens[-1].end == start:
        start = tokens.pop().start
    if not _NUMBER.fullmatch(text, start, end):
        raise located(f"{text[start:end]!r} is not a number", Place(text, start, end))
    glued = tokens and tokens[-1].kind == "number" and tokens[-1].end == start
    if glued or _WORD.match(text, end):
        raise located("a number ends where something else begins", Place(text, start, end + 1))
    tokens.append(Token("number", text[start:end], start, end, text[start:end]))


def _open_quote(text: str) -> int:
    """Where the quote or comment starts that is never closed."""
    opened, quote = 0, ""
    for position, mark in enumerate(text):
        if quote:
            quote = "" if mark == quote else quote
        elif mark in "'\"":
            opened, quote = position, mark
    return opened if quote else max(text.find("/*"), 0)
