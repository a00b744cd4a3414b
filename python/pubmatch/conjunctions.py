"""Many filters of the same simple form at once: conjunctions of comparisons with one literal each.

`plan_of` recognises them by their template alone, and `Comparisons` turns the literals of all rows into
columns, one per attribute, side and operator. It only takes what is certain: whatever is unusual about a
template or a literal sends the row to the parser, which knows all of SQL and words the errors.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pubmatch.encoding.axes import LARGEST_BOUND, LOWEST, encode_integers
from pubmatch.errors import ArgumentError, FilterError
from pubmatch.filter_store import MARK
from pubmatch.filters import parse
from pubmatch.schema import Category, Integer, Number, Timestamp
from pubmatch.timestamps import parse_timestamp, to_micros

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pubmatch.attributes import AttributeType
    from pubmatch.encoding.labels import Labels
    from pubmatch.schema import Schema

__all__ = ["Comparison", "Comparisons", "plan_of", "simple_attributes"]

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PREDICATE = re.compile(
    rf"\s*(?P<open>\(\s*)?(?:(?P<name>{_NAME})\s*(?P<op><=|>=|<(?!>)|>|=)\s*{MARK}"
    rf"|(?P<between>{_NAME})\s+BETWEEN\s*{MARK}\s*AND\s*{MARK})(?(open)\s*\))\s*(?P<and>AND\b|\Z)",
    re.IGNORECASE | re.ASCII,
)
_INTEGER = re.compile(r"-?[0-9]+\Z")


_SIDES = {"<": "u", "<=": "u", ">": "l", ">=": "l", "=": "lu"}


class Comparison(NamedTuple):
    """One literal of a template: what it bounds, and how."""

    name: str
    op: str  # "<", "<=", ">", ">=" or "="
    literal: int


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


def plan_of(template: str, simple: Mapping[str, AttributeType]) -> tuple[Comparison, ...] | None:
    r"""The comparisons of a conjunction on distinct sides of simple attributes; None for other templates.

    Examples
    --------
    >>> from pubmatch.schema import Number
    >>> simple = {"price": Number(), "volume": Number()}
    >>> plan_of("price > \0 AND volume = \0", simple)
    (Comparison(name='price', op='>', literal=0), Comparison(name='volume', op='=', literal=1))
    >>> plan_of("price > \0 OR volume = \0", simple) is None
    True
    """
    found: list[Comparison] = []
    place, more, literal = 0, True, 0
    while more:
        predicate = _PREDICATE.match(template, place)
        if predicate is None:
            return None
        if predicate["name"]:
            found.append(Comparison(predicate["name"], predicate["op"], literal))
            literal += 1
        else:
            found.append(Comparison(predicate["between"], ">=", literal))
            found.append(Comparison(predicate["between"], "<=", literal + 1))
            literal += 2
        place, more = predicate.end(), bool(predicate["and"])
    return tuple(found) if place == len(template) and _are_distinct(found, simple) else None


def _are_distinct(comparisons: Sequence[Comparison], simple: Mapping[str, AttributeType]) -> bool:
    """Whether all attributes are simple and every side is bounded once."""
    sides = set()
    for name, op, _ in comparisons:
        kind = simple.get(name)
        if kind is None:
            return False
        # Two bounds on strings can contradict each other in ways only the parser knows.
        for side in "lu" if isinstance(kind, Category) else _SIDES[op]:
            if (name, side) in sides:
                return False
            sides.add((name, side))
    return True


@dataclass(slots=True)
class _Bucket:
    """The literals of all rows for one attribute and operator."""

    rows: list[NDArray[np.int64]] = field(default_factory=list)
    literals: list[str] = field(default_factory=list)


class Comparisons:
    """Literals of many rows, gathered, then converted in columns.

    Parameters
    ----------
    schema : Schema
        The attributes.
    rows : int
        How many rows there are in all.
    """

    def __init__(self, schema: Schema, rows: int) -> None:
        self._schema = schema
        self._buckets: dict[tuple[str, str], _Bucket] = {}
        self._columns: dict[tuple[str, str], tuple[NDArray[np.int64], Any]] = {}
        self.planned = np.zeros(rows, np.bool_)
        """The rows that need no parser."""

    def gather(
        self, plan: Sequence[Comparison], rows: NDArray[np.int64], literals: Sequence[Sequence[str]]
    ) -> None:
        """Take in rows of one template."""
        columns = list(zip(*literals, strict=True))
        for name, op, place in plan:
            bucket = self._buckets.get((name, op))
            if bucket is None:
                bucket = self._buckets[name, op] = _Bucket()
            bucket.rows.append(rows)
            bucket.literals.extend(columns[place])
        self.planned[rows] = True

    def convert(self) -> None:
        """Convert all literals; rows with any that is unusual are no longer planned."""
        for (name, op), bucket in self._buckets.items():
            rows = np.concatenate(bucket.rows)
            values, good = _converted(bucket.literals, self._schema[name], op)
            self.planned[rows[~good]] = False
            self._columns[name, op] = rows, values
        self._buckets.clear()
        for name in {name for name, _ in self._columns}:
            if not isinstance(self._schema[name], Category):
                low, high = self._sides(name)
                self.planned &= low <= high

    def strings(self) -> dict[str, set[str]]:
        """The strings that need labels, by attribute."""
        found: dict[str, set[str]] = {}
        for (name, _), (rows, values) in self._columns.items():
            if isinstance(self._schema[name], Category):
                kept = self.planned[rows].tolist()
                words = {word for word, keep in zip(values, kept, strict=True) if keep}
                if words:
                    found.setdefault(name, set()).update(words)
        return found

    def fill(
        self, lower: NDArray[np.float64], upper: NDArray[np.float64], labels: Mapping[str, Labels]
    ) -> None:
        """Write the bounds of the planned rows into the first rows of `lower` and `upper`, in order."""
        count = int(self.planned.sum())
        for name in {name for name, _ in self._columns}:
            dimension = self._schema.names.index(name)
            low, high = self._sides(name, labels.get(name))
            lower[:count, dimension], upper[:count, dimension] = low[self.planned], high[self.planned]

    def _sides(
        self, name: str, labels: Labels | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The bounds of every row on one attribute's axis."""
        low, high = np.full(len(self.planned), -math.inf), np.full(len(self.planned), math.inf)
        for op in ("<", "<=", ">", ">=", "="):
            if (name, op) not in self._columns:
                continue
            rows, values = self._columns[name, op]
            if labels is not None:
                values = _labelled(values, self.planned[rows], op, labels)
            if op in (">", ">=", "="):
                low[rows] = values
            else:
                low[rows] = np.maximum(low[rows], LOWEST)
            if op in ("<", "<=", "="):
                high[rows] = values
        return low, high


