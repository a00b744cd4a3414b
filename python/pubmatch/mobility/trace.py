"""Recorded movement: a table of when which publisher passed to which broker.

The file is CSV with the header `time_s,publisher,broker`. A publisher's first row says where it connects,
every further one that it leaves its broker then and goes to another; an empty broker: it leaves for good.
Times ascend.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pubmatch.arrays import checked_number, checked_path
from pubmatch.errors import FormatError, file_access_error
from pubmatch.mobility.topology import Topology
from pubmatch.mobility.walks import Walk
from pubmatch.whole_files import replace_file

__all__ = ["Move", "Trace", "TraceError", "read_trace"]

HEADER = ("time_s", "publisher", "broker")


class TraceError(FormatError, ValueError):
    """A trace that no client could have walked, or text that is no trace; says which line."""


@dataclass(frozen=True)
class Move:
    """One row: at `time_s` the publisher goes to a broker, named by text; "" is away for good."""

    time_s: float
    publisher: str
    broker: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "time_s", checked_number("time_s", self.time_s))


class Trace:
    """Rows of a trace, checked as far as that is possible without a topology.

    Parameters
    ----------
    moves : iterable of Move
        In the order of time.
    source : str
        What errors call it.
    lines : sequence of int, optional
        The line of each row, for errors; by default as if `write` had written them.

    Examples
    --------
    >>> trace = Trace([Move(0.0, "taxi", "21"), Move(40.0, "taxi", "22")])
    >>> trace.publishers, trace.duration_s, len(trace)
    (('taxi',), 40.0, 2)
    >>> Trace([Move(5.0, "taxi", "21"), Move(5.0, "taxi", "21")])
    Traceback (most recent call last):
    pubmatch.mobility.trace.TraceError: trace, line 3: taxi moves to broker 21, where it already is
    """

    def __init__(
        self, moves: Iterable[Move], source: str = "trace", lines: Sequence[int] | None = None
    ) -> None:
        self._moves = tuple(moves)
        self._source = source
        self._lines = range(2, len(self._moves) + 2) if lines is None else lines
        self._check()

    def __len__(self) -> int:
        return len(self._moves)

    def __iter__(self) -> Iterator[Move]:
        return iter(self._moves)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and self._moves == other._moves

    __hash__ = None  # type: ignore[assignment]  # compared by value

    @property
    def publishers(self) -> tuple[str, ...]:
        """The publishers, in the order in which they come."""
        return tuple(dict.fromkeys(move.publisher for move in self._moves))

    @property
    def duration_s(self) -> float:
        """When the last move begins."""
        return self._moves[-1].time_s if self._moves else 0.0

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the CSV file that `read_trace` reads."""
        name = checked_path(path)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows((repr(move.time_s), move.publisher, move.broker) for move in self._moves)
        try:
            data = text.getvalue().encode()
        except UnicodeEncodeError as error:
            line, wrong = error.object.count("\n", 0, error.start) + 1, error.object[error.start]
            raise TraceError(f"{name}, line {line}: UTF-8 cannot hold {wrong!r}") from None
        replace_file(name, data)

    def walks(self, topology: Topology, away_s: float) -> list[Walk]:
        """Turn the trace into walks between a topology's brokers.

        Parameters
        ----------
        topology : Topology
            The brokers; one that it does not have is an error.
        away_s : float
            How long a move takes; a move that begins before the last one is over is an error.
        """
        rows: dict[str, list[tuple[float, int | None]]] = {}
        for line, move in zip(self._lines, self._moves, strict=True):
            of_one = rows.setdefault(move.publisher, [])
            if of_one[1:] and move.time_s < of_one[-1][0] + away_s:
                under_way = f"until {of_one[-1][0] + away_s:g}, got a move at {move.time_s:g}"
                raise self._error(line, f"{move.publisher} is on its way {under_way}")
            of_one.append((move.time_s, self._broker(line, move, topology)))
        return [_walk(of_one) for of_one in rows.values()]

    def _broker(self, line: int, move: Move, topology: Topology) -> int | None:
        if not move.broker:
            return None
        try:
            return topology.position(move.broker)
        except ValueError as error:
            raise self._error(line, str(error)) from None

    def _check(self) -> None:
        if not self._moves:
            raise TraceError(f"{self._source}: a trace needs at least one row, got none")
        last, at = 0.0, dict[str, str]()
        for line, move in zip(self._lines, self._moves, strict=True):
            if not (math.isfinite(move.time_s) and move.time_s >= 0):
                raise self._error(line, f"time_s must be finite and not negative, got {move.time_s}")
            if move.time_s < last:
                raise self._error(line, f"times must ascend, got {move.time_s:g} after {last:g}")
            if not move.publisher:
                raise self._error(line, "publisher must not be empty")
            place = at.get(move.publisher)
            if place == "" or (place is None and not move.broker):
                raise self._error(line, f"{move.publisher} cannot leave or return: it is away for good")
            if place == move.broker:
                raise self._error(
                    line, f"{move.publisher} moves to broker {move.broker}, where it already is"
                )
            at[move.publisher], last = move.broker, move.time_s

    def _error(self, line: int, problem: str) -> TraceError:
        return TraceError(f"{self._source}, line {line}: {problem}")


def _walk(rows: list[tuple[float, int | None]]) -> Walk:
    """A publisher of the first moment is there from the beginning; any other comes as the trace says."""
    (begin, broker), *moves = rows
    assert broker is not None, "the first row of a publisher names a broker"
    if begin == 0:
        return Walk(broker, iter(moves), broker)
    return Walk(None, iter([(begin, broker), *moves]), broker)


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """Read a trace from a CSV file; empty lines and lines that begin with # do not count.

    Raises
    ------
    TraceError
        If a line is malformed; the error names the line. A missing file is a `MissingFileError`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "taxi.csv"
    ...     Trace([Move(0.0, "taxi", "21"), Move(40.0, "taxi", "22")]).write(file)
    ...     list(read_trace(file))[1]
    Move(time_s=40.0, publisher='taxi', broker='22')
    """
    source = checked_path(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise file_access_error(error, source) from error
    except UnicodeDecodeError as error:
        raise TraceError(f"{source}: not UTF-8 text ({error.reason} at byte {error.start})") from None
    moves, lines, header = list[Move](), list[int](), False
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        for row in reader:
            if not row or row[0].startswith("#"):
                continue
            if not header:
                header = _check_header(source, reader.line_num, row)
                continue
            moves.append(_move(source, reader.line_num, row))
            lines.append(reader.line_num)
    except csv.Error as error:
        raise TraceError(f"{source}, line {reader.line_num}: {error}") from None
    return Trace(moves, source, lines)


def _check_header(source: str, line: int, row: list[str]) -> bool:
    if tuple(cell.strip() for cell in row) != HEADER:
        raise TraceError(f"{source}, line {line}: the header must be {','.join(HEADER)}, got {','.join(row)}")
    return True


def _move(source: str, line: int, row: list[str]) -> Move:
    if len(row) != len(HEADER):
        raise TraceError(f"{source}, line {line}: a row has {len(HEADER)} fields, got {len(row)}")
    time_s, publisher, broker = (cell.strip() for cell in row)
    try:
        return Move(float(time_s), publisher, broker)
    except ValueError:
        raise TraceError(f"{source}, line {line}: time_s must be a number, got {time_s!r}") from None
