"""Filter texts taken apart into templates and literals.

A few texts are split one by one with a regular expression. Many are split together: their bytes lie in one
Arrow buffer, where masks tell which belong to literals. What is unusual about a row, seen in its bytes or in
its template, as a quoted name, sends it to the regular expression. Neither way has to understand a literal,
for whoever converts it checks it; what matters is that no row's template means something else without its
literals.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pubmatch.errors import FilterError
from pubmatch.filter_texts import MARK, FilterTexts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from pubmatch.filter_texts import Row

__all__ = ["split_column", "split_text", "split_texts"]

# A string, or a number that is no part of a word. The first character alone is sought, which is quick; what
# it was decides how to go on.
_LITERAL = re.compile(
    r"([-'.0-9](?:(?<=')[^']*(?:''[^']*)*'"
    r"|(?<![\w.$'].)(?:(?<=[0-9])[0-9]*\.?[0-9]*|(?<=\.)[0-9]+|(?<=-)(?:[0-9]+\.?[0-9]*|\.[0-9]+))"
    r"(?:[eE][+-]?[0-9]+)?(?![\w.])))",
    re.DOTALL,
)
_NAME = r'"[^"]*(?:""[^"]*)*"'
_NAME_OR_LITERAL = re.compile(rf"{_NAME}|{_LITERAL.pattern}", re.DOTALL)
# What may hide literals, or change how one is read: quoted names, comments, escapes, prefixed strings.
_OPAQUE = re.compile(rf"[\"$`\\';?:]|--|/\*|-\s*{MARK}|\w{MARK}")

_FEW = 256  # texts that are not worth an Arrow array
_TOGETHER = 1 << 17  # texts split at once: some tens of megabytes
_WORD = np.zeros(256, np.bool_)
_WORD[[byte for byte in range(256) if byte >= 128 or chr(byte).isalnum() or chr(byte) in "_.$"]] = True
_NUMERIC = np.zeros(256, np.bool_)
_NUMERIC[list(b".0123456789")] = True
_SIGN = np.zeros(256, np.bool_)
_SIGN[list(b"+-")] = True
_QUOTE, _MINUS = ord("'"), ord("-")


def split_text(text: str) -> Row:
    r"""Template and literals of a filter text; the whole text and no literals where that is not certain.

    Examples
    --------
    >>> split_text("price > -1.5e3 AND symbol = 'O''Hara' AND x2 = 3")
    ('price > \x00 AND symbol = \x00 AND x2 = \x00', ('-1.5e3', "'O''Hara'", '3'))
    >>> split_text('"unit 1" = 5')
    ('"unit 1" = \x00', ('5',))
    >>> split_text("price = 5 -- or 6")
    ('price = 5 -- or 6', ())
    """
    if MARK in text:
        raise FilterError(f"a filter must not hold the null character: {text!r}")
    if '"' in text:
        template, literals = _split_with_names(text)
        visible = re.sub(_NAME, "name", template)
    else:
        parts = _LITERAL.split(text)
        template = visible = MARK.join(parts[::2])
        literals = tuple(parts[1::2])
    return (text, ()) if _OPAQUE.search(visible) is not None else (template, literals)


def _split_with_names(text: str) -> Row:
    """Template and literals of a text with quoted names, in which no literal is sought."""
    literals: list[str] = []

    def replaced(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        literals.append(found[1])
        return MARK

    template = _NAME_OR_LITERAL.sub(replaced, text)
    return template, tuple(literals)


def split_texts(texts: Sequence[str]) -> FilterTexts:
    r"""Template and literals of texts, together if they are many.

    Examples
    --------
    >>> split_texts(["price < 10", "price < 20"]).templates
    ['price < \x00']
    """
    if len(texts) > _FEW:
        import pyarrow as pa

        try:
            return split_column(pa.array(texts, pa.large_string()))
        except UnicodeEncodeError:  # Arrow holds no lone surrogates
            pass
    return FilterTexts.of_rows(map(split_text, texts))


def split_column(texts: pa.Array) -> FilterTexts:
    r"""Template and literals of an Arrow array of strings without nulls, split together.

    Examples
    --------
    >>> import pyarrow
    >>> split_column(pyarrow.array(["price < 10", "price < 20"])).templates
    ['price < \x00']
    """
    return FilterTexts.joined(
        [_split_together(texts.slice(first, _TOGETHER)) for first in range(0, len(texts), _TOGETHER)]
    )


def _split_together(texts: pa.Array) -> FilterTexts:
    import pyarrow as pa
    import pyarrow.compute as pc

    # A line end after every text keeps the literals of two rows apart.
    nothing, line_end = pa.scalar("", pa.large_string()), pa.scalar("\n", pa.large_string())
    lines = pc.binary_join_element_wise(texts.cast(pa.large_string()), nothing, line_end)
    offsets = np.frombuffer(lines.buffers()[1], np.int64)[: len(texts) + 1]
    content = np.frombuffer(lines.buffers()[2], np.uint8)[: offsets[-1]]
    if (content == 0).any():
        return FilterTexts.of_rows(map(split_text, texts.to_pylist()))
    found = _literals(content, offsets)
    together, opaque = _without_literals(content, offsets, found)
    odd = np.flatnonzero(found.odd_rows | opaque[together.template_of])
    if not len(odd):
        return together
    alone = FilterTexts.of_rows(map(split_text, texts.take(odd).to_pylist()))
    places = np.arange(len(texts))
    places[odd] = len(texts) + np.arange(len(odd))
    return FilterTexts.joined([together, alone]).take(places)


class _Literals(NamedTuple):
    """Where the literals lie in the bytes of many rows, each followed by a byte that belongs to none."""

    mask: NDArray[np.bool_]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    odd_rows: NDArray[np.bool_]


def _literals(content: NDArray[np.uint8], offsets: NDArray[np.int64]) -> _Literals:
    odd_rows = np.zeros(len(offsets) - 1, np.bool_)
    quoted = _quoted(content, offsets, odd_rows)
    word = _WORD[content] & ~quoted
    starts = np.flatnonzero(word[1:] & ~word[:-1]) + 1
    if word[0]:
        starts = np.concatenate([np.zeros(1, np.int64), starts])
    ends = np.flatnonzero(word[:-1] & ~word[1:]) + 1  # the last byte is a line end
    numbers = _NUMERIC[content[starts]]
    starts, ends = starts[numbers], ends[numbers]
    # A sign belongs to the number unless something stands in front of it that it could be taken from.
    before = np.maximum(starts - 1, 0)
    further = np.maximum(starts - 2, 0)
    signed = (content[before] == _MINUS) & ~quoted[before] & (starts > 0)
    signed &= (starts < 2) | ~(_WORD[content[further]] | (content[further] == _QUOTE))
    # Literals without anything between them are left to the expression.
    touching = quoted[ends] | (quoted[before] & (starts > 0))
    odd_rows[np.searchsorted(offsets, starts[touching], side="right") - 1] = True
    mask = _covered(starts - signed, ends, len(content)) | quoted
    # The sign of an exponent joins the digits on both sides of it.
    signs = ends[content[ends - 1] | 0x20 == ord("e")]
    signs = signs[_SIGN[content[signs]]]
    mask[signs[mask[signs + 1] & ~quoted[signs + 1]]] = True
    edges = np.flatnonzero(mask[1:] != mask[:-1]) + 1
    if mask[0]:
        edges = np.concatenate([np.zeros(1, np.int64), edges])
    return _Literals(mask, edges[::2], edges[1::2], odd_rows)


def _quoted(
    content: NDArray[np.uint8], offsets: NDArray[np.int64], odd_rows: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which bytes belong to strings, quotes included; rows with a string that never ends have none."""
    quotes = np.flatnonzero(content == _QUOTE)
    firsts = np.searchsorted(quotes, offsets)
    odd_rows |= np.diff(firsts) % 2 == 1
    if odd_rows.any():
        quotes = quotes[~np.repeat(odd_rows, np.diff(firsts))]
    # A doubled quote ends a string and begins the next without a gap, so both are one.
    return _covered(quotes[::2], quotes[1::2] + 1, len(content))


