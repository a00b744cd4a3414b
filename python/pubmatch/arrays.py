"""Arguments checked and converted for the native core: float32 or float64 rows, int64 ids, plain numbers.

A ready array goes through untouched. Anything else is converted once, and only if no value changes: an
integer or `longdouble` that float64 cannot hold, or a float64 bound that a float32 index cannot hold, is
refused with its place: a silently rounded bound would match other events than the subscriber asked for.
"""

from __future__ import annotations

import operator
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from pubmatch.errors import ArgumentError, ArgumentTypeError
from pubmatch.shown import shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[np.float32] | NDArray[np.float64]
    IdArray = NDArray[np.int64]

__all__ = [
    "FLOAT32",
    "FLOAT64",
    "box_arrays",
    "checked_count",
    "checked_flag",
    "checked_integer",
    "checked_number",
    "checked_path",
    "checked_share",
    "float_dtype",
    "id_array",
    "point_array",
    "query_box_arrays",
]

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
INT64 = np.dtype(np.int64)

# flags.num bits of a C-contiguous, aligned array; one attribute read instead of two on the hot path.
_READY = 0x001 | 0x100
_FLOAT64_DIGITS = 53


def point_array(values: ArrayLike, dims: int, name: str = "points") -> FloatArray:
    """Points as (n, dims) rows; a single (dims,) point becomes one row."""
    if type(values) is np.ndarray and (values.dtype is FLOAT64 or values.dtype is FLOAT32):
        if values.ndim == 2 and values.shape[1] == dims and values.flags.num & _READY == _READY:
            return values
        if values.ndim == 1 and values.shape[0] == dims and values.flags.num & _READY == _READY:
            return values.reshape(1, dims)
    return _rows(_real_array(values, name), name, dims)


def box_arrays(
    lower: ArrayLike, upper: ArrayLike, dims: int | None, dtype: np.dtype[Any] | None
) -> tuple[FloatArray, FloatArray]:
    """Bounds to store: equal shapes, both of `dtype`; without one, of the dtype that holds both exactly."""
    low, high = _box_rows(lower, upper, dims)
    if dtype is None:
        dtype = FLOAT32 if low.dtype == high.dtype == FLOAT32 else FLOAT64
    return _as_dtype(low, dtype, "lower"), _as_dtype(high, dtype, "upper")


def query_box_arrays(lower: ArrayLike, upper: ArrayLike, dims: int) -> tuple[FloatArray, FloatArray]:
    """Bounds to ask with: equal shapes, one dtype; it need not be the index's, the core compares exactly."""
    low, high = _box_rows(lower, upper, dims)
    if low.dtype != high.dtype:
        low, high = _as_dtype(low, FLOAT64, "lower"), _as_dtype(high, FLOAT64, "upper")
    return low, high


def id_array(ids: Any, count: int | None = None) -> IdArray:
    """Ids as a one-dimensional int64 array, of `count` entries if that is given; one integer is one id."""
    array: IdArray
    if type(ids) is np.ndarray and ids.dtype is INT64 and ids.ndim == 1 and ids.flags.num & _READY == _READY:
        array = ids
    else:
        array = _converted_ids(ids)
    if count is not None and len(array) != count:
        raise ArgumentError(f"ids has {len(array)} entries for {count} boxes")
    return array


