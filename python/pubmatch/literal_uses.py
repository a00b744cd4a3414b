"""Which attribute each literal of a template is compared with, and how.

Only literals are looked for; what else a template says is for the parser, which reads one text of every kind.
A template is taken if each of its literals stands in a comparison that is known here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pubmatch.filter_texts import MARK

if TYPE_CHECKING:
    from collections.abc import Container

__all__ = ["Use", "uses_of"]

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_SAME = {"!=": "<>", "==": "="}
_QUOTED = r'"[^"]*(?:""[^"]*)*"'
_NAME = rf"(?:[^\W\d][\w$]*|{_QUOTED})"
_LITERAL = rf"(?:(?:DATE|TIMESTAMP|TIMESTAMPTZ)\s+|\+\s*)?{MARK}"
_OPERATOR = r"<=|>=|<>|!=|==|<|>|="
_ITEM = rf"(?:{_LITERAL}|NULL)"
_USE = re.compile(
    rf"(?P<function>STARTS_WITH)\s*\(\s*(?P<prefixed>{_NAME})\s*,\s*{MARK}\s*\)"
    rf"|(?P<name>{_NAME})\s*(?:"
    rf"(?P<op>{_OPERATOR})\s*{_LITERAL}"
    rf"|IS\s+(?:NOT\s+)?(?P<distinct>DISTINCT)\s+FROM\s*{_LITERAL}"
    rf"|(?:NOT\s+)?(?:(?P<between>BETWEEN)\s*{_LITERAL}\s*AND\s*{_LITERAL}"
    rf"|(?P<in>IN)\s*\(\s*{_ITEM}(?:\s*,\s*{_ITEM})*\s*\)"
    rf"|(?P<like>LIKE)\s*{MARK}(?:\s*ESCAPE\s*{MARK})?))"
    rf"|{_LITERAL}\s*(?P<flipped>{_OPERATOR})\s*(?P<second>{_NAME})"
    rf"|{_QUOTED}",
    re.IGNORECASE,
)
_TIME = re.compile(rf"(?:\b(DATE|TIMESTAMP|TIMESTAMPTZ)\s+)?{MARK}", re.IGNORECASE)


class Use(NamedTuple):
    """One condition of a template that has literals.

    Attributes
    ----------
    name : str
        The attribute.
    op : str
        One of `< <= > >= = <>`, "between", "in", "like" or "starts_with".
    first : int
        The number of its first literal among those of the template.
    times : tuple of str
        For each of its literals DATE, TIMESTAMP or TIMESTAMPTZ if that stands in front of it, or nothing.
    """

    name: str
    op: str
    first: int
    times: tuple[str, ...]

    @property
    def literals(self) -> range:
        """The numbers of its literals."""
        return range(self.first, self.first + len(self.times))


def uses_of(template: str, names: Container[str]) -> tuple[Use, ...] | None:
    r"""The conditions that have literals, in their order; None if a literal stands anywhere else.

    Examples
    --------
    >>> [use[:3] for use in uses_of('NOT (x IN (\0, \0) OR "y" IS NULL AND \0 < z)', "xyz")]
    [('x', 'in', 0), ('z', '>', 2)]
    >>> uses_of("x > \0 AND \0 = \0", "x") is None
    True
    """
    found: list[Use] = []
    literals = 0
    for token in _USE.finditer(template):
        if MARK not in token[0]:
            continue
        name = _plain(token["name"] or token["second"] or token["prefixed"])
        if name not in names:
            return None
        times = tuple(word.upper() for word in _TIME.findall(token[0]))
        found.append(Use(name, _operator(token), literals, times))
        literals += len(times)
    return tuple(found) if literals == template.count(MARK) else None


def _operator(token: re.Match[str]) -> str:
    if token["op"]:
        return _SAME.get(token["op"], token["op"])
    if token["flipped"]:
        op = _SAME.get(token["flipped"], token["flipped"])
        return _FLIPPED.get(op, op)
    if token["distinct"]:
        return "="
    return str(token["between"] or token["in"] or token["like"] or token["function"]).lower()


def _plain(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
