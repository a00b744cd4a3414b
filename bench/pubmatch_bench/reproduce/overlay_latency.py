"""What a placement costs in time: the hops of a reading, and how long calculations keep it.

A calculation that emits r messages per second keeps a reading for half of 1/r on average before its part of
the result goes on. Fewer messages are lower load and longer waits: what the combiner saves it pays here.
"""

from __future__ import annotations

from pubmatch.overlay import TransferNetwork
from pubmatch_bench.record import Record

__all__ = ["latency"]


def latency(network: TransferNetwork) -> Record:
    """Return the mean hops and the mean wait of a filtered reading between its edge and the root's result.

    Parameters
    ----------
    network : TransferNetwork
        Its subscriptions have one calculation over one filter each.

    Returns
    -------
    dict
        `hops`: between different nodes, 0 to 2; `wait_s`: seconds in calculations, mean over readings;
        `worst_wait_s`: of the flow that waits longest.

    Examples
    --------
    Four readings per second, half of them pass; the joint, which is the root, emits a tenth of that:

    >>> from pubmatch.overlay import Calculate, Filter, Subscription
    >>> network = TransferNetwork.from_arrays([0, 32], [0, 1, 2, 3], bits=3)
    >>> mean = Calculate("mean", Filter("reading"))
    >>> network.subscribe(Subscription("mean", mean, ranges=[(0, 32)], subscriber=40))
    >>> latency(network)
    {'hops': 1.0, 'wait_s': 2.5, 'worst_wait_s': 2.5}
    """
    rates, combine = network.rates, network.policy == "combiner"
    hops = waits = readings = worst = 0.0
    for name in network.subscriptions:
        tree = network.tree(name)
        for joint in tree.joints:
            passed = [flow.publishers * rates.pub_rate * rates.rate_fil for flow in joint.flows]
            streams = [each * rates.rate_calc for each in passed]
            output = (max(streams) if combine else sum(streams)) / 2**joint.halvings
            for flow, amount, stream in zip(joint.flows, passed, streams, strict=True):
                wait = 0.5 / output + (0.5 / stream if combine else 0.0)
                hops += amount * ((flow.edge != joint.node) + (joint.node != tree.root))
                waits += amount * wait
                worst = max(worst, wait)
                readings += amount
    return {"hops": hops / readings, "wait_s": waits / readings, "worst_wait_s": worst}
