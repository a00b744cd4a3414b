"""The map of the overlay: its data against the network, and the page in a real browser."""

from __future__ import annotations

import itertools
import json
import re

import chromium
import numpy as np
import pytest

from pubmatch.overlay import zorder
from pubmatch_bench.reproduce.overlay_map import HOURS, map_data, map_page
from pubmatch_bench.reproduce.overlay_plan import BUSY, FULL

ARROW_RIGHT, ARROW_LEFT = 39, 37


@pytest.fixture(scope="module")
def page():
    return map_page(FULL)


@pytest.fixture(scope="module")
def data(page):
    embedded = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    return json.loads(embedded.group(1))


def test_loads_and_trees_are_those_of_the_network(data):
    network = FULL.ours(BUSY)
    first = data["frames"][0]
    assert len(data["frames"]) == HOURS
    assert data["ids"] == network.nodes.tolist()
    assert zorder.encode(data["lat"], data["lon"], bits=6).tolist() == [each >> 8 for each in data["ids"]]
    # The typhoon adds to the paper's subscriptions; where it is not, loads are theirs.
    same = np.rint(network.loads) == first["before"]["loads"]
    assert 0.8 * FULL.nodes < same.sum() < FULL.nodes
    assert max(first["before"]["loads"]) > data["threshold"] >= max(first["after"]["loads"])
    for name, number in zip(data["subscriptions"][:-1], first["before"]["trees"], strict=False):
        tree, shown = network.tree(name), data["trees"][number]
        assert data["ids"][shown["root"]] == tree.root
        assert [data["ids"][joint] for joint, _ in shown["joints"]] == [joint.node for joint in tree.joints]
        edges = sorted(data["ids"][edge] for _, edges in shown["joints"] for edge in edges)
        assert edges == list(tree.edges)


def test_the_typhoon_moves_and_joints_are_cut_and_added(data):
    frames = data["frames"]
    assert all(before["area"] != after["area"] for before, after in itertools.pairwise(frames))
    assert any(west > east for _, west, _, east in (frame["area"] for frame in frames))
    assert sum(frame["cut"] for frame in frames) > 0
    assert sum(frame["added"] for frame in frames) > 0
    assert all(max(frame["after"]["loads"]) <= data["threshold"] for frame in frames)
    moving = data["moving"]
    assert len({frame["after"]["trees"][moving] for frame in frames}) > HOURS / 2


def test_cells_belong_to_their_owners(data):
    network = FULL.ours(BUSY)
    side = data["side"]
    for cell in range(0, side * side, 97):
        lat = -90 + (cell // side + 0.5) * 180 / side
        lon = -180 + (cell % side + 0.5) * 360 / side
        assert data["ids"][data["owner"][cell]] == network.owner(zorder.encode(lat, lon, bits=FULL.bits))
    south, west, north, east = data["areas"][3]
    assert zorder.ranges(south, west, north, east, bits=FULL.bits) == list(FULL.asked()[3].ranges)


def test_the_page_is_whole(page, data):
    assert "/*DATA*/" not in page
    assert not re.search(r"""(src|href)=|@import|url\(|https?://(?!www\.w3\.org/2000/svg)""", page)
    assert map_data(FULL) == data


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = chromium.find()
    if program is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    with chromium.page(program, tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def opened(browser, page, tmp_path):
    file = tmp_path / "map.html"
    file.write_text(page, encoding="utf-8")
    browser.resize(1000, 900)
    browser.open(file.as_uri())
    yield browser
    assert browser.complaints() == []
    assert browser.requests() == [file.as_uri()]


def text(page, name):
    return page.evaluate(f"document.getElementById('{name}').textContent")


def picture(page):
    """Everything drawn, and the picture itself."""
    drawn = page.evaluate(
        "document.getElementById('map').innerHTML + document.getElementById('cells').toDataURL()"
    )
    return drawn, page.screenshot()


def test_the_page_has_cells_nodes_areas_and_a_tree(opened, data):
    count = "document.querySelectorAll('{}').length"
    assert opened.evaluate(count.format(".node")) == FULL.nodes
    assert opened.evaluate(count.format(".node.over")) == int(text(opened, "above")) > 0
    assert opened.evaluate(count.format(".area")) >= FULL.subscriptions + 1
    assert opened.evaluate("document.getElementById('cells').width") == data["side"]
    tree = data["trees"][data["frames"][0]["before"]["trees"][data["moving"]]]
    assert opened.evaluate(count.format(".joint")) == len(tree["joints"])
    assert opened.evaluate(count.format(".root")) == 1
    assert opened.evaluate(count.format(".flow")) >= sum(len(edges) for _, edges in tree["joints"]) - len(
        tree["joints"]
    )
    assert opened.evaluate(count.format("#subscription option")) == FULL.subscriptions + 1


def test_the_slider_changes_the_picture(opened):
    opened.evaluate("document.getElementById('time').focus()")
    first = picture(opened)
    opened.press("ArrowRight", ARROW_RIGHT)
    assert text(opened, "hour") == "1"
    second = picture(opened)
    assert first[0] != second[0]
    assert first[1] != second[1]
    opened.press("ArrowLeft", ARROW_LEFT)
    assert text(opened, "hour") == "0"
    assert picture(opened)[0] == first[0]


def test_before_and_after(opened, data):
    assert text(opened, "peak") == f"{max(data['frames'][0]['before']['loads']):,}"
    opened.evaluate("document.querySelector('input[value=after]').click()")
    assert text(opened, "peak") == f"{max(data['frames'][0]['after']['loads']):,}"
    assert text(opened, "above") == "0"
    assert text(opened, "change") == f"{data['frames'][0]['moves']} moves"


def test_another_subscription_has_another_tree(opened, data):
    drawn = picture(opened)[0]
    opened.evaluate(
        "const s = document.getElementById('subscription'); s.value = 2; s.dispatchEvent(new Event('input'))"
    )
    assert picture(opened)[0] != drawn
    tree = data["trees"][data["frames"][0]["before"]["trees"][2]]
    assert text(opened, "joints") == str(len(tree["joints"]))


def test_an_address_names_a_view(opened):
    address = opened.evaluate("location.href.split('#')[0]")
    opened.open("about:blank")
    opened.open(f"{address}#t=7&state=after&subscription=3")
    assert text(opened, "hour") == "7"
    assert opened.evaluate("document.getElementById('subscription').value") == "3"
    opened.events[:] = [
        event for event in opened.events if event.get("method") != "Network.requestWillBeSent"
    ]
    opened.open(address)


def test_a_phone_in_the_dark(opened):
    light = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    opened.resize(360, 740, dark=True)
    assert opened.evaluate("document.documentElement.scrollWidth") == 360
    dark = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    assert light != dark
    controls = "[...document.querySelectorAll('select, input[type=range]')]"
    assert min(opened.evaluate(f"{controls}.map(each => each.getBoundingClientRect().height)")) >= 40
    assert opened.evaluate("parseFloat(getComputedStyle(document.body).fontSize)") >= 16
