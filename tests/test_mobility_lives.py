"""Random lives of broker networks: at every rest tables equal those built from scratch, delivery is exact.

The same lives are then led with brokers that have one mistake each: a check that cannot fail is no check.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from mobility_network import SCHEMA, Network
from mobility_walks import random_life

from pubmatch import parse
from pubmatch.mobility import ALGORITHMS, Event, FilterSpace, covering, moving_subscribers
from pubmatch.mobility.acknowledgements import Acknowledgements
from pubmatch.mobility.algorithms.delayed import Delayed
from pubmatch.mobility.algorithms.delayed_ack import DelayedAck
from pubmatch.mobility.algorithms.prefetching import Prefetching
from pubmatch.mobility.algorithms.proxy import Proxy
from pubmatch.mobility.algorithms.standard import Standard
from pubmatch.mobility.covering import settle
from pubmatch.mobility.publishers import Publishers
from pubmatch.mobility.routes import LOCAL, Routes

SPACE = FilterSpace(SCHEMA)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_random_lives(algorithm: str) -> None:
    for seed in range(30):
        random_life(seed, algorithm, space=SPACE)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_brokers_that_share_nothing(algorithm: str) -> None:
    for seed in range(1000, 1003):
        random_life(seed, algorithm)


def test_same_seed_same_life() -> None:
    first, second = (random_life(5, "delayed+ack", space=SPACE) for _ in range(2))
    assert first.hops == second.hops
    assert [client.got for client in first.clients.values()] == [
        client.got for client in second.clients.values()
    ]


# --- mistakes ---


def no_uncovering(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(covering, "_uncover", lambda *_: [])


def covered_stay_sent(patch: pytest.MonkeyPatch) -> None:
    def wrong(changes, required, hidden, relations):  # type: ignore[no-untyped-def]
        sends, withdrawals = settle(changes, required, hidden, relations)
        changed = {content for content, _, _ in changes}
        return sends, [pair for pair in withdrawals if pair[0] in changed]

    patch.setattr("pubmatch.mobility.routes.settle", wrong)


def printed_line_13(patch: pytest.MonkeyPatch) -> None:
    """(sub, n, true) in outSubs, with n the sender of the subscription instead of the advertisement's."""

    def wrong(self: Routes, contents, bit, out) -> None:  # type: ignore[no-untyped-def]
        for content in contents:
            for sub in self._known(self.space.subs.meeting(content)):
                if not self.subs[sub] & ~bit or self.out_subs.get(sub, 0) & bit:
                    continue
                sent_to = 0
                for above in self.space.subs.covering(sub):
                    sent_to |= self.out_subs.get(above, 0) & ~self.hidden_subs.get(above, 0)
                self.out_subs[sub] = self.out_subs.get(sub, 0) | bit
                if sent_to & self.subs[sub] & ~bit:
                    self.hidden_subs[sub] = self.hidden_subs.get(sub, 0) | bit
                else:
                    out += [(each, self.space.subscribe[sub]) for each in self.named(bit)]

    patch.setattr(Routes, "answer_ads", wrong)


def no_timer_cancel(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Delayed, "cancel", lambda self, publisher: setattr(publisher, "away", None))


def withdraw_before_send(patch: pytest.MonkeyPatch) -> None:
    right = Routes._send_subs

    def wrong(self: Routes, changes, out) -> None:  # type: ignore[no-untyped-def]
        start = len(out)
        right(self, changes, out)
        out[start:] = sorted(out[start:], key=lambda pair: pair[1].kind != "unsubscribe")

    patch.setattr(Routes, "_send_subs", wrong)


def no_reference_counts(patch: pytest.MonkeyPatch) -> None:
    def wrong(self: Publishers, publisher, contents, out) -> None:  # type: ignore[no-untyped-def]
        gone = [content for content in contents if self._holders.pop(content, None) is not None]
        self._routes.remove_ads(gone, LOCAL, out)

    patch.setattr(Publishers, "detach", wrong)


def no_induced_unsubscriptions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Routes, "_withdraw_answers", lambda *_: None)


def proxies_never_released(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Proxy, "leave", Standard.leave)


def wrong_predictions_stay(patch: pytest.MonkeyPatch) -> None:
    def wrong(self: Prefetching, client, message, contents, out) -> None:  # type: ignore[no-untyped-def]
        Standard.connect(self, client, message, contents, out)
        if message.predicted == self.broker.id:
            self.broker.publishers.release(client, message.previous, out)

    patch.setattr(Prefetching, "connect", wrong)


