"""Planned shards: limits kept, nothing missed, costs as counted, and less waste than a hash."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

import pubmatch as pm
from pubmatch.clustering import hash_shards, plan_shards, random_publishers

SETS = st.frozensets(st.sampled_from("ABCDEF"), max_size=4)


def counted(plan, subscriptions, publishers):
    """Count deliveries and useful ones, event by event."""
    deliveries = useful = 0
    for name, attributes in publishers.items():
        for combination in subscriptions:
            reached = plan.shard_of[combination] in plan.publisher_shards[name]
            assert reached or not combination <= attributes
            deliveries += reached
            useful += combination <= attributes
    return deliveries / len(publishers), useful / len(publishers)


@given(
    subscriptions=st.lists(SETS, max_size=12),
    advertised=st.lists(SETS.filter(bool), min_size=1, max_size=6),
    shards=st.integers(1, 4),
    limit=st.none() | st.integers(1, 4),
)
def test_plans_are_whole_and_within_limits(subscriptions, advertised, shards, limit):
    publishers = {f"p{place}": attributes for place, attributes in enumerate(advertised)}
    plan = plan_shards(subscriptions, publishers, shards, limit)
    assert set(plan.shard_of) == set(subscriptions)
    assert all(0 <= shard < shards for shard in plan.shard_of.values())
    assert all(len(visited) <= (limit or shards) for visited in plan.publisher_shards.values())
    assert sum(plan.loads) == len(subscriptions)
    assert (plan.deliveries, plan.useful) == pytest.approx(counted(plan, subscriptions, publishers))
    hashed = hash_shards(subscriptions, publishers, shards)
    assert (hashed.deliveries, hashed.useful) == pytest.approx(counted(hashed, subscriptions, publishers))


def test_less_waste_than_a_hash_on_data_like_w2():
    drawn = random_publishers(5000, n=20, attributes=(2, 5), zipf=1.0, seed=1)
    subscriptions = {each.name: each.attributes for each in drawn}
    publishers = {
        each.name: each.attributes
        for each in random_publishers(200, n=20, attributes=(4, 8), zipf=1.0, seed=2)
    }
    hashed = hash_shards(subscriptions, publishers, 8)
    planned = plan_shards(subscriptions, publishers, 8)
    limited = plan_shards(subscriptions, publishers, 8, connections=5)
    assert planned.wasted < 0.7 * hashed.wasted
    assert planned.useful == limited.useful == hashed.useful
    assert planned.balance < 1.6
    assert max(map(len, limited.publisher_shards.values())) <= 5
    assert limited.wasted < hashed.wasted
    assert plan_shards(subscriptions, publishers, 8, connections=5) == limited


def test_wide_advertisements_need_no_enumeration():
    wide = {f"a{number}" for number in range(200)}
    plan = plan_shards([{"a1", "a2"}, {"b"}], [wide, {"b"}], shards=2)
    assert plan.wasted_share == 0


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([], [], 2), pm.ArgumentError, "publishers must not be empty"),
        (([], {"p": set()}, 2), pm.ArgumentError, "advertisement of 'p' must have at least one"),
        (([], [{"A"}], 0), pm.ArgumentError, "shards must be at least 1"),
        (([], [{"A"}], 2, 0), pm.ArgumentError, "connections must be at least 1"),
        ((["AB"], [{"A"}], 2), pm.ArgumentTypeError, "subscription 0"),
        ((5, [{"A"}], 2), pm.ArgumentTypeError, "got 5"),
        (([[3]], [{"A"}], 2), pm.ArgumentTypeError, "subscription 0"),
    ],
)
def test_plans_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        plan_shards(*arguments)
