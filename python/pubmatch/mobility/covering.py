"""Covering and un-covering: which of the filters a neighbour should know are sent to it.

A filter is *required* towards a neighbour if it is known from another direction (and, for subscriptions,
if the neighbour has advertised something it meets). Of the required filters exactly the maximal ones
under covering are sent; the others are *hidden*. Neighbours are bits of a mask, so one step decides for
all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from pubmatch.mobility.relations import Relations

__all__ = ["Change", "Sendings", "settle"]

Change: TypeAlias = tuple[int, int, int]  # content, required before, required after
Sendings: TypeAlias = list[tuple[int, int]]  # content, mask of neighbours


def settle(
    changes: Sequence[Change], required: Callable[[int], int], hidden: dict[int, int], relations: Relations
) -> tuple[Sendings, Sendings]:
    """What must be sent and then withdrawn, after some filters became required or ceased to be.

    Parameters
    ----------
    changes : sequence of (content, before, after)
        The neighbours each content was required towards, and is now.
    required : callable
        The neighbours any content is required towards now.
    hidden : dict
        The neighbours each required content is hidden from; brought up to date.
    relations : Relations
        What covers what.

    Returns
    -------
    sends, withdrawals : list of (content, mask)
        To be sent in this order, so that no neighbour is ever without a filter that it needs: a hidden filter
        is sent before the one that hid it goes, a filter that hides another goes out before the other is
        withdrawn.
    """
    if len(changes) == 1:
        content, before, after = changes[0]
        if relations.is_alone(content):
            gained, lost = after & ~before, before & ~after
            return [(content, gained)] if gained else [], [(content, lost)] if lost else []
    sends: Sendings = []
    withdrawals: Sendings = []
    withdrawn: Sendings = []
    for content, before, after in changes:
        gained, lost = after & ~before, before & ~after
        old = hidden.get(content, 0)
        covered = _covered(content, gained, required, relations)
        _set(hidden, content, (old & ~lost) | covered)
        if gained & ~covered:
            sends.append((content, gained & ~covered))
        if lost & ~old:
            withdrawn.append((content, lost & ~old))
    # What is hidden stays so below something new that is hidden itself, and below something gone that was.
    for content, mask in tuple(sends):
        for below in relations.covered(content):
            newly = required(below) & mask & ~hidden.get(below, 0)
            if newly:
                hidden[below] = hidden.get(below, 0) | newly
                withdrawals.append((below, newly))
    for content, mask in withdrawn:
        sends += _uncover(content, mask, required, hidden, relations)
    return sends, withdrawals + withdrawn


def _uncover(
    content: int, mask: int, required: Callable[[int], int], hidden: dict[int, int], relations: Relations
) -> Sendings:
    """Send what only a filter that is gone has hidden.

    Wide ones come first: what such a one covers need not be asked about.
    """
    near = {each: hidden[each] & mask for each in relations.covered(content) if hidden.get(each, 0) & mask}
    exposed: Sendings = []
    for each in relations.widest_first(near):
        asked = near[each]
        bare = asked & ~_covered(each, asked, required, relations) if asked else 0
        if bare:
            _set(hidden, each, hidden[each] & ~bare)
            exposed.append((each, bare))
            for below in relations.covered(each):
                if below in near:
                    near[below] &= ~bare
    return exposed


def _covered(content: int, mask: int, required: Callable[[int], int], relations: Relations) -> int:
    """The neighbours of the mask towards which something that covers the content is required."""
    found = 0
    if mask:
        for above in relations.covering(content):
            found |= required(above)
            if not mask & ~found:
                break
    return found & mask


def _set(hidden: dict[int, int], content: int, mask: int) -> None:
    if mask:
        hidden[content] = mask
    else:
        hidden.pop(content, None)
