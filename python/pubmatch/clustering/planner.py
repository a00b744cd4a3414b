"""Shards from attribute combinations: which subscriptions lie together, where a publisher's events go.

A shard plays the part of a cluster. Subscriptions with the same combination of attributes share a shard; an
event goes to every shard with a combination that its publisher offers, and meets the others there in vain.
Only combinations that somebody subscribes to count, so advertisements may be of any size.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from pubmatch.arrays import checked_count
from pubmatch.clustering.model import attribute_set
from pubmatch.clustering.packing import Packing
from pubmatch.errors import ArgumentError, ArgumentTypeError

__all__ = ["ShardPlan", "hash_shards", "plan_shards"]

Combination = frozenset[str]


@dataclasses.dataclass(frozen=True)
class ShardPlan:
    """Where subscriptions lie and events go, and what that costs.

    Attributes
    ----------
    shards : int
        Number of shards; some may be empty.
    shard_of : dict
        The shard of each subscribed attribute combination.
    publisher_shards : dict
        The shards that each publisher's events go to, ascending.
    loads : tuple of int
        Subscriptions in each shard.
    deliveries : float
        Subscriptions that an event meets, on average over publishers: those of all shards it goes to.
    useful : float
        Of these, subscriptions whose attributes the event has.
    fan_out : float
        Shards an event goes to, on average.
    balance : float
        The largest shard's work (subscriptions times publishers) over the mean; 1 is even.
    """

    shards: int
    shard_of: Mapping[Combination, int]
    publisher_shards: Mapping[str, tuple[int, ...]]
    loads: tuple[int, ...]
    deliveries: float
    useful: float
    fan_out: float
    balance: float

    @property
    def wasted(self) -> float:
        """Subscriptions that an event meets in vain: it lacks one of their attributes."""
        return self.deliveries - self.useful

    @property
    def wasted_share(self) -> float:
        """The share of deliveries that are wasted; 0 if there are none."""
        return self.wasted / self.deliveries if self.deliveries else 0.0


def plan_shards(
    subscriptions: Iterable[Iterable[str]] | Mapping[str, Iterable[str]],
    publishers: Iterable[Iterable[str]] | Mapping[str, Iterable[str]],
    shards: int,
    connections: int | None = None,
) -> ShardPlan:
    """Assign attribute combinations to shards so that few deliveries are wasted.

    Combinations are placed one by one where they cost least, the heaviest first, within the publishers'
    limits and with no shard a quarter above the mean if that can be; where a limit leaves no shard, shards
    are merged.
    Then each is looked at again, until nothing gets better or two rounds are over.

    Parameters
    ----------
    subscriptions : iterable of iterable of str, or mapping
        The attributes each subscription constrains; of a mapping, the values. None at all is allowed: such a
        subscription wants every event.
    publishers : mapping of str to iterable of str, or iterable
        The attributes each publisher's events carry. Without a mapping they are called "p1", "p2", …
    shards : int
        Number of shards.
    connections : int, optional
        The most shards a publisher's events may go to; as many as there are if not given.

    Examples
    --------
    >>> plan = plan_shards([{"A"}, {"A", "B"}, {"C"}], {"p1": {"A", "B"}, "p2": {"C"}}, shards=2)
    >>> plan.publisher_shards, plan.wasted
    ({'p1': (1,), 'p2': (0,)}, 0.0)
    """
    wanted, offered = _combinations(subscriptions), _publishers(publishers)
    count = checked_count("shards", shards)
    limit = count if connections is None else checked_count("connections", connections)
    kinds, weights = _kinds(offered)
    holds = _holds(list(wanted), kinds)
    packing = Packing(holds, np.array(list(wanted.values()), dtype=np.int64), weights, count, limit)
    packing.place_all()
    packing.improve(rounds=2)
    return _plan(wanted, offered, kinds, holds, weights, packing.shard, count)


def hash_shards(
    subscriptions: Iterable[Iterable[str]] | Mapping[str, Iterable[str]],
    publishers: Iterable[Iterable[str]] | Mapping[str, Iterable[str]],
    shards: int,
) -> ShardPlan:
    """Assign combinations to shards by a hash, without regard to publishers: what a plan is measured against.

    Parameters
    ----------
    subscriptions, publishers, shards
        As in `plan_shards`.

    Examples
    --------
    >>> hash_shards([{"A"}, {"C"}], [{"A"}, {"C"}], shards=1).wasted_share
    0.5
    """
    wanted, offered = _combinations(subscriptions), _publishers(publishers)
    count = checked_count("shards", shards)
    kinds, weights = _kinds(offered)
    shard = np.array(
        [zlib.crc32("\0".join(sorted(combination)).encode()) % count for combination in wanted],
        dtype=np.int64,
    )
    return _plan(wanted, offered, kinds, _holds(list(wanted), kinds), weights, shard, count)


def _combinations(
    subscriptions: Iterable[Iterable[str]] | Mapping[str, Iterable[str]],
) -> Counter[Combination]:
    """Count the distinct combinations, in an order that does not depend on hashing."""
    listed = _listed(subscriptions.values() if isinstance(subscriptions, Mapping) else subscriptions)
    counted = Counter(_names(attributes, f"subscription {place}") for place, attributes in enumerate(listed))
    return Counter({each: counted[each] for each in sorted(counted, key=sorted)})


def _publishers(publishers: Iterable[Iterable[str]] | Mapping[str, Iterable[str]]) -> dict[str, Combination]:
    if isinstance(publishers, Mapping):
        named = dict(publishers)
    else:
        named = {f"p{place + 1}": each for place, each in enumerate(_listed(publishers))}
    if not named:
        raise ArgumentError("publishers must not be empty: nobody would send events")
    return {name: attribute_set(each, f"advertisement of {name!r}") for name, each in named.items()}


def _listed(sets: Iterable[Iterable[str]]) -> list[Iterable[str]]:
    try:
        return list(sets)
    except TypeError:
        raise ArgumentTypeError(f"expected sets of attribute names, got {sets!r}") from None


def _names(attributes: Iterable[str], what: str) -> Combination:
    if isinstance(attributes, frozenset | set | list | tuple) and not attributes:
        return frozenset()
    return attribute_set(attributes, what)


def _kinds(offered: Mapping[str, Combination]) -> tuple[list[Combination], npt.NDArray[np.int64]]:
    """Return the distinct advertisements and how many publishers have each."""
    counted = Counter(offered.values())
    kinds = sorted(counted, key=sorted)
    return kinds, np.array([counted[kind] for kind in kinds], dtype=np.int64)


def _holds(combinations: list[Combination], kinds: list[Combination]) -> npt.NDArray[np.bool_]:
    """Tell which advertisement offers which combination: a row for each combination."""
    names = sorted({name for each in (*combinations, *kinds) for name in each})
    number = {name: place for place, name in enumerate(names)}

    def marked(sets: list[Combination]) -> npt.NDArray[np.float32]:
        marks = np.zeros((len(sets), len(names)), dtype=np.float32)
        for row, each in enumerate(sets):
            marks[row, [number[name] for name in each]] = 1
        return marks

    missing = marked(combinations) @ (1 - marked(kinds)).T
    none: npt.NDArray[np.bool_] = missing == 0
    return none


def _plan(
    wanted: Counter[Combination],
    offered: Mapping[str, Combination],
    kinds: list[Combination],
    holds: npt.NDArray[np.bool_],
    weights: npt.NDArray[np.int64],
    shard: npt.NDArray[np.int64],
    count: int,
) -> ShardPlan:
    """Add up what an assignment costs."""
    subscriptions = np.array(list(wanted.values()), dtype=np.int64)
    loads = np.bincount(shard, weights=subscriptions, minlength=count).astype(np.int64)
    goes = np.zeros((count, len(kinds)), dtype=bool)
    for combination, place in enumerate(shard):
        goes[place] |= holds[combination]
    total = int(weights.sum())
    work = loads * (goes @ weights)
    visits = {kind: tuple(np.flatnonzero(goes[:, place]).tolist()) for place, kind in enumerate(kinds)}
    return ShardPlan(
        shards=count,
        shard_of={combination: int(place) for combination, place in zip(wanted, shard, strict=True)},
        publisher_shards={name: visits[kind] for name, kind in offered.items()},
        loads=tuple(loads.tolist()),
        deliveries=float(work.sum()) / total,
        useful=float(subscriptions @ (holds @ weights)) / total,
        fan_out=float((goes @ weights).sum()) / total,
        balance=float(work.max() / work.mean()) if work.any() else 1.0,
    )
