"""Clustering at the thesis' sizes, departures, same seeds, and refusals that change nothing."""

from __future__ import annotations

import dataclasses
import statistics

import pytest
from clustering_oracle import view

import pubmatch as pm
from pubmatch.clustering import STRATEGIES, Clustering, Delivery, InvariantError, random_publishers
from pubmatch.clustering.books import Books

THESIS = {"n": 10, "attributes": (3, 4)}


def grown(strategy, count, seed=0, *, order="descending", local_moves=0, **crowd):
    clustering = Clustering(strategy, order=order, seed=seed, local_moves=local_moves)
    for publisher in random_publishers(count, seed=seed, **{**THESIS, **crowd}):
        clustering.join(*publisher)
    clustering.check()
    return clustering


@pytest.mark.parametrize(
    ("strategy", "crowd", "clusters"),
    [
        ("1", {}, 385),
        ("2", {}, 210),
        ("2", {"attributes": (9, 9)}, 10),
        ("2", {"n": 5, "attributes": (4, 4)}, 5),
        ("1", {"attributes": (10, 10)}, 1),
        ("2", {"attributes": (10, 10)}, 1),
    ],
)
def test_maxima_are_reached(strategy, crowd, clusters):
    count = 3000 if not crowd else 200
    assert grown(strategy, count, **crowd).cluster_count == clusters


def test_strategy_3_with_enough_connections_is_strategy_1():
    partition = {frozenset(each.combinations) for each in grown("1", 1000).clusters}
    limited = grown("3", 1000, connections=(15, 15))
    assert {frozenset(each.combinations) for each in limited.clusters} == partition
    assert limited.expected_false_positive_rate() == 0


@pytest.mark.parametrize(
    ("strategy", "options", "low", "high"),
    [
        ("2", {}, 0.77, 0.80),
        ("3", {"connections": (14, 15)}, 0.42, 0.47),
        ("3", {"connections": (13, 15)}, 0.58, 0.65),
        ("3.1", {"connections": (11, 15)}, 0.74, 0.80),
        ("3.1", {"connections": (11, 15), "order": "random"}, 0.78, 0.83),
        ("4", {"connections": (11, 15)}, 0.26, 0.45),
        ("4", {"connections": (11, 15), "local_moves": 200}, 0.26, 0.42),
    ],
)
def test_false_positives_of_the_thesis(strategy, options, low, high):
    rates = [grown(strategy, 1000, seed, **options).expected_false_positive_rate() for seed in range(10)]
    assert low <= statistics.fmean(rates) <= high


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_same_seed_same_clusters(strategy):
    options = {"connections": (4, 9), "order": "random", "local_moves": 20 if strategy == "4" else 0}
    assert view(grown(strategy, 150, 5, **options)) == view(grown(strategy, 150, 5, **options))


def test_the_seed_decides_the_random_order():
    publishers = random_publishers(300, connections=(5, 9), seed=1)
    found = []
    for seed in (1, 2):
        clustering = Clustering("3.1", order="random", seed=seed)
        for publisher in publishers:
            clustering.join(*publisher)
        found.append(view(clustering))
    assert found[0] != found[1]


def test_clusters_do_not_depend_on_hashing(run_python):
    script = (
        "from pubmatch.clustering import Clustering, random_publishers\n"
        "c = Clustering('4', local_moves=20)\n"
        "for p in random_publishers(60, connections=(4, 9)): c.join(*p)\n"
        "print([(k.id, sorted(map(sorted, k.combinations))) for k in c.clusters])\n"
    )
    outputs = {run_python(script, PYTHONHASHSEED=seed).stdout for seed in ("1", "2")}
    assert len(outputs) == 1
    assert outputs != {""}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_all_leave(strategy):
    clustering = grown(strategy, 80, connections=(3, 9))
    clustering.subscribe("s", clustering.advertisement("p80"))
    for name in clustering.publishers[:-1]:
        clustering.leave(name)
        clustering.check()
    wanted = 2 ** len(clustering.advertisement("p80")) - 1
    assert clustering.stats()["combinations"] == wanted
    assert clustering.publish("p80").deliveries == 1
    clustering.leave("p80")
    assert clustering.clusters == ()
    assert len(clustering) == 0
    assert clustering.expected_false_positive_rate() == 0.0
    # Subscribers stay, and are served again.
    clustering.join("back", set("ABCDEFGHIJ"))
    assert clustering.publish("back").deliveries == 1


