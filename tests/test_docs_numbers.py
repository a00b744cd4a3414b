"""Tables of results that pages show in a form of their own: every number is the record's."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def record(name: str) -> dict[str, Any]:
    """What the last full run of `pubmatch reproduce NAME` found."""
    file = ROOT / "bench" / "results" / f"reproduce-{name}" / f"{name}.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    assert not found["quick"]
    return found


def table(page: str, head: str) -> list[list[str]]:
    """The rows of the table on a page whose first line begins with a head."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    (first,) = [place for place, line in enumerate(lines) if line.startswith(f"| {head}")]
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines[first + 2 :])
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in rows]


def test_peaks_of_the_overlay() -> None:
    figures = record("overlay")["figures"]
    rows = table("overlay.md", "figure | setting")
    assert [row[0] for row in rows] == list(figures)
    for number, _, ours, dsm in rows:
        peak, _, edge = dsm.removesuffix(")").partition(" (an edge: ")
        assert float(ours) == figures[number]["ours"]["peak"]
        assert float(peak) == figures[number]["dsm"]["peak"]
        assert not edge or float(edge) == figures[number]["dsm"]["edge_peak"]


def test_policies_of_the_overlay() -> None:
    policies = record("overlay")["policies"]
    rows = table("overlay.md", "policy | peak")
    assert [row[0] for row in rows] == list(policies)
    for name, *cells in rows:
        found = policies[name]
        assert [cell.replace(" at full rate", "") for cell in cells] == [
            f"{found['peak']:g}",
            f"{found['moves']:,}",
            f"{found['probes']:,}",
            f"{1000 * found['latency']['wait_s']:.0f} ms",
            f"{found['lowest_threshold']} ({found['lowest_threshold_full_rate']})",
        ]


def test_what_is_said_below_the_policies() -> None:
    found = record("overlay")
    text = " ".join((DOCS / "overlay.md").read_text(encoding="utf-8").split())
    bound, full = found["lower_bound"], found["lower_bound_full_rate"]
    assert f"below {bound['remote']:.1f} if everything filtered leaves its edge" in text
    assert f"below {bound['local']:.1f} if edges may calculate" in text
    assert f"(at full rate {full['remote']:g} and {full['local']:g})" in text
    assert not found["thresholds"]["190"]["unrelieved"]
    assert f"at 150 balancing stops and names {len(found['thresholds']['150']['unrelieved'])} nodes" in text
    means = [at[nodes]["mean"] / at["log4"] for at in found["hops"] for nodes in ("even", "random")]
    least, most = re.search(r"takes ([\d.]+) to ([\d.]+) hops per log4", text).groups()
    assert float(least) <= min(means) <= max(means) <= float(most)
    assert max(means) - min(means) > 0.8 * (float(most) - float(least)), "the numbers are wider than need be"


def test_planned_shards() -> None:
    found = record("clustering")["figures"]["shards"]
    text = (DOCS / "clustering.md").read_text(encoding="utf-8")
    assert f"{found['subscriptions']:,} subscriptions" in text
    assert f"{found['publishers']} publishers" in text
    assert f"{found['shards']} shards" in text
    names = {f"planned, at most {most} shards": f"planned, `connections={most}`" for most in (4, 6)}
    assert table("clustering.md", "| wasted deliveries per event") == [
        [
            names.get(name, name),
            f"{plan['wasted']:,.0f}",
            f"{plan['fan_out']:.1f}",
            f"{plan['balance']:.2f}",
        ]
        for name, plan in found["plans"].items()
    ]
