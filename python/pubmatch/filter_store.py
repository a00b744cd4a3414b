"""The filters of all slots, kept as shapes and constants.

Most filters differ only in their constants. The text of a filter is split into its template, kept once for
all filters that share it, and its literals, packed as bytes; both together are the text again.
"""

from __future__ import annotations

import json
from array import array
from typing import TYPE_CHECKING, Any

import numpy as np

from pubmatch.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["MARK", "FilterStore", "filled", "numbers_in"]

MARK = "\0"
"""Stands in a template where a literal was taken out, and between packed literals."""

_SURROGATES = "surrogatepass"  # Python strings may hold them, and SQL text comes from Python


def filled(template: str, literals: Sequence[str]) -> str:
    r"""The text of a filter, from its template and its literals.

    Examples
    --------
    >>> filled("price > \0 AND symbol = \0", ["10", "'IBM'"])
    "price > 10 AND symbol = 'IBM'"
    """
    if not literals:
        return template
    parts = template.split(MARK)
    return "".join(part + literal for part, literal in zip(parts, [*literals, ""], strict=True))


class FilterStore:
    r"""Filter texts by slot; append-only, one writer.

    Examples
    --------
    >>> store = FilterStore()
    >>> store.append("price > \0", ["10"])
    >>> store.append("price > \0", ["20"])
    >>> store.text(1), store.templates
    ('price > 20', ['price > \x00'])
    """

    __slots__ = ("_ends", "_literals", "_number_of", "_template_of", "templates")

    def __init__(self) -> None:
        self.templates: list[str] = []
        self._number_of: dict[str, int] = {}
        self._template_of = array("i")
        self._ends = array("q")
        self._literals = bytearray()

    def __len__(self) -> int:
        return len(self._template_of)

    @property
    def nbytes(self) -> int:
        """About how much memory the store takes."""
        return len(self._literals) + 12 * len(self) + sum(50 + len(template) for template in self.templates)

    def append(self, template: str, literals: Sequence[str]) -> None:
        """Keep the filter of the next slot."""
        self._literals += MARK.join(literals).encode("utf-8", _SURROGATES)
        self._template_of.append(self._template_number(template))
        self._ends.append(len(self._literals))

    def extend(self, rows: Iterable[tuple[str, Sequence[str]]]) -> None:
        """Keep the filters of the next slots."""
        packed = [(self._template_number(template), MARK.join(literals)) for template, literals in rows]
        encoded = [literals.encode("utf-8", _SURROGATES) for _, literals in packed]
        sizes = np.fromiter(map(len, encoded), np.int64, len(encoded))
        ends = np.cumsum(sizes) + len(self._literals)
        self._literals += b"".join(encoded)
        self._template_of.extend(number for number, _ in packed)
        self._ends.frombytes(ends.astype(np.int64).tobytes())

    def split(self, slot: int) -> tuple[str, tuple[str, ...]]:
        """Template and literals of a slot."""
        template = self.templates[self._template_of[slot]]
        if MARK not in template:
            return template, ()
        begin = self._ends[slot - 1] if slot else 0
        packed = self._literals[begin : self._ends[slot]].decode("utf-8", _SURROGATES)
        return template, tuple(packed.split(MARK))

    def text(self, slot: int) -> str:
        """The text of a slot's filter."""
        return filled(*self.split(slot))

    def to_arrays(self) -> dict[str, bytes]:
        """Everything as named byte strings, for a file."""
        return {
            "templates": json.dumps(self.templates).encode(),
            "template_of": np.array(self._template_of, np.int32).tobytes(),
            "ends": np.array(self._ends, np.int64).tobytes(),
            "literals": bytes(self._literals),
        }

    @classmethod
    def from_arrays(cls, parts: dict[str, bytes], count: int) -> FilterStore:
        """The store that `to_arrays` wrote, every number checked.

        Raises
        ------
        FormatError
            The parts do not belong together.
        """
        store = cls()
        template_of = numbers_in(parts["template_of"], np.int32, count)
        ends = numbers_in(parts["ends"], np.int64, count)
        try:
            templates = json.loads(parts["templates"])
            parts["literals"].decode("utf-8", _SURROGATES)
        except ValueError as error:
            raise FormatError(f"the filters cannot be read: {error}") from None
        if not isinstance(templates, list) or not all(isinstance(template, str) for template in templates):
            raise FormatError("the filters' templates are no list of strings")
        store.templates = templates
        store._number_of = {template: number for number, template in enumerate(store.templates)}
        if count and not 0 <= int(template_of.min()) <= int(template_of.max()) < len(store.templates):
            raise FormatError("a filter has a template that does not exist")
        if count and (ends[0] < 0 or np.any(np.diff(ends) < 0) or int(ends[-1]) != len(parts["literals"])):
            raise FormatError("the filters' literals do not end where they should")
        _check_literals(templates, template_of, ends, parts["literals"])
        store._template_of = array("i", template_of.tolist())
        store._ends = array("q", ends.tolist())
        store._literals = bytearray(parts["literals"])
        return store

    def _template_number(self, template: str) -> int:
        number = self._number_of.get(template)
        if number is None:
            number = self._number_of[template] = len(self.templates)
            self.templates.append(template)
        return number


def _check_literals(
    templates: list[str], template_of: NDArray[np.int32], ends: NDArray[np.int64], literals: bytes
) -> None:
    """Refuse literals that are more or fewer than their template has room for, or cut inside a character."""
    if not len(ends):
        return
    content = np.frombuffer(literals, np.uint8)
    marks = np.array([template.count(MARK) for template in templates])[template_of]
    separators = np.searchsorted(np.flatnonzero(content == 0), np.concatenate([[0], ends]))
    sizes = np.diff(ends, prepend=0)
    inside = ends[ends < len(content)]
    if (
        np.any(np.diff(separators) != np.maximum(marks - 1, 0))
        or np.any((sizes > 0) != (marks > 0))
        or np.any(content[inside] & 0xC0 == 0x80)
    ):
        raise FormatError("the filters' literals do not fit their templates")


def numbers_in(data: bytes, dtype: Any, count: int) -> NDArray[Any]:
    """The `count` numbers that `data` holds, neither more nor less."""
    if len(data) != count * np.dtype(dtype).itemsize:
        raise FormatError(f"{len(data)} bytes are not {count} numbers")
    return np.frombuffer(data, dtype)