def float_dtype(dtype: Any) -> np.dtype[Any]:
    """`dtype` as one of the two the index stores, or an error naming both."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if found is None or dtype is None or found not in (FLOAT32, FLOAT64):
        raise ArgumentError(f"dtype must be 'float32' or 'float64', got {dtype!r}")
    return FLOAT32 if found == FLOAT32 else FLOAT64


def checked_integer(name: str, value: Any) -> int:
    """`value` as an int; a bool is no number here."""
    if not isinstance(value, bool | np.bool_):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise ArgumentTypeError(f"{name} must be an integer, got {value!r}")


def checked_count(name: str, value: Any, largest: int | None = None, least: int = 1) -> int:
    """`value` as an int from `least` to `largest`."""
    number = checked_integer(name, value)
    if number < least:
        raise ArgumentError(f"{name} must be at least {least}, got {shown(number)}")
    if largest is not None and number > largest:
        raise ArgumentError(f"{name} must be at most {largest}, got {shown(number)}")
    return number


def checked_number(name: str, value: Any) -> float:
    """`value` as a float; a bool is no number here, nor is a text.

    Examples
    --------
    >>> checked_number("speed_kmh", np.float32(50))
    50.0
    >>> checked_number("speed_kmh", "50")
    Traceback (most recent call last):
    ...
    pubmatch.errors.ArgumentTypeError: speed_kmh must be a number, got '50'
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ArgumentTypeError(f"{name} must be a number, got {shown(value)}")
    try:
        return float(value)
    except OverflowError:
        raise ArgumentError(f"{name} must fit a float64, got {shown(value)}") from None


def checked_share(name: str, value: Any) -> float:
    """`value` as a float from 0 to 1.

    Examples
    --------
    >>> checked_share("locality", 1)
    1.0
    """
    share = checked_number(name, value)
    if not 0 <= share <= 1:
        raise ArgumentError(f"{name} must be from 0 to 1, got {share}")
    return share


