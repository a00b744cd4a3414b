"""Strings as positions on an axis, in code point order, with room to put others in between.

Only the strings that filters compare with have a label. A string of an event that has none lies strictly
inside the gap between its neighbours' labels: no bound there tells it from its real place. A label never
moves, so what was encoded before others were added stays right for every box made before.

Labels are immutable, for readers use them while a writer adds. To keep adding cheap they are two sorted runs,
a long one that is shared and a short one that is copied.
"""

from __future__ import annotations

import itertools
import operator
from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pubmatch.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["Labels", "LabelsExhausted"]

_END = 1 << 53  # positions are integers that float64 holds exactly
_STEP = 1 << 30  # between labels added at either end
_LEAST_GAP = 2  # an integer strictly between any two labels
_SHORT = 1024  # the longest short run


class LabelsExhausted(Exception):
    """A gap has no room for the new labels; all have to be labelled anew."""


class _Run(NamedTuple):
    strings: list[str]
    positions: array[int]

    def neighbours(self, string: str) -> tuple[int, int]:
        """The last label not after `string` and the first not before it; the same twice if it has one."""
        place = bisect_left(self.strings, string)
        count = len(self.strings)
        after = self.positions[place] if place < count else _END
        if place < count and self.strings[place] == string:
            return after, after
        return self.positions[place - 1] if place else -_END, after


class Labels:
    """Labels of the strings that one attribute is compared with.

    Examples
    --------
    >>> labels = Labels.of(["AMD", "IBM"])
    >>> amd, hp, ibm = labels.positions(["AMD", "HP", "IBM"]).tolist()
    >>> amd < hp < ibm
    True
    >>> more = labels.extended(["HP"])
    >>> more.lower("IBM", False) == ibm, amd < more.lower("HP", False) < more.lower("HP", True) < ibm
    (True, True)
    """

    __slots__ = ("_long", "_short")

    def __init__(self, long: _Run | None = None, short: _Run | None = None) -> None:
        self._long = long or _Run([], array("q"))
        self._short = short or _Run([], array("q"))

    @classmethod
    def of(cls, strings: Iterable[str]) -> Labels:
        """Labels for `strings`, evenly spread over the middle half of the axis."""
        known = sorted(set(strings))
        step = min(_END // (len(known) + 1), _STEP << 10)
        first = -(step * (len(known) - 1)) // 2
        return cls(_Run(known, array("q", (first + step * place for place in range(len(known))))))

    def __len__(self) -> int:
        return len(self._long.strings) + len(self._short.strings)

    def __iter__(self) -> Iterator[str]:
        return itertools.chain(self._long.strings, self._short.strings)

    def lower(self, string: str, is_open: bool) -> int:
        """The least position that `>= string`, or `> string`, allows."""
        before, after = self._neighbours(string)
        return after + is_open if before == after else before + 1

    def upper(self, string: str, is_open: bool) -> int:
        """The greatest position that `<= string`, or `< string`, allows.

        That holds for strings with a label; one without lies somewhere in its gap, which is all that a
        question about known bounds needs.
        """
        before, after = self._neighbours(string)
        return after - is_open if before == after else before + 1

    def position(self, string: str) -> int:
        """Where a string lies, whether it has a label or not."""
        before, after = self._neighbours(string)
        return after if before == after else before + 1

    def positions(self, strings: Sequence[str]) -> NDArray[np.float64]:
        """Where each string lies."""
        return np.fromiter(map(self.position, strings), np.float64, len(strings))

    def extended(self, strings: Iterable[str]) -> Labels:
        """These labels and those of `strings`; itself if all are known.

        Raises
        ------
        LabelsExhausted
            There is not enough room between two labels, or beyond the last.
        """
        new: list[tuple[str, tuple[int, int]]] = []
        for string in sorted(set(strings)):
            gap = self._neighbours(string)
            if gap[0] != gap[1]:
                new.append((string, gap))
        if not new:
            return self
        added = _Run([string for string, _ in new], array("q"))
        for gap, members in itertools.groupby(new, key=lambda pair: pair[1]):
            added.positions.extend(_spread(gap[0], gap[1], sum(1 for _ in members)))
        short = _merged(self._short, added)
        if len(short.strings) > _SHORT:
            return Labels(_merged(self._long, short))
        return Labels(self._long, short)

    def to_lists(self) -> tuple[list[str], list[int]]:
        """The strings in order and their labels, for a file."""
        run = _merged(self._long, self._short)
        return run.strings, list(run.positions)

    @classmethod
    def from_lists(cls, strings: list[str], positions: list[int]) -> Labels:
        """The labels that `to_lists` wrote, if they are in order and far enough apart."""
        numbers = np.array([-_END, *positions, _END], np.int64)
        ordered = set(map(type, strings)) <= {str} and all(map(operator.lt, strings, strings[1:]))
        if len(strings) != len(positions) or not ordered or (np.diff(numbers) < _LEAST_GAP).any():
            raise FormatError("labels are not in order")
        return cls(_Run(strings, array("q", positions)))

    def _neighbours(self, string: str) -> tuple[int, int]:
        before, after = self._long.neighbours(string)
        if before == after or not self._short.strings:
            return before, after
        short_before, short_after = self._short.neighbours(string)
        if short_before == short_after:
            return short_before, short_after
        return max(before, short_before), min(after, short_after)


def _spread(before: int, after: int, count: int) -> range:
    """`count` labels between two: evenly, but by no more than a step at a time towards the axis's end."""
    step = (after - before) // (count + 1)
    if step < _LEAST_GAP:
        raise LabelsExhausted
    if before == -_END and after == _END:
        step = min(step, _STEP)
        start = -(step * count) // 2
    elif after == _END:
        step = min(step, _STEP)
        start = before + step
    elif before == -_END:
        step = min(step, _STEP)
        start = after - step * count
    else:
        start = before + step
    return range(start, start + step * count, step)


def _merged(one: _Run, other: _Run) -> _Run:
    if not one.strings or not other.strings:
        return one if one.strings else other
    pairs = sorted(
        itertools.chain(
            zip(one.strings, one.positions, strict=True), zip(other.strings, other.positions, strict=True)
        )
    )
    return _Run([string for string, _ in pairs], array("q", (position for _, position in pairs)))
