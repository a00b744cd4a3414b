"""A part of the report: a heading, plots with their claims, and all claims of its paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pubmatch_bench.record import Record
from pubmatch_bench.report.drawing import Plot

__all__ = ["Claim", "Section", "chosen", "starting", "statement"]

Claim = dict[str, Any]


@dataclass(frozen=True)
class Section:
    """What one part of the page shows.

    Attributes
    ----------
    id, title, about : str
        A name for links, the heading, a sentence or two on what was measured.
    plots : list of Plot
        The pictures.
    record : dict
        On what and when it was measured, and all claims.
    """

    id: str
    title: str
    about: str
    plots: list[Plot]
    record: Record
    tables: Sequence[Any] = field(default_factory=list)


def chosen(record: Record, *ids: str) -> list[Claim]:
    """Return the claims of a report that have one of these ids, in this order; unknown ids are passed over.

    Examples
    --------
    >>> record = {"claims": [{"id": "a", "holds": True}, {"id": "b", "holds": False}]}
    >>> [claim["id"] for claim in chosen(record, "b", "c", "a")]
    ['b', 'a']
    """
    claims = {claim["id"]: claim for claim in record["claims"]}
    return [claims[name] for name in ids if name in claims]


def statement(claim: str, expected: str, measured: str, *, holds: bool, why: str = "") -> Claim:
    """Return a claim of our own, which a benchmark's record decides.

    Examples
    --------
    >>> statement("2 + 2 is 4", "4", "4", holds=True)["holds"]
    True
    """
    return {"claim": claim, "expected": expected, "measured": measured, "holds": holds, "why": why}


def starting(record: Record, *beginnings: str) -> list[Claim]:
    """Return the claims of a report whose id begins with one of these words.

    Examples
    --------
    >>> record = {"claims": [{"id": "fig9-peak"}, {"id": "offer-probes"}, {"id": "fig10-peak"}]}
    >>> [claim["id"] for claim in starting(record, "fig9-", "offer-")]
    ['fig9-peak', 'offer-probes']
    """
    return [claim for claim in record["claims"] if claim["id"].startswith(beginnings)]