def checked_flag(name: str, value: Any) -> bool:
    """`value` as a bool; nothing else is taken for true or false."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentTypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def checked_path(path: Any) -> str:
    """`path` as text the operating system can take whole."""
    try:
        name = os.fspath(path)
    except TypeError:
        raise ArgumentTypeError(f"path must be a path, got {type(path).__name__}") from None
    if not isinstance(name, str):
        raise ArgumentTypeError(f"path must be a text path, got {name!r}")
    if "\0" in name:  # the operating system would stop reading the name there
        raise ArgumentError(f"path holds a null character: {name!r}")
    try:
        os.fsencode(name)
    except UnicodeEncodeError as error:
        raise ArgumentError(f"path holds {name[error.start]!r}, which no file name can: {name!r}") from None
    return name


def _box_rows(lower: ArrayLike, upper: ArrayLike, dims: int | None) -> tuple[FloatArray, FloatArray]:
    low, high = _real_array(lower, "lower"), _real_array(upper, "upper")
    if low.shape != high.shape:
        raise ArgumentError(f"lower has shape {low.shape} but upper has shape {high.shape}")
    return _rows(low, "lower", dims), _rows(high, "upper", dims)


def _rows(array: FloatArray, name: str, dims: int | None) -> FloatArray:
    """`array` as C-contiguous, aligned (n, dims) rows; without `dims` the array says how wide a row is."""
    shape = array.shape
    width = dims if dims is not None else (shape[-1] if shape else 0)
    if shape == (0,) and width:
        array = array.reshape(0, width)  # [] has no row, and cannot be a point since width >= 1
    elif shape == (width,):
        array = array.reshape(1, width)
    elif array.ndim != 2 or shape[1] != width:
        expected = f"(n, {dims}) or ({dims},)" if dims is not None else "(n, dims) or (dims,)"
        raise ArgumentError(f"{name} has shape {shape}, expected {expected}")
    return np.require(array, requirements=("C_CONTIGUOUS", "ALIGNED"))


def _real_array(values: ArrayLike, name: str) -> FloatArray:
    """`values` as a native float32 or float64 array of any shape and layout, every value unchanged."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ArgumentTypeError(f"{name} is a masked array; fill it first (a point's NaN means: absent)")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ArgumentError(f"{name} is not a rectangular array of numbers: {error}") from None
    kind, itemsize = array.dtype.kind, array.dtype.itemsize
    if kind not in "fiu":
        raise ArgumentTypeError(
            f"{name} has dtype {array.dtype}, expected float32, float64 or another real one"
        )
    if kind == "f" and itemsize == FLOAT32.itemsize:
        return array.astype(FLOAT32, copy=False)
    if kind in "iu":
        if itemsize == INT64.itemsize:
            _refuse(_needs_more_digits(array), array, name, "float64")
        return array.astype(FLOAT64)
    with np.errstate(over="ignore", under="ignore"):
        exact = array.astype(FLOAT64, copy=False)
    if itemsize > FLOAT64.itemsize:
        _refuse((exact != array) & ~np.isnan(array), array, name, "float64")
    elif array is not values and isinstance(values, list | tuple):
        _refuse_rounded_integers(values, exact, name)
    return exact


def _as_dtype(array: FloatArray, dtype: np.dtype[Any], name: str) -> FloatArray:
    """`array` in the index's dtype; NaN passes, the core refuses it with its own words."""
    if array.dtype == dtype:
        return array
    with np.errstate(over="ignore", under="ignore"):
        converted: FloatArray = array.astype(dtype)
    if dtype == FLOAT32:
        _refuse((converted != array) & ~np.isnan(array), array, name, "float32")
    return converted


def _needs_more_digits(integers: NDArray[Any]) -> NDArray[np.bool_]:
    """Which 64-bit integers float64 would round: those whose odd part is wider than its 53 digits."""
    magnitude = integers.astype(np.uint64)
    if integers.dtype.kind == "i":
        magnitude = np.where(integers < 0, np.uint64(0) - magnitude, magnitude)
    lowest_bit = magnitude & (np.uint64(0) - magnitude)
    odd_part = magnitude // np.maximum(lowest_bit, np.uint64(1))
    wide: NDArray[np.bool_] = odd_part >> np.uint64(_FLOAT64_DIGITS) != 0
    return wide


def _refuse_rounded_integers(values: Any, converted: FloatArray, name: str) -> None:
    """Numpy has rounded a list that mixes floats and integers; compare with what the caller wrote."""
    if not np.any(np.abs(converted) >= 2.0**_FLOAT64_DIGITS):
        return
    given = np.asarray(values, dtype=object)
    if given.shape == converted.shape:
        # Python compares an int with a float exactly, numpy would round first.
        pairs = zip(given.ravel().tolist(), converted.ravel().tolist(), strict=True)
        rounded = [isinstance(number, int) and number != value for number, value in pairs]
        _refuse(np.reshape(rounded, given.shape), given, name, "float64")


def _refuse(inexact: NDArray[np.bool_], array: NDArray[Any], name: str, dtype: str) -> None:
    """Raise for the first value that would change, with its place."""
    if not inexact.any():
        return
    place = np.unravel_index(int(np.argmax(inexact)), array.shape)
    row, dimension = (0, 0, *place)[-2:]
    raise ArgumentError(
        f"{name} is not exact in {dtype} at row {row}, dimension {dimension} ({array[place]!s})"
    )


def _converted_ids(ids: Any) -> IdArray:
    """`ids` as a new one-dimensional int64 array, every value unchanged."""
    try:
        array = np.asarray(ids)
    except ValueError as error:
        raise ArgumentError(f"ids is not an array of integers: {error}") from None
    if array.shape == (0,) and isinstance(ids, list | tuple):
        return np.empty(0, INT64)  # numpy takes an empty list for float64
    if array.dtype.kind not in "iu":
        raise ArgumentTypeError(f"ids has dtype {array.dtype}, expected int64 or another integer one")
    if array.ndim > 1:
        raise ArgumentError(f"ids has shape {array.shape}, expected (n,)")
    array = np.atleast_1d(array)
    if array.dtype.kind == "u":
        too_large = array > np.uint64(np.iinfo(INT64).max)
        if too_large.any():
            row = int(np.argmax(too_large))
            raise ArgumentError(f"ids does not fit int64 at row {row} ({array[row]})")
    return np.require(array, INT64, ("C_CONTIGUOUS", "ALIGNED"))
