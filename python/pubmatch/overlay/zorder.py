"""The geographic id space: Z-order ids of the cells of a grid over the world (section III-A, figure 2).

The world is divided into 2^bits rows and as many columns. A cell's id interleaves the bits of its row and its
column, the row's first, so that each 2-bit digit says which quarter of the quarter before it lies in: a
rectangle of the map becomes a few ranges of ids, and neighbours on the map are mostly neighbours in ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from pubmatch.arrays import checked_count
from pubmatch.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    IdArray = NDArray[np.int64]
    FloatArray = NDArray[np.float64]

__all__ = ["MAX_BITS", "MAX_BORDER", "decode", "encode", "ranges"]

MAX_BITS = 31
"""Most bits per axis: two of them make an id, which has to fit int64."""

MAX_BORDER = 1 << 18
"""Most quarters of one size on a rectangle's border; beyond it, `ranges` asks for a cap, to spare memory."""

_SPREAD = (
    (16, 0x0000FFFF0000FFFF),
    (8, 0x00FF00FF00FF00FF),
    (4, 0x0F0F0F0F0F0F0F0F),
    (2, 0x3333333333333333),
    (1, 0x5555555555555555),
)
# A capped rectangle is divided until this many quarters per allowed range lie on its border, then widened.
_BORDER_PER_RANGE = 16
_LEAST_BORDER = 1024


@overload
def encode(lat: float, lon: float, bits: int) -> int: ...
@overload
def encode(lat: ArrayLike, lon: ArrayLike, bits: int) -> IdArray: ...
def encode(lat: ArrayLike, lon: ArrayLike, bits: int) -> int | IdArray:
    """Return the ids of the cells that positions lie in.

    A cell holds its southern and western edge. Latitude 90 belongs to the last row; longitude wraps, so
    180° E is column 0.

    Parameters
    ----------
    lat, lon : float or array_like
        Degrees; latitude from -90 to 90, longitude any finite number. Arrays are broadcast.
    bits : int
        Bits per axis, 1 to 31.

    Returns
    -------
    int or ndarray of int64
        From 0 (the south-west corner) to 4^bits - 1.

    Examples
    --------
    >>> encode(-90, -180, bits=3), encode(-1, -1, bits=3), encode(90, 179, bits=3)
    (0, 15, 63)
    >>> encode([-90, 0], [-180, 0], bits=3)
    array([ 0, 48])
    """
    bits = checked_count("bits", bits, MAX_BITS)
    latitude, longitude = _degrees(lat, "lat"), _degrees(lon, "lon")
    _refuse((latitude < -90) | (latitude > 90), latitude, "lat must be from -90 to 90")
    try:
        rows, columns = np.broadcast_arrays(_rows(latitude, bits), _columns(_wrapped(longitude), bits))
    except ValueError:
        raise ArgumentError(
            f"lat and lon must have shapes that fit, got {latitude.shape} and {longitude.shape}"
        ) from None
    ids = _interleave(rows, columns)
    return int(ids) if ids.ndim == 0 else ids


@overload
def decode(ids: int, bits: int) -> tuple[float, float]: ...
@overload
def decode(ids: ArrayLike, bits: int) -> tuple[FloatArray, FloatArray]: ...
def decode(ids: ArrayLike, bits: int) -> tuple[float | FloatArray, float | FloatArray]:
    """Return the centres of cells, so that `encode` gives the ids back.

    Parameters
    ----------
    ids : int or array_like of int
        From 0 to 4^bits - 1.
    bits : int
        Bits per axis, 1 to 31.

    Returns
    -------
    lat, lon : float or ndarray
        Degrees.

    Examples
    --------
    >>> decode(15, bits=3)
    (-11.25, -22.5)
    """
    bits = checked_count("bits", bits, MAX_BITS)
    cells = checked_ids(ids, bits)
    side = float(1 << bits)
    lat = -90 + (_gather(cells >> 1).astype(np.float64) + 0.5) * (180 / side)
    lon = -180 + (_gather(cells).astype(np.float64) + 0.5) * (360 / side)
    return (float(lat), float(lon)) if cells.ndim == 0 else (lat, lon)


