"""Which brokers are linked, and the line of cells that clients move along.

Advertisements are flooded, so the protocol needs a tree: on a cycle they would circle and publications would
arrive twice (the paper's "general graph topologies" hold only after a spanning tree was chosen).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Hashable, Iterable, Sequence

from pubmatch.arrays import checked_integer
from pubmatch.errors import ArgumentError

__all__ = ["Topology", "balanced_tree", "spanning_tree"]

Name = Hashable
Edge = tuple[Name, Name]

_MOST_BROKERS = 1_000_000


class Topology:
    """A tree of brokers, and the brokers that serve the cells of a line, in their order.

    Brokers have names (any hashable); inside simulations they are known by their positions, 0 to
    `len(topology) - 1`, in the order in which the links name them.

    Parameters
    ----------
    links : iterable of pairs
        The links between brokers. They must make a tree: a cycle or a broker that cannot be reached is an
        error. `spanning_tree` makes a tree of a general graph.
    cells : sequence, optional
        Names of the brokers that clients connect to, in the order of the line. By default the leaves, in
        depth-first order from the first broker named.

    Attributes
    ----------
    names : tuple
        The brokers' names.
    cells : tuple of int
        Positions of the brokers that serve the line.
    neighbours : tuple of tuple of int
        For each broker the positions it is linked to, ascending.
    depth_first : list of int
        All positions, each after its parent; the first one is the root.
    parents : list of int
        For each broker the neighbour towards the root; -1 for the root itself.

    Examples
    --------
    >>> city = Topology([("hub", "north"), ("hub", "south"), ("south", "harbour")])
    >>> [city.names[cell] for cell in city.cells]
    ['north', 'harbour']
    >>> [city.names[broker] for broker in city.path(city.position("north"), city.position("harbour"))]
    ['north', 'hub', 'south', 'harbour']
    """

    def __init__(self, links: Iterable[Edge], cells: Sequence[Name] | None = None) -> None:
        positions, pairs = _positions(links)
        self.names: tuple[Name, ...] = tuple(positions)
        self._positions = positions
        self._texts = {str(name): at for name, at in positions.items()}
        self.neighbours: tuple[tuple[int, ...], ...] = _adjacent(len(positions), pairs)
        self._lay_out(pairs)
        self.cells: tuple[int, ...] = self._default_cells() if cells is None else self._chosen(cells)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"Topology({len(self)} brokers, {len(self.cells)} cells)"

    def position(self, name: Name) -> int:
        """Return the position of a broker by its name; a name as text does as well."""
        found = self._positions.get(name)
        if found is None:
            found = self._texts.get(str(name))
        if found is None:
            raise ArgumentError(f"unknown broker {name!r}; the topology has {len(self)}")
        return found

    def next_hop(self, broker: int, target: int) -> int:
        """Return the neighbour of `broker` that lies towards `target`; both are positions."""
        at = self._entered[target]
        if not self._entered[broker] <= at < self._left[broker]:
            return self.parents[broker]
        if at == self._entered[broker]:
            raise ArgumentError(f"broker {self.names[broker]!r} needs no hop to itself")
        starts, children = self._children[broker]
        return children[bisect_right(starts, at) - 1]

    def path(self, start: int, end: int) -> list[int]:
        """Return the positions from `start` to `end`, both included."""
        path = [start]
        while path[-1] != end:
            path.append(self.next_hop(path[-1], end))
        return path

    def distance(self, start: int, end: int) -> int:
        """Return how many links lie between two brokers."""
        return len(self.path(start, end)) - 1

    def _lay_out(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Walk the tree once, depth first; refuse what is no tree. Subtrees become ranges of entry times."""
        count = len(self.names)
        if len(pairs) != count - 1:
            problem = "a cycle" if len(pairs) >= count else "brokers that cannot be reached"
            raise ArgumentError(
                f"brokers must be linked as a tree, got {count} brokers and {len(pairs)} links: {problem}; "
                "spanning_tree(links) chooses a tree"
            )
        self.parents = [-1] * count
        self._entered = [-1] * count
        self._left = [0] * count
        self.depth_first: list[int] = []
        stack = [0]
        while stack:
            broker = stack.pop()
            if self._entered[broker] >= 0:
                raise ArgumentError(f"brokers must be linked as a tree, but {self._cycle(broker)}")
            self._entered[broker] = len(self.depth_first)
            self.depth_first.append(broker)
            for child in reversed(self.neighbours[broker]):
                if child != self.parents[broker]:
                    self.parents[child] = broker
                    stack.append(child)
        if len(self.depth_first) < count:
            lost = next(at for at in range(count) if self._entered[at] < 0)
            raise ArgumentError(f"broker {self.names[lost]!r} cannot be reached from {self.names[0]!r}")
        self._measure_subtrees()

    def _cycle(self, broker: int) -> str:
        return f"{self.names[broker]!r} lies on a cycle; spanning_tree(links) chooses a tree"

    def _measure_subtrees(self) -> None:
        size = [1] * len(self.names)
        for broker in reversed(self.depth_first):
            self._left[broker] = self._entered[broker] + size[broker]
            if self.parents[broker] >= 0:
                size[self.parents[broker]] += size[broker]
        self._children = []
        for broker in range(len(self.names)):
            children = [each for each in self.neighbours[broker] if each != self.parents[broker]]
            children.sort(key=self._entered.__getitem__)
            self._children.append(([self._entered[each] for each in children], children))

    def _default_cells(self) -> tuple[int, ...]:
        leaves = tuple(broker for broker in self.depth_first if len(self.neighbours[broker]) == 1)
        return leaves if len(leaves) >= 2 else tuple(range(len(self.names)))

    def _chosen(self, cells: Sequence[Name]) -> tuple[int, ...]:
        chosen = tuple(self.position(name) for name in cells)
        if not chosen:
            raise ArgumentError("cells must name at least one broker, got none")
        if len(set(chosen)) < len(chosen):
            twice = next(name for at, name in enumerate(cells) if name in cells[:at])
            raise ArgumentError(f"cells must differ, got {twice!r} twice")
        return chosen


