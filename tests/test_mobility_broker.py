"""Brokers driven by hand, message by message: the paper's handlers, the readings' repairs, bad input."""

from __future__ import annotations

from typing import Any

import pytest
from mobility_network import Network

import pubmatch as pm
from pubmatch.mobility import (
    ALGORITHMS,
    Acknowledge,
    Advertise,
    Broker,
    Connect,
    Disconnect,
    Event,
    Fetch,
    FilterSpace,
    Hold,
    Leave,
    Message,
    Publish,
    Release,
    Replay,
    ReplayEnd,
    Subscribe,
    Timer,
    Unadvertise,
    Unsubscribe,
    messages,
)

SCHEMA = pm.Schema(x=pm.Integer())
WIDE, NARROW, OTHER = (pm.parse(text) for text in ("x BETWEEN 0 AND 9", "x = 3", "x > 20"))
TREE = {"b": "b", "c": "c", "far": "b"}


def broker(algorithm: str = "standard", **more: Any) -> Broker:
    return Broker("a", ["b", "c"], schema=SCHEMA, algorithm=algorithm, route=TREE, **more)


def tables(it: Broker) -> tuple[set[Any], ...]:
    return tuple(set(table) for table in (it.in_ads, it.out_ads, it.in_subs, it.out_subs))


# --- the handlers of figures 2 and 3 ---


def test_advertisement_is_flooded_and_answered() -> None:
    it = broker()
    assert it.handle("client", Subscribe(NARROW)) == []
    assert it.handle("c", Subscribe(WIDE)) == []
    assert it.handle("b", Advertise(WIDE)) == [
        ("c", Advertise(WIDE)),
        ("b", Subscribe(WIDE)),
    ]
    assert tables(it) == (
        {(WIDE, "b")},
        {(WIDE, "c", True)},
        {(NARROW, "client"), (WIDE, "c")},
        {(WIDE, "b", True), (NARROW, "b", False)},
    )
    assert [len(table) for table in (it.in_ads, it.out_ads, it.in_subs, it.out_subs)] == [1, 1, 2, 2]


def test_line_13_asks_about_the_advertisement_s_sender() -> None:
    """Something wider was sent to c, where the narrow subscription comes from: that tells b nothing."""
    it = broker()
    it.handle("c", Advertise(WIDE))
    assert it.handle("b", Subscribe(WIDE)) == [("c", Subscribe(WIDE))]
    assert it.handle("c", Subscribe(NARROW)) == []
    assert it.handle("b", Advertise(NARROW)) == [("c", Advertise(NARROW)), ("b", Subscribe(NARROW))]


def test_subscription_follows_advertisements_only() -> None:
    it = broker()
    it.handle("b", Advertise(WIDE))
    it.handle("c", Advertise(OTHER))
    assert it.handle("client", Subscribe(NARROW)) == [("b", Subscribe(NARROW))]
    assert it.handle("c", Subscribe(NARROW)) == []
    assert it.handle("client", Unsubscribe(NARROW)) == []
    assert it.handle("c", Unsubscribe(NARROW)) == [("b", Unsubscribe(NARROW))]


def test_content_is_identity() -> None:
    """Equal advertisements, however written, share what was sent: the last one to go withdraws it."""
    it = broker()
    same = pm.parse("x >= 0 AND x <= 9")
    assert len(it.handle("p1", Advertise(WIDE))) == 2
    assert it.handle("p2", Advertise(same)) == []
    assert it.handle("p2", Advertise(same)) == []
    assert it.handle("p1", Unadvertise(same)) == []
    assert it.handle("p2", Unadvertise(WIDE)) == [("b", Unadvertise(WIDE)), ("c", Unadvertise(WIDE))]
    assert not len(it.in_ads)
    assert not len(it.out_ads)


def test_second_direction_is_told_back() -> None:
    it = broker()
    it.handle("b", Advertise(WIDE))
    assert it.handle("c", Advertise(WIDE)) == [("b", Advertise(WIDE))]
    assert it.handle("b", Unadvertise(WIDE)) == [("c", Unadvertise(WIDE))]


