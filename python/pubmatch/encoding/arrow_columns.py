"""Arrow arrays as columns: numbers and times without a copy, strings by their dictionary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from pubmatch.encoding.columns import Column
from pubmatch.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["arrow_column", "not_utf8", "one_chunk"]

_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_DAY = 86_400_000_000


def arrow_column(values: Any, name: str) -> Column:
    """The column an Arrow array, or anything that can be handed over as one, holds.

    Examples
    --------
    >>> import pyarrow
    >>> column = arrow_column(pyarrow.array(["IBM", None, "IBM"]), "symbol")
    >>> column.kind, column.words
    ('string', ['IBM'])
    """
    array = one_chunk(values, name)
    kind = array.type
    if pa.types.is_floating(kind):
        return Column("float", str(kind), array.to_numpy(zero_copy_only=False).astype(np.float64, copy=False))
    if pa.types.is_integer(kind):
        wide = np.uint64 if pa.types.is_uint64(kind) else np.int64
        return Column("integer", str(kind), _filled(array, 0).astype(wide, copy=False), _missing(array))
    if pa.types.is_boolean(kind):
        return Column("boolean", str(kind), _filled(array, False), _missing(array))
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return Column("timestamp", str(kind), _microseconds(array, name), _missing(array))
    if pa.types.is_null(kind):
        return Column("empty", str(kind), np.zeros(len(array)))
    if pa.types.is_dictionary(kind):
        return _from_dictionary(array, name)
    if _is_text(kind):
        return _words(array.dictionary_encode(), str(kind), name)
    return Column("other", str(kind), np.zeros(len(array)))


def one_chunk(values: Any, name: str) -> pa.Array:
    """The values of the column `name` as one contiguous Arrow array."""
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        try:
            values = pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else pa.array(values)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise SchemaError(f"column {name!r} cannot be read as Arrow: {error}") from None
    if isinstance(values, pa.ChunkedArray):
        if values.num_chunks == 1:
            return values.chunk(0)
        if pa.types.is_dictionary(values.type):
            values = values.unify_dictionaries()
        joined = values.combine_chunks()
        return joined if isinstance(joined, pa.Array) else pa.concat_arrays(joined.chunks)
    return values


def not_utf8(values: pa.Array | pa.ChunkedArray, name: str) -> SchemaError:
    r"""What is wrong with the column `name`, whose bytes Arrow calls strings and that are none.

    Examples
    --------
    >>> strings = pa.array([b"IBM", b"\xff"]).view(pa.string())
    >>> not_utf8(strings, "symbol")
    SchemaError("column 'symbol' is not UTF-8 at row 1")
    """
    for row, value in enumerate(values):
        try:
            value.as_py()
        except UnicodeDecodeError:
            return SchemaError(f"column {name!r} is not UTF-8 at row {row}")
    return SchemaError(f"column {name!r} is not UTF-8")  # a word that no row has


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _filled(array: pa.Array, value: Any) -> NDArray[Any]:
    if array.null_count:
        array = array.fill_null(value)
    filled: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return filled


def _missing(array: pa.Array) -> NDArray[np.bool_] | None:
    if not array.null_count:
        return None
    missing: NDArray[np.bool_] = array.is_null().to_numpy(zero_copy_only=False)
    return missing


def _microseconds(array: pa.Array, name: str) -> NDArray[np.int64]:
    """Times as int64 microseconds; what does not fit, or is finer, is refused with its row."""
    kind = array.type
    if pa.types.is_date32(kind):
        return _filled(array.cast(pa.int32()).cast(pa.int64()), 0) * _DAY
    ticks = _filled(array.cast(pa.int64()), 0)
    unit = "ms" if pa.types.is_date64(kind) else kind.unit
    if unit == "ns":
        whole, rest = np.divmod(ticks, 1000)
        _refuse(rest != 0, array, name, "is no whole number of microseconds")
        return whole
    factor = _MICROSECONDS[unit]
    limit = np.iinfo(np.int64).max // factor
    _refuse((ticks > limit) | (ticks < -limit), array, name, "does not fit int64 microseconds")
    return ticks * factor


def _refuse(wrong: NDArray[np.bool_], array: pa.Array, name: str, rule: str) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        ticks = array.cast(pa.int64())[row].as_py()
        raise SchemaError(f"column {name!r} {rule} at row {row} ({ticks} {array.type})")


def _from_dictionary(array: pa.DictionaryArray, name: str) -> Column:
    kind = array.type
    if not _is_text(kind.value_type):
        column = arrow_column(array.dictionary_decode(), name)
        return Column(column.kind, str(kind), column.values, column.missing, column.words)
    if len(array.dictionary) > len(array) or array.dictionary.null_count:
        # Look up only what occurs; and a null may hide inside a dictionary.
        texts = array.dictionary.cast(pa.large_string()).take(array.indices)
        array = texts.dictionary_encode()
    return _words(array, str(kind), name)


def _words(array: pa.DictionaryArray, type_name: str, name: str) -> Column:
    places = _filled(array.indices, 0).astype(np.int64, copy=False)
    try:
        words = array.dictionary.to_pylist()
    except UnicodeDecodeError:
        raise not_utf8(array, name) from None
    return Column("string", type_name, places, _missing(array.indices), words)
