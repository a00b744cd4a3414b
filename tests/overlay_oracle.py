"""Loads of a transfer network by brute force: publisher by publisher, message by message, in fractions.

Knows of a network only what its inspection shows: nodes, publishers, and who sends to whom.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from pubmatch.overlay import Calculate, Filter, TransferNetwork


def owner(nodes: list[int], id: int) -> int:
    below = [node for node in nodes if node <= id]
    return below[-1] if below else nodes[0]


def distinct_filters(operator: Filter | Calculate) -> list[Filter]:
    """Filters in the order of a walk from the left, each once."""
    if isinstance(operator, Filter):
        return [operator]
    found: list[Filter] = []
    for each in operator.inputs:
        found.extend(given for given in distinct_filters(each) if given not in found)
    return found


def loads(network: TransferNetwork) -> dict[str, dict[int, Fraction]]:
    """Messages per second by role and node."""
    nodes = network.nodes.tolist()
    rates = network.rates
    pub, fil, calc = (Fraction(each) for each in (rates.pub_rate, rates.rate_fil, rates.rate_calc))
    result = {role: defaultdict(Fraction) for role in ("edge", "joint", "root")}
    heard: set[tuple[str, int]] = set()
    for name in network.subscriptions:
        tree = network.tree(name)
        operator = network.subscription(name).operator
        filters = distinct_filters(operator)
        joint_of = {(flow.source, flow.edge): flow.joint for flow in tree.flows}
        assert len(joint_of) == len(tree.flows), "a flow twice"
        arriving: dict[int, dict[int, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
        streams: dict[tuple[int, int], int] = defaultdict(int)
        for source, each in enumerate(filters):
            for position, place in enumerate(network.publishers(each.type).tolist()):
                if any(low <= place < high for low, high in tree.ranges[source]):
                    heard.add((each.type, position))
                    streams[source, owner(nodes, place)] += 1
        assert set(streams) == set(joint_of), "flows and publishers differ"
        combine = network.policy == "combiner" and isinstance(operator, Calculate)
        peaks: dict[int, dict[int, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
        for (source, edge), count in streams.items():
            joint = joint_of[source, edge]
            sent = count * pub * fil * (calc if combine else 1)
            arriving[joint][source] += count * pub * fil
            peaks[joint][source] = max(peaks[joint][source], sent)
            if joint != edge:
                result["edge"][edge] += sent
                result["joint"][joint] += sent
        for joint in tree.joints:
            if joint.node == tree.root:
                continue
            whole = {
                source
                for source in range(len(filters))
                if all(to == joint.node for (given, _), to in joint_of.items() if given == source)
            }
            out = emitted(operator, filters, arriving[joint.node], peaks[joint.node], whole, calc, combine)
            out *= Fraction(1, 2**joint.halvings)
            result["joint"][joint.node] += out
            result["root"][tree.root] += out
    for kind, position in heard:
        result["edge"][owner(nodes, int(network.publishers(kind)[position]))] += pub
    return result


def emitted(operator, filters, arriving, peaks, whole, calc, combine) -> Fraction:
    """What a joint sends to the root: results where it has everything, parts of them where it has not."""
    if isinstance(operator, Filter):
        return arriving[0]
    needs = {filters.index(each) for each in distinct_filters(operator)}
    sent: dict[Calculate, Fraction] = {}

    def rate(op: Calculate) -> Fraction:
        own = {filters.index(each) for each in op.inputs if isinstance(each, Filter)}
        if combine:
            total = max((peaks[each] for each in own), default=Fraction(0))
        else:
            total = calc * sum((arriving[each] for each in own), Fraction(0))
        if {filters.index(each) for each in distinct_filters(op)} <= whole:
            below = {each for each in op.inputs if isinstance(each, Calculate)}
            total += calc * sum((rate(each) for each in below), Fraction(0))
        return total

    def send(op: Calculate) -> None:
        sent[op] = rate(op)
        if not {filters.index(each) for each in distinct_filters(op)} <= whole:
            for each in op.inputs:
                if isinstance(each, Calculate):
                    send(each)

    if needs <= whole:
        return rate(operator)
    send(operator)
    return sum(sent.values(), Fraction(0))
