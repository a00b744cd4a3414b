"""`pubmatch report`: every section, what is left out and why, and the page as Chromium sees it."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import chromium
import pytest

from pubmatch.cli import main
from pubmatch_bench.report import build, default_folder
from pubmatch_bench.report.records import FILES

RESULTS = Path(__file__).parent.parent / "bench" / "results"
HEADINGS = ("peers", "level", "tuner", "clusters", "load", "mobility")
needs_chromium = pytest.mark.skipif(
    chromium.find() is None, reason="no browser on this machine: apt-get install chromium"
)


def report(name: str, **content: Any) -> dict[str, Any]:
    """A report as `pubmatch reproduce` writes it, with a claim."""
    claim = {
        "id": "fig9-peak",
        "paper": "figure 9",
        "claim": "<b>balanced</b>",
        "expected": "500",
        "why": "",
        "measured": "499",
    }
    machine = {"cpu": "a CPU", "cores": 1}
    frame = {
        "name": name,
        "commit": None,
        "machine": machine,
        "quick": True,
        "kernel": "baseline",
        "compiler": None,
    }
    return {**frame, "figures": {}, "claims": [{**claim, "holds": True}], **content}


def overlay_report() -> dict[str, Any]:
    """The keys that the overlay's report has, with few nodes."""
    side = {"peak": 30.0, "loads": [10.0, 30.0, 20.0]}
    return report(
        "overlay",
        figures={str(number): {"ours": side, "dsm": side} for number in range(8, 14)},
        policies={name: {"peak": 500, "moves": 3, "probes": 9} for name in ("paper", "offer", "combiner")},
        thresholds={"190": {**side, "unrelieved": []}, "150": {**side, "unrelieved": [1, 2]}},
        lower_bound={"local": 135.0, "remote": 195.0},
        hops=[
            {"nodes": 10**n, "even": {"mean": n, "max": n}, "random": {"mean": n, "max": n}} for n in (2, 3)
        ],
    )