def test_attributes_come_and_go_without_end():
    clustering = Clustering("3.1")
    clustering.join("stays", {"x"})
    for turn in range(600):
        clustering.join("guest", {"x", f"a{turn}"}, connections=2)
        clustering.leave("guest")
    clustering.check()
    assert [sorted(map(sorted, each.combinations)) for each in clustering.clusters] == [[["x"]]]


def test_subscribing_again_replaces_and_unsubscribing_ends():
    clustering = Clustering("1")
    clustering.join("p", {"A", "B"})
    clustering.subscribe("s", {"A"})
    clustering.subscribe("s", {"B"})
    assert clustering.publish("p") == Delivery(1, 0)
    assert clustering.unsubscribe("s")
    assert not clustering.unsubscribe("s")
    assert clustering.publish("p").rate == 0.0


def test_what_a_clustering_tells():
    clustering = grown("3.1", 40, connections=(4, 8))
    stats = clustering.stats()
    assert stats["publishers"] == len(clustering) == 40
    assert stats["clusters"] == clustering.cluster_count == len(clustering.clusters)
    assert stats["connections"] == sum(len(clustering.connections(name)) for name in clustering.publishers)
    assert stats["max_connections"] <= 8
    assert "p1" in clustering
    assert clustering.limit("p1") in range(4, 9)
    assert clustering.cluster_of({"nobody"}) is None
    assert clustering.clusters[0].id == clustering.cluster_of(next(iter(clustering.clusters[0].combinations)))
    assert (clustering.strategy, clustering.order) == ("3.1", "descending")


def test_check_notices():
    clustering = grown("3.1", 30, connections=(4, 8))
    clustering._publishers["p1"] = (*clustering._publishers["p1"][:2], 1)
    with pytest.raises(InvariantError, match=r"'p1' has . connections, its limit is 1"):
        clustering.check()


def test_the_books_check_notices():
    books = Books()
    books.begin([0, 1], limit=1)
    books.create_each()  # three clusters, and nobody relieves the publisher
    books.finish()
    with pytest.raises(InvariantError, match="above its limit"):
        books.verify()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"strategy": "5"}, pm.ArgumentError, "one of 1, 2, 3, 3.1, 4, got '5'"),
        ({"strategy": 3.1}, pm.ArgumentTypeError, "3.1"),
        ({"order": "ascending"}, pm.ArgumentError, "descending, random"),
        ({"order": None}, pm.ArgumentTypeError, "None"),
        ({"seed": "x"}, pm.ArgumentTypeError, "seed"),
        ({"seed": -1}, pm.ArgumentError, "seed"),
        ({"strategy": "4", "local_moves": -1}, pm.ArgumentError, "local_moves"),
        ({"strategy": "3", "local_moves": 5}, pm.ArgumentError, "for strategy 4"),
    ],
)
def test_options_refused(options, error, words):
    with pytest.raises(error, match=words):
        Clustering(**options)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("p1", {"Z"}), pm.ArgumentError, "'p1' has already joined"),
        (("new", set()), pm.ArgumentError, "at least one attribute"),
        (("new", "AB"), pm.ArgumentTypeError, "the text 'AB'"),
        (("new", {1}), pm.ArgumentTypeError, "attribute names, got 1"),
        (("new", [["A"]]), pm.ArgumentTypeError, "attribute names"),
        (("new", None), pm.ArgumentTypeError, "None"),
        ((7, {"A"}), pm.ArgumentTypeError, "publisher must be a text"),
        (("new", {"A"}, 0), pm.ArgumentError, "at least 1, got 0"),
        (("new", {"A"}, 2.5), pm.ArgumentTypeError, "connections must be an integer, got 2.5"),
        (("new", {"A"}, True), pm.ArgumentTypeError, "True"),
        (
            ("new", {f"a{i}" for i in range(21)}),
            pm.ArgumentError,
            "at most 20 attributes, publisher 'new' has 21",
        ),
    ],
)
def test_joins_refused(strategy, arguments, error, words):
    clustering = grown(strategy, 5)
    before, stats = view(clustering), clustering.stats()
    with pytest.raises(error, match=words):
        clustering.join(*arguments)
    assert (view(clustering), clustering.stats()) == (before, stats)
    clustering.check()