def _converted(literals: list[str], kind: Any, op: str) -> tuple[Any, NDArray[np.bool_]]:
    """Positions on the axis (strings for a Category), and which literals were fit for it."""
    if isinstance(kind, Number):
        try:
            numbers = np.fromiter(map(float, literals), np.float64, len(literals))
        except ValueError:  # there are strings among them
            numbers = np.fromiter(map(_float, literals), np.float64, len(literals))
        good = np.abs(numbers) < -LOWEST
        towards = {"<": -math.inf, ">": math.inf}.get(op)
        if towards is not None:
            with np.errstate(all="ignore"):  # the neighbour of 0 is a number, too
                numbers = np.nextafter(numbers, towards)
        return numbers, good
    if isinstance(kind, Category):
        good = np.fromiter((text[0] == "'" and _is_text(text) for text in literals), np.bool_, len(literals))
        if op != "=":  # nothing is less than the empty string, so its bounds are special
            good &= np.fromiter((text != "''" for text in literals), np.bool_, len(literals))
        return [text[1:-1].replace("''", "'") for text in literals], good
    convert = _integer if isinstance(kind, Integer) else _microseconds
    whole = [convert(text) for text in literals]
    good = np.fromiter((number is not None for number in whole), np.bool_, len(whole))
    step = {"<": -1, ">": 1}.get(op, 0)
    return encode_integers(np.array([(number or 0) + step for number in whole], np.int64)), good


def _is_text(text: str) -> bool:
    """Whether the literal is valid Unicode, as the parser demands."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _float(text: str) -> float:
    return math.nan if text[0] == "'" else float(text)


def _integer(text: str) -> int | None:
    if _INTEGER.match(text) is None or len(text) > 20:
        return None
    number = int(text)
    return number if abs(number) < LARGEST_BOUND else None


def _microseconds(text: str) -> int | None:
    if text[0] != "'":
        return None
    try:
        return to_micros(parse_timestamp(text[1:-1]))
    except ArgumentError:
        return None


def _labelled(words: list[str], wanted: NDArray[np.bool_], op: str, labels: Labels) -> NDArray[np.float64]:
    """The bound that each word means; only the wanted ones are certain to have a label."""
    is_open = op in ("<", ">")
    bound = labels.upper if op in ("<", "<=") else labels.lower
    known = {word: bound(word, is_open) for word in set(words)}
    return np.fromiter((known[word] for word in words), np.float64, len(words))
