"""docs/ as HTML: builds without a warning, shows the records as they are, and loads nothing from outside."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import chromium
import pytest

from pubmatch_bench.markdown_tables import bench_tables, claims_table

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results"
# One group: the built pages are shared by all tests here.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("docs")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("docs")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "--quiet",
        "-b",
        "html",
        "docs",
        str(out),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return out


def text_of(page: Path) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", page.read_text(encoding="utf-8")))


def test_every_page_is_built(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).exists()


def test_every_page_is_reached_from_the_first(site: Path) -> None:
    index = (site / "index.html").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.stem == "index" or f'href="{page.stem}.html"' in index


def test_all_claims_are_shown(site: Path) -> None:
    shown = text_of(site / "reproducing.html")
    for record in RESULTS.glob("reproduce-*/*.json"):
        claims = json.loads(record.read_text())["claims"]
        assert claims
        assert f"{sum(claim['holds'] for claim in claims)} of {len(claims)} claims hold." in shown
        assert [claim["id"] for claim in claims if claim["id"] not in shown] == []


def test_the_benchmarks_are_shown(site: Path) -> None:
    shown = text_of(site / "benchmarks.html")
    for result in json.loads((RESULTS / "match.json").read_text())["results"]:
        assert f"{result['workload']}: {result['subscriptions']:,} × {result['dims']}-D" in shown


def test_public_names_are_in_the_reference(site: Path) -> None:
    import pubmatch

    reference = (site / "api.html").read_text(encoding="utf-8")
    for name in pubmatch.__all__:
        assert f'id="pubmatch.{name}"' in reference
    assert 'id="pubmatch.Index.match"' in reference


def test_nothing_is_loaded_from_outside(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|img|iframe|source)[^>]*\ssrc="(?:https?:)?//', text), page.name
        assert not re.findall(r'<link[^>]*\shref="(?:https?:)?//', text), page.name
    for style in site.rglob("*.css"):
        assert not re.findall(r"(?:@import|url\()\s*['\"]?(?:https?:)?//", style.read_text(encoding="utf-8"))


@pytest.mark.skipif(chromium.find() is None, reason="no browser on this machine: apt-get install chromium")
def test_pages_in_a_browser(site: Path, tmp_path: Path) -> None:
    with chromium.page(str(chromium.find()), tmp_path / "profile") as page:
        page.resize(360, 800, dark=True)
        for file in sorted(site.glob("*.html")):
            page.open(file.as_uri())
            assert page.complaints() == [], file.name
            assert {url.partition(":")[0] for url in page.requests()} <= {"file", "data"}
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, (
                f"{file.name} overflows a phone"
            )


def test_a_record_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    assert "pubmatch bench sjf --json" in bench_tables(tmp_path, "sjf")
    assert "pubmatch reproduce overlay --out" in claims_table(tmp_path, "overlay")


def test_every_record_can_be_shown() -> None:
    records = sorted(RESULTS.glob("*.json"))
    assert records
    for record in records:
        assert "\n|---|" in bench_tables(RESULTS, record.stem), record.name


def test_a_broken_record_stops_the_build(tmp_path: Path) -> None:
    (tmp_path / "sjf.json").write_text("{")
    with pytest.raises(json.JSONDecodeError):
        bench_tables(tmp_path, "sjf")
