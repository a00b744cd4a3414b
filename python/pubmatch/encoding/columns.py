"""A column of values, whatever library it came from, reduced to the few kinds the attributes know.

`column_of` takes numpy arrays and Python lists without pyarrow; Arrow arrays are read in `arrow_columns`.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pubmatch.errors import PubmatchError, SchemaError
from pubmatch.shown import shown
from pubmatch.timestamps import to_micros

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Kind = Literal["float", "integer", "boolean", "timestamp", "string", "empty", "other"]

__all__ = ["Column", "column_of"]


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one column.

    Attributes
    ----------
    kind : str
        "float" (float64; NaN is missing), "integer" (int64 or uint64), "boolean", "timestamp" (int64,
        microseconds UTC), "string" (places in `words`), "empty" (all missing), "other" (what no attribute
        takes).
    type_name : str
        The type as its own library calls it, for messages.
    values : ndarray
        One value per row, anything where missing.
    missing : ndarray of bool, optional
        Which rows have no value; none if not given.
    words : list of str, optional
        The strings that occur in a "string" column.
    """

    kind: Kind
    type_name: str
    values: NDArray[Any]
    missing: NDArray[np.bool_] | None = None
    words: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def is_missing(self) -> NDArray[np.bool_]:
        """Which rows have no value, NaN included."""
        missing = np.zeros(len(self), np.bool_) if self.missing is None else self.missing
        return missing | np.isnan(self.values) if self.kind == "float" else missing


_NEVER_NUMBERS = frozenset((str, bool, dt.datetime, dt.date))
_PLAIN = _NEVER_NUMBERS | {int, float, type(None)}


def column_of(values: Any, name: str) -> Column:
    """The column that a numpy array, an Arrow array, a pandas or Polars series or a list holds.

    Examples
    --------
    >>> column_of([1.5, None], "price").kind
    'float'
    >>> column_of(["b", None, "a", "b"], "symbol").words
    ['b', 'a']
    """
    if isinstance(values, np.ndarray):
        return _from_numpy(values, name)
    if isinstance(values, list | tuple):
        return _from_list(values, name)
    if hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__"):
        if (plain := _plain_pandas(values)) is not None:
            return _from_numpy(plain, name)
        from pubmatch.encoding.arrow_columns import arrow_column

        return arrow_column(values, name)
    if hasattr(values, "__array__"):
        return _from_numpy(np.asarray(values), name)
    if isinstance(values, range):
        return _from_numpy(np.arange(values.start, values.stop, values.step, dtype=np.int64), name)
    raise SchemaError(f"column {name!r} is {type(values).__name__}, expected an array or a list of values")


def _plain_pandas(values: Any) -> NDArray[Any] | None:
    """The numpy array inside a pandas series, where pandas keeps numbers or times without a zone."""
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "fiubM" and hasattr(values, "to_numpy"):
        array: NDArray[Any] = values.to_numpy()
        return array
    return None