def test_uncovered_is_sent_before_the_cover_is_withdrawn() -> None:
    it = broker()
    it.handle("b", Advertise(WIDE))
    it.handle("c1", Subscribe(NARROW))
    assert it.handle("c2", Subscribe(WIDE)) == [("b", Subscribe(WIDE)), ("b", Unsubscribe(NARROW))]
    assert it.handle("c2", Unsubscribe(WIDE)) == [("b", Subscribe(NARROW)), ("b", Unsubscribe(WIDE))]


def test_unadvertisement_induces_unsubscriptions() -> None:
    it = broker()
    it.handle("b", Advertise(WIDE))
    it.handle("client", Subscribe(NARROW))
    assert it.handle("b", Unadvertise(WIDE)) == [("c", Unadvertise(WIDE)), ("b", Unsubscribe(NARROW))]
    assert set(it.in_subs) == {(NARROW, "client")}


def test_publication_goes_once_to_everyone_who_wants_it() -> None:
    it = broker()
    it.handle("b", Advertise(WIDE))
    for sender, filter in (("b", WIDE), ("c", NARROW), ("c", WIDE), ("one", WIDE), ("one", NARROW)):
        it.handle(sender, Subscribe(filter))
    publication = Publish({"x": 3}, 1)
    assert it.handle("b", publication) == [("c", publication), ("one", publication)]
    assert it.handle("publisher", publication) == [
        ("b", publication),
        ("c", publication),
        ("one", publication),
    ]
    assert it.handle("b", Publish({"x": 30}, 2)) == []


# --- algorithms ---


def test_delayed_tears_down_after_the_timer() -> None:
    it = broker("delayed", delay_s=7.5)
    it.handle("p", Connect("publisher", [WIDE]))
    [(to, timer)] = it.handle("p", Disconnect("publisher"))
    assert (to, timer.after_s, timer.kind) == ("a", 7.5, "timer")  # type: ignore[union-attr]
    assert it.handle("a", timer) == [("b", Unadvertise(WIDE)), ("c", Unadvertise(WIDE))]
    assert it.handle("a", timer) == []


def test_delayed_timer_is_cancelled_by_a_return() -> None:
    it = broker("delayed")
    it.handle("p", Connect("publisher", [WIDE]))
    [(_, timer)] = it.handle("p", Disconnect("publisher"))
    assert it.handle("p", Connect("publisher", [WIDE], previous="a")) == []
    assert it.handle("a", timer) == []
    assert set(it.in_ads) == {(WIDE, "p")}


def test_prefetch_goes_before_the_unadvertisement() -> None:
    it = broker("prefetching")
    it.handle("p", Connect("publisher", [WIDE]))
    assert it.handle("p", Disconnect("publisher", next="far")) == [
        ("b", Hold("far", "p", "a", (WIDE,))),
        ("b", Unadvertise(WIDE)),
        ("c", Unadvertise(WIDE)),
    ]


def test_prefetched_tree_is_claimed_silently_or_cleaned_up() -> None:
    it = broker("prefetching")
    assert len(it.handle("b", Hold("a", "p", "far", (WIDE,)))) == 2
    assert it.handle("p", Connect("publisher", [WIDE], previous="far", predicted="a")) == []
    other = broker("prefetching")
    assert other.handle("q", Connect("publisher", [WIDE], previous="c", predicted="far"))[-1] == (
        "b",
        Release("far", "q", "c"),
    )
    overtaken = broker("prefetching")
    assert overtaken.handle("c", Release("a", "q", "b")) == []
    assert overtaken.handle("b", Hold("a", "q", "b", (WIDE,))) == []
    assert not len(overtaken.in_ads)


