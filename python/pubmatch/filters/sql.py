"""Filters from the text of a SQL WHERE clause.

sqlglot's DuckDB tokenizer divides the text, so that strings, numbers, comments and quoted names are what SQL
says; a grammar of conditions on single attributes reads the tokens. Every token knows its place, which errors
show, and parentheses are kept on a list, so that no nesting exhausts the stack. Anything the grammar does not
know is refused, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from pubmatch.errors import ArgumentError, ArgumentTypeError, FilterError
from pubmatch.filters.constants import Constant, moment_constant, number_constant
from pubmatch.filters.expressions import (
    MAX_DEPTH,
    Filter,
    Literal,
    conjunction,
    disjunction,
    negate,
    truth_test,
)
from pubmatch.filters.patterns import like
from pubmatch.filters.places import Place, located
from pubmatch.filters.predicates import Between, Compare, Condition, Flag, In, IsNull, Prefix
from pubmatch.filters.tokens import Token, tokenize
from pubmatch.filters.truth import OPERATORS
from pubmatch.schema import Schema

__all__ = ["as_filter", "parse"]

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}
_SYMBOLS = {"==": "=", "!=": "<>", **{symbol: symbol for symbol in OPERATORS}}
_LITERALS: dict[str, bool | None] = {"TRUE": True, "FALSE": False, "NULL": None}
_TESTS = {**_LITERALS, "UNKNOWN": None}
_TIMES = ("DATE", "TIMESTAMP", "TIMESTAMPTZ")
_NOT_NAMES = frozenset(
    ("AND", "OR", "NOT", "IN", "IS", "BETWEEN", "LIKE", "ILIKE", "ESCAPE", "DISTINCT", "FROM", "CASE", "CAST")
)


def parse(text: str, schema: Schema | None = None) -> Filter:
    """The filter that `text`, the condition of a SQL WHERE clause, describes.

    Parameters
    ----------
    text : str
        Comparisons of attributes with constants, BETWEEN, IN, LIKE with a prefix, IS [NOT] NULL, TRUE, FALSE
        and DISTINCT FROM, boolean attributes, AND, OR, NOT, parentheses, with the meaning DuckDB gives them.
    schema : Schema, optional
        Checks names and types at once, and converts the constants (`Filter.bind`).

    Examples
    --------
    >>> print(parse("10 < price AND symbol IN ('IBM', 'AMD')"))
    price > 10 AND symbol IN ('IBM', 'AMD')
    >>> from pubmatch.schema import Number, Schema
    >>> parse("prize > 10", Schema(price=Number()))
    Traceback (most recent call last):
    ...
    pubmatch.errors.FilterError: unknown attribute 'prize' at column 1
      prize > 10
      ^^^^^ did you mean 'price'?
    """
    if not isinstance(text, str):
        raise ArgumentTypeError(f"a filter's text must be a string, got {type(text).__name__}")
    parsed = _Parser(text).parse()
    return parsed if schema is None else parsed.bind(schema)


def as_filter(filter: Filter | str) -> Filter:
    """A filter given as text, as an expression, or as a bare boolean attribute.

    Examples
    --------
    >>> from pubmatch.filters import attr
    >>> as_filter("halted") == as_filter(attr("halted"))
    True
    """
    if isinstance(filter, str):
        return parse(filter)
    if isinstance(filter, Filter):
        return filter.as_filter()
    raise ArgumentTypeError(f"a filter must be text or a pubmatch filter, got {type(filter).__name__}")


@dataclass(slots=True)
class _Level:
    """What was read inside one pair of parentheses: conjunctions, the last one still growing."""

    opened: Token | None
    alternatives: list[list[Filter]] = field(default_factory=lambda: [[]])
    negated: bool = False

    def add(self, part: Filter) -> None:
        self.alternatives[-1].append(negate(part) if self.negated else part)
        self.negated = False

    def finish(self) -> Filter:
        return disjunction([conjunction(parts) for parts in self.alternatives])


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokenize(text)
        self._position = 0

    def parse(self) -> Filter:
        levels = [_Level(None)]
        while True:
            while self._take("NOT"):
                levels[-1].negated = not levels[-1].negated
            opened = self._next
            if self._take("("):
                if len(levels) > MAX_DEPTH:
                    raise self._error(f"parentheses are nested more than {MAX_DEPTH} levels deep", opened)
                levels.append(_Level(opened))
                continue
            part = self._tested(self._predicate())
            while self._closes(levels[-1]):
                levels[-1].add(part)
                part = self._tested(levels.pop().finish())
            levels[-1].add(part)
            if self._take("OR"):
                levels[-1].alternatives.append([])
            elif not self._take("AND"):
                break
        if self._next.kind != "end":
            raise self._unexpected("AND, OR or the end")
        if levels[-1].opened is not None:
            raise self._error("this parenthesis is never closed", levels[-1].opened)
        return levels[0].finish()

    def _closes(self, level: _Level) -> bool:
        return level.opened is not None and self._take(")")

    def _tested(self, part: Filter) -> Filter:
        """`part`, followed by any number of IS [NOT] TRUE and the like."""
        while self._take("IS"):
            denied = self._take("NOT")
            word = self._next.word
            if word not in _TESTS:
                raise self._unexpected("TRUE, FALSE or NULL")
            self._position += 1
            part = truth_test(part, _TESTS[word])
            part = negate(part) if denied else part
        return part

    def _predicate(self) -> Filter:
        first = self._next
        if first.kind == "word" and self._peek(1).word == "(":
            return self._function()
        if not self._is_name():
            return self._constant_first()
        name = self._name()
        symbol = _SYMBOLS.get(self._next.word)
        if symbol is not None:
            self._position += 1
            if self._is_name():
                raise self._error(
                    "a filter compares attributes with constants, not with each other", self._next
                )
            value = self._constant()
            return self._placed(first, first, lambda: Compare(name, symbol, value))
        if self._next.word == "IS":
            return self._is(name, first)
        denied = self._next.word == "NOT"
        if denied:
            self._position += 1
        part = self._ranged(name, first, denied)
        return negate(part) if denied else part

    def _is(self, name: str, first: Token) -> Filter:
        """`name IS …`: a test of the value, or of a boolean attribute."""
        denied = self._peek(1).word == "NOT"
        word = self._peek(2 if denied else 1).word
        if word == "NULL":
            self._position += 3 if denied else 2
            part: Filter = self._placed(first, first, lambda: IsNull(name))
        elif word == "DISTINCT":
            self._position += 3 if denied else 2
            self._expect("FROM")
            value = self._constant()
            if value is None:
                part = self._placed(first, first, lambda: IsNull(name))
            else:
                part = truth_test(self._placed(first, first, lambda: Compare(name, "=", value)), True)
            denied = not denied
        else:
            return self._placed(first, first, lambda: Flag(name))  # the caller reads the test
        return negate(part) if denied else part

    def _ranged(self, name: str, first: Token, denied: bool) -> Filter:
        if self._take("BETWEEN"):
            low = self._constant()
            self._expect("AND")
            high = self._constant()
            return self._placed(first, first, lambda: Between(name, low, high))
        if self._take("IN"):
            values = self._list()
            return self._placed(first, first, lambda: In(name, values))
        if self._take("LIKE"):
            return self._like(name, first)
        if denied or self._next.word == "ILIKE":
            raise self._unexpected("BETWEEN, IN or LIKE")
        return self._placed(first, first, lambda: Flag(name))

    def _list(self) -> tuple[Constant, ...]:
        self._expect("(")
        values = [self._constant()]
        while self._take(","):
            values.append(self._constant())
        self._expect(")")
        return tuple(values)

    def _like(self, name: str, first: Token) -> Filter:
        pattern_token = self._next
        pattern = self._string_or_null("LIKE")
        escape = self._string_or_null("ESCAPE") if self._take("ESCAPE") else ""
        if pattern is None or escape is None:
            return self._placed(first, first, lambda: Compare(name, "=", None))
        try:
            part = like(name, pattern, escape)
        except FilterError as error:
            raise self._error(str(error), pattern_token) from None
        return self._placed(first, first, lambda: part)

    def _function(self) -> Filter:
        """`starts_with(name, text)`, the one function there is."""
        first = self._next
        if first.word != "STARTS_WITH":
            raise self._error(f"the function {first.text!r} is not supported in filters", first)
        self._position += 2
        if not self._is_name():
            raise self._unexpected("an attribute")
        name_token = self._next
        name = self._name()
        self._expect(",")
        text = self._string_or_null("starts_with")
        self._expect(")")
        if text is None:
            return self._placed(first, name_token, lambda: Compare(name, "=", None))
        return self._placed(first, name_token, lambda: Prefix(name, text))

    def _constant_first(self) -> Filter:
        """`10 < price`, a comparison of two constants, or TRUE, FALSE and NULL by themselves."""
        first = self._next
        value = self._constant("a condition")
        symbol = _SYMBOLS.get(self._next.word)
        if symbol is None:
            if first.word in _LITERALS:
                return Literal(_LITERALS[first.word])
            raise self._unexpected("a comparison")
        self._position += 1
        if self._is_name():
            name_token = self._next
            name = self._name()
            return self._placed(first, name_token, lambda: Compare(name, _FLIPPED[symbol], value))
        other = self._constant()
        if value is None or other is None:
            return Literal(None)
        if type(value) is type(other) and isinstance(value, int | str):
            return Literal(OPERATORS[symbol](value, other))
        raise located("constants of these types are not compared", self._place(first, self._peek(-1)))

    def _constant(self, wanted: str = "a constant") -> Constant:
        token = self._next
        if token.word in ("-", "+") and self._peek(1).kind == "number":
            self._position += 2
            return self._number(self._peek(-1), token.word)
        if token.word in _TIMES and self._peek(1).kind == "string":
            self._position += 2
            return self._time(token, self._peek(-1))
        if token.kind not in ("number", "string") and token.word not in _LITERALS:
            raise self._unexpected(wanted)
        self._position += 1
        if token.kind == "number":
            return self._number(token)
        return token.text if token.kind == "string" else _LITERALS[token.word]

    def _number(self, token: Token, sign: str = "") -> int | float | Decimal:
        try:
            return number_constant(sign + token.text)
        except FilterError:
            raise self._error("this number is too large", token) from None

    def _time(self, kind: Token, literal: Token) -> datetime:
        try:
            return moment_constant(literal.text, kind.word)
        except ArgumentError as error:
            raise located(str(error), self._place(kind, literal)) from None

    def _string_or_null(self, after: str) -> str | None:
        token = self._next
        if token.kind != "string" and token.word != "NULL":
            raise self._unexpected(f"a string after {after}")
        self._position += 1
        return token.text if token.kind == "string" else None

    def _is_name(self) -> bool:
        token = self._next
        if token.kind == "name":
            return True
        literal = token.word in _TIMES and self._peek(1).kind == "string"
        return (
            token.kind == "word"
            and token.word not in _NOT_NAMES
            and token.word not in _LITERALS
            and not literal
        )

    def _name(self) -> str:
        name = self._next.text
        self._position += 1
        if self._next.word == ".":
            raise self._error("attributes have plain names; one with a dot needs double quotes", self._next)
        return name

    @property
    def _next(self) -> Token:
        return self._tokens[self._position]

    def _peek(self, offset: int) -> Token:
        return self._tokens[min(self._position + offset, len(self._tokens) - 1)]

    def _take(self, word: str) -> bool:
        taken = self._next.word == word
        self._position += taken
        return taken

    def _expect(self, word: str) -> None:
        if not self._take(word):
            raise self._unexpected(word)

    def _placed(self, first: Token, name: Token, make: Callable[[], Filter]) -> Filter:
        part = make()
        if isinstance(part, Condition):
            return part.at(self._place(first, self._peek(-1)), self._place(name, name))
        return part

    def _place(self, first: Token, last: Token) -> Place:
        return Place(self._text, first.start, last.end)

    def _error(self, message: str, token: Token) -> FilterError:
        return located(message, self._place(token, token))

    def _unexpected(self, wanted: str) -> FilterError:
        token = self._next
        if token.kind == "end":
            return self._error(f"{wanted} expected, but the filter ends", token)
        return self._error(f"{wanted} expected, got {self._text[token.start : token.end][:40]!r}", token)
