"""Many filter texts in columns: their templates, each kept once, and their literals, packed as bytes.

Most filters differ only in their constants. A text is its template, in which `MARK` stands for every literal,
and its literals; both together are the text again. The literals of all rows lie one after the other in one
array of bytes, with `MARK` between those of one row, so that a million texts are four arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    Row = tuple[str, tuple[str, ...]]

__all__ = ["MARK", "SURROGATES", "FilterTexts", "filled"]

MARK = "\0"
"""Stands in a template where a literal was taken out, and between packed literals."""

SURROGATES = "surrogatepass"  # Python strings may hold them, and SQL text comes from Python


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


@dataclass(frozen=True, slots=True)
class FilterTexts:
    r"""Filter texts by row.

    Attributes
    ----------
    templates : list of str
        The templates that occur, and perhaps others.
    template_of : ndarray of int32
        The template of each row.
    ends : ndarray of int64
        Where each row's literals end in `literals`; they begin where those of the row before end.
    literals : ndarray of uint8
        The literals in UTF-8, with `MARK` between those of one row.

    Examples
    --------
    >>> texts = FilterTexts.of_rows([("price > \0", ("10",)), ("x = \0 OR y = \0", ("1", "2"))])
    >>> texts.text(1), texts.literals.tobytes()
    ('x = 1 OR y = 2', b'101\x002')
    """

    templates: list[str]
    template_of: NDArray[np.int32]
    ends: NDArray[np.int64]
    literals: NDArray[np.uint8]

    @classmethod
    def of_rows(cls, rows: Iterable[Row]) -> FilterTexts:
        """The texts whose templates and literals are given."""
        number_of: dict[str, int] = {}
        numbers: list[int] = []
        packed: list[bytes] = []
        for template, literals in rows:
            numbers.append(number_of.setdefault(template, len(number_of)))
            packed.append(MARK.join(literals).encode("utf-8", SURROGATES))
        ends = np.cumsum(np.fromiter(map(len, packed), np.int64, len(packed)), dtype=np.int64)
        data = np.frombuffer(b"".join(packed), np.uint8)
        return cls(list(number_of), np.array(numbers, np.int32), ends, data)

    @classmethod
    def joined(cls, parts: Sequence[FilterTexts]) -> FilterTexts:
        """The rows of all parts, one part after the other."""
        number_of: dict[str, int] = {}
        template_of, ends, before = [np.empty(0, np.int32)], [np.empty(0, np.int64)], 0
        for part in parts:
            numbers = [number_of.setdefault(template, len(number_of)) for template in part.templates]
            template_of.append(np.array(numbers, np.int32)[part.template_of])
            ends.append(part.ends + before)
            before += len(part.literals)
        data = np.concatenate([np.empty(0, np.uint8), *(part.literals for part in parts)])
        return cls(list(number_of), np.concatenate(template_of), np.concatenate(ends), data)

    def __len__(self) -> int:
        return len(self.template_of)

    def row(self, place: int) -> Row:
        """Template and literals of a row."""
        template = self.templates[self.template_of[place]]
        if MARK not in template:
            return template, ()
        begin = int(self.ends[place - 1]) if place else 0
        packed = self.literals[begin : int(self.ends[place])].tobytes().decode("utf-8", SURROGATES)
        return template, tuple(packed.split(MARK))

    def text(self, place: int) -> str:
        """The text of a row."""
        return filled(*self.row(place))

    def rows(self) -> Iterator[Row]:
        """Template and literals of every row."""
        return map(self.row, range(len(self)))

    def take(self, places: NDArray[np.int64]) -> FilterTexts:
        """The rows at `places`, in that order."""
        begins = np.concatenate([np.zeros(1, np.int64), self.ends[:-1]])[places]
        sizes = self.ends[places] - begins
        ends = np.cumsum(sizes, dtype=np.int64)
        source = np.repeat(begins - ends + sizes, sizes)
        source += np.arange(len(source))
        return FilterTexts(self.templates, self.template_of[places], ends, self.literals[source])

    def literal_counts(self) -> NDArray[np.int64]:
        """How many literals each row has."""
        counts = np.array([template.count(MARK) for template in self.templates], np.int64)
        return counts[self.template_of]

    def literal_list(self) -> list[str]:
        """The literals of all rows, in order."""
        return [literal for row in self.rows() for literal in row[1]]

    def literal_column(self) -> pa.Array:
        r"""The literals of all rows, in order, as Arrow bytes.

        Examples
        --------
        >>> texts = FilterTexts.of_rows([("x = \0 OR y = \0", ("1", "23"))])
        >>> texts.literal_column().to_pylist()
        [b'1', b'23']
        """
        import pyarrow as pa

        counts = self.literal_counts()
        last = np.cumsum(counts[counts > 0]) - 1
        ends = np.empty(int(counts.sum()), np.int64)
        inner = np.ones(len(ends), np.bool_)
        inner[last] = False
        marks = self.literals == 0
        ends[last], ends[inner] = self.ends[counts > 0], np.flatnonzero(marks)
        # Without the marks, each literal ends earlier by the marks in front of it.
        ends -= np.cumsum(inner) - inner
        offsets = np.concatenate([np.zeros(1, np.int64), ends])
        data = self.literals[~marks]
        return pa.Array.from_buffers(
            pa.large_binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        )