def mobility_report() -> dict[str, Any]:
    """The figures of the mobility report that are shown, with two algorithms."""
    shown = {"4": ("publishers", "cost"), "5": ("probe", "delivered"), "6": ("delay_s", "share")}
    shown |= {"7": ("speed_kmh", "delivered"), "9": ("locality", "cost")}
    shown |= {"proxy locality": ("overshoot", "cost"), "table rows": ("publishers", "rows")}
    figures = {
        figure: {
            "x": x,
            "y": y,
            "series": {name: {x: [1, 2], y: [0.0, 0.5]} for name in ("proxy", "delayed+ack")},
        }
        for figure, (x, y) in shown.items()
    }
    return report("mobility", figures=figures)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the recorded results, with small ones for the overlay and mobility."""
    folder = tmp_path_factory.mktemp("report") / "results"
    shutil.copytree(RESULTS, folder, ignore=shutil.ignore_patterns("*.png"))
    for name, content in (("overlay", overlay_report()), ("mobility", mobility_report())):
        (folder / f"reproduce-{name}").mkdir(exist_ok=True)
        (folder / f"reproduce-{name}" / f"{name}.json").write_text(json.dumps(content))
    return folder


@pytest.fixture(scope="module")
def built(results: Path) -> tuple[str, dict[str, Any]]:
    return build(results)


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """A directory with the record of the peers alone, which is quickly drawn."""
    shutil.copy(RESULTS / "match.json", tmp_path)
    return tmp_path


def headings(page: str) -> list[str]:
    return [heading.lower() for heading in re.findall(r"<h2>(.*?)</h2>", page)]


def test_every_section_has_its_heading_plots_and_claims(built: tuple[str, dict[str, Any]]) -> None:
    page, summary = built
    for word, heading in zip(HEADINGS, headings(page), strict=False):
        assert word in heading
    parts = {part.split('"')[0]: part for part in page.split('<section id="')[1:]}
    for section in summary["sections"]:
        part = parts[section["section"]]
        assert part.count("<svg") == part.count("<figure>") == section["plots"]
        if section["shown"]:
            assert section["plots"] > 0
            figures = part.split("<figure>")[1:]
            assert [figure for figure in figures if 'class="claims"' not in figure] == []
    assert [section["section"] for section in summary["sections"] if section["shown"]] == list(HEADINGS)


def test_the_page_is_sound_html_of_its_own(built: tuple[str, dict[str, Any]]) -> None:
    page, _ = built
    assert not re.search(r"<script|<iframe|<object|<embed|@import|url\((?!#)|\ssrc=|https?:", page)
    assert {link[:1] for link in re.findall(r'href="([^"]*)"', page)} <= {"#", "d"}
    assert re.findall(r'<link [^>]*href="([^"]*)"', page) == ["data:,"]
    repeated = {
        name: count for name, count in Counter(re.findall(r'id="([^"]*)"', page)).items() if count > 1
    }
    assert repeated == {}
    assert not re.search(r"#[0-9a-f]{6}", page.split("</style>")[1]), "a colour that ignores the dark"


def test_texts_of_a_record_are_not_markup(built: tuple[str, dict[str, Any]]) -> None:
    page, _ = built
    assert "&lt;b&gt;balanced" in page
    assert "<b>balanced" not in page


def test_the_same_records_give_the_same_page(few: Path) -> None:
    assert build(few)[0] == build(few)[0]


def test_quick_runs_are_called_that(built: tuple[str, dict[str, Any]]) -> None:
    page, _ = built
    assert "sizes reduced: overlay, mobility" in page


BROKEN = {
    "not JSON": "{",
    "not text": b"\xff\xfe\x00",
    "a list": "[1, 2]",
    "another record": json.dumps(report("something")),
    "no machine": json.dumps({"name": "batch", "quick": False, "commit": None}),
    "no figures": json.dumps({**report("batch"), "points": {}}),
    "figures of another kind": json.dumps({**report("batch"), "points": {"paper": [], "default": []}}),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_record_is_left_out_and_said_so(few: Path, content: str | bytes) -> None:
    broken = few / "reproduce-batch" / "batch.json"
    broken.parent.mkdir()
    broken.write_bytes(content if isinstance(content, bytes) else content.encode())
    page, summary = build(few)
    reasons = {entry["record"]: entry["reason"] for entry in summary["left_out"]}
    assert reasons["batch"].startswith("reproduce-batch/batch.json ")
    assert "missing" not in reasons["batch"]
    assert page.count("Left out: reproduce-batch/batch.json") == 2, "in the sections Level and Tuner"
    assert [part["section"] for part in summary["sections"] if part["shown"]] == ["peers"]


def test_a_missing_record_is_left_out_and_said_so(few: Path) -> None:
    page, summary = build(few)
    reasons = {entry["record"]: entry["reason"] for entry in summary["left_out"]}
    assert set(reasons) == set(FILES) - {"match"}
    for name, reason in reasons.items():
        assert reason.startswith(f"{FILES[name][0]} is missing; made by: pubmatch ")
        assert f"{FILES[name][0]} is missing" in page
    assert all(word in heading for word, heading in zip(HEADINGS, headings(page), strict=False))


def test_the_command(few: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, record = few / "page.html", few / "page.json"
    assert main(["report", "--results", str(few), "--out", str(out), "--json", str(record)]) == 0
    printed = capsys.readouterr()
    assert out.read_text(encoding="utf-8") == build(few)[0]
    assert "sjf.json is missing" in " ".join(printed.out.split())
    summary = json.loads(record.read_text())
    assert summary["out"] == str(out)
    assert "sjf" in {entry["record"] for entry in summary["left_out"]}


def test_the_default_is_bench_results_here_or_in_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = default_folder()
    assert found is not None
    assert found.samefile(RESULTS)
    (tmp_path / "bench" / "results").mkdir(parents=True)
    assert default_folder() == Path("bench") / "results"


@pytest.mark.parametrize(
    ("made", "words"), [(False, "there is no such directory"), (True, "no record of pubmatch")]
)
def test_nothing_to_show_is_bad_input(
    tmp_path: Path, made: bool, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = tmp_path / "none", tmp_path / "page.html"
    if made:
        folder.mkdir()
    assert main(["report", "--results", str(folder), "--out", str(out)]) == 2
    printed = capsys.readouterr()
    assert words in printed.err
    assert printed.err.count("\n") == 1
    assert not out.exists()


@needs_chromium
def test_the_page_in_a_browser(built: tuple[str, dict[str, Any]], tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    text, summary = built
    file.write_text(text, encoding="utf-8")
    plots = sum(section["plots"] for section in summary["sections"])
    with chromium.page(str(chromium.find()), tmp_path / "profile") as page:
        for width, scheme in ((1200, "light"), (1200, "dark"), (360, "light"), (360, "dark")):
            page.resize(width, 800, dark=scheme == "dark")
            page.open(file.as_uri())
            assert page.complaints() == []
            assert page.requests() == [file.as_uri()], "nothing else is loaded"
            assert page.evaluate("document.title") == "pubmatch: measured"
            found = page.evaluate("[...document.querySelectorAll('h2')].map(h => h.textContent)")
            assert all(word in heading.lower() for word, heading in zip(HEADINGS, found, strict=False))
            sizes = page.evaluate(
                "[...document.querySelectorAll('figure svg')].map(s => s.getBoundingClientRect())"
                ".map(box => [box.width, box.height])"
            )
            assert len(sizes) == plots
            assert all(shown > 200 and height > 100 for shown, height in sizes)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert smallest_letters(page) >= 9
            assert contrast(page) >= 4.5


def smallest_letters(page: chromium.Page) -> float:
    """Height in pixels of the smallest letters in the plots, as shown."""
    script = (
        "Math.min(...[...document.querySelectorAll('figure svg text')].map("
        "t => parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a || 99))"
    )
    return float(page.evaluate(script))


def contrast(page: chromium.Page) -> float:
    """Contrast of the plots' text against the cards, as the accessibility guidelines define it."""
    colours = page.evaluate(
        "[getComputedStyle(document.querySelector('figure')).backgroundColor,"
        " getComputedStyle(document.querySelector('figure svg text')).fill]"
    )

    def luminance(colour: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted(luminance(colour) for colour in colours)
    return (high + 0.05) / (low + 0.05)