def test_proxies_are_assigned_once_and_released_at_the_end() -> None:
    it = broker("proxy")
    proxies = ("a", "b", "far")
    sent = it.handle("p", Connect("publisher", [WIDE], proxies=proxies))
    assert [message for _, message in sent if isinstance(message, Hold)] == [
        Hold("b", "p", "a", (WIDE,)),
        Hold("far", "p", "a", (WIDE,)),
    ]
    assert it.handle("p", Disconnect("publisher")) == []
    assert it.handle("p", Connect("publisher", [WIDE], previous="b", proxies=proxies)) == []
    with pytest.raises(pm.ArgumentError, match="'p' has proxies"):
        it.handle("p", Advertise(OTHER))
    sent = it.handle("p", Leave("publisher"))
    assert [message for _, message in sent if isinstance(message, Release)] == [
        Release("b", "p", "a"),
        Release("far", "p", "a"),
    ]
    assert not len(it.in_ads)


def test_acknowledged_advertisement_holds_publications_back() -> None:
    it = broker("delayed+ack")
    sent = it.handle("p", Connect("publisher", [WIDE], previous="far"))
    [token] = {message.ack for _, message in sent if isinstance(message, Advertise)}
    assert it.handle("p", Publish({"x": 3}, 1)) == []
    assert it.handle("b", Subscribe(NARROW)) == []
    assert it.handle("b", Acknowledge(token)) == []
    assert it.handle("c", Acknowledge(token)) == [
        ("b", Publish({"x": 3}, 1)),
        ("b", Release("far", "p", "far")),
    ]
    assert it.handle("c", Acknowledge(token)) == []


def test_acknowledgement_comes_behind_the_subscriptions() -> None:
    it = broker()
    it.handle("client", Subscribe(NARROW))
    assert it.handle("b", Advertise(WIDE, "t")) == [("c", Advertise(WIDE, "t")), ("b", Subscribe(NARROW))]
    assert it.handle("c", Subscribe(WIDE)) == [("b", Subscribe(WIDE)), ("b", Unsubscribe(NARROW))]
    assert it.handle("c", Acknowledge("t")) == [("b", Acknowledge("t"))]
    leaf = Broker("leaf", ["a"], schema=SCHEMA)
    assert leaf.handle("a", Advertise(WIDE, "t")) == [("a", Acknowledge("t"))]


# --- mobile subscribers ---


def test_store_fetch_replay() -> None:
    space = FilterSpace(SCHEMA)
    old, new = (Broker(*pair, space=space) for pair in (("old", ["new"]), ("new", ["old"])))
    old.handle("p", Advertise(WIDE))
    new.handle("old", Advertise(WIDE))
    old.handle("s", Connect("subscriber", [NARROW]))
    assert old.handle("s", Disconnect("subscriber")) == []
    first, second = Publish({"x": 3}, 1), Publish({"x": 3}, 2)
    assert old.handle("p", first) == []
    sent = new.handle("s", Connect("subscriber", [NARROW], previous="old"))
    assert sent == [("old", Subscribe(NARROW)), ("old", Fetch("old", "s", 0, "new"))]
    old.handle("new", sent[0][1])
    assert old.handle("p", second) == [("new", second)]
    assert new.handle("old", second) == [("s", second)]
    sent = old.handle("new", sent[1][1])
    assert sent == [
        ("new", Replay("new", "s", 0, first)),
        ("new", Replay("new", "s", 0, second)),
        ("new", ReplayEnd("new", "s", 0)),
    ]
    assert [new.handle("old", message) for _, message in sent] == [[("s", first)], [], []]
    assert not [row for row in old.in_subs if row[1] == "s"]


def test_subscriber_comes_back_to_the_same_broker() -> None:
    it = broker()
    it.handle("s", Connect("subscriber", [NARROW]))
    it.handle("s", Disconnect("subscriber"))
    it.handle("b", Publish({"x": 3}, 1))
    assert it.handle("s", Connect("subscriber", [NARROW], previous="a")) == [("s", Publish({"x": 3}, 1))]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_everything_goes_when_everybody_leaves(algorithm: str) -> None:
    network = Network([0, 0, 1, 1], algorithm)
    for number, filter in enumerate((WIDE, NARROW, OTHER)):
        network.join(f"p{number}", "publisher", number, [filter], proxies=(number, 4))
        network.join(f"s{number}", "subscriber", 4 - number, [filter])
    network.settle()
    for number in range(3):
        network.disconnect(f"p{number}", towards=4)
        network.disconnect(f"s{number}")
    network.connect("p1", 3)
    network.connect("s1", 0)
    for name in list(network.clients):
        network.leave(name, 2)
    network.settle()
    for it in network.brokers.values():
        assert tables(it) == (set(), set(), set(), set())
        assert not it.publishers._owed
        assert not it.routes.hidden_ads
        assert not it.routes.hidden_subs