def ranges(
    south: float, west: float, north: float, east: float, bits: int, max_ranges: int | None = None
) -> list[tuple[int, int]]:
    """Return the ids of a geographic rectangle as the fewest ranges.

    The cells are those whose inside the rectangle meets: a rectangle that ends on a cell's edge does not
    reach into the next cell.

    Parameters
    ----------
    south, north : float
        Degrees, -90 <= south < north <= 90.
    west, east : float
        Degrees, -360 to 360. With west > east the rectangle crosses the antimeridian.
    bits : int
        Bits per axis, 1 to 31.
    max_ranges : int, optional
        Most ranges to return. If the rectangle needs more, ranges are joined over the smallest gaps: the
        result then also holds cells outside, and never misses one inside.

    Returns
    -------
    list of (int, int)
        Ascending, disjoint, half-open `(low, high)`, no two of them adjacent.

    Raises
    ------
    ArgumentError
        Degrees out of range or an empty area; or, without `max_ranges`, more than 262,144 quarters of one
        size (squares of 2, 4, 8, ... cells a side) that the rectangle, or its part on one side of the
        antimeridian, covers partly.

    Examples
    --------
    >>> ranges(-90, -180, 0, 0, bits=3)
    [(0, 16)]
    >>> ranges(-45, -90, 45, 90, bits=2)
    [(3, 4), (6, 7), (9, 10), (12, 13)]
    >>> ranges(-45, -90, 45, 90, bits=2, max_ranges=2)
    [(3, 4), (6, 13)]
    >>> ranges(-90, 90, 0, -90, bits=2)
    [(0, 1), (2, 3), (5, 6), (7, 8)]
    """
    bits = checked_count("bits", bits, MAX_BITS)
    cap = None if max_ranges is None else checked_count("max_ranges", max_ranges)
    rows = _row_span(south, north, bits)
    parts = [_quarters(rows, columns, bits, cap) for columns in _column_spans(west, east, bits)]
    low = np.concatenate([part[0] for part in parts])
    high = np.concatenate([part[1] for part in parts])
    order = np.argsort(low)
    low, high = low[order], high[order]
    gaps = low[1:] - high[:-1]
    open_gaps = np.flatnonzero(gaps > 0)
    if cap is not None and len(open_gaps) >= cap:
        # The widest gaps stay; of equal ones the first, so that the result is one and the same everywhere.
        widest = np.argsort(-gaps[open_gaps], kind="stable")[: cap - 1]
        open_gaps = open_gaps[np.sort(widest)]
    starts = np.concatenate(([0], open_gaps + 1))
    ends = np.concatenate((open_gaps, [len(low) - 1]))
    return list(zip(low[starts].tolist(), high[ends].tolist(), strict=True))


def checked_ids(ids: ArrayLike, bits: int, name: str = "ids") -> IdArray:
    """Return ids as int64; refuse what is no integer or outside the space, with its place."""
    try:
        array = np.asarray(ids)
    except ValueError as error:
        raise ArgumentError(f"{name} is not a rectangular array of integers: {error}") from None
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64)  # numpy takes an empty list for floats
    if array.dtype.kind == "O" and all(type(each) is int for each in array.flat):
        limit = 4**bits  # integers beyond int64: clip to one that is out of range all the same
        array = np.array([min(max(each, -1), limit) for each in array.flat], np.int64).reshape(array.shape)
    if array.dtype.kind not in "iu":
        raise ArgumentTypeError(f"{name} must be integers, got {ids!r}")
    _refuse((array < 0) | (array >= 4**bits), array, f"{name} must be from 0 to {4**bits - 1}")
    return array.astype(np.int64, copy=False)


def _degrees(values: ArrayLike, name: str) -> FloatArray:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ArgumentError(f"{name} is not a rectangular array of numbers: {error}") from None
    if array.dtype.kind not in "fiu":
        raise ArgumentTypeError(f"{name} must be degrees, got {values!r}")
    degrees: FloatArray = array.astype(np.float64, copy=False)
    _refuse(~np.isfinite(degrees), degrees, f"{name} must be finite")
    return degrees


def _refuse(wrong: NDArray[np.bool_], values: NDArray[Any], rule: str) -> None:
    """Raise for the first wrong value, with its place if there are several."""
    if not wrong.any():
        return
    place = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    where = f" at {', '.join(str(int(part)) for part in place)}" if place else ""
    raise ArgumentError(f"{rule}, got {values[place]}{where}")


def _wrapped(longitude: FloatArray) -> FloatArray:
    """Return the same meridians from -180 up to, not including, 180; every step is exact in float64."""
    turned = np.fmod(longitude, 360.0)
    turned = np.where(turned >= 180, turned - 360, turned)
    return np.where(turned < -180, turned + 360, turned)


def _rows(latitude: FloatArray, bits: int) -> IdArray:
    return _cells(latitude, -90.0, 180.0, bits)


def _columns(longitude: FloatArray, bits: int) -> IdArray:
    return _cells(longitude, -180.0, 360.0, bits)


def _cells(degrees: FloatArray, start: float, extent: float, bits: int) -> IdArray:
    """Return the row or column of each value; edges are exact in float64, the first guess need not be."""
    count = 1 << bits
    step = extent / count
    cells: FloatArray = np.floor((degrees - start) / step).clip(0, count - 1)
    cells = cells - (degrees < start + cells * step)
    cells = cells + (degrees >= start + (cells + 1) * step)
    return np.minimum(cells, count - 1).astype(np.int64)


