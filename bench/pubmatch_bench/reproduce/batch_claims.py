"""The batch paper's claims, judged on what was measured; each verdict names its numbers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from pubmatch_bench.record import Record
from pubmatch_bench.reproduce.batch_plan import Plan
from pubmatch_bench.reproduce.claims import Claim
from pubmatch_bench.reproduce.race import NOISE

LEAST_IMPROVEMENT = 38.0
"""Per cent that the paper's tree should save at the largest batch; the paper says nearly 50."""

CLOSE = 1.05
"""How far above the best fixed level "same as or close to the possible best time" may lie."""

EVEN = 0.7
"""The least improvement over the largest, over index sizes, that counts as scaling well."""

_CLOSE_TEXT = f"at most {CLOSE} times in every stretch"


def judge(tree: str, plan: Plan, levels: Record, tuned: Record) -> list[Claim]:
    """Return the verdicts on one tree; those on the default tree have ids ending in "-default"."""
    found = [
        _u_shape(levels["shapes"]),
        _slow_level(plan, levels["points"]),
        _level_of_batches(_at_shape_size(plan, levels["points"])),
        _scaling(plan, levels["points"]),
        _growing(_at_shape_size(plan, levels["points"])),
        *([_largest(plan, levels["points"])] if tree == "paper" else []),
    ]
    for figure, (batch, stretches) in zip(("7e", "7f"), tuned["stretches"].items(), strict=False):
        found += _tuner(figure, int(batch), stretches)
    found += _piece(plan, tuned)
    if tree == "paper":
        return found
    return [Claim(**{**claim.record(), "id": f"{claim.id}-default"}) for claim in found]


def _at_shape_size(plan: Plan, points: Sequence[Record]) -> list[Record]:
    return [p for p in points if p["subscriptions"] == plan.shape_size and p["batch"] in plan.batches]


def _by_size(plan: Plan, points: Sequence[Record], batch: int) -> list[Record]:
    return [p for p in points if p["batch"] == batch and p["subscriptions"] in plan.sizes]


def _u_shape(shapes: Sequence[Record]) -> Claim:
    measured = "; ".join(
        f"{shape['events']} events: best level {shape['best_level']} of {shape['height']}, "
        + ("one valley" if shape["valley"]["single"] else "more than one valley")
        + (", both ends slower" if shape["valley"]["inner"] else ", bottom not clear of an end")
        for shape in shapes
    )
    holds = all(shape["valley"]["single"] and shape["valley"]["inner"] for shape in shapes)
    return Claim(
        id="u-shape",
        paper="Section 4.1, figures 5-a and 5-b: with the same EventArrays, time over Level is concave",
        claim="mean response over Level falls to one bottom and rises again, on the same events",
        expected=f"one valley with both ends slower, beyond {NOISE:.0f} standard errors",
        measured=measured,
        holds=holds,
        why="A deeper level sorts better but costs more to estimate."
        if holds
        else "A low tree, or events that are searched together, leave little room for a bottom inside.",
    )


def _slow_level(plan: Plan, points: Sequence[Record]) -> Claim:
    series = {batch: _by_size(plan, points, batch) for batch in plan.sized_batches}
    steps = [
        _distance(one["tied_levels"], other["tied_levels"])
        for row in series.values()
        for one, other in itertools.pairwise(row)
    ]
    measured = "; ".join(
        f"{batch} events: {', '.join(_level_text(point) for point in row)}" for batch, row in series.items()
    )
    return Claim(
        id="slow-level",
        paper="Section 5.2, figure 7-a: the best level changes slowly with increment of index size",
        claim="from one index size to the next the best level moves by at most one",
        expected="at most 1 per step",
        measured=f"{measured}; largest step {max(steps, default=0)}",
        holds=all(step <= 1 for step in steps),
        why="Levels in brackets cannot be told from the best one; steps are between the nearest of them.",
    )


