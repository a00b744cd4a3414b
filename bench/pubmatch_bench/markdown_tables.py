"""Records as Markdown, for the pages of `docs/`: tables of the benchmarks and claims of the papers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from pubmatch_bench.record import Record
from pubmatch_bench.tables import TABLES, header

__all__ = ["bench_tables", "claims_table", "record_file", "written"]


def written(text: object) -> str:
    r"""Write a text so that Markdown shows it as it is, also in a cell of a table.

    Examples
    --------
    >>> written("a | b*c <d>")
    'a \\| b\\*c &lt;d>'
    """
    return re.sub(r"([\\|*_`\[\]$])", r"\\\1", str(text)).replace("<", "&lt;").replace("\n", " ")


def record_file(results: Path, kind: str, name: str) -> Path:
    """Return where the record of a benchmark or of a reproduced paper lies.

    Examples
    --------
    >>> record_file(Path("results"), "bench", "sjf").as_posix()
    'results/sjf.json'
    >>> record_file(Path("results"), "claims", "batch").as_posix()
    'results/reproduce-batch/batch.json'
    """
    return results / f"{name}.json" if kind == "bench" else results / f"reproduce-{name}" / f"{name}.json"


def bench_tables(results: Path, name: str) -> str:
    """Return the tables that `pubmatch bench NAME` showed when its record was made.

    Parameters
    ----------
    results : Path
        A directory like `bench/results`.
    name : str
        Name of the benchmark, which is the name of its record as well.
    """
    record = _record(record_file(results, "bench", name))
    if record is None:
        return _no_record(f"pubmatch bench {name} --json bench/results/{name}.json")
    parts = [part for part in _shown(record) if isinstance(part, Table)]
    return "\n\n".join([_source(record), *(_table(part) for part in parts)]) + "\n"


def _shown(record: Record) -> list[RenderableType]:
    """Return what the command that made a record showed of it."""
    if record["name"] == "overlay":
        from pubmatch_bench.overlay import overlay_table

        return overlay_table(record)
    if record["name"] == "mobility":
        from pubmatch_bench.mobility_table import mobility_table

        return mobility_table(record)
    return TABLES[record["name"]](record)


def claims_table(results: Path, name: str) -> str:
    """Return the claims of a paper beside what was measured, from the record of `pubmatch reproduce NAME`."""
    record = _record(record_file(results, "claims", name))
    if record is None:
        return _no_record(f"pubmatch reproduce {name} --out bench/results/reproduce-{name}")
    claims = record["claims"]
    kept = sum(bool(claim["holds"]) for claim in claims)
    lines = [_source(record), "", f"{kept} of {len(claims)} claims hold.", ""]
    lines += _rows(["claim", "where", "expected", "measured", "verdict", "why"])
    for claim in claims:
        verdict = "holds" if claim["holds"] else "**does not hold**"
        named = f"`{claim['id']}` {written(claim['claim'])}"
        told = [written(claim[key]) for key in ("paper", "expected", "measured")]
        lines.append(f"| {' | '.join([named, *told, verdict, written(claim['why'])])} |")
    return "\n".join(lines) + "\n"


def _record(file: Path) -> Record | None:
    """Return the record, or None if there is none yet; a broken one is an error, which stops the build."""
    if not file.exists():
        return None
    record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return record


def _no_record(command: str) -> str:
    return f"No run is recorded yet; `{command}` makes one.\n"


def _source(record: Record) -> str:
    return f"*{written(header(record))}, {written(record['date'][:10])}.*"


def _rows(head: list[str]) -> list[str]:
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]


def _table(table: Table) -> str:
    """Write a table for people as Markdown, its title above and its caption below."""
    lines = [f"**{written(table.title)}**", ""]
    lines += _rows([written(column.header) for column in table.columns])
    for row in zip(*(list(column.cells) for column in table.columns), strict=True):
        lines.append(f"| {' | '.join(written(cell) for cell in row)} |")
    if table.caption:
        lines += ["", written(table.caption)]
    return "\n".join(lines)