# --- bad input ---


def connected() -> Broker:
    it = broker("prefetching+delayed")
    it.handle("p", Connect("publisher", [WIDE]))
    it.handle("s", Connect("subscriber", [NARROW]))
    it.handle("b", Advertise(WIDE))
    return it


@pytest.mark.parametrize(
    ("sender", "message", "rule"),
    [
        ("p", Connect("publisher", [WIDE]), "publisher 'p' is already connected to broker 'a'"),
        ("s", Connect("subscriber", [WIDE]), "subscriber 's' is already connected to broker 'a'"),
        ("p", Disconnect("publisher", next="a"), "cannot move to broker 'a': it is there"),
        ("p", Disconnect("publisher", next="nowhere"), "knows no route to broker 'nowhere'"),
        ("q", Connect("publisher", [WIDE], previous="nowhere"), "knows no route to broker 'nowhere'"),
        ("q", Connect("publisher", [WIDE], proxies=["nowhere"]), "knows no route to broker 'nowhere'"),
        ("q", Connect("publisher", [WIDE], previous=["b"]), "knows no route to broker"),  # type: ignore[arg-type]
        ("q", Disconnect("publisher"), "publisher 'q' is not connected to broker 'a'"),
        ("q", Disconnect("subscriber"), "subscriber 'q' is not connected to broker 'a'"),
        ("q", Leave("publisher"), "publisher 'q' is not at broker 'a'"),
        ("q", Leave("subscriber"), "subscriber 'q' is not at broker 'a'"),
        ("q", Unadvertise(WIDE), "client 'q' has not advertised"),
        ("q", Unsubscribe(WIDE), "client 'q' has not subscribed"),
        ("c", Unadvertise(WIDE), "neighbour 'c' has not advertised"),
        ("c", Unsubscribe(WIDE), "neighbour 'c' has not subscribed"),
        ("b", Connect("publisher", [WIDE]), "'b' is a broker"),
        ("a", Advertise(WIDE), "'a' is a broker"),
        ("q", Hold("a", "q", "b", (WIDE,)), "sent by brokers"),
        ("q", Acknowledge("t"), "sent by brokers"),
        ("b", Timer("t", 1.0), "comes from broker 'a' itself"),
        ("q", Advertise("y = 1"), "'y'"),
        ("q", Subscribe("x = 1 AND x = 2"), "no event satisfies"),
        ("b", Publish({"x": "three"}, 1), "takes an integer"),
    ],
)
def test_bad_messages_change_nothing(sender: str, message: Message, rule: str) -> None:
    it = connected()
    before = tables(it)
    with pytest.raises(ValueError, match=rule):
        it.handle(sender, message)
    assert tables(it) == before
    assert it.handle("p", Publish({"x": 3}, 9)) == [("s", Publish({"x": 3}, 9))]


def test_moves_out_of_turn() -> None:
    it = connected()
    it.handle("p", Disconnect("publisher"))
    with pytest.raises(pm.ArgumentError, match="'p' is not connected"):
        it.handle("p", Disconnect("publisher"))
    for message in (Publish({"x": 3}, 1), Advertise(OTHER)):
        with pytest.raises(pm.ArgumentError, match="'p' is not connected"):
            it.handle("p", message)
    it.handle("s", Disconnect("subscriber"))
    with pytest.raises(pm.ArgumentError, match="'s' is not connected"):
        it.handle("s", Subscribe(OTHER))
    it.handle("s", Connect("subscriber", [NARROW], previous="c"))
    with pytest.raises(pm.ArgumentError, match="'s' moves while an earlier move is still under way"):
        it.handle("s", Disconnect("subscriber"))


