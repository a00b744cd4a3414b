"""Templates whose boxes can be told without their literals.

A template that combines simple predicates with AND and OR is a union of conjunctions, and each of them a
fixed number of boxes. Its boxes are those the parser would find if no two of them can be merged, whatever
the literals:

- no side of an attribute is bounded twice in a conjunction, and
- of two conjunctions each has an attribute that the other has not. Where that attribute is missing the one is
  false, so no box of the other can be widened or left out because of it.

What depends on the literals, as values of IN that are neighbours, is for whoever reads them to find out.
Every other template has no plan, and its rows go through the parser.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING, NamedTuple

from pubmatch.errors import FilterError
from pubmatch.filter_texts import MARK
from pubmatch.filters import parse
from pubmatch.schema import Category, Integer, Number, Timestamp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pubmatch.attributes import AttributeType
    from pubmatch.schema import Schema

__all__ = ["Comparison", "Plan", "plan_of", "simple_attributes"]

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_TOKEN = re.compile(
    rf"\s*(?:(?P<bracket>[()])|(?P<word>AND|OR)\b|(?P<name>{_NAME})(?:"
    rf"\s*(?P<op><=|>=|<>|!=|<|>|=)\s*{MARK}"
    rf"|\s+(?P<between>BETWEEN)\s*{MARK}\s*AND\s*{MARK}"
    rf"|\s+(?P<in>IN)\s*\(\s*{MARK}(?:\s*,\s*{MARK})*\s*\)"
    rf"|\s+(?P<like>LIKE)\s*{MARK}))",
    re.IGNORECASE | re.ASCII,
)
_SIDES = {"<": "u", "<=": "u", ">": "l", ">=": "l", "=": "lu", "like": "lu"}
_DEEPEST = 16  # brackets inside brackets
_MOST = 64  # boxes of one plan


class Comparison(NamedTuple):
    """One literal of a template: what it bounds, and how."""

    name: str
    op: str  # "<", "<=", ">", ">=", "=" or "like"
    literal: int


class Plan(NamedTuple):
    """The boxes of a template, and the literals of each IN, which are to be no neighbours."""

    boxes: tuple[tuple[Comparison, ...], ...]
    apart: tuple[tuple[str, tuple[int, ...]], ...] = ()


class _Predicate(NamedTuple):
    name: str
    pieces: tuple[tuple[Comparison, ...], ...]
    sides: str


_Conjunction = tuple[_Predicate, ...]


def simple_attributes(schema: Schema) -> dict[str, AttributeType]:
    """The attributes whose literals can be taken as a column.

    Their names need no quotes, for which the parser itself is asked: some are keywords. A domain is for
    the parser to check.

    Examples
    --------
    >>> from pubmatch.schema import Boolean, Number, Schema
    >>> list(simple_attributes(Schema(price=Number(), halted=Boolean(), **{"unit price": Number()})))
    ['price']
    """
    found: dict[str, AttributeType] = {}
    for name in schema.names:
        kind = schema[name]
        if getattr(kind, "domain", None) is None and isinstance(
            kind, Number | Integer | Category | Timestamp
        ):
            try:
                plain = parse(f"{name} >= 1 AND 1 >= {name}").attributes == {name}
            except FilterError:
                continue
            if plain and re.fullmatch(_NAME, name):
                found[name] = kind
    return found


def plan_of(template: str, simple: Mapping[str, AttributeType], max_boxes: int = _MOST) -> Plan | None:
    r"""The boxes of a template that combines simple predicates; None for other templates.

    Examples
    --------
    >>> from pubmatch.schema import Number
    >>> simple = {"price": Number(), "volume": Number()}
    >>> plan_of("price > \0 OR volume = \0", simple).boxes
    ((Comparison(name='price', op='>', literal=0),), (Comparison(name='volume', op='=', literal=1),))
    >>> plan_of("price > \0 OR price = \0", simple) is None
    True
    """
    tokens = _tokens(template, simple)
    if tokens is None:
        return None
    reader = _Reader(tokens)
    union = reader.union(0)
    if union is None or reader.left or not _are_apart(union):
        return None
    if sum(math.prod(len(part.pieces) for part in parts) for parts in union) > min(max_boxes, _MOST):
        return None
    boxes = tuple(
        tuple(itertools.chain.from_iterable(choice))
        for parts in union
        for choice in itertools.product(*(part.pieces for part in parts))
    )
    listed = {
        (part.name, tuple(piece[0].literal for piece in part.pieces))
        for parts in union
        for part in parts
        if len(part.pieces) > 1 and part.pieces[0][0].op == "="
    }
    return Plan(boxes, tuple(sorted(listed)))


def _tokens(template: str, simple: Mapping[str, AttributeType]) -> list[str | _Predicate] | None:
    """Brackets, AND, OR and predicates; None if there is anything else."""
    found: list[str | _Predicate] = []
    place = literal = 0
    end = len(template.rstrip())
    while place < end:
        token = _TOKEN.match(template, place)
        if token is None:
            return None
        name = token["name"]
        if name is None:
            found.append(token["bracket"] or token["word"].upper())
        elif name not in simple:
            return None
        else:
            predicate = _predicate(token, literal, simple[name])
            if predicate is None:
                return None
            found.append(predicate)
            literal += token[0].count(MARK)
        place = token.end()
    return found


def _predicate(token: re.Match[str], literal: int, kind: AttributeType) -> _Predicate | None:
    name, op = token["name"], token["op"]
    is_text = isinstance(kind, Category)
    if op in ("<>", "!="):
        pieces: tuple[tuple[Comparison, ...], ...] = (
            (Comparison(name, "<", literal),),
            (Comparison(name, ">", literal),),
        )
        return _Predicate(name, pieces, "lu")
    if op is not None:
        # Two bounds on strings can contradict each other in ways only the parser knows.
        return _Predicate(name, ((Comparison(name, op, literal),),), "lu" if is_text else _SIDES[op])
    if token["between"]:
        pieces = ((Comparison(name, ">=", literal), Comparison(name, "<=", literal + 1)),)
        return None if is_text else _Predicate(name, pieces, "lu")
    if token["in"]:
        count = token[0].count(MARK)
        return _Predicate(name, tuple((Comparison(name, "=", literal + k),) for k in range(count)), "lu")
    return _Predicate(name, ((Comparison(name, "like", literal),),), "lu") if is_text else None


class _Reader:
    """Reads tokens as a union of conjunctions."""

    def __init__(self, tokens: list[str | _Predicate]) -> None:
        self._tokens = tokens
        self._place = 0

    @property
    def left(self) -> bool:
        """Whether there are tokens that were not read."""
        return self._place < len(self._tokens)

    def union(self, depth: int) -> list[_Conjunction] | None:
        found: list[_Conjunction] = []
        while True:
            part = self._conjunction(depth)
            if part is None:
                return None
            found += part
            if not self._take("OR"):
                return found if len(found) <= _MOST else None

    def _conjunction(self, depth: int) -> list[_Conjunction] | None:
        found: list[_Conjunction] = [()]
        while True:
            part = self._factor(depth)
            if part is None or len(found) * len(part) > _MOST:
                return None
            found = [(*left, *right) for left in found for right in part]
            if not self._take("AND"):
                return found

    def _factor(self, depth: int) -> list[_Conjunction] | None:
        if self._take("("):
            inner = self.union(depth + 1) if depth < _DEEPEST else None
            return inner if self._take(")") else None
        if not self.left or isinstance(self._tokens[self._place], str):
            return None
        self._place += 1
        return [(self._tokens[self._place - 1],)]  # type: ignore[list-item]

    def _take(self, word: str) -> bool:
        taken = self.left and self._tokens[self._place] == word
        self._place += taken
        return taken


def _are_apart(union: Sequence[_Conjunction]) -> bool:
    """Whether no boxes of the conjunctions can be merged."""
    for parts in union:
        sides = [(part.name, side) for part in parts for side in part.sides]
        if len(set(sides)) < len(sides):
            return False
    sets = [frozenset(part.name for part in parts) for parts in union]
    return not any(left <= right for left, right in itertools.permutations(sets, 2))
