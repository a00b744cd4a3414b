"""The records a report is made from; one that is missing or broken is left out, and the reason kept."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from pubmatch_bench.record import Record

__all__ = ["FILES", "NoRecordsError", "Records", "default_folder", "load"]

FILES = {
    "match": ("match.json", "pubmatch bench match --peers rtree,boost,shapely,numpy --json {file}"),
    "sjf": ("sjf.json", "pubmatch bench sjf --json {file}"),
    "tuner": ("tuner.json", "pubmatch bench tuner --json {file}"),
    "batch": ("reproduce-batch/batch.json", "pubmatch reproduce batch --out {folder}"),
    "clustering": ("reproduce-clustering/clustering.json", "pubmatch reproduce clustering --out {folder}"),
    "overlay": ("reproduce-overlay/overlay.json", "pubmatch reproduce overlay --out {folder}"),
    "mobility": ("reproduce-mobility/mobility.json", "pubmatch reproduce mobility --out {folder}"),
}
"""Where each record lies in the directory of results, and the command that makes it."""


class NoRecordsError(ValueError):
    """A directory holds nothing that a report could show."""


@dataclass
class Records:
    """What was found in a directory of results.

    Attributes
    ----------
    folder : Path
        The directory.
    found : dict
        Records by name.
    left_out : dict
        Why a record or a part of it is not shown, by its name.
    """

    folder: Path
    found: dict[str, Record] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def default_folder() -> Path | None:
    """Return `bench/results` of the directory the user is in or of the checkout; None if there is none."""
    places = (Path("bench") / "results", Path(__file__).resolve().parents[2] / "results")
    return next((place for place in places if place.is_dir()), None)


def load(folder: Path) -> Records:
    """Read all records of a directory.

    Raises
    ------
    NoRecordsError
        If not one could be read.
    """
    records = Records(folder)
    for name, (file, command) in FILES.items():
        path = folder / file
        try:
            record = json.loads(path.read_bytes())
        except FileNotFoundError:
            made_by = command.format(file=path.as_posix(), folder=path.parent.as_posix())
            records.left_out[name] = f"{file} is missing; made by: {made_by}"
        except (OSError, ValueError) as error:
            records.left_out[name] = f"{file} cannot be read: {error}"
        else:
            _take(records, name, file, record)
    if not records.found:
        reasons = "; ".join(records.left_out.values())
        raise NoRecordsError(
            f"{folder}: no record of pubmatch bench or reproduce that can be read: {reasons}"
        )
    return records


def _take(records: Records, name: str, file: str, record: object) -> None:
    """Keep a record if it is one: what the frame of the page needs is there."""
    if not isinstance(record, dict) or record.get("name") != name:
        records.left_out[name] = f"{file} is not a record of {name}"
        return
    lacks = [key for key in ("commit", "machine", "quick") if key not in record]
    if lacks:
        records.left_out[name] = f"{file} lacks {', '.join(lacks)}"
    else:
        records.found[name] = record
