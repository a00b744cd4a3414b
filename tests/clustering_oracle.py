"""The thesis' algorithms 1 to 4 as sets of sets, line by line and slowly: what the clusters must be."""

from __future__ import annotations

import itertools


def power_set(attributes):
    names = sorted(attributes)
    return {
        frozenset(part) for size in range(1, len(names) + 1) for part in itertools.combinations(names, size)
    }


class Oracle:
    """Clusters by id; publishers with attributes and limit; nothing else is remembered."""

    def __init__(self, strategy):
        self.strategy, self.clusters, self.publishers, self.last = strategy, {}, {}, 0

    def used(self, name):
        offered = power_set(self.publishers[name][0])
        return sum(1 for owned in self.clusters.values() if owned & offered)

    def free(self, name):
        limit = self.publishers[name][1]
        return float("inf") if limit is None else limit - self.used(name)

    def exhausted(self, combinations):
        """Tell whether somebody who offers one of the combinations has no connection left."""
        return any(
            self.free(name) < 1
            for name, (attributes, _) in self.publishers.items()
            if combinations & power_set(attributes)
        )

    def new(self, combinations):
        self.last += 1
        self.clusters[self.last] = set(combinations)

    def take_out(self, cluster, part):
        self.clusters[cluster] -= part
        self.new(part)

    def join(self, name, attributes, limit):
        left = power_set(attributes)
        order = sorted(self.clusters)
        if self.strategy in ("3", "3.1"):
            order.sort(key=lambda each: -len(self.clusters[each]))
        free = float("inf") if limit is None else limit
        included, overlapping = [], []
        for each in order:
            owned = self.clusters[each]
            shared = left & owned
            if not shared:
                continue
            if owned <= left:
                if self.strategy == "1":
                    left -= owned
                else:
                    included.append(each)
                continue
            if self.strategy == "1":
                self.take_out(each, shared)
            elif self.strategy == "2":
                pass
            elif free <= 1:
                overlapping.append(each)
                continue
            elif self.strategy == "3":
                if not self.exhausted(set(owned)):
                    self.take_out(each, shared)
            else:
                possible = {part for part in shared if not self.exhausted({part})}
                if possible == shared:
                    self.take_out(each, shared)
                elif free > 2 and possible:
                    self.take_out(each, possible)
                    free -= 1
            free -= 1
            left -= shared
        while self.strategy in ("3", "3.1") and included and free > 1:
            left -= self.clusters[included.pop(0)]
            free -= 1
        if left:
            merged = [self.clusters.pop(each) for each in included + overlapping]
            self.new(left.union(*merged))
        self.publishers[name] = (frozenset(attributes), limit)

    def leave(self, name):
        del self.publishers[name]
        offered = set().union(*(power_set(attributes) for attributes, _ in self.publishers.values()))
        remaining = {each: owned & offered for each, owned in self.clusters.items()}
        self.clusters = {each: owned for each, owned in remaining.items() if owned}

    def view(self):
        """Return id → (combinations, publishers)."""
        return {
            each: (
                frozenset(owned),
                frozenset(name for name, entry in self.publishers.items() if owned & power_set(entry[0])),
            )
            for each, owned in self.clusters.items()
        }


def view(clustering):
    return {each.id: (each.combinations, each.publishers) for each in clustering.clusters}


def expected_rate(clusters, advertisements):
    """False positives over deliveries: one subscriber per combination, one notification per publisher."""
    deliveries = false = 0
    for combinations, publishers in clusters.values():
        for combination, name in itertools.product(combinations, publishers):
            deliveries += 1
            false += not combination <= advertisements[name]
    return false / deliveries if deliveries else 0.0
