"""Hypothesis strategies for filters and rows, with DuckDB and plain membership as the oracles.

Constants and row values come from the same small pools, so that random conditions are often met exactly.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
from hypothesis import strategies as st

from pubmatch.filters import Filter, Side, parse
from pubmatch.schema import Boolean, Category, Integer, Number, Schema, Timestamp

SCHEMA = Schema(
    price=Number(),
    volume=Integer(),
    symbol=Category(),
    halted=Boolean(),
    at=Timestamp(),
    **{"Unit Price": Number(), "order": Integer()},
)
SMALL = Schema(
    x=Integer(domain=(0, 4)),
    s=Category(domain=["A", "AB", "B"]),
    h=Boolean(),
    z=Number(domain=(0, 1)),
)

_EPOCH = datetime(2026, 1, 1, 10, tzinfo=UTC)
_TIMES = [
    _EPOCH,
    _EPOCH + timedelta(microseconds=1),
    datetime(2026, 1, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
]
_BIG = 2**53

VALUES: dict[str, list[Any]] = {
    "price": [-1.5, 0.0, 0.1, 0.3, 0.30000000000000004, 1.0, 2.5, 10.0, 5e-324, 1e300, float(_BIG)],
    "volume": [-(2**63), -1, 0, 1, 2, 3, _BIG - 1, _BIG, _BIG + 1, _BIG + 2, 2**63 - 1],
    "symbol": ["", "A", "AB", "ABC", "AC", "AB%", "A_", "a", "it's", "IBM", "é", "日本", "\ud7ff", "\ue000"],
    "halted": [True, False],
    "at": _TIMES,
}
VALUES["price"] += [math.inf, -math.inf]
VALUES["symbol"] += ["AB\U0010ffff", "\U0010ffff", "\U0010ffffz", "AB\x00"]
VALUES["Unit Price"], VALUES["order"] = VALUES["price"], VALUES["volume"]

_NUMBERS = ["-1.5", "0", "0.1", ".3", "0.30000000000000004e0", "1", "1.0", "2.50", "1e1", "5e-324", "1e300"]
_NUMBERS += ["9007199254740993", "-0.0", "+2.5", "1_000", "0.100000000000000005551115123125782702118158"]
_WHOLE = ["-9223372036854775808", "-1", "0", "1", "2", "3", "9007199254740993", "9223372036854775807"]
_WHOLE += ["9007199254740992", "99999999999999999999", "-99999999999999999999"]
_SMALL_FRACTIONS = ["-0.5", "1", "2", "2.5", "1.0", "1e0", "0.5e0", "2.999"]
_LONG_DECIMALS = ["9007199254740992.5", "9007199254740992.0", "9007199254740993.0", "3", "9007199254740994"]
_STRINGS = [text for text in VALUES["symbol"] if "\x00" not in text]
_MOMENTS = [
    "TIMESTAMP '2026-01-01 10:00:00'",
    "TIMESTAMPTZ '2026-01-01 12:00:00.000001+02:00'",
    "DATE '2026-01-01'",
    "'2026-01-01 10:00:00'",
    "'2026-01-01T10:00:00Z'",
    "'1969-12-31 23:59:59.999999'",
]
_PATTERNS = [
    "'AB%'",
    "'%'",
    "'A'",
    "''",
    "'a%%'",
    "'it''s%'",
    "'\U0010ffff%'",
    "'AB\U0010ffff%'",
    "'\ud7ff%'",
]
_PATTERNS += ["'AB!%%' ESCAPE '!'", "'A!_' ESCAPE '!'", "NULL"]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


# For each attribute of SCHEMA the lists its constants are drawn from; one condition draws from one list.
LITERALS: dict[str, list[list[str]]] = {
    "price": [_NUMBERS],
    "volume": [_WHOLE, _SMALL_FRACTIONS, _LONG_DECIMALS],
    "symbol": [[_quoted(text) for text in _STRINGS]],
    "halted": [["TRUE", "FALSE"]],
    '"at"': [_MOMENTS],  # a reserved word of DuckDB
    '"Unit Price"': [_NUMBERS],
    '"order"': [_WHOLE, _SMALL_FRACTIONS, _LONG_DECIMALS],
}
SMALL_LITERALS: dict[str, list[list[str]]] = {
    "x": [["0", "1", "2", "2.5", "4"]],
    "s": [["'A'", "'AB'", "'B'"]],
    "h": [["TRUE", "FALSE"]],
    "z": [["0", "0.5", "1"]],
}
_COMPARISONS = ["<", "<=", ">", ">=", "=", "==", "<>", "!="]


@st.composite
def conditions(draw: st.DrawFn, literals: Mapping[str, list[list[str]]]) -> str:
    """The text of a condition on one attribute."""
    name = draw(st.sampled_from(sorted(literals)))
    pool = draw(st.sampled_from(literals[name]))
    # NULL is rare: it makes everything around it null.
    constant = st.one_of(*[st.sampled_from(pool)] * 7, st.just("NULL"))
    denied = draw(st.sampled_from(["", "NOT "]))
    forms = ["compare", "compare", "flipped", "between", "in", "null", "distinct"]
    forms += {"symbol": ["like"] * 4, "s": ["prefix"] * 2}.get(name, [])
    forms += ["flag", "test"] * 2 if name in ("halted", "h") else []
    form = draw(st.sampled_from(forms))
    if form == "compare":
        return f"{name} {draw(st.sampled_from(_COMPARISONS))} {draw(constant)}"
    if form == "flipped":
        return f"{draw(constant)} {draw(st.sampled_from(_COMPARISONS))} {name}"
    if form == "between":
        return f"{name} {denied}BETWEEN {draw(constant)} AND {draw(constant)}"
    if form == "in":
        values = draw(st.lists(constant, min_size=1, max_size=5))
        return f"{name} {denied}IN ({', '.join(values)})"
    if form == "null":
        return f"{name} IS {denied}NULL"
    if form == "distinct":
        return f"{name} IS {denied}DISTINCT FROM {draw(constant)}"
    if form == "like":
        return f"{name} {denied}LIKE {draw(st.sampled_from(_PATTERNS))}"
    if form == "prefix":
        return (
            f"{denied}starts_with({name}, {draw(st.sampled_from(['A', 'AB', 'B', 'C'])).join(chr(39) * 2)})"
        )
    if form == "test":
        return f"{name} IS {denied}{draw(st.sampled_from(['TRUE', 'FALSE']))}"
    return name


def filter_texts(
    literals: Mapping[str, list[list[str]]] = LITERALS, max_leaves: int = 8
) -> st.SearchStrategy[str]:
    """The text of a filter: conditions and literals nested in AND, OR, NOT and IS."""
    leaves = st.one_of(*[conditions(literals)] * 12, st.sampled_from(["TRUE", "FALSE", "NULL"]))

    def combined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        several = st.lists(parts.map(lambda text: f"({text})"), min_size=2, max_size=4)
        return st.one_of(
            several.map(" AND ".join),
            several.map(" OR ".join),
            parts.map(lambda text: f"NOT ({text})"),
            st.tuples(conditions(literals), st.sampled_from([" AND ", " OR "]), parts).map("".join),
            st.tuples(parts, st.sampled_from(["", "NOT "]), st.sampled_from(["TRUE", "FALSE", "NULL"])).map(
                lambda part: f"({part[0]}) IS {part[1]}{part[2]}"
            ),
        )

    return st.recursive(leaves, combined, max_leaves=max_leaves)


def filters(
    literals: Mapping[str, list[list[str]]] = LITERALS, max_leaves: int = 8
) -> st.SearchStrategy[Filter]:
    """Filters over SCHEMA, or over SMALL with its literals."""
    return filter_texts(literals, max_leaves).map(parse)


def events(schema: Schema = SCHEMA) -> st.SearchStrategy[dict[str, Any]]:
    """Events of SCHEMA; about one value in four is missing."""
    return st.fixed_dictionaries(
        {name: st.one_of(*[st.sampled_from(VALUES[name])] * 3, st.none()) for name in schema}
    )


def sample_rows(count: int, seed: int) -> list[dict[str, Any]]:
    """Seeded rows over SCHEMA; every value of every pool occurs if there are enough of them."""
    rng = random.Random(seed)
    columns: dict[str, list[Any]] = {}
    for name in SCHEMA:
        column = [*VALUES[name], *[None] * 4]
        column += rng.choices(column, k=max(0, count - len(column)))
        rng.shuffle(column)
        columns[name] = column[:count]
    return [{name: columns[name][row] for name in SCHEMA} for row in range(count)]


class DuckOracle:
    """A DuckDB table of rows; `truths` asks it many conditions at once."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._connection = duckdb.connect()
        self._connection.execute("SET TimeZone = 'UTC'")
        types = {"number": "DOUBLE", "integer": "BIGINT", "category": "VARCHAR", "boolean": "BOOLEAN"}
        columns = [f'"{name}" {types.get(SCHEMA[name].kind, "TIMESTAMPTZ")}' for name in SCHEMA]
        self._connection.execute(f"CREATE TABLE events (position INTEGER, {', '.join(columns)})")
        marks = ", ".join("?" * (len(columns) + 1))
        self._connection.executemany(
            f"INSERT INTO events VALUES ({marks})",
            [[position, *(row[name] for name in SCHEMA)] for position, row in enumerate(rows)],
        )

    def truths(self, texts: list[str]) -> list[list[bool | None]]:
        """For each text the truth in every row."""
        chosen = ", ".join(f"CAST(({text}) AS BOOLEAN)" for text in texts)
        rows = self._connection.execute(f"SELECT {chosen} FROM events ORDER BY position").fetchall()
        return [list(column) for column in zip(*rows, strict=True)]

    def close(self) -> None:
        self._connection.close()


def in_side(side: Side, value: Any) -> bool:
    """Whether a side, taken at its word, holds for a value of its kind; None is a missing one."""
    if value is None:
        return side.absent
    if not side.values:
        return False
    if isinstance(value, datetime):
        value = (value - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    above = side.lower is None or value > side.lower or (value == side.lower and not side.lower_open)
    below = side.upper is None or value < side.upper or (value == side.upper and not side.upper_open)
    return bool(above and below)


def in_box(box: Mapping[str, Side], event: Mapping[str, Any]) -> bool:
    """Whether every side of a box holds for an event."""
    return all(in_side(side, event.get(name)) for name, side in box.items())