def _covered(starts: NDArray[np.int64], ends: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """Which of `size` places lie in one of the ascending intervals, which may touch."""
    if not len(starts):
        return np.zeros(size, np.bool_)
    steps = np.zeros(size + 1, np.int8)
    steps[starts] += 1
    steps[ends] -= 1
    inside: NDArray[Any] = np.cumsum(steps[:-1], dtype=np.int8)
    return inside.view(np.bool_)


def _without_literals(
    content: NDArray[np.uint8], offsets: NDArray[np.int64], found: _Literals
) -> tuple[FilterTexts, NDArray[np.bool_]]:
    """The rows taken apart, and which of their templates are opaque."""
    import pyarrow as pa

    firsts = np.searchsorted(found.starts, offsets)
    counts = np.diff(firsts)
    sizes = np.diff(np.concatenate([np.zeros(1, np.int64), np.cumsum(found.ends - found.starts)])[firsts])
    inner = np.ones(len(found.ends), np.bool_)
    inner[firsts[1:][counts > 0] - 1] = False
    marked = content.copy()
    marked[found.ends[inner]] = 0
    mask = found.mask.copy()
    mask[found.ends[inner]] = True
    ends = np.cumsum(sizes + np.maximum(counts - 1, 0), dtype=np.int64)
    literals = marked[mask]

    marked = content.copy()
    marked[found.starts] = 0
    mask = ~found.mask
    mask[found.starts] = True
    template_ends = np.cumsum(np.diff(offsets) - sizes + counts, dtype=np.int64)
    buffers = [None, pa.py_buffer(np.concatenate([np.zeros(1, np.int64), template_ends]))]
    kept = pa.py_buffer(marked[mask])
    lines = pa.Array.from_buffers(pa.large_string(), len(counts), [*buffers, kept]).dictionary_encode()
    templates = [line[:-1] for line in lines.dictionary.to_pylist()]
    opaque = np.array([_OPAQUE.search(template) is not None for template in templates], np.bool_)
    numbers = lines.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
    return FilterTexts(templates, numbers, ends, literals), opaque
