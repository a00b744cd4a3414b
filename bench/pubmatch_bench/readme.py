"""The README's table of results, made from the records in `bench/results`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

BEGIN = "<!-- results: made by python -m pubmatch_bench.readme -->"
END = "<!-- end of results -->"


def results_section(results: Path) -> str:
    """Return the text between the README's markers, from the latest full run of `pubmatch bench match`."""
    record = json.loads((results / "match.json").read_text())
    peers = ["rtree", "boost", "shapely", "numpy"]
    batch = record["parameters"]["batch"]
    lines = [
        f"Milliseconds per event through `index.match(points, threads=1)`, batches of {batch} fresh events,",
        "float32, and how many times as long the peers took on the same events in the same process",
        "(medians of interleaved rounds, results equal):",
        "",
        "| | subscriptions | matches/event | pubmatch ms | " + " | ".join(peers) + " | B/subscription |",
        "|---" * (5 + len(peers)) + "|",
    ]
    for row in record["results"]:
        contenders = {contender["peer"]: contender for contender in row["contenders"]}
        found = row["matches_per_event"]
        cells = [
            f"{row['workload']}: {row['about']}",
            f"{row['subscriptions']:,}",
            f"{found:,.3g}" if found < 1000 else f"{found:,.0f}",
            f"{contenders['pubmatch']['ms_per_event']['median']:.3g}",
            *(_ratio(contenders.get(peer, {})) for peer in peers),
            f"{row['index']['nbytes_per_subscription']:.0f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    machine = record["machine"]
    lines += [
        "",
        f"{machine['cpu']}, {machine['cores']} cores, kernel {record['kernel']}, "
        f"commit {record['commit'][:12]}.",
        "The whole record, with spread and build times, is `bench/results/match.json`, made by",
        "`pubmatch bench match --peers rtree,boost,shapely,numpy`.",
        *_beside_duckdb(record, results / "match-with-duckdb.json"),
    ]
    return "\n".join(lines)


def _beside_duckdb(record: dict[str, Any], file: Path) -> list[str]:
    """Say why DuckDB has a record of its own: what running beside it did to pubmatch, at worst."""
    if not file.exists():
        return []
    with_duckdb = json.loads(file.read_text())
    if with_duckdb["machine"] != record["machine"]:
        return [f"DuckDB has a record of its own, `{file.name}`, from another machine."]
    alone, beside = _medians(record), _medians(with_duckdb)
    factor, workload = max((beside[name] / alone[name], name) for name in alone if name in beside)
    return [
        f"DuckDB has a record of its own, `{file.name}`, since others run slower in one process with it:",
        f"pubmatch on {workload} {factor:.2g} times as long.",
    ]


def _medians(record: dict[str, Any]) -> dict[str, float]:
    """Return pubmatch's milliseconds per event by workload."""
    return {
        result["workload"]: row["ms_per_event"]["median"]
        for result in record["results"]
        for row in result["contenders"]
        if row["peer"] == "pubmatch"
    }


def _ratio(contender: dict[str, Any]) -> str:
    """Return a peer's ratio for a table cell, or a dash where it could not run."""
    if contender.get("status") != "ok":
        return "–"
    ratio = contender["ratio"]
    return f"{ratio:,.0f}×" if ratio >= 100 else f"{ratio:.3g}×"


def updated(readme: str, results: Path) -> str:
    """Return the README's text with its results section made anew."""
    section = f"{BEGIN}\n{results_section(results)}\n{END}"
    return re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: section, readme, flags=re.DOTALL)


if __name__ == "__main__":
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    path = root / "README.md"
    path.write_text(updated(path.read_text(), root / "bench" / "results"))
