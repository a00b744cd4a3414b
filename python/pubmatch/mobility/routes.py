"""`Routes`: the routing state of one broker, in the paper's four tables (section 3, figures 2 and 3).

inAds and inSubs map a content to the directions it came from, as bits of one small number: bit 0 stands
for the broker's own clients, the others for its neighbours. outAds follows from inAds, and outSubs from
inSubs and inAds, so only what differs is kept: what is hidden by covering, and towards whom subscriptions
are required.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeAlias

from pubmatch.mobility.covering import Change, settle
from pubmatch.mobility.messages import Advertise, BrokerId, ClientId, Event, Message, NodeId
from pubmatch.mobility.space import FilterSpace

__all__ = ["LOCAL", "Out", "Plan", "Routes"]

LOCAL = 1

Out: TypeAlias = list[tuple[NodeId, Message]]
# Where publications of an event go: the event, the directions, and the clients (None: ask their sessions).
Plan: TypeAlias = tuple[Event, int, tuple[ClientId, ...] | None]


class Routes:
    """Advertisements and subscriptions by direction, and what follows from a change of either.

    Parameters
    ----------
    neighbours : tuple of broker ids
        In the order in which messages are sent to them.
    space : FilterSpace
        Numbers the contents.

    Attributes
    ----------
    plans : dict
        By the identity of an event, where its publications go; forgotten whenever subscriptions change.
    """

    __slots__ = (
        "_named",
        "ads",
        "bit_of",
        "everyone",
        "hidden_ads",
        "hidden_subs",
        "neighbours",
        "out_subs",
        "plans",
        "space",
        "subs",
    )

    def __init__(self, neighbours: tuple[BrokerId, ...], space: FilterSpace) -> None:
        self.space = space
        self.neighbours = neighbours
        self.bit_of: dict[NodeId, int] = {each: 2 << place for place, each in enumerate(neighbours)}
        self.everyone = (2 << len(neighbours)) - 2
        self.ads: dict[int, int] = {}
        self.hidden_ads: dict[int, int] = {}
        self.subs: dict[int, int] = {}
        self.out_subs: dict[int, int] = {}
        self.hidden_subs: dict[int, int] = {}
        self.plans: dict[int, Plan] = {}
        self._named: dict[int, tuple[BrokerId, ...]] = {}

    def named(self, mask: int) -> tuple[BrokerId, ...]:
        """The neighbours of a mask."""
        names = self._named.get(mask)
        if names is None:
            names = tuple(each for each in self.neighbours if self.bit_of[each] & mask)
            self._named[mask] = names
        return names

    def spread(self, senders: int) -> int:
        """Who should know what came from these directions: all neighbours, but not a lone sender."""
        if senders & (senders - 1):
            return self.everyone
        return self.everyone & ~senders if senders else 0

    def ads_required(self, content: int) -> int:
        """The neighbours an advertisement is required towards."""
        return self.spread(self.ads.get(content, 0))

    def subs_required(self, content: int) -> int:
        """The neighbours a subscription is required towards."""
        return self.out_subs.get(content, 0)

    # --- advertisements ---

    def add_ads(
        self, contents: Iterable[int], bit: int, out: Out, acks: Mapping[int, Hashable] | None = None
    ) -> dict[int, int]:
        """Advertisements came from a direction (figure 2); return to whom each of them was sent on.

        `acks` gives the token that a content's advertisement carries on.
        """
        ads = self.ads
        new: list[int] = []
        changes: list[Change] = []
        for content in contents:
            before = ads.get(content, 0)
            if not before & bit:
                ads[content] = before | bit
                new.append(content)
                spread_before, spread_after = self.spread(before), self.spread(before | bit)
                if spread_before != spread_after:
                    changes.append((content, spread_before, spread_after))
        sent = self._send_ads(changes, out, acks) if changes else {}
        if new and bit != LOCAL:
            self.answer_ads(new, bit, out)
        return sent

    def remove_ads(self, contents: Iterable[int], bit: int, out: Out) -> None:
        """A direction withdrew advertisements that it had sent."""
        ads = self.ads
        gone: list[int] = []
        changes: list[Change] = []
        for content in contents:
            before = ads[content]
            after = before & ~bit
            if after:
                ads[content] = after
            else:
                del ads[content]
            gone.append(content)
            spread_before, spread_after = self.spread(before), self.spread(after)
            if spread_before != spread_after:
                changes.append((content, spread_before, spread_after))
        if changes:
            self._send_ads(changes, out, None)
        if bit != LOCAL:
            self._withdraw_answers(gone, bit, out)

    def _send_ads(
        self, changes: list[Change], out: Out, acks: Mapping[int, Hashable] | None
    ) -> dict[int, int]:
        space = self.space
        sends, withdrawals = settle(changes, self.ads_required, self.hidden_ads, space.ads)
        for content, mask in sends:
            message = space.advertise[content]
            if acks is not None and content in acks:
                message = Advertise(message.filter, acks[content])
            for each in self.named(mask):
                out.append((each, message))
        for content, mask in withdrawals:
            gone = space.unadvertise[content]
            for each in self.named(mask):
                out.append((each, gone))
        return dict(sends)

    def answer_ads(self, contents: Sequence[int], bit: int, out: Out) -> None:
        """Send the subscriptions that meet new advertisements back towards them (figure 2, lines 11 to 16).

        Line 13 as printed asks what was sent to the subscription's sender; what counts is what was sent to
        the advertisement's.
        """
        subs, required = self.subs, self.out_subs
        changes: list[Change] = []
        for content in contents:
            for sub in self._known(self.space.subs.meeting(content)):
                before = required.get(sub, 0)
                if subs[sub] & ~bit and not before & bit:
                    required[sub] = before | bit
                    changes.append((sub, before, before | bit))
        if changes:
            self._send_subs(changes, out)

    def _withdraw_answers(self, contents: Sequence[int], bit: int, out: Out) -> None:
        """Un-subscribe towards a neighbour whose advertisements no longer meet a subscription."""
        required = self.out_subs
        changes: list[Change] = []
        for content in contents:
            for sub in self._known(self.space.subs.meeting(content)):
                before = required.get(sub, 0)
                if before & bit and not self._towards(sub) & bit:
                    changes.append((sub, before, before & ~bit))
                    self._require(sub, before & ~bit)
        if changes:
            self._send_subs(changes, out)

    def _known(self, contents: tuple[int, ...]) -> list[int]:
        subs = self.subs
        if len(contents) <= len(subs):
            return [content for content in contents if content in subs]
        wanted = frozenset(contents)
        return [content for content in subs if content in wanted]

    def _towards(self, sub: int) -> int:
        """The directions from which an advertisement came that a subscription meets."""
        ads, towards = self.ads, 0
        for ad in self.space.ads.meeting(sub):
            towards |= ads.get(ad, 0)
        return towards

    # --- subscriptions ---

    def add_subs(self, contents: Iterable[int], bit: int, out: Out) -> None:
        """Subscriptions came from a direction: send them towards the advertisements they meet (figure 3)."""
        subs = self.subs
        self.plans.clear()
        changes: list[Change] = []
        for content in contents:
            senders = subs.get(content, 0)
            if senders & bit:
                continue
            subs[content] = senders | bit
            if senders & (senders - 1):
                continue  # known from two directions: required wherever it can be
            before = self.out_subs.get(content, 0)
            after = self._towards(content) & self.spread(senders | bit)
            if before != after:
                self._require(content, after)
                changes.append((content, before, after))
        if changes:
            self._send_subs(changes, out)

    def remove_subs(self, contents: Iterable[int], bit: int, out: Out) -> None:
        """A direction withdrew subscriptions that it had sent."""
        subs = self.subs
        self.plans.clear()
        changes: list[Change] = []
        for content in contents:
            senders = subs[content] & ~bit
            if senders:
                subs[content] = senders
            else:
                del subs[content]
            before = self.out_subs.get(content, 0)
            after = before & self.spread(senders)
            if before != after:
                self._require(content, after)
                changes.append((content, before, after))
        if changes:
            self._send_subs(changes, out)

    def _require(self, content: int, mask: int) -> None:
        if mask:
            self.out_subs[content] = mask
        else:
            self.out_subs.pop(content, None)

    def _send_subs(self, changes: list[Change], out: Out) -> None:
        space = self.space
        sends, withdrawals = settle(changes, self.subs_required, self.hidden_subs, space.subs)
        for content, mask in sends:
            message = space.subscribe[content]
            for each in self.named(mask):
                out.append((each, message))
        for content, mask in withdrawals:
            gone = space.unsubscribe[content]
            for each in self.named(mask):
                out.append((each, gone))
