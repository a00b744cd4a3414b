"""Figures 4.1 to 4.6 of the thesis, as read in the project's notes, and its formulas."""

from __future__ import annotations

import pytest

from pubmatch.clustering import Clustering


def combos(text):
    return frozenset(frozenset(word) for word in text.split())


def joined(strategy, *publishers):
    clustering = Clustering(strategy)
    for name, attributes, connections in publishers:
        clustering.join(name, set(attributes), connections)
        clustering.check()
    return clustering


def contents(clustering):
    return {
        cluster.id: (cluster.combinations, " ".join(sorted(cluster.publishers)))
        for cluster in clustering.clusters
    }


P1, P2 = ("p1", "AB", None), ("p2", "AC", None)


def test_figure_4_1():
    assert contents(joined("1", P1)) == {1: (combos("A B AB"), "p1")}
    two = joined("1", P1, P2)
    assert contents(two) == {
        1: (combos("B AB"), "p1"),
        2: (combos("A"), "p1 p2"),
        3: (combos("C AC"), "p2"),
    }
    three = joined("1", P1, P2, ("p3", "ABC", None))
    assert contents(three) == {
        1: (combos("B AB"), "p1 p3"),
        2: (combos("A"), "p1 p2 p3"),
        3: (combos("C AC"), "p2 p3"),
        4: (combos("BC ABC"), "p3"),
    }
    assert three.expected_false_positive_rate() == 0
    assert three.connections("p3") == (1, 2, 3, 4)


def test_figure_4_2():
    three = joined("2", P1, P2, ("p3", "D", None))
    assert contents(three) == {
        1: (combos("A B AB"), "p1 p2"),
        2: (combos("C AC"), "p2"),
        3: (combos("D"), "p3"),
    }
    four = joined("2", P1, P2, ("p3", "D", None), ("p4", "ACD", None))
    assert contents(four) == {
        1: (combos("A B AB"), "p1 p2 p4"),
        4: (combos("C D AC AD CD ACD"), "p2 p3 p4"),
    }
    five = joined("2", P1, P2, ("p3", "D", None), ("p4", "ACD", None), ("p5", "ABCD", None))
    assert len(five.clusters) == 1
    assert five.clusters[0].publishers == {"p1", "p2", "p3", "p4", "p5"}


def test_subscribers_of_figure_4_2():
    clustering = joined("2", P1, P2, ("p3", "D", None), ("p4", "ACD", None))
    assert clustering.subscribe("s1", {"B"}) == 1
    assert clustering.subscribe("s2", {"A", "C"}) == 4
    assert clustering.subscribe("s3", {"A", "C", "D"}) == 4
    found = {name: (sent.deliveries, sent.false_positives) for name, sent in _published(clustering).items()}
    assert found == {"p1": (1, 0), "p2": (3, 2), "p3": (2, 2), "p4": (3, 1)}
    assert clustering.publish("p2").by_cluster == {1: (1, 1), 4: (2, 1)}


def _published(clustering):
    return {name: clustering.publish(name) for name in clustering.publishers}


def test_figure_4_3():
    steps = [("p1", "AB", 2), ("p2", "AC", 3), ("p3", "C", 2), ("p4", "BC", 3)]
    three = joined("3", *steps[:3])
    assert contents(three) == {
        1: (combos("B AB"), "p1"),
        2: (combos("A"), "p1 p2"),
        3: (combos("AC"), "p2"),
        4: (combos("C"), "p2 p3"),
    }
    assert three.expected_false_positive_rate() == 0
    assert contents(joined("3", *steps)) == {
        1: (combos("B AB"), "p1 p4"),
        2: (combos("A"), "p1 p2"),
        3: (combos("AC"), "p2"),
        4: (combos("C"), "p2 p3 p4"),
        5: (combos("BC"), "p4"),
    }


TIGHT = [("p1", "AB", 2), ("p2", "AC", 1), ("p3", "BD", 2)]


def test_figure_4_4():
    assert contents(joined("3", *TIGHT[:2])) == {2: (combos("A B C AB AC"), "p1 p2")}
    assert contents(joined("3", *TIGHT)) == {
        2: (combos("A B C AB AC"), "p1 p2 p3"),
        3: (combos("D BD"), "p3"),
    }


def test_figure_4_5():
    clustering = joined("3.1", *TIGHT)
    assert contents(clustering) == {
        2: (combos("A C AB AC"), "p1 p2"),
        3: (combos("B"), "p1 p3"),
        4: (combos("D BD"), "p3"),
    }
    assert [len(clustering.connections(name)) for name in ("p1", "p2", "p3")] == [2, 1, 2]


def test_figure_4_6():
    before = [("p1", "AD", 3), ("p2", "D", 1)]
    assert contents(joined("3.1", *before)) == {2: (combos("A D AD"), "p1 p2")}
    after = joined("3.1", *before, ("p3", "AE", 2))
    assert contents(after) == {
        2: (combos("D AD"), "p1 p2"),
        3: (combos("A"), "p1 p3"),
        4: (combos("E AE"), "p3"),
    }
    assert {each for each, rate in after.false_positive_rates().items() if rate} == {2}


def test_strategy_4_has_no_false_positives_where_the_thesis_sees_room():
    clustering = joined("4", ("p1", "AD", 3), ("p2", "D", 1), ("p3", "AE", 2))
    assert clustering.expected_false_positive_rate() == 0


@pytest.mark.parametrize(
    ("n", "m", "bound"), [(10, 9, 1022), (10, 4, 385), (5, 4, 30), (5, 3, 25), (10, 10, 1)]
)
def test_formula_4_1(n, m, bound):
    assert Clustering("1").max_clusters_bound(n, m) == bound


@pytest.mark.parametrize(
    ("n", "m", "bound"), [(10, 4, 210), (10, 9, 10), (5, 4, 5), (10, 10, 1), (10, 2, 45)]
)
def test_formula_4_2(n, m, bound):
    assert Clustering("2").max_clusters_bound(n, m) == bound
