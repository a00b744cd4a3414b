"""The page as a whole: head, sections, what was left out. No script, nothing from outside."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from pubmatch_bench.record import Record
from pubmatch_bench.report import clusters, level, load, mobility, peers, tuner
from pubmatch_bench.report.drawing import Plot
from pubmatch_bench.report.records import FILES, Records
from pubmatch_bench.report.records import load as load_records
from pubmatch_bench.report.section import Section
from pubmatch_bench.tables import header

__all__ = ["build"]

Make = Callable[[Records], Section]

_SECTIONS: dict[str, tuple[str, str, Make]] = {
    "peers": ("Peers: ratios on the same events", "match", peers.section),
    "level": ("Level: response over the Level of the estimate", "batch", level.section),
    "tuner": ("Tuner: trace of the self-adaptive Level", "batch", tuner.section),
    "clusters": ("Clusters of publishers", "clustering", clusters.section),
    "load": ("Load distributions in the overlay", "overlay", load.section),
    "mobility": ("Mobility: what a move costs", "mobility", mobility.section),
}
"""Heading, the record it cannot do without, and its maker, by the name used in links."""

_STYLE_FILE = Path(__file__).with_name("page.css")


def build(folder: Path) -> tuple[str, dict[str, Any]]:
    """Make the page from the records in a directory.

    Parameters
    ----------
    folder : Path
        A directory like `bench/results`.

    Returns
    -------
    page : str
        The HTML.
    summary : dict
        What `pubmatch report --json` writes: sections with their number of plots and claims, and `left_out`.

    Raises
    ------
    NoRecordsError
        If no record could be read.
    """
    records = load_records(folder)
    parts, summary, listed = [], [], set[str]()
    for name, (title, needed, make) in _SECTIONS.items():
        section = _made(records, needed, make)
        reason = records.left_out.get(needed, "")
        if section is None:
            parts.append(_missing(name, title, reason))
        else:
            parts.append(_section(section, _every_claim(section.record) if needed not in listed else ""))
            listed.add(needed)
        plots = [] if section is None else section.plots
        summary.append({"section": name, "record": needed, "plots": len(plots), "shown": section is not None})
    left_out = [{"record": name, "reason": reason} for name, reason in records.left_out.items()]
    body = "\n".join([_head(records), *parts, _left_out(records)])
    return _frame(body), {"name": "report", "sections": summary, "left_out": left_out}


def _made(records: Records, needed: str, make: Make) -> Section | None:
    """Make a section; without its record, or with one that lacks a part, note the reason and return None."""
    if needed not in records.found:
        return None
    try:
        return make(records)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        what = f"lacks {error}" if isinstance(error, KeyError) else f"is not as expected: {error}"
        records.left_out[needed] = f"{FILES[needed][0]} {what}"
        return None


def _frame(body: str) -> str:
    style = _STYLE_FILE.read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<link rel="icon" href="data:,">\n<title>pubmatch: measured</title>\n<style>\n{style}</style>\n'
        f"</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _head(records: Records) -> str:
    links = "".join(f'<a href="#{name}">{name}</a>' for name in _SECTIONS)
    claims = [claim for record in records.found.values() for claim in record.get("claims", [])]
    kept = sum(bool(claim.get("holds")) for claim in claims)
    quick = [name for name, record in records.found.items() if record["quick"]]
    warning = f'<p class="warning">Quick runs, sizes reduced: {_text(", ".join(quick))}.</p>' if quick else ""
    return (
        "<header><h1>pubmatch: measured</h1>"
        f"<p>{len(records.found)} records; of {len(claims)} claims of the papers {kept} hold. "
        "What does not hold is shown too, with the reason.</p>"
        f"{warning}<nav>{links}</nav></header>"
    )


def _every_claim(record: Record) -> str:
    """List all claims of a record, closed; its first section has it."""
    claims = record.get("claims", [])
    return (
        _details(f"All {len(claims)} claims of reproduce {record['name']}", _claims(claims)) if claims else ""
    )


def _section(section: Section, every: str) -> str:
    plots = "\n".join(_figure(plot) for plot in section.plots)
    tables = [part for part in section.tables if isinstance(part, Table)]
    shown = _details("Tables", "".join(_table(part) for part in tables)) if tables else ""
    return (
        f'<section id="{section.id}"><h2>{_text(section.title)}</h2><p>{_text(section.about)}</p>'
        f'<div class="plots">{plots}</div>{shown}{every}'
        f'<p class="source">{_source(section.record)}</p></section>'
    )


def _missing(name: str, title: str, reason: str) -> str:
    note = f'<p class="warning">Left out: {_text(reason)}</p>'
    return f'<section id="{name}"><h2>{_text(title)}</h2>{note}</section>'


def _left_out(records: Records) -> str:
    if not records.left_out:
        return ""
    rows = "".join(f"<li>{_text(name)}: {_text(reason)}</li>" for name, reason in records.left_out.items())
    return f'<section id="left-out"><h2>Left out</h2><ul class="warning">{rows}</ul></section>'


def _figure(plot: Plot) -> str:
    return (
        f"<figure><figcaption>{_text(plot.title)}</figcaption>{plot.svg}{plot.legend}"
        f"{_claims(plot.claims)}</figure>"
    )


def _claims(claims: Iterable[Mapping[str, Any]]) -> str:
    return f'<ul class="claims">{"".join(_claim(claim) for claim in claims)}</ul>'


def _claim(claim: Mapping[str, Any]) -> str:
    verdict = "holds" if claim["holds"] else "does not hold"
    why = f'<span class="why">{_text(claim["why"])}</span>' if claim.get("why") else ""
    return (
        f'<li class="{"holds" if claim["holds"] else "fails"}"><b>{verdict}</b> {_text(claim["claim"])}'
        f"<span>expected: {_text(claim['expected'])}</span>"
        f"<span>measured: {_text(claim['measured'])}</span>{why}</li>"
    )


def _details(title: str, content: str) -> str:
    return f"<details><summary>{_text(title)}</summary>{content}</details>"


def _table(table: Table) -> str:
    head = "".join(f"<th>{_text(column.header)}</th>" for column in table.columns)
    rows = zip(*(list(column.cells) for column in table.columns), strict=True)
    body = "".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    caption = f"<p>{_text('. '.join(str(part) for part in (table.title, table.caption) if part))}</p>"
    return f'{caption}<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def _source(record: Record) -> str:
    return _text(f"{header(record)}, {record.get('date', 'no date')}")


def _text(value: object) -> str:
    return html.escape(str(value))
