"""The public face of publisher clustering: names in, clusters out."""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Iterable

from pubmatch.arrays import checked_count
from pubmatch.clustering import strategy_1, strategy_2, strategy_3, strategy_4, strategy_31
from pubmatch.clustering.books import MAX_ADVERTISED, MAX_ATTRIBUTES, Books, InvariantError, Overlap
from pubmatch.clustering.bounds import max_clusters_bound
from pubmatch.clustering.model import Cluster, Delivery, attribute_set
from pubmatch.errors import ArgumentError, ArgumentTypeError

__all__ = ["STRATEGIES", "Clustering"]

STRATEGIES = ("1", "2", "3", "3.1", "4")
"""Strategies of the thesis, and "4", by cost."""

_ORDERS = ("descending", "random")
_LIMITED = ("3", "3.1", "4")
_MOST_CONNECTIONS = 2**62


class Clustering:
    """Publishers, their clusters and their subscribers.

    Not for several threads at a time.

    Parameters
    ----------
    strategy : str
        "1": no false positives, connections without limit. "2": few clusters. "3" and "3.1": as "1" while
        connections last, then as "2". "4": by cost, with the fewest false positives of the last three.
        Strategies 1 and 2 do not look at the number of connections. The default is "3.1", the best of the
        thesis: a join stays cheap among very many publishers. Where connections are limited, and a join may
        cost several times as much, "4" is the better choice.
    order : str
        The order in which strategies 3 and 3.1 look at clusters: "descending" by the number of combinations,
        of equal ones the oldest first, or "random".
    seed : int
        Seed of the random order and of local moves: same seed and calls, same clusters.
    local_moves : int
        Strategy 4 only: moves of single combinations tried after each join.

    Examples
    --------
    >>> c = Clustering(strategy="1")
    >>> c.join("p1", attributes={"A", "B"})
    >>> c.join("p2", attributes={"A", "C"})
    >>> len(c.clusters), c.cluster_of({"A"}), c.connections("p2")
    (3, 2, (2, 3))
    >>> c.subscribe("s1", {"A"})
    2
    >>> c.publish("p1")
    Delivery(deliveries=1, false_positives=0, by_cluster={1: (0, 0), 2: (1, 0)})
    """

    def __init__(
        self, strategy: str = "3.1", order: str = "descending", seed: int = 0, local_moves: int = 0
    ) -> None:
        if not isinstance(strategy, str):
            raise ArgumentTypeError(f"strategy must be a text, got {strategy!r}")
        if strategy not in STRATEGIES:
            raise ArgumentError(f"strategy must be one of {', '.join(STRATEGIES)}, got {strategy!r}")
        if not isinstance(order, str):
            raise ArgumentTypeError(f"order must be a text, got {order!r}")
        if order not in _ORDERS:
            raise ArgumentError(f"order must be one of {', '.join(_ORDERS)}, got {order!r}")
        self._moves = checked_count("local_moves", local_moves, least=0)
        if self._moves and strategy != "4":
            raise ArgumentError(f"local_moves are for strategy 4, got {self._moves} with strategy {strategy}")
        self._rng = random.Random(checked_count("seed", seed, least=0))
        self._strategy, self._order = strategy, order
        self._books = Books()
        self._publishers: dict[str, tuple[int, frozenset[str], int | None]] = {}
        self._members: dict[int, set[str]] = {}  # publishers of an advertisement
        self._numbers: dict[str, int] = {}  # of attributes that somebody advertises
        self._names: dict[int, str] = {}
        self._uses: Counter[str] = Counter()
        self._unused: list[int] = []  # numbers of attributes that nobody advertises any more
        self._subscriptions: dict[str, frozenset[str]] = {}
        self._audience: dict[int, list[tuple[frozenset[str], int]]] | None = None

    @property
    def strategy(self) -> str:
        """The strategy."""
        return self._strategy

    @property
    def order(self) -> str:
        """The order in which strategies 3 and 3.1 look at clusters."""
        return self._order

    # Publishers

    def join(self, publisher: str, attributes: Iterable[str], connections: int | None = None) -> None:
        """Let a publisher join.

        Parameters
        ----------
        publisher : str
            Its name, not in use.
        attributes : iterable of str
            What it advertises; every notification of it carries exactly these. At most 20.
        connections : int, optional
            The most clusters it can be connected to; unlimited if not given.
        """
        names = attribute_set(attributes, "advertisement")
        limit = self._check_join(publisher, names, connections)
        numbers = self._take_numbers(names)
        enforced = limit if self._strategy in _LIMITED else None
        self._books.begin(numbers, enforced)
        self._arrange()
        advertisement = self._books.finish()
        if self._strategy == "4":
            strategy_4.relieve(self._books, advertisement)
            strategy_4.improve(self._books, advertisement, self._moves, self._rng)
        self._publishers[publisher] = (advertisement, names, limit)
        self._members.setdefault(advertisement, set()).add(publisher)
        self._audience = None

    def leave(self, publisher: str) -> None:
        """Let a publisher leave; combinations that nobody else offers go, and clusters left empty with them.

        Subscribers to such a combination stay, and receive again once somebody offers it.
        """
        advertisement, names, limit = self._find(publisher)
        self._books.leave(advertisement, limit if self._strategy in _LIMITED else None)
        del self._publishers[publisher]
        self._members[advertisement].remove(publisher)
        if not self._members[advertisement]:
            del self._members[advertisement]
        for name in names:
            self._uses[name] -= 1
            if not self._uses[name]:
                del self._uses[name]
                number = self._numbers.pop(name)
                del self._names[number]
                heapq.heappush(self._unused, number)
        self._audience = None

    def __len__(self) -> int:
        """Return the number of publishers."""
        return len(self._publishers)

    def __contains__(self, publisher: object) -> bool:
        return publisher in self._publishers

    @property
    def publishers(self) -> tuple[str, ...]:
        """The publishers' names, in the order they joined."""
        return tuple(self._publishers)

    def advertisement(self, publisher: str) -> frozenset[str]:
        """Return the attributes a publisher advertises."""
        return self._find(publisher)[1]

    def limit(self, publisher: str) -> int | None:
        """Return the most connections a publisher can have; None is unlimited."""
        return self._find(publisher)[2]

    def connections(self, publisher: str) -> tuple[int, ...]:
        """Return the ids of the clusters a publisher is connected to, oldest first."""
        return tuple(self._books.clusters_of(self._find(publisher)[0]))

    # Clusters

    @property
    def cluster_count(self) -> int:
        """The number of clusters."""
        return self._books.cluster_count()

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """All clusters, oldest first."""
        return tuple(self._cluster(each) for each in self._books.cluster_ids())

    def cluster_of(self, combination: Iterable[str]) -> int | None:
        """Return the id of the cluster that owns a combination; None if nobody offers it."""
        return self._owner(attribute_set(combination, "combination"))

    def false_positive_rates(self) -> dict[int, float]:
        """Return the expected share of false positives in each cluster, by id.

        As in `expected_false_positive_rate`, with the subscriptions to one cluster only.
        """
        rates = {}
        for each in self._books.cluster_ids():
            combinations, _, publishers, useful = self._books.view(each)
            rates[each] = 1 - useful / (len(combinations) * publishers)
        return rates

    def expected_false_positive_rate(self) -> float:
        """Return false positives over deliveries, if subscriptions and senders are drawn uniformly.

        One subscriber per combination and one notification per publisher make exactly the expected
        proportions, so no message needs to be sent; 0.0 without publishers.

        Examples
        --------
        >>> c = Clustering(strategy="2")
        >>> c.join("p1", {"A"})
        >>> c.join("p2", {"B"})
        >>> c.join("p3", {"A", "B"})  # now {A, B, AB} is one cluster; p1 and p2 have one of the three
        >>> c.expected_false_positive_rate() == 4 / 9
        True
        """
        deliveries = self._books.deliveries()
        return 1 - self._books.useful() / deliveries if deliveries else 0.0

    def max_clusters_bound(self, n: int, m: int) -> int:
        """Return the most clusters that publishers with `m` of `n` attributes can lead to; see `bounds`."""
        return max_clusters_bound(self._strategy, n, m)

    def stats(self) -> dict[str, float]:
        """Return counts and means, by name.

        Examples
        --------
        >>> c = Clustering(strategy="1")
        >>> c.join("p1", {"A", "B"})
        >>> stats = c.stats()
        >>> stats["clusters"], stats["combinations"], stats["mean_connections"]
        (1, 3, 1.0)
        """
        degrees = [self._books.degree(entry[0]) for entry in self._publishers.values()]
        return {
            "publishers": len(self._publishers),
            "subscribers": len(self._subscriptions),
            "clusters": self._books.cluster_count(),
            "combinations": self._books.combination_count(),
            "connections": sum(degrees),
            "mean_connections": sum(degrees) / len(degrees) if degrees else 0.0,
            "max_connections": max(degrees, default=0),
            "expected_false_positive_rate": self.expected_false_positive_rate(),
        }

    def check(self) -> None:
        """Verify the invariants; raise `InvariantError` on a violation.

        No combination has two owners, every combination of every publisher has one, publishers are connected
        to the owners of their combinations and no others, nobody is above its limit (strategies 3, 3.1, 4),
        and what the books keep count of is what counting again gives.
        """
        self._books.verify()
        for publisher, (_, names, limit) in self._publishers.items():
            used = len(self.connections(publisher))
            if self._strategy in _LIMITED and limit is not None and used > limit:
                raise InvariantError(f"publisher {publisher!r} has {used} connections, its limit is {limit}")
            if self._owner(names) is None:
                raise InvariantError(f"no cluster owns the advertisement of publisher {publisher!r}")

    # Subscribers

    def subscribe(self, subscriber: str, combination: Iterable[str]) -> int:
        """Subscribe to an attribute combination that a publisher offers; return the cluster's id.

        A subscriber has one combination: subscribing again replaces it.
        """
        if not isinstance(subscriber, str):
            raise ArgumentTypeError(f"subscriber must be a text, got {subscriber!r}")
        names = attribute_set(combination, "combination")
        owner = self._owner(names)
        if owner is None:
            raise ArgumentError(f"nobody offers the combination {_shown(names)}")
        self._subscriptions[subscriber] = names
        self._audience = None
        return owner

    def unsubscribe(self, subscriber: str) -> bool:
        """Forget a subscriber; return whether it was there."""
        self._audience = None
        return self._subscriptions.pop(subscriber, None) is not None

    def publish(self, publisher: str) -> Delivery:
        """Send one notification with all a publisher's attributes to all its clusters; count who gets it."""
        advertisement, names, _ = self._find(publisher)
        if self._audience is None:
            self._audience = self._listeners()
        by_cluster = {}
        for cluster in self._books.clusters_of(advertisement):
            received = wrong = 0
            for combination, count in self._audience.get(cluster, ()):
                received += count
                if not combination <= names:
                    wrong += count
            by_cluster[cluster] = (received, wrong)
        return Delivery(
            sum(received for received, _ in by_cluster.values()),
            sum(wrong for _, wrong in by_cluster.values()),
            by_cluster,
        )

    # Inside

    def _arrange(self) -> None:
        match self._strategy:
            case "1":
                strategy_1.arrange(self._books)
            case "2":
                strategy_2.arrange(self._books)
            case "3":
                strategy_3.arrange(self._books, self._ordered())
            case "3.1":
                strategy_31.arrange(self._books, self._ordered())
            case _:
                strategy_4.arrange(self._books)

    def _ordered(self) -> list[Overlap]:
        overlaps = self._books.overlapping(by_size=self._order == "descending")
        if self._order == "random":
            self._rng.shuffle(overlaps)
        return overlaps

    def _check_join(self, publisher: str, names: frozenset[str], connections: int | None) -> int | None:
        if not isinstance(publisher, str):
            raise ArgumentTypeError(f"publisher must be a text, got {publisher!r}")
        if publisher in self._publishers:
            raise ArgumentError(f"publisher {publisher!r} has already joined")
        if len(names) > MAX_ADVERTISED:
            raise ArgumentError(
                f"an advertisement may have at most {MAX_ADVERTISED} attributes, publisher {publisher!r} has "
                f"{len(names)}: strategy {self._strategy} enumerates all combinations"
            )
        known = len(self._numbers) + len(names - self._numbers.keys())
        if known > MAX_ATTRIBUTES:
            raise ArgumentError(
                f"all publishers together may have at most {MAX_ATTRIBUTES} attributes, "
                f"with publisher {publisher!r} there would be {known}"
            )
        if connections is None:
            return None
        return min(checked_count("connections", connections), _MOST_CONNECTIONS)

    def _take_numbers(self, names: frozenset[str]) -> list[int]:
        """Return the attributes' numbers; sorted by name, so that hashing has no say in the clusters."""
        numbers = []
        for name in sorted(names):
            number = self._numbers.get(name)
            if number is None:
                number = heapq.heappop(self._unused) if self._unused else len(self._numbers)
                self._numbers[name], self._names[number] = number, name
            self._uses[name] += 1
            numbers.append(number)
        return numbers

    def _find(self, publisher: str) -> tuple[int, frozenset[str], int | None]:
        try:
            return self._publishers[publisher]
        except (KeyError, TypeError):
            raise ArgumentError(f"there is no publisher {publisher!r}") from None

    def _owner(self, names: frozenset[str]) -> int | None:
        try:
            return self._books.owner([self._numbers[name] for name in names]) or None
        except KeyError:
            return None

    def _cluster(self, each: int) -> Cluster:
        combinations, advertisements, _, _ = self._books.view(each)
        return Cluster(
            each,
            frozenset(frozenset(self._names[number] for number in numbers) for numbers in combinations),
            frozenset(name for advertisement in advertisements for name in self._members[advertisement]),
        )

    def _listeners(self) -> dict[int, list[tuple[frozenset[str], int]]]:
        """Return what is subscribed to in each cluster, and how often."""
        audience: dict[int, list[tuple[frozenset[str], int]]] = {}
        for combination, count in Counter(self._subscriptions.values()).items():
            owner = self._owner(combination)
            if owner is not None:
                audience.setdefault(owner, []).append((combination, count))
        return audience


def _shown(names: frozenset[str]) -> str:
    return "{" + ", ".join(sorted(names)) + "}"