def test_too_many_attributes_together():
    clustering = Clustering("2")
    for number in range(256):
        clustering.join(f"p{number}", {f"a{number}"})
    with pytest.raises(
        pm.ArgumentError, match="at most 256 attributes, with publisher 'one more' there would be 257"
    ):
        clustering.join("one more", {"another"})
    clustering.leave("p7")
    clustering.join("one more", {"another"})
    clustering.check()


def test_a_huge_limit_is_no_limit():
    clustering = Clustering("3.1")
    clustering.join("p", {"A"}, connections=10**30)
    clustering.check()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda c: c.leave("nobody"), pm.ArgumentError, "no publisher 'nobody'"),
        (lambda c: c.publish("nobody"), pm.ArgumentError, "no publisher 'nobody'"),
        (lambda c: c.connections(["p1"]), pm.ArgumentError, "no publisher"),
        (lambda c: c.subscribe("s", {"nobody"}), pm.ArgumentError, "nobody offers the combination {nobody}"),
        (lambda c: c.subscribe("s", set()), pm.ArgumentError, "at least one attribute"),
        (lambda c: c.subscribe(1, {"A"}), pm.ArgumentTypeError, "subscriber"),
        (lambda c: c.cluster_of("A"), pm.ArgumentTypeError, "the text 'A'"),
        (lambda c: c.max_clusters_bound(3, 4), pm.ArgumentError, "m must be at most n"),
        (lambda c: c.max_clusters_bound(0, 0), pm.ArgumentError, "n must be at least 1"),
    ],
)
def test_calls_refused(call, error, words):
    clustering = grown("3.1", 5)
    before = clustering.stats()
    with pytest.raises(error, match=words):
        call(clustering)
    assert clustering.stats() == before


def test_publishers_are_drawn_as_asked():
    drawn = random_publishers(2000, n=30, attributes=(2, 5), connections=(1, 3), zipf=1.0, seed=4)
    assert drawn == random_publishers(2000, n=30, attributes=(2, 5), connections=(1, 3), zipf=1.0, seed=4)
    assert {len(each.attributes) for each in drawn} == {2, 3, 4, 5}
    assert {each.connections for each in drawn} == {1, 2, 3}
    popular = sum("A" in each.attributes for each in drawn)
    assert popular > 3 * sum("D1" in each.attributes for each in drawn) > 0
    even = random_publishers(2000, n=10, attributes=(5, 5), seed=4)
    shares = [sum(name in each.attributes for each in even) / 2000 for name in "ABCDEFGHIJ"]
    assert max(abs(share - 0.5) for share in shares) < 0.05


@pytest.mark.parametrize(
    "options",
    [
        {"count": -1},
        {"n": 3},
        {"attributes": (4, 3)},
        {"zipf": -1.0},
        {"zipf": float("nan")},
        {"zipf": 10**400},
        {"connections": (0, 2)},
    ],
)
def test_draws_refused(options):
    with pytest.raises(pm.ArgumentError):
        random_publishers(**{"count": 5, **options})


@pytest.mark.parametrize("options", [{"attributes": 3}, {"zipf": "a"}, {"connections": (1,)}, {"count": 1.5}])
def test_draws_of_a_wrong_type_refused(options):
    with pytest.raises(pm.ArgumentTypeError):
        random_publishers(**{"count": 5, **options})


def test_clusters_are_values():
    first, again = grown("1", 5).clusters, grown("1", 5).clusters
    assert first == again
    with pytest.raises(dataclasses.FrozenInstanceError):
        first[0].id = 9