def _from_numpy(array: NDArray[Any], name: str) -> Column:
    if array.ndim != 1:
        raise SchemaError(f"column {name!r} has shape {array.shape}, expected one dimension")
    masked = None
    if isinstance(array, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(array)
        array = array.filled() if array.dtype.kind != "O" else array.data
    kind, type_name = array.dtype.kind, str(array.dtype)
    if kind == "f" and array.dtype.itemsize <= 8:
        values = array.astype(np.float64, copy=False)
        return Column("float", type_name, values, masked)
    if kind in "iu":
        wide = np.uint64 if array.dtype == np.uint64 else np.int64
        return Column("integer", type_name, array.astype(wide, copy=False), masked)
    if kind == "b":
        return Column("boolean", type_name, array, masked)
    if kind == "M":
        return _from_datetime64(array, name, masked)
    if kind == "U":
        words, places = np.unique(array, return_inverse=True)
        return Column("string", type_name, places.astype(np.int64), masked, words.tolist())
    if kind in "OT":
        column = _from_list(array.tolist(), name)
        if masked is not None and masked.any():
            column = _from_list(
                [None if gone else value for gone, value in zip(masked, array.tolist(), strict=True)], name
            )
        return column
    return Column("other", type_name, array, masked)


def _from_datetime64(array: NDArray[Any], name: str, masked: NDArray[np.bool_] | None) -> Column:
    missing = np.isnat(array)
    exact = array.astype("datetime64[us]")
    wrong = (exact.astype(array.dtype) != array) & ~missing
    if wrong.any():
        row = int(np.argmax(wrong))
        raise SchemaError(f"column {name!r} is no whole number of microseconds at row {row} ({array[row]})")
    if masked is not None:
        missing = missing | masked
    return Column("timestamp", str(array.dtype), exact.view(np.int64), missing if missing.any() else None)


def _from_list(values: Sequence[Any], name: str) -> Column:
    """A column of Python objects of one kind, None where missing."""
    types = set(map(type, values))
    if not types <= _PLAIN:
        values = [None if _is_missing(value) else value for value in values]
        types = set(map(type, values))
    elif float in types and types & _NEVER_NUMBERS:
        values = [None if value != value else value for value in values]
        types = set(map(type, values))
    some_missing = type(None) in types
    types.discard(type(None))
    if not types:
        return Column("empty", "null", np.zeros(len(values)))
    kinds = {found: _kind_of(found) for found in types}
    distinct = set(kinds.values())
    if len(distinct) > 1 and distinct != {"integer", "float"}:
        _refuse_mixture(values, kinds, name)
    if "other" in distinct:
        type_name = min(found.__name__ for found in types)
        return Column("other", type_name, np.zeros(len(values)))
    missing = np.array([value is None for value in values]) if some_missing else None
    type_name = "/".join(sorted(found.__name__ for found in types))
    if "float" in distinct:
        return _as_floats(values, name, type_name)
    return _from_uniform(values, name, distinct.pop(), type_name, missing)


def _from_uniform(
    values: Sequence[Any], name: str, kind: Kind, type_name: str, missing: NDArray[np.bool_] | None
) -> Column:
    if kind == "string":
        places: dict[str, int] = {}
        codes = [0 if value is None else places.setdefault(str(value), len(places)) for value in values]
        return Column("string", type_name, np.array(codes, np.int64), missing, list(places))
    if kind == "boolean":
        return Column("boolean", type_name, np.array([bool(value) for value in values]), missing)
    if kind == "timestamp":
        times = [0 if value is None else _microseconds(value, name, row) for row, value in enumerate(values)]
        return Column("timestamp", type_name, np.array(times, np.int64), missing)
    whole = [0 if value is None else int(value) for value in values]
    if whole and not -(2**63) <= min(whole) <= max(whole) < 2**63:
        return _as_floats(values, name, type_name)
    return Column("integer", type_name, np.array(whole, np.int64), missing)


def _as_floats(values: Sequence[Any], name: str, type_name: str) -> Column:
    numbers = [
        np.nan if value is None else _exact_float(value, name, row) for row, value in enumerate(values)
    ]
    return Column("float", type_name, np.array(numbers, np.float64))


def _is_missing(value: Any) -> bool:
    """Whether a Python object stands for a missing value, as it does for `Filter.matches`."""
    if type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.datetime64 | np.floating) and bool(value != value)


def _kind_of(found: type) -> Kind:
    if issubclass(found, bool | np.bool_):
        return "boolean"
    if issubclass(found, int | np.integer):
        return "integer"
    if issubclass(found, float | np.float32 | np.float16):
        return "float"
    if issubclass(found, str):
        return "string"
    if issubclass(found, dt.date | np.datetime64):
        return "timestamp"
    return "other"


def _refuse_mixture(values: Sequence[Any], kinds: dict[type, Kind], name: str) -> None:
    """Raise for the first value of another kind than the first one."""
    first: type | None = None
    for row, value in enumerate(values):
        if value is None:
            continue
        first = first or type(value)
        if {kinds[first], kinds[type(value)]} not in ({kinds[first]}, {"integer", "float"}):
            raise SchemaError(
                f"column {name!r} mixes {first.__name__} and {type(value).__name__}: "
                f"row {row} holds {shown(value)}"
            )


def _exact_float(value: Any, name: str, row: int) -> float:
    if isinstance(value, np.integer):
        value = int(value)  # compared with a float, numpy's integer would be rounded first
    try:
        number = float(value)
    except OverflowError:
        number = np.nan
    if number != value and value == value:
        raise SchemaError(f"column {name!r} is not exact in float64 at row {row} ({shown(value)})")
    return number


def _microseconds(value: Any, name: str, row: int) -> int:
    try:
        return to_micros(value)
    except PubmatchError as error:
        raise SchemaError(f"column {name!r} at row {row}: {error}") from None