def _interleave(rows: IdArray, columns: IdArray) -> IdArray:
    ids: IdArray = _spread(rows) << 1 | _spread(columns)
    return ids


def _spread(values: IdArray) -> IdArray:
    """Put a zero before every bit."""
    spread: IdArray = values.astype(np.int64)
    for shift, mask in _SPREAD:
        spread |= spread << shift
        spread &= mask
    return spread


def _gather(ids: IdArray) -> IdArray:
    """Take every second bit: the opposite of `_spread`."""
    gathered = ids & _SPREAD[-1][1]
    for shift, mask in reversed(_SPREAD[:-1]):
        gathered = (gathered | gathered >> shift // 2) & mask
    values: IdArray = (gathered | gathered >> 16) & 0xFFFFFFFF
    return values


def _row_span(south: float, north: float, bits: int) -> tuple[int, int]:
    """Return the first and last row of a rectangle."""
    edges = _degrees([south, north], "south and north")
    _refuse((edges < -90) | (edges > 90), edges, "south and north must be from -90 to 90")
    if not south < north:
        raise ArgumentError(f"south must be below north, got {south} and {north}: an empty area")
    return _span(edges, -90.0, 180.0, bits)


def _column_spans(west: float, east: float, bits: int) -> list[tuple[int, int]]:
    """Return the first and last column of a rectangle, in two parts where it crosses the antimeridian."""
    edges = _degrees([west, east], "west and east")
    _refuse(np.abs(edges) > 360, edges, "west and east must be from -360 to 360")
    width = edges[1] - edges[0] + (360 if edges[0] > edges[1] else 0)
    if width <= 0:
        raise ArgumentError(f"west and east must differ, got {west} and {east}: an empty area")
    count = 1 << bits
    if width >= 360:
        return [(0, count - 1)]
    left, right = _wrapped(edges)
    if right == -180:
        right = np.float64(180)
    if left < right:
        return [_span(np.array([left, right]), -180.0, 360.0, bits)]
    first, _ = _span(np.array([left, 180.0]), -180.0, 360.0, bits)
    _, last = _span(np.array([-180.0, right]), -180.0, 360.0, bits)
    return [(0, count - 1)] if last >= first else [(0, last), (first, count - 1)]


def _span(edges: FloatArray, start: float, extent: float, bits: int) -> tuple[int, int]:
    """Return the cells that an interval of positive length meets with more than an edge."""
    first, last = (int(cell) for cell in _cells(edges, start, extent, bits))
    if last > first and edges[1] == start + last * (extent / (1 << bits)):
        last -= 1
    return first, last


def _quarters(
    rows: tuple[int, int], columns: tuple[int, int], bits: int, cap: int | None
) -> tuple[IdArray, IdArray]:
    """Divide the world into quarters of quarters; return low and high ids of those inside the rectangle.

    All quarters of one size are looked at together. Those on the border are divided further, down to single
    cells; under a cap, only while they are few, then they count as inside.
    """
    limit = 4 * MAX_BORDER if cap is None else max(_LEAST_BORDER, _BORDER_PER_RANGE * cap)
    shared = max((rows[0] ^ rows[1]).bit_length(), (columns[0] ^ columns[1]).bit_length())
    row, column = np.array([rows[0] >> shared]), np.array([columns[0] >> shared])
    low: list[IdArray] = []
    high: list[IdArray] = []
    for level in range(shared, -1, -1):  # a quarter of this level has 2^level rows
        south, west = row << level, column << level
        north, east = south + (1 << level) - 1, west + (1 << level) - 1
        inside = (south >= rows[0]) & (north <= rows[1]) & (west >= columns[0]) & (east <= columns[1])
        meets = (south <= rows[1]) & (north >= rows[0]) & (west <= columns[1]) & (east >= columns[0])
        border = meets & ~inside
        full = 4 * int(border.sum()) > limit
        if full and cap is None:
            raise ArgumentError(
                f"more than {MAX_BORDER} quarters of one size lie on the rectangle's border at {bits} bits; "
                "pass max_ranges"
            )
        found = _interleave(row[meets if full else inside], column[meets if full else inside])
        low.append(found << 2 * level)
        high.append((found + 1) << 2 * level)
        if full or not border.any():
            break
        row = (row[border][:, None] * 2 + np.array([0, 0, 1, 1])).ravel()
        column = (column[border][:, None] * 2 + np.array([0, 1, 0, 1])).ravel()
    return np.concatenate(low), np.concatenate(high)