def balanced_tree(degree: int = 4, levels: int = 4) -> Topology:
    """Return a tree in which every broker but the leaves has `degree` children.

    The default is the paper's: 1 + 4 + 16 + 64 = 85 brokers, numbered level by level, so that the leaves 21
    to 84 serve 64 cells of half a kilometre.

    Examples
    --------
    >>> balanced_tree()
    Topology(85 brokers, 64 cells)
    >>> balanced_tree(10, 5)
    Topology(11111 brokers, 10000 cells)
    """
    degree, levels = checked_integer("degree", degree), checked_integer("levels", levels)
    for name, value in (("degree", degree), ("levels", levels)):
        if value < 2:
            raise ArgumentError(f"{name} must be at least 2, got {value}")
    count, width = 0, 1
    for _ in range(levels):
        count, width = count + width, width * degree
        if count > _MOST_BROKERS:
            raise ArgumentError(f"a tree may have {_MOST_BROKERS} brokers, got {count} or more")
    return Topology([((child - 1) // degree, child) for child in range(1, count)])


def spanning_tree(
    links: Iterable[Edge], root: Name | None = None, cells: Sequence[Name] | None = None
) -> Topology:
    """Choose a tree of shortest paths from a root among the links of a connected graph.

    Parameters
    ----------
    links : iterable of pairs
        The links of the graph; cycles and repeated links are allowed.
    root : hashable, optional
        The broker that paths are shortest from; by default the first one named.
    cells : sequence, optional
        As for `Topology`.

    Examples
    --------
    >>> ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> tree = spanning_tree(ring)
    >>> [tree.names[broker] for broker in tree.path(tree.position(2), tree.position(3))]
    [2, 1, 0, 3]
    """
    positions, pairs = _positions(links, repeated=True)
    names = tuple(positions)
    if root is not None and root not in positions:
        raise ArgumentError(f"unknown broker {root!r}; the links name {len(names)}")
    start = 0 if root is None else positions[root]
    neighbours = _adjacent(len(names), pairs)
    parent = {start: start}
    queue = deque([start])
    while queue:
        broker = queue.popleft()
        for each in neighbours[broker]:
            if each not in parent:
                parent[each] = broker
                queue.append(each)
    if len(parent) < len(names):
        lost = next(at for at in range(len(names)) if at not in parent)
        raise ArgumentError(f"broker {names[lost]!r} cannot be reached from {names[start]!r}")
    chosen = [(names[above], names[broker]) for broker, above in parent.items() if broker != above]
    return Topology(chosen, cells)


def _positions(
    links: Iterable[Edge], repeated: bool = False
) -> tuple[dict[Name, int], list[tuple[int, int]]]:
    """Number the brokers as they are named; refuse links to oneself and, unless allowed, repeated ones."""
    positions: dict[Name, int] = {}
    pairs: dict[tuple[int, int], None] = {}
    for number, link in enumerate(links):
        try:
            one, other = link
        except (TypeError, ValueError):
            raise ArgumentError(f"link {number} must be a pair of brokers, got {link!r}") from None
        if one == other:
            raise ArgumentError(f"link {number} joins broker {one!r} to itself")
        a = positions.setdefault(one, len(positions))
        b = positions.setdefault(other, len(positions))
        pair = (min(a, b), max(a, b))
        if pair in pairs and not repeated:
            raise ArgumentError(f"link {number} repeats the link of {one!r} and {other!r}: a cycle of two")
        pairs[pair] = None
    if not pairs:
        raise ArgumentError("a topology needs at least one link, got none")
    return positions, list(pairs)


def _adjacent(count: int, pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    adjacent: list[list[int]] = [[] for _ in range(count)]
    for a, b in pairs:
        adjacent[a].append(b)
        adjacent[b].append(a)
    return tuple(tuple(sorted(each)) for each in adjacent)
