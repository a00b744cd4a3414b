"""Z-order ids against brute force over all cells of small grids, and rules that hold at any size."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pubmatch.errors import ArgumentError, ArgumentTypeError
from pubmatch.overlay import zorder

latitudes = st.floats(-90, 90)
longitudes = st.floats(-180, 180)
any_bits = st.integers(1, zorder.MAX_BITS)
small_bits = st.integers(1, 4)
# Edges of cells are where mistakes are: half of the drawn rectangles have corners on them.
edge_latitudes = latitudes | st.integers(-16, 16).map(lambda step: step * 5.625)
edge_longitudes = longitudes | st.integers(-16, 16).map(lambda step: step * 11.25)


def slow_id(row: int, column: int, bits: int) -> int:
    """Interleave digit by digit, as figure 2 draws it."""
    text = "".join(f"{row >> bit & 1}{column >> bit & 1}" for bit in range(bits - 1, -1, -1))
    return int(text, 2)


@functools.cache
def cells(bits: int) -> dict[int, tuple[float, float, float, float]]:
    """South, west, north and east of every cell, by id."""
    side = 2**bits
    return {
        slow_id(row, column, bits): (
            -90 + row * 180 / side,
            -180 + column * 360 / side,
            -90 + (row + 1) * 180 / side,
            -180 + (column + 1) * 360 / side,
        )
        for row in range(side)
        for column in range(side)
    }


def slow_ranges(south, west, north, east, bits):
    """Test every cell, in whole fractions, then join neighbours."""
    turns = (-360, 0, 360)
    west, end = Fraction(west), Fraction(east) + (0 if west < east else 360)
    wanted = sorted(
        number
        for number, (low, left, high, right) in cells(bits).items()
        if low < north and high > south and any(left < end + t and right > west + t for t in turns)
    )
    found: list[tuple[int, int]] = []
    for number in wanted:
        if found and found[-1][1] == number:
            found[-1] = (found[-1][0], number + 1)
        else:
            found.append((number, number + 1))
    return found


@given(latitudes, longitudes, small_bits)
@example(90.0, 180.0, 3)
@example(-1e-300, -1e-300, 3)
@example(math.nextafter(45, 0), math.nextafter(-90, -100), 4)
def test_encode_is_the_cell_the_position_lies_in(lat, lon, bits):
    found = [
        number
        for number, (south, west, north, east) in cells(bits).items()
        if (south <= lat < north or lat == 90 == north) and west <= (lon if lon < 180 else lon - 360) < east
    ]
    assert [zorder.encode(lat, lon, bits=bits)] == found


def test_the_grid_of_figure_2():
    # Row 0 in the south, column 0 at 180° W, latitude the high bit of each digit.
    lat, lon = np.meshgrid([-67.5, -22.5, 22.5, 67.5], [-135, -45, 45, 135], indexing="ij")
    assert zorder.encode(lat, lon, bits=2).tolist() == [
        [0, 1, 4, 5],
        [2, 3, 6, 7],
        [8, 9, 12, 13],
        [10, 11, 14, 15],
    ]


@given(st.data(), any_bits)
def test_decode_is_inside_the_cell(data, bits):
    number = data.draw(st.integers(0, 4**bits - 1))
    lat, lon = zorder.decode(number, bits=bits)
    assert isinstance(lat, float)
    assert isinstance(lon, float)
    assert zorder.encode(lat, lon, bits=bits) == number


@given(st.lists(st.tuples(latitudes, st.floats(-1e6, 1e6))), any_bits)
def test_arrays_are_scalars_one_by_one(points, bits):
    lat, lon = np.array(points).reshape(-1, 2).T
    ids = zorder.encode(lat, lon, bits=bits)
    assert ids.dtype == np.int64
    assert ids.tolist() == [zorder.encode(*point, bits=bits) for point in points]
    back = zorder.decode(ids, bits=bits)
    assert [column.tolist() for column in back] == [
        [zorder.decode(each, bits=bits)[axis] for each in ids.tolist()] for axis in (0, 1)
    ]


@given(latitudes, st.integers(-180, 179), st.integers(-3, 3), any_bits)
def test_longitude_wraps(lat, lon, turns, bits):
    assert zorder.encode(lat, lon + 360 * turns, bits=bits) == zorder.encode(lat, lon, bits=bits)


@given(latitudes, longitudes, any_bits)
def test_a_prefix_is_the_cell_of_a_coarser_grid(lat, lon, bits):
    fine = zorder.encode(lat, lon, bits=zorder.MAX_BITS)
    assert fine >> 2 * (zorder.MAX_BITS - bits) == zorder.encode(lat, lon, bits=bits)


def rectangles(lat, lon):
    return st.tuples(lat, lon, lat, lon).filter(lambda r: r[0] < r[2] and (r[1] - r[3]) % 360 != 0)


@given(rectangles(edge_latitudes, edge_longitudes), small_bits)
@example((-90.0, -180.0, 90.0, 180.0), 3)
@example((-10.0, 170.0, 10.0, -170.0), 4)
@example((-10.0, 10.5, 10.0, 10.25), 2)
def test_ranges_are_the_cells_the_rectangle_meets(rectangle, bits):
    south, west, north, east = rectangle
    assert zorder.ranges(*rectangle, bits=bits) == slow_ranges(south, west, north, east, bits)


@given(rectangles(edge_latitudes, edge_longitudes), small_bits, st.integers(1, 8))
def test_a_cap_only_widens_and_as_little_as_possible(rectangle, bits, cap):
    exact = zorder.ranges(*rectangle, bits=bits)
    capped = zorder.ranges(*rectangle, bits=bits, max_ranges=cap)
    assert len(capped) == min(cap, len(exact))
    for low, high in exact:
        assert any(start <= low and high <= end for start, end in capped)
    assert all(before[1] < after[0] for before, after in itertools.pairwise(capped))
    gaps = sorted(after[0] - before[1] for before, after in itertools.pairwise(exact))
    added = sum(high - low for low, high in capped) - sum(high - low for low, high in exact)
    assert added == sum(gaps[: max(len(exact) - cap, 0)])


@given(rectangles(latitudes, longitudes), st.integers(12, zorder.MAX_BITS), st.integers(1, 40), st.data())
def test_deep_capped_ranges_hold_every_position_inside(rectangle, bits, cap, data):
    south, west, north, east = rectangle
    found = zorder.ranges(*rectangle, bits=bits, max_ranges=cap)
    assert 1 <= len(found) <= cap
    assert all(0 <= low < high <= 4**bits for low, high in found)
    lat = min(data.draw(st.floats(south, north)), math.nextafter(north, -90))
    across = east if west < east else east + 360
    lon = min(data.draw(st.floats(west, across)), math.nextafter(across, -180))
    number = zorder.encode(lat, lon, bits=bits)
    assert any(low <= number < high for low, high in found)


def test_an_aligned_rectangle_is_one_range():
    assert zorder.ranges(-90, -180, 90, 180, bits=31) == [(0, 4**31)]
    assert zorder.ranges(0, 0, 45, 90, bits=20) == [(12 * 4**18, 13 * 4**18)]


def test_exact_ranges_end_where_too_many_quarters_lie_on_the_border(monkeypatch):
    """Rows 1 to 6 and columns 1 to 6 of eight: twelve quarters of four cells are covered partly."""
    inner = {"south": -67.5, "west": -135, "north": 67.5, "east": 135, "bits": 3}
    monkeypatch.setattr(zorder, "MAX_BORDER", 12)
    assert len(zorder.ranges(**inner)) == 16
    monkeypatch.setattr(zorder, "MAX_BORDER", 11)
    with pytest.raises(ArgumentError, match=r"more than 11 quarters of one size .* border at 3 bits"):
        zorder.ranges(**inner)
    assert len(zorder.ranges(**inner, max_ranges=16)) == 16


def test_rectangles_may_be_written_beyond_180():
    assert zorder.ranges(0, 170, 10, 190, bits=6) == zorder.ranges(0, 170, 10, -170, bits=6)
    assert zorder.ranges(0, -190, 10, -170, bits=6) == zorder.ranges(0, 170, 10, -170, bits=6)
    assert zorder.ranges(0, 180, 10, -170, bits=6) == zorder.ranges(0, -180, 10, -170, bits=6)
    assert zorder.ranges(0, 170, 10, -180, bits=6) == zorder.ranges(0, 170, 10, 180, bits=6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: zorder.encode(90.5, 0, bits=4), "lat must be from -90 to 90, got 90.5"),
        (lambda: zorder.encode([0, -91], [0, 0], bits=4), "lat must be from -90 to 90, got -91.0 at 1"),
        (lambda: zorder.encode(math.nan, 0, bits=4), "lat must be finite, got nan"),
        (lambda: zorder.encode(0, math.nan, bits=4), "lon must be finite, got nan"),
        (lambda: zorder.encode(0, math.inf, bits=4), "lon must be finite, got inf"),
        (lambda: zorder.encode([0, 1], [0, 1, 2], bits=4), "shapes that fit, got (2,) and (3,)"),
        (lambda: zorder.encode(0, 0, bits=0), "bits must be at least 1, got 0"),
        (lambda: zorder.encode(0, 0, bits=32), "bits must be at most 31, got 32"),
        (lambda: zorder.decode(16, bits=2), "ids must be from 0 to 15, got 16"),
        (lambda: zorder.decode([0, -1], bits=2), "ids must be from 0 to 15, got -1 at 1"),
        (lambda: zorder.decode(2**70, bits=2), "ids must be from 0 to 15"),
        (lambda: zorder.ranges(10, 0, 10, 5, bits=4), "south must be below north, got 10 and 10: an empty"),
        (lambda: zorder.ranges(20, 0, 10, 5, bits=4), "south must be below north, got 20 and 10"),
        (lambda: zorder.ranges(0, 5, 10, 5, bits=4), "west and east must differ, got 5 and 5: an empty"),
        (lambda: zorder.ranges(0, 180, 10, -180, bits=4), "west and east must differ, got 180 and -180"),
        (lambda: zorder.ranges(0, 0, 95, 5, bits=4), "from -90 to 90, got 95.0 at 1"),
        (lambda: zorder.ranges(0, 0, 9, 400, bits=4), "from -360 to 360, got 400.0 at 1"),
        (lambda: zorder.ranges(math.nan, 0, 9, 5, bits=4), "south and north must be finite, got nan at 0"),
        (lambda: zorder.ranges(0, 0, 10, 5, bits=4, max_ranges=0), "max_ranges must be at least 1, got 0"),
        (lambda: zorder.ranges(-80, -170, 80, 170, bits=31), "border at 31 bits; pass max_ranges"),
    ],
)
def test_refusals_say_rule_and_value(call, message):
    with pytest.raises(ArgumentError) as refused:
        call()
    assert message in str(refused.value)
    assert isinstance(refused.value, ValueError)


@pytest.mark.parametrize(
    "call",
    [
        lambda: zorder.encode("0", 0, bits=4),
        lambda: zorder.encode(0, None, bits=4),
        lambda: zorder.encode(0, 0, bits=2.5),
        lambda: zorder.decode(1.5, bits=4),
        lambda: zorder.decode(True, bits=4),
    ],
)
def test_refusals_of_types(call):
    with pytest.raises(ArgumentTypeError):
        call()