def test_bad_brokers() -> None:
    with pytest.raises(pm.ArgumentError, match="standard, prefetching, proxy, delayed"):
        broker("teleport")
    with pytest.raises(pm.ArgumentError, match="own neighbour"):
        Broker("a", ["a"], schema=SCHEMA)
    with pytest.raises(pm.ArgumentError, match="named twice"):
        Broker("a", ["b", "b"], schema=SCHEMA)
    with pytest.raises(pm.ArgumentError, match="needs a schema"):
        Broker("a", ["b"])
    with pytest.raises(pm.ArgumentError, match="differ"):
        Broker("a", ["b"], schema=SCHEMA, space=FilterSpace(pm.Schema(y=pm.Number())))
    with pytest.raises(pm.ArgumentError, match="delay_s must not be negative, got -1"):
        broker(delay_s=-1)
    with pytest.raises(pm.ArgumentTypeError, match="space must be a FilterSpace, got int"):
        Broker("a", ["b"], space=5)  # type: ignore[arg-type]
    for delay_s in ("x", None, True):
        with pytest.raises(pm.ArgumentTypeError, match="delay_s must be a number, got"):
            broker(delay_s=delay_s)
    for neighbours in (5, "bc", b"bc"):
        with pytest.raises(pm.ArgumentTypeError, match="neighbours must be a sequence of broker ids, got"):
            Broker("a", neighbours, schema=SCHEMA)  # type: ignore[arg-type]
    with pytest.raises(pm.ArgumentTypeError, match=r"each of neighbours must be hashable, got \['c'\]"):
        Broker("a", ["b", ["c"]], schema=SCHEMA)  # type: ignore[list-item]
    with pytest.raises(pm.ArgumentTypeError, match=r"id must be hashable, got \['a'\]"):
        Broker(["a"], ["b"], schema=SCHEMA)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not a message"):
        broker().handle("client", "hello")  # type: ignore[arg-type]


@pytest.mark.parametrize("message", [Publish({"x": 3}, 1), Subscribe(WIDE), Connect("publisher", [WIDE])])
def test_unhashable_senders(message: Message) -> None:
    it = connected()
    before = tables(it)
    with pytest.raises(pm.ArgumentTypeError, match=r"sender must be hashable, got \['p'\]"):
        it.handle(["p"], message)  # type: ignore[arg-type]
    assert tables(it) == before


def test_bad_message_fields() -> None:
    with pytest.raises(pm.ArgumentError, match="role must be 'publisher' or 'subscriber', got 'driver'"):
        Connect("driver", [WIDE])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="filters must be a sequence"):
        Connect("publisher", "x = 3")  # type: ignore[arg-type]
    for proxies in ("bc", 5, [["b"]]):
        with pytest.raises(pm.ArgumentTypeError, match="proxies must be"):
            Connect("publisher", [WIDE], proxies=proxies)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="filter must be a Filter or SQL text, got int"):
        Advertise(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="event must be a mapping"):
        Publish([1], 1)  # type: ignore[arg-type]
    with pytest.raises(pm.ArgumentError, match="needs previous"):
        Connect("publisher", [WIDE], predicted="b")
    with pytest.raises(TypeError, match="cannot be changed"):
        Event(x=1).update(x=2)


def test_messages_are_frozen_and_have_a_kind() -> None:
    message = Advertise(WIDE)
    with pytest.raises(AttributeError):
        message.filter = NARROW  # type: ignore[misc]
    kinds = {
        getattr(messages, name).kind for name in messages.__all__ if hasattr(getattr(messages, name), "kind")
    }
    assert kinds == {
        *("advertise", "unadvertise", "subscribe", "unsubscribe", "publish", "control", "acknowledge"),
        *("timer", "connect", "disconnect"),
    }
