"""What a paper claims, beside what was measured: the record and the table that all reproductions share."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from rich.table import Table

from pubmatch_bench.record import Record, new_record


@dataclasses.dataclass(frozen=True)
class Claim:
    """One claim of a paper and the verdict on it.

    Attributes
    ----------
    id : str
        A short name, unique in the report.
    paper : str
        Where the paper says it, and in which words or nearly so.
    claim : str
        What was tested, as a statement that can be true or false.
    expected, measured : str
        The bound the verdict uses, and the numbers found.
    holds : bool
        The verdict.
    why : str
        What explains the verdict, or limits it.

    Examples
    --------
    >>> claim = Claim("sum", "section 1", "2 + 2 is 4", "4", "4", holds=2 + 2 == 4, why="arithmetic")
    >>> claim.record()["holds"]
    True
    """

    id: str
    paper: str
    claim: str
    expected: str
    measured: str
    holds: bool
    why: str

    def record(self) -> dict[str, Any]:
        """Return the claim as the report's JSON holds it."""
        return dataclasses.asdict(self)


def new_report(name: str, *, quick: bool, parameters: Record, seeds: dict[str, str]) -> Record:
    """Start a report: on what and with what it was measured, no figures and no claims yet.

    Examples
    --------
    >>> report = new_report("example", quick=True, parameters={}, seeds={})
    >>> report["name"], report["figures"], report["claims"]
    ('example', {}, [])
    """
    report = new_record(name, quick=quick, parameters=parameters, seeds=seeds)
    del report["results"]
    return {**report, "figures": {}, "claims": []}


def claim_table(claims: Sequence[dict[str, Any]], title: str) -> Table:
    """Show claims as a table for people.

    Parameters
    ----------
    claims : sequence of dict
        The `claims` of a report.
    title : str
        What stands above the table.

    Examples
    --------
    >>> claim = Claim("sum", "section 1", "2 + 2 is 4", "4", "4", holds=True, why="arithmetic")
    >>> claim_table([claim.record()], "Claims").row_count
    1
    """
    table = Table(title=title, title_justify="left", show_lines=True)
    for column in ("claim", "expected", "measured", "verdict", "why"):
        table.add_column(column, no_wrap=column == "verdict")
    for claim in claims:
        verdict = "holds" if claim["holds"] else "does not hold"
        name = f"{claim['id']}: {claim['claim']}"
        table.add_row(name, claim["expected"], claim["measured"], verdict, claim["why"])
    return table
