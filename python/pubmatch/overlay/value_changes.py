"""Changes of the trees while readings are under way: segments end at one joint and begin at another."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from pubmatch.overlay.transfer_network import TransferNetwork
from pubmatch.overlay.value_exchange import ValueExchange
from pubmatch.overlay.value_streams import Stream

__all__ = ["ValueChanges"]

Outcome = TypeVar("Outcome")


class ValueChanges(ValueExchange):
    """Readings that follow a network that changes; see `ValueSimulation` for the parameters."""

    def apply(self, change: Callable[[TransferNetwork], Outcome]) -> Outcome:
        """Change the network in good order, with all readings under way, and return what the change returns.

        Examples
        --------
        `simulation.apply(lambda network: network.balance())`
        """
        before = set(self.network.nodes.tolist())
        outcome = change(self.network)
        self._read_batches()
        for node in set(self.network.nodes.tolist()) - before:
            self._transport.revive(node)
        for name in [each for each in self._roots if each not in self.network]:
            self._drop(name)
        for name in self._roots:
            self._hand_over_root(name)
            for stream in self._undone(name):
                joint = self._joint_of(stream)
                opened = stream.open
                if opened is not None and opened.joint != joint and self._transport.alive(stream.host):
                    self._close(stream, opened, final=False)
                    self._open(stream, opened.end or 0, joint)
        return outcome

    def _undone(self, name: str) -> list[Stream]:
        return [
            stream
            for (given, _), streams in self._streams.items()
            if given == name
            for stream in streams.values()
        ]

    def _joint_of(self, stream: Stream) -> int:
        """The joint of a stream's flow in the network as it is now; the one it has if the flow is gone."""
        flows = self.network.flow_arrays(stream.key.subscription)
        same = (flows["source"] == stream.key.source) & (flows["edge"] == stream.host)
        if same.any():
            return int(flows["joint"][np.argmax(same)])
        last = stream.segments[-1].joint
        if self._transport.alive(last):
            return last
        return (
            int(flows["joint"][0]) if len(flows["joint"]) else self.network.tree(stream.key.subscription).root
        )

    def _hand_over_root(self, name: str) -> None:
        """A root that gives up its place in good order hands over all it has."""
        old, operator = self._roots[name]
        new = self.network.tree(name).root
        if new != old and self._transport.alive(old):
            self._roots[name] = (new, operator)

    def _drop(self, name: str) -> None:
        del self._roots[name]
        for place in [each for each in self._joints if each[0] == name]:
            del self._joints[place]
        for place in [each for each in self._streams if each[0] == name]:
            del self._streams[place]
        for place in [each for each in self._listening if each[0] == name]:
            del self._listening[place]
        self.results.pop(name, None)
