"""How much the mobility reproduction runs, and the scenarios of the paper's section 4."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

PAPER = ("standard", "prefetching", "proxy", "delayed")
OURS = ("prefetching+delayed", "delayed+ack")
ALL = (*PAPER, *OURS)


@dataclasses.dataclass(frozen=True)
class Scenario:
    """The arguments of one simulation.

    Examples
    --------
    >>> Scenario("delayed", publishers=250).label()
    'delayed, 250 publishers'
    """

    algorithm: str
    publishers: int = 50
    subscribers: int = 500
    speed_kmh: float = 50
    message_bytes: float = 448
    walk: str = "persistent"
    overshoot: int | None = None
    locality: float = 0.0
    mobile_subscribers: int = 0
    synchronised: bool = False
    duration_s: float = 240
    seed: int = 1

    def label(self) -> str:
        """Say in what it differs from the paper's default, for messages."""
        values = dataclasses.asdict(self)
        fields = [field for field in dataclasses.fields(self)[1:] if field.name not in ("duration_s", "seed")]
        changed = [
            f"{values[field.name]} {field.name}" for field in fields if values[field.name] != field.default
        ]
        return ", ".join([self.algorithm, *changed])


@dataclasses.dataclass(frozen=True)
class Plan:
    """Counts of a run.

    Attributes
    ----------
    seeds : int
        Runs that each mean is taken over.
    duration_s : float
        Measured seconds of each.
    publishers, speeds, subscribers, localities, overshoots, sizes : tuple
        What is varied: publishers (figures 4 to 6), km/h (7, 8), subscribers, shares of publishers with the
        same publication (9, 10), brokers beyond the proxies, bytes of a message.
    crowd : int
        Publishers where the paper has 250.
    roamers : int
        Subscribers that move where both kinds of clients do.
    jobs : int
        Processes at work; the results do not depend on it.
    seed : int
        The first seed.
    """

    seeds: int = 2
    duration_s: float = 240
    publishers: tuple[int, ...] = (50, 100, 150, 200, 250)
    speeds: tuple[float, ...] = (25, 50, 75, 100)
    subscribers: tuple[int, ...] = (500, 2500, 5000)
    localities: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
    overshoots: tuple[int, ...] = (0, 1, 2, 3, 5, 8, 12, 16)
    sizes: tuple[float, ...] = (56, 112, 224, 448, 672, 896)
    crowd: int = 250
    roamers: int = 100
    jobs: int = 1
    seed: int = 1

    def parameters(self) -> dict[str, Any]:
        """Return the plan as JSON would hold it; how many processes shared the work is no part of it."""
        values = dataclasses.asdict(self)
        del values["jobs"]
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}

    def seeded(self, scenario: Scenario) -> list[Scenario]:
        """Return the scenario once per seed, as long as the plan says."""
        return [
            dataclasses.replace(scenario, seed=self.seed + turn, duration_s=self.duration_s)
            for turn in range(self.seeds)
        ]

    def groups(self) -> dict[str, list[Scenario]]:
        """Return every scenario by the question it belongs to; one may belong to several."""
        base = {each: Scenario(each) for each in ALL}
        replace = dataclasses.replace

        def over(name: str, values: tuple[Any, ...], algorithms: tuple[str, ...] = ALL) -> list[Scenario]:
            return [replace(base[each], **{name: value}) for value in values for each in algorithms]

        crowded = {each: replace(base[each], publishers=self.crowd) for each in ALL}
        return {
            "publishers": over("publishers", self.publishers),
            "crowd": list(crowded.values()),
            "speed": over("speed_kmh", self.speeds),
            "synchronised": [
                replace(each, synchronised=True) for each in over("speed_kmh", self.speeds, PAPER)
            ],
            "subscribers": over("subscribers", self.subscribers),
            "locality": over("locality", self.localities),
            "overshoot": over("overshoot", self.overshoots, ("proxy", "delayed", "delayed+ack")),
            "random walk": over("walk", ("random",)),
            "size": [
                replace(crowded[each], message_bytes=size)
                for size in self.sizes
                for each in ("standard", "prefetching", "proxy", "delayed")
            ],
            "both mobile": [replace(base[each], mobile_subscribers=self.roamers) for each in ALL],
        }

    def scenarios(self) -> Iterator[Scenario]:
        """Return all runs, each once."""
        listed = [run for group in self.groups().values() for each in group for run in self.seeded(each)]
        yield from dict.fromkeys(listed)


FULL = Plan()
QUICK = dataclasses.replace(
    FULL,
    seeds=1,
    duration_s=120,
    publishers=(50, 150, 250),
    speeds=(25, 100),
    subscribers=(500, 5000),
    localities=(0.0, 0.9, 1.0),
    overshoots=(0, 2, 5, 8),
    sizes=(112, 448, 896),
)
