"""The filters of all slots, kept as shapes and constants: `FilterTexts` that grow."""

from __future__ import annotations

import json
from array import array
from typing import TYPE_CHECKING, Any

import numpy as np

from pubmatch.errors import FormatError
from pubmatch.filter_texts import MARK, SURROGATES, FilterTexts, filled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FilterStore", "numbers_in"]


class FilterStore:
    r"""Filter texts by slot; append-only, one writer.

    Examples
    --------
    >>> store = FilterStore()
    >>> store.extend(FilterTexts.of_rows([("price > \0", ("10",)), ("price > \0", ("20",))]))
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

    def extend(self, texts: FilterTexts) -> None:
        """Keep the filters of the next slots."""
        used = np.zeros(len(texts.templates), np.bool_)
        used[texts.template_of] = True
        numbers = np.array(
            [
                self._template_number(template) if use else -1
                for template, use in zip(texts.templates, used.tolist(), strict=True)
            ],
            np.int32,
        )
        self._template_of.frombytes(numbers[texts.template_of].tobytes())
        self._ends.frombytes((texts.ends + len(self._literals)).tobytes())
        self._literals += texts.literals.data

    def texts(self, slots: NDArray[np.int64]) -> FilterTexts:
        """The filters of the given slots."""
        # Copies, for an array that lends its memory cannot grow.
        template_of, ends = np.array(self._template_of, np.int32), np.array(self._ends, np.int64)
        literals = np.frombuffer(bytes(self._literals), np.uint8)
        return FilterTexts(self.templates, template_of, ends, literals).take(slots)

    def text(self, slot: int) -> str:
        """The text of a slot's filter."""
        begin = self._ends[slot - 1] if slot else 0
        packed = self._literals[begin : self._ends[slot]].decode("utf-8", SURROGATES)
        template = self.templates[self._template_of[slot]]
        return filled(template, packed.split(MARK) if MARK in template else ())

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
            str(parts["literals"], "utf-8", SURROGATES)
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
        store._template_of.frombytes(parts["template_of"])
        store._ends.frombytes(parts["ends"])
        store._literals += parts["literals"]
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
