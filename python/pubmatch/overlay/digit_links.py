"""Which nodes a node of the core network is connected to, and the way a lookup takes over them.

Section III-A: a node knows its neighbours in id order and, for every 2-bit digit of its id, one node in each
of the three areas that differ from its own in that digit (a skip graph over prefixes, as figure 3 shows).
The link goes to the analogous position of the area, the own id with that one digit changed: if all nodes
linked to the first node of an area, a fifth of all lookups would pass through one node.

Everything is computed from the ascending list of nodes when it is asked for: no tables to repair after a
join, and no memory beside the ids. What a node decides on still is what it would know itself: its own id,
its neighbours and its links.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

__all__ = ["digit_link", "links", "lookup", "next_hop", "owner_position"]


def owner_position(nodes: Sequence[int], target: int) -> int:
    """Return the position of the node that owns an id: the largest not above it, else the lowest."""
    return max(bisect_right(nodes, target) - 1, 0)


def digit_link(nodes: Sequence[int], node: int, level: int, digit: int) -> int | None:
    """Return the node's link into the area where one digit of its id is another; None if nobody is there.

    Parameters
    ----------
    nodes : sequence of int
        All nodes, ascending.
    node : int
        Whose link.
    level : int
        Digits below the changed one: 0 for the last digit of an id.
    digit : int
        What the digit becomes, 0 to 3.

    Examples
    --------
    >>> digit_link([6, 8, 10, 11, 14], node=0b001010, level=1, digit=0b01)
    6
    """
    shift = 2 * level
    like = node & ~(3 << shift) | digit << shift
    start = like >> shift << shift
    position = bisect_right(nodes, like) - 1
    if position >= 0 and nodes[position] >= start:
        return nodes[position]
    position += 1
    if position < len(nodes) and nodes[position] < start + (1 << shift):
        return nodes[position]
    return None


def links(nodes: Sequence[int], node: int, bits: int) -> list[int]:
    """Return all that a node is connected to, ascending: neighbours and digit links.

    Digits count from the first on until no other node shares the node's prefix.

    Examples
    --------
    The paper's example, 001010 in a space of three digits:

    >>> links([2, 6, 8, 10, 11, 14, 40], node=10, bits=3)
    [2, 6, 8, 11, 14, 40]
    """
    place = bisect_left(nodes, node)
    found = set(nodes[max(place - 1, 0) : place + 2])
    for level in range(bits - 1, -1, -1):
        shift = 2 * level
        if not _shared(nodes, place, node >> shift + 2, shift + 2):
            break
        own = node >> shift & 3
        for digit in range(4):
            link = digit_link(nodes, node, level, digit) if digit != own else None
            if link is not None:
                found.add(link)
    found.discard(node)
    return sorted(found)


def _shared(nodes: Sequence[int], place: int, prefix: int, shift: int) -> bool:
    """Say whether another node has the prefix; if so, a neighbour in id order has it."""
    before = place > 0 and nodes[place - 1] >> shift == prefix
    return before or (place + 1 < len(nodes) and nodes[place + 1] >> shift == prefix)


def lookup(nodes: Sequence[int], start: int, target: int, bits: int) -> list[int]:
    """Return the nodes a lookup passes, from `start` to the owner of `target`, both included.

    Examples
    --------
    >>> lookup([2, 6, 8, 10, 11, 14, 40], start=40, target=15, bits=3)
    [40, 14]
    """
    path = [start]
    while (hop := next_hop(nodes, path[-1], target, bits)) is not None:
        following, target = hop
        path.append(following)
    return path


def next_hop(nodes: Sequence[int], node: int, target: int, bits: int) -> tuple[int, int] | None:
    """Return where a node sends a lookup on, and for which target; None if it owns the target itself.

    It sends it into the area of the first digit that differs. If nobody lives there, the owner is whoever
    comes before that area, so from here on the lookup is one for the last id before it, or for -1 if there is
    none and the lowest node is the owner. Each hop settles at least one digit of the target, and targets only
    move down, to ids with the same owner: lookups end. A lookup in two hundred meets a node twice, because
    the area it was sent into held nobody below the target; shunning such nodes made some walks long.
    """
    place = bisect_left(nodes, node)
    before = nodes[place - 1] if place else None
    after = nodes[place + 1] if place + 1 < len(nodes) else None
    while True:
        if (node <= target or before is None) and (after is None or target < after):
            return None
        if target < 0:
            return links(nodes, node, bits)[0], target  # the longest way down
        level = ((node ^ target).bit_length() - 1) // 2
        link = digit_link(nodes, node, level, target >> 2 * level & 3)
        if link is not None:
            known = [each for each in (link, before, after) if each is not None]
            return _nearest(target, known), target
        target = (target >> 2 * level << 2 * level) - 1


def _nearest(target: int, known: Sequence[int]) -> int:
    """Return the node that shares most digits with the target; of several, the largest not above it."""
    return min(known, key=lambda each: (_digits(each ^ target), each > target, abs(each - target)))


def _digits(difference: int) -> int:
    """Return how many digits are not shared, from the first that differs on."""
    return (difference.bit_length() + 1) // 2
