"""Who got which publication when, and who should have."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field

from pubmatch.mobility.messages import Event, Publish
from pubmatch.mobility.network import Links

__all__ = ["PROBES", "PROBE_S", "Deliveries", "Tally"]

PROBES = 20
"""Publications after each connect (section 4.1), `PROBE_S` seconds apart."""

PROBE_S = 0.2


@dataclass
class Tally:
    """What became of the publications.

    Attributes
    ----------
    probe_delivery : list of float
        For each probe after a connect, the share of its deliveries that took place; NaN if none was due.
    due : int
        Deliveries of measured publications that should take place.
    lost : int
        Those of them that did not.
    misdelivered : int
        Deliveries to clients that did not ask for the publication.
    """

    probe_delivery: list[float]
    due: int
    lost: int
    misdelivered: int


@dataclass(slots=True)
class _Publication:
    sent_s: float
    value: float
    probe: int
    got: set[int] = field(default_factory=set)


class Deliveries:
    """Numbers publications and keeps what clients receive.

    Every client has a link of its own, first in, first out. What a broker has handed to it arrives: a client
    that moves stays within reach until its broker has heard of it.

    Parameters
    ----------
    links : Links
        Speed of the clients' links.

    Attributes
    ----------
    delays_s : array
        Seconds from publication to delivery, of measured publications.
    duplicates : int
        Deliveries of what the client already had.
    """

    def __init__(self, links: Links) -> None:
        self.delays_s = array("d")
        self.duplicates = 0
        self._send_s = links.client_s
        self._latency_s = links.client_latency_s
        self._publications: list[_Publication] = []
        self._free: dict[int, float] = {}

    def publish(self, event: Event, now: float, probe: int = -1) -> Publish:
        """Return a new publication; probe 0 to 19 if it is measured."""
        self._publications.append(_Publication(now, event["publication"], probe))
        return Publish(event, len(self._publications) - 1)

    def deliver(self, client: int, message: Publish, now: float) -> None:
        """Take what a broker hands to a client now."""
        free = self._free
        start = free.get(client, now)
        if start < now:
            start = now
        free[client] = start = start + self._send_s
        publication = self._publications[message.id]  # type: ignore[call-overload]  # the number given above
        got = publication.got
        if client in got:
            self.duplicates += 1
            return
        got.add(client)
        if publication.probe >= 0:
            self.delays_s.append(start + self._latency_s - publication.sent_s)

    def tally(self, due: Mapping[float, frozenset[int]], first: int = 0) -> Tally:
        """Compare with what should have happened.

        Parameters
        ----------
        due : mapping
            Which clients want a published value.
        first : int
            The publication to begin with; `len(deliveries)` is the next one's number.
        """
        wanted, got = [0] * PROBES, [0] * PROBES
        lost = misdelivered = 0
        for each in self._publications[first:]:
            clients = due[each.value]
            right = len(clients & each.got)
            misdelivered += len(each.got) - right
            if each.probe >= 0:
                lost += len(clients) - right
                wanted[each.probe] += len(clients)
                got[each.probe] += right
        shares = [a / b if b else math.nan for a, b in zip(got, wanted, strict=True)]
        return Tally(shares, sum(wanted), lost, misdelivered)

    def __len__(self) -> int:
        return len(self._publications)