def acknowledged_at_once(patch: pytest.MonkeyPatch) -> None:
    right = Acknowledgements.begin

    def wrong(self: Acknowledgements, token, reply_to, contents, sent_to):  # type: ignore[no-untyped-def]
        pending = right(self, token, reply_to, contents, sent_to)
        if reply_to is not None:
            for key in [key for key, waiting in self._waiting.items() if pending in waiting]:
                self.received(*key)
        return pending

    patch.setattr(Acknowledgements, "begin", wrong)


def torn_down_too_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DelayedAck, "disconnect", Standard.disconnect)


def replay_not_deduplicated(patch: pytest.MonkeyPatch) -> None:
    from pubmatch.mobility.subscribers import Session

    def wrong(self: Session, publication, out) -> None:  # type: ignore[no-untyped-def]
        if self.store is None:
            out.append((self.client, publication))
        else:
            self.store.append(publication)

    patch.setattr(Session, "take", wrong)


def fetch_before_subscription(patch: pytest.MonkeyPatch) -> None:
    right = moving_subscribers.connect

    def wrong(broker, client, message, out) -> None:  # type: ignore[no-untyped-def]
        start = len(out)
        right(broker, client, message, out)
        if len(out) > start and type(out[-1][1]).__name__ == "Fetch":
            out.insert(start, out.pop())

    patch.setattr(moving_subscribers, "connect", wrong)


# --- lives in which every mistake shows ---


def random_lives(algorithm: str) -> None:
    for seed in range(60):
        random_life(seed, algorithm, space=SPACE)


def publication_between_two_subscriptions(algorithm: str) -> None:
    """The wide subscription goes, the narrow one takes its place, and a publication comes in between."""
    network = Network([0], algorithm, space=SPACE)
    network.join("publisher", "publisher", 0, [parse("x BETWEEN 0 AND 9")])
    network.join("wide", "subscriber", 1, [parse("x BETWEEN 0 AND 9")])
    network.join("narrow", "subscriber", 1, [parse("x = 3")])
    network.settle()
    network.leave("wide", 1)
    network.carry(1, 0)
    assert network.publish("publisher", Event(x=3))
    network.check_delivery()


def publication_between_subscription_and_fetch(algorithm: str) -> None:
    network = Network([0, 0], algorithm, space=SPACE)
    network.join("publisher", "publisher", 0, [parse("x = 3")])
    network.join("subscriber", "subscriber", 1, [parse("x = 3")])
    network.settle()
    network.disconnect("subscriber")
    network.connect("subscriber", 2)
    network.carry(2, 0)
    assert network.publish("publisher", Event(x=3))
    network.check_delivery()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    "life", [publication_between_two_subscriptions, publication_between_subscription_and_fetch]
)
def test_publications_between(life: Callable[[str], None], algorithm: str) -> None:
    life(algorithm)


MISTAKES: list[tuple[Callable[[pytest.MonkeyPatch], None], str, Callable[[str], None]]] = [
    (no_uncovering, "standard", random_lives),
    (covered_stay_sent, "standard", random_lives),
    (printed_line_13, "standard", random_lives),
    (no_timer_cancel, "delayed", random_lives),
    (no_timer_cancel, "prefetching+delayed", random_lives),
    (withdraw_before_send, "standard", publication_between_two_subscriptions),
    (no_reference_counts, "standard", random_lives),
    (no_induced_unsubscriptions, "standard", random_lives),
    (proxies_never_released, "proxy", random_lives),
    (wrong_predictions_stay, "prefetching", random_lives),
    (acknowledged_at_once, "delayed+ack", random_lives),
    (torn_down_too_early, "delayed+ack", random_lives),
    (replay_not_deduplicated, "standard", random_lives),
    (fetch_before_subscription, "standard", publication_between_subscription_and_fetch),
]


@pytest.mark.parametrize(
    ("mistake", "algorithm", "life"), MISTAKES, ids=lambda value: getattr(value, "__name__", value)
)
def test_every_mistake_is_caught(
    mistake: Callable[[pytest.MonkeyPatch], None],
    algorithm: str,
    life: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mistake(monkeypatch)
    with pytest.raises((AssertionError, LookupError, ValueError)):
        life(algorithm)
