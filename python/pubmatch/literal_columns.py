"""The literals of many filter texts, as columns of strings or numbers."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from pubmatch.filter_texts import SURROGATES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pubmatch.filter_texts import FilterTexts

__all__ = ["LiteralColumns"]

_FEW = 256  # rows that are not worth an Arrow array
# What the parser takes for a number; Python's own `float` also takes digits of other scripts and underscores.
_NUMBER = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


class LiteralColumns:
    r"""The literals of all rows: a list where there are few, else an Arrow array.

    Examples
    --------
    >>> import numpy as np
    >>> from pubmatch.filter_texts import FilterTexts
    >>> literals = LiteralColumns(FilterTexts.of_rows([("x = \0 OR y = \0", ("1", "'a'"))]))
    >>> literals.floats(np.array([0, 1]))
    array([ 1., nan])
    """

    def __init__(self, texts: FilterTexts) -> None:
        self._list: list[str] | None = None
        self._floats: NDArray[np.float64] | None = None
        self._column: Any = None
        if len(texts) <= _FEW:
            self._list = texts.literal_list()
        else:
            self._column = texts.literal_column()
            self._floats = _cast(self._column)

    def __len__(self) -> int:
        return len(self._column if self._list is None else self._list)

    def distinct(self, places: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
        """The different strings at `places`, and which of them each is."""
        if self._list is not None:
            known: dict[str, int] = {}
            codes = [known.setdefault(self._list[place], len(known)) for place in places.tolist()]
            return list(known), np.array(codes, np.int64)
        encoded = self._column.take(places).dictionary_encode()
        words = [word.decode("utf-8", SURROGATES) for word in encoded.dictionary.to_pylist()]
        return words, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)

    def floats(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """The literals at `places` as numbers, NaN if they are none."""
        if self._floats is not None:
            return self._floats[places]
        numbers = None if self._list is not None else _cast(self._column.take(places))
        if numbers is None:
            words, codes = self.distinct(places)
            numbers = np.fromiter(map(_float, words), np.float64, len(words))[codes]
        return numbers


def _cast(column: Any) -> NDArray[np.float64] | None:
    """The literals of an Arrow array as numbers; None if not all of them are."""
    import pyarrow as pa

    try:
        numbers: NDArray[np.float64] = column.view(pa.large_string()).cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid:
        return None
    return numbers


def _float(literal: str) -> float:
    return float(literal) if _NUMBER.fullmatch(literal) else math.nan