def _distance(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how far apart two sets of levels are at their nearest."""
    return min(abs(a - b) for a in one for b in other)


def _level_text(point: Record) -> str:
    others = [str(level) for level in point["tied_levels"] if level != point["best_level"]]
    return f"{point['best_level']}{f' ({chr(44).join(others)})' if others else ''}"


def _level_of_batches(points: Sequence[Record]) -> Claim:
    least = 0
    rising = True
    for point in points:
        fitting = [level for level in point["tied_levels"] if level >= least]
        rising &= bool(fitting)
        least = min(fitting, default=least)
    ends = points[0]["best_level"], points[-1]["best_level"]
    return Claim(
        id="fewer-events",
        paper="Section 5.2, figure 7-b: the smaller the number of events is, the lower the best level is",
        claim="the best level moves towards the root (a smaller number) when fewer events come together",
        expected="nearer the root at the smallest batch than at the largest, and never back beyond the noise",
        measured=", ".join(f"{point['batch']} events: {_level_text(point)}" for point in points),
        holds=rising and ends[0] < ends[1],
        why="Few events share the nodes that estimation reads and have little order to gain. Levels in "
        "brackets cannot be told from the best one.",
    )


def _scaling(plan: Plan, points: Sequence[Record]) -> Claim:
    row = _by_size(plan, points, max(plan.sized_batches))
    largest = max(row, key=lambda point: float(point["improvement_percent"]))
    return Claim(
        id="scaling",
        paper="Section 5.2, figure 7-c: the improvement of average response time has good scalability with "
        "increment of index size",
        claim=f"the share saved at {max(plan.sized_batches)} events is about the same at all index sizes",
        expected=f"a gain; everywhere at least {EVEN:g} times the largest, give or take {NOISE:.0f} errors",
        measured=", ".join(f"{_millions(point)}: {_saved_text(point)}" for point in row),
        holds=largest["improvement_percent"] > NOISE * (largest["improvement_error_percent"] or 0.0)
        and all(
            EVEN * largest["improvement_percent"] - point["improvement_percent"]
            <= NOISE * _error(point, largest)
            for point in row
        ),
        why="The order lives on how much the work differs between events; beyond the errors that decides.",
    )


def _growing(points: Sequence[Record]) -> Claim:
    falls = [
        one["improvement_percent"] - other["improvement_percent"] > NOISE * _error(one, other)
        for one, other in itertools.pairwise(points)
    ]
    first, last = points[0], points[-1]
    rise = last["improvement_percent"] - first["improvement_percent"]
    return Claim(
        id="grows",
        paper="Section 5.2, figure 7-d: the larger the number of events is, the more the average response "
        "time can be improved",
        claim='the improvement over "no BatchSearch" grows with the batch size',
        expected="more at the largest batch than at the smallest, no fall between, beyond 2 standard errors",
        measured=", ".join(f"{point['batch']}: {_saved_text(point)}" for point in points),
        holds=not any(falls) and rise > NOISE * _error(first, last),
        why=_together_text(points),
    )


def _largest(plan: Plan, points: Sequence[Record]) -> Claim:
    batch = max(plan.batches)
    (point,) = [p for p in points if p["batch"] == batch and p["subscriptions"] == plan.shape_size]
    sizes = ", ".join(f"{_millions(p)}: {_saved_text(p)}" for p in _by_size(plan, points, batch))
    return Claim(
        id="largest-batch",
        paper="Abstract and section 5.2: the maximum improvement is nearly up to 50 %",
        claim=f"at {batch} events the best level saves at least {LEAST_IMPROVEMENT:.0f} % of mean response",
        expected=f"at least {LEAST_IMPROVEMENT:.0f} % at {_millions(point)} subscriptions",
        measured=f"{_saved_text(point)} at {_millions(point)}" + (f" (by size {sizes})" if sizes else ""),
        holds=point["improvement_percent"] >= LEAST_IMPROVEMENT,
        why=_together_text([point]),
    )


def _together_text(points: Sequence[Record]) -> str:
    """Say what events searched together do to the order, if the index does that."""
    most = max(point["events_together"] for point in points)
    if most <= 1.5:
        return (
            "Events are searched one by one, as in the paper. Each half of the batches is judged at the "
            "level that was best on the other half."
        )
    return (
        f"This index searches up to {most:.0f} events together, which then complete at the same moment: "
        "inside such a group no order can help. The paper searches event by event."
    )


def _error(one: Record, other: Record) -> float:
    errors = [point["improvement_error_percent"] or 0.0 for point in (one, other)]
    return float((errors[0] ** 2 + errors[1] ** 2) ** 0.5)


def _saved_text(point: Record) -> str:
    error = point["improvement_error_percent"]
    return f"{point['improvement_percent']:.0f} %" + (f" ± {error:.1f}" if error is not None else "")


def _millions(point: Record) -> str:
    return f"{point['subscriptions'] / 1e6:g}M"


def _tuner(figure: str, batch: int, stretches: Sequence[Record]) -> list[Claim]:
    paper = f"Section 5.2, figure {figure[0]}-{figure[1]}: "
    return [_settled(paper, batch, stretches), *_unstable(paper, batch, stretches)]


def _settled(paper: str, batch: int, stretches: Sequence[Record]) -> Claim:
    ratios = [stretch["settled_against_best"] for stretch in stretches]
    levels = ", ".join(f"{s['level']}/{s['best_level']}" for s in stretches)
    batches = ", ".join(str(stretch["unstable_batches"]) for stretch in stretches)
    restless = sum(not stretch["settled"] for stretch in stretches)
    still = f" Still looking in {restless} of {len(stretches)} stretches, so their ratios include that."
    return Claim(
        id=f"tuner-{batch}",
        paper=paper + "with the self-adaptive model the time is same as or close to the possible best time",
        claim=f"at {batch} events, after settling, the tuner is within 5 % of the best fixed level in every "
        "stretch",
        expected=_CLOSE_TEXT,
        measured=_ratios(ratios),
        holds=_close(ratios),
        why=_beyond(ratios)
        + f"Level chosen / best: {levels}. Batches to settle: {batches}."
        + (still if restless else ""),
    )


def _unstable(paper: str, batch: int, stretches: Sequence[Record]) -> list[Claim]:
    unstable = [stretch["unstable_against_best"] for stretch in stretches]
    saved = [1 - stretch["unstable_against_fifo"]["ratio"] for stretch in stretches]
    return [
        Claim(
            id=f"tuner-unstable-{batch}",
            paper=paper + "even in unstable status the time is very close to the possible best time",
            claim=f"at {batch} events, while it looks for the level, the tuner is within 5 % of the best "
            "fixed level in every stretch",
            expected=_CLOSE_TEXT,
            measured=_ratios(unstable),
            holds=_close(unstable),
            why=_beyond(unstable)
            + "One or two of three batches of a round run at the neighbours of the current level; the first "
            "stretch starts at the leaves of the paper's tree, at the root of the default one.",
        ),
        Claim(
            id=f"tuner-fifo-{batch}",
            paper=paper + "the average response time is much better than without the self-adaptive model",
            claim=f'at {batch} events, while it looks for the level, the tuner beats "no BatchSearch" in '
            "every stretch",
            expected="more than 0 % saved",
            measured="saved by stretch " + ", ".join(f"{100 * share:.0f} %" for share in saved),
            holds=min(saved) > 0,
            why="Measured on the batches that the tuner took while it was unstable.",
        ),
    ]


def _ratios(ratios: Sequence[Record]) -> str:
    mean = sum(ratio["ratio"] for ratio in ratios) / len(ratios)
    return f"mean {mean:.3f}; by stretch {', '.join(_ratio_text(ratio) for ratio in ratios)}"


def _close(ratios: Sequence[Record]) -> bool:
    return all(ratio["ratio"] <= CLOSE for ratio in ratios)


def _beyond(ratios: Sequence[Record]) -> str:
    """Say how many stretches are too slow by their estimate, and how many of these beyond the noise."""
    slow = [ratio for ratio in ratios if ratio["ratio"] > CLOSE]
    sure = [ratio for ratio in slow if ratio["ratio"] - NOISE * (ratio["error"] or 0.0) > CLOSE]
    return f"Above {CLOSE} in {len(slow)} of {len(ratios)} stretches, beyond the noise in {len(sure)}. "


def _ratio_text(ratio: Record) -> str:
    return f"{ratio['ratio']:.3f}" + (f" ± {ratio['error']:.3f}" if ratio["error"] is not None else "")


def _piece(plan: Plan, tuned: Record) -> list[Claim]:
    """Figure 8 is one stretch of figure 7-e."""
    batch, stretches = next(iter(tuned["stretches"].items()))
    found = [stretch for stretch in stretches if stretch["subscriptions"] == plan.piece_size]
    if not found:
        return []
    against_best, against_fifo = found[0]["unstable_against_best"], found[0]["unstable_against_fifo"]
    return [
        Claim(
            id="piece",
            paper="Figure 8, a piece of unstable status with 8 events and 2,000,000 subscriptions: close to "
            "the possible best time",
            claim=f"at {batch} events and {plan.piece_size:,} subscriptions, while it looks for the level, "
            'the tuner is within 5 % of the best fixed level and below "no BatchSearch"',
            expected=f"at most {CLOSE} times the best, less than no BatchSearch",
            measured=f"{_ratio_text(against_best)} times the best, "
            f"{_ratio_text(against_fifo)} times no BatchSearch",
            holds=against_best["ratio"] <= CLOSE and against_fifo["ratio"] < 1,
            why=f"{found[0]['unstable_batches']} unstable batches, some of them taken by every level.",
        )
    ]
