"""Routing with advertisements in a tree of brokers, for publishers and subscribers that move.

The protocol has no I/O and no clock. Whoever drives it hands messages to brokers and carries the answers:

- `Broker(id, neighbours, schema=..., algorithm="standard", space=None, route=None, delay_s=10.0)`. Give
  all brokers of a network one `FilterSpace(schema)` as `space`: filters are then interned, and related to
  each other, once. `route` is a mapping or a function from a broker id to the neighbour towards it;
  neighbours themselves need none.
- `broker.handle(sender, message)` returns a list of `(destination, message)` in sending order. A sender
  that is not a neighbour is a client (any hashable that is no broker's id). Links between brokers must be
  reliable FIFOs and form a tree. An error is raised before anything is changed.
- `(own id, Timer(token, after_s))` in an answer: hand that message back as `handle(own id, timer)` after
  `after_s` seconds. A timer that is no longer wanted is ignored, so none need be cancelled.
- Tables `in_ads`, `in_subs` (rows `(filter, sender)`), `out_ads`, `out_subs` (rows `(filter, neighbour,
  sent)`), as the paper names them: sized, iterable. At quiescence they depend on where clients are, not
  on how they got there: every filter known from another direction has an out-row, and exactly the maximal
  ones under covering are sent.

Clients say `Advertise`, `Unadvertise`, `Subscribe`, `Unsubscribe`, `Publish`, and when they move
`Connect`, `Disconnect`, `Leave`. Deliveries are `(client, Publish)`. Between brokers the same five
travel, and the control messages `Hold`, `Release`, `Fetch`, `Replay`, `ReplayEnd` (routed to their
`target`) and `Acknowledge`. Every message class has a `kind`: "advertise", "unadvertise", "subscribe",
"unsubscribe", "publish" (also `Replay`), "control", "acknowledge", "timer", "connect", "disconnect" (also
`Leave`).

A publisher's life, for every algorithm (each takes from the messages what it needs)::

    Connect("publisher", [ad], proxies=[b1, b2, b3, b4, b5])                        to b1, its first broker
    Disconnect("publisher", next=b2)                                                to b1
    Connect("publisher", [ad], previous=b1, predicted=b2, proxies=[...])            to b2, or elsewhere
    Leave("publisher", proxies=[...])                                               where it is connected

A subscriber's is the same with its role; `next`, `predicted` and `proxies` mean nothing there. A driver
in which a client may move again before its last move is finished also counts connections: `Connect(...,
move=n)`. A subscriber that may be faster than a publication says which ones it has: `Connect(...,
seen=ids)`.

Algorithms (`ALGORITHMS`): "standard", "prefetching", "proxy", "delayed", "prefetching+delayed",
"delayed+ack".
"""

from __future__ import annotations

from pubmatch.mobility.advise import Advice, Outcome, advise
from pubmatch.mobility.algorithms import ALGORITHMS
from pubmatch.mobility.broker import Broker
from pubmatch.mobility.messages import (
    Acknowledge,
    Advertise,
    Connect,
    Disconnect,
    Event,
    Fetch,
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
)
from pubmatch.mobility.simulate import SimulationResult, simulate
from pubmatch.mobility.space import FilterSpace
from pubmatch.mobility.topology import Topology, balanced_tree, spanning_tree
from pubmatch.mobility.trace import Move, Trace, TraceError, read_trace

__all__ = [
    "ALGORITHMS",
    "Acknowledge",
    "Advertise",
    "Advice",
    "Broker",
    "Connect",
    "Disconnect",
    "Event",
    "Fetch",
    "FilterSpace",
    "Hold",
    "Leave",
    "Message",
    "Move",
    "Outcome",
    "Publish",
    "Release",
    "Replay",
    "ReplayEnd",
    "SimulationResult",
    "Subscribe",
    "Timer",
    "Topology",
    "Trace",
    "TraceError",
    "Unadvertise",
    "Unsubscribe",
    "advise",
    "balanced_tree",
    "read_trace",
    "simulate",
    "spanning_tree",
]
