"""Trees of brokers: paths against a breadth-first search, refusals of what is no tree."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubmatch import PubmatchError
from pubmatch.mobility.topology import Topology, balanced_tree, spanning_tree


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[int, int]]:
    count = draw(st.integers(2, 25))
    names = draw(st.permutations(range(count)))
    return [(names[draw(st.integers(0, child - 1))], names[child]) for child in range(1, count)]


def search(topology: Topology, start: int, end: int) -> list[int]:
    came = {start: start}
    queue = deque([start])
    while queue:
        broker = queue.popleft()
        for each in topology.neighbours[broker]:
            if each not in came:
                came[each] = broker
                queue.append(each)
    path = [end]
    while path[-1] != start:
        path.append(came[path[-1]])
    return path[::-1]


@given(trees())
def test_paths_are_those_of_a_search(links: list[tuple[int, int]]) -> None:
    topology = Topology(links)
    for start in range(len(topology)):
        for end in range(len(topology)):
            assert topology.path(start, end) == search(topology, start, end)


def test_the_papers_tree() -> None:
    tree = balanced_tree()
    assert len(tree) == 85
    assert tree.cells == tuple(range(21, 85))
    hops = [tree.distance(a, b) for a, b in zip(tree.cells, tree.cells[1:], strict=False)]
    # 48 steps between siblings, 12 between cousins, 3 across the root: 2.571 on average.
    assert sorted(hops) == [2] * 48 + [4] * 12 + [6] * 3
    assert {len(tree.neighbours[broker]) for broker in range(1, 21)} == {5}


@pytest.mark.parametrize(
    ("links", "problem"),
    [
        ([], "at least one link"),
        ([(0, 1), (1, 2), (2, 0)], "tree"),
        ([(0, 1), (1, 2), (2, 0), (3, 4)], "cycle"),
        ([(0, 1), (2, 3), (3, 4), (4, 2)], "cannot be reached"),
        ([(0, 1), (2, 3)], "cannot be reached"),
        ([(0, 1), (1, 0)], "repeats"),
        ([(0, 0)], "itself"),
        ([(0, 1, 2)], "pair"),
        ([3], "pair"),
    ],
)
def test_what_is_no_tree_is_refused(links: list[tuple[int, int]], problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        Topology(links)
    assert isinstance(caught.value, PubmatchError)


def test_cells_are_checked() -> None:
    links = [("a", "b"), ("b", "c")]
    assert Topology(links, cells=["b", "a"]).cells == (1, 0)
    for cells, problem in ((["z"], "unknown broker 'z'"), ([], "at least one"), (["a", "a"], "'a' twice")):
        with pytest.raises(ValueError, match=problem):
            Topology(links, cells=cells)
    with pytest.raises(ValueError, match="itself"):
        Topology(links).next_hop(1, 1)


def test_names_may_be_given_as_text() -> None:
    assert balanced_tree().position("84") == 84
    with pytest.raises(ValueError, match="unknown broker '85'"):
        balanced_tree().position("85")


@given(trees(), st.lists(st.tuples(st.integers(0, 24), st.integers(0, 24)), max_size=20))
def test_a_spanning_tree_keeps_shortest_paths(
    links: list[tuple[int, int]], more: list[tuple[int, int]]
) -> None:
    names = {name for link in links for name in link}
    graph = links + [(a, b) for a, b in more if a != b and {a, b} <= names]
    tree = spanning_tree(graph, root=links[0][0])
    assert set(tree.names) == names
    allowed = {frozenset(link) for link in graph}
    neighbours: dict[int, set[int]] = {name: set() for name in names}
    for a, b in graph:
        neighbours[a].add(b)
        neighbours[b].add(a)
    distance, front = {links[0][0]: 0}, [links[0][0]]
    for broker in front:
        for each in neighbours[broker] - distance.keys():
            distance[each] = distance[broker] + 1
            front.append(each)
    root = tree.position(links[0][0])
    for at, name in enumerate(tree.names):
        assert tree.distance(root, at) == distance[name]
        assert all(frozenset((name, tree.names[each])) in allowed for each in tree.neighbours[at])


def test_spanning_tree_refusals() -> None:
    with pytest.raises(ValueError, match="cannot be reached"):
        spanning_tree([(0, 1), (2, 3)])
    with pytest.raises(ValueError, match="unknown broker 9"):
        spanning_tree([(0, 1)], root=9)


@pytest.mark.parametrize(("degree", "levels"), [(1, 4), (4, 1), (100, 9)])
def test_impossible_trees(degree: int, levels: int) -> None:
    with pytest.raises(ValueError, match=r"must be at least 2|may have"):
        balanced_tree(degree, levels)
    with pytest.raises(PubmatchError, match=r"degree must be an integer, got 2\.5"):
        balanced_tree(2.5, 3)  # type: ignore[arg-type]
