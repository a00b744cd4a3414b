"""What the mobility paper claims about delivery, latency and speed, and whether it holds here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pubmatch_bench.record import Record
from pubmatch_bench.reproduce.claims import Claim
from pubmatch_bench.reproduce.mobility_plan import PAPER

if TYPE_CHECKING:
    from pubmatch_bench.reproduce.mobility import Measured


def judge_delivery(measured: Measured, figures: dict[str, Record]) -> list[Claim]:
    """Return the verdicts on figures 5 to 8."""
    return [*_probes(measured, figures), *_latency(measured, figures), *_speed(measured, figures)]


def shown(values: dict[str, float], digits: int = 2) -> str:
    """Say several numbers in one line."""
    return ", ".join(f"{name} {value:.{digits}f}" for name, value in values.items())


def _probes(measured: Measured, figures: dict[str, Record]) -> list[Claim]:
    curves = {each: row["delivered"] for each, row in figures["5"]["series"].items()}
    first = {each: curve[0] for each, curve in curves.items()}
    rebuilt = rebuild_s(curves["standard"])
    ordered = first["standard"] < 0.35 < first["proxy"] < 0.98 < first["delayed"]
    return [
        Claim(
            "rebuild-4s",
            "figure 5: STANDARD takes nearly 4 s to rebuild the multicast tree",
            f"STANDARD, {measured.plan.crowd} publishers: when probes are delivered to all",
            "3.4 to 4.0 s",
            "later than 4 s" if rebuilt is None else f"{rebuilt} s",
            rebuilt is not None and 3.4 <= rebuilt <= 4.0,
            "publishers that move at different times leave short queues; larger messages lengthen the "
            "rebuild and the median delay alike, see paper-together",
        ),
        Claim(
            "prefetching-first",
            "figure 5: PREFETCHING takes almost no time to rebuild the tree",
            "PREFETCHING: share of first probes delivered",
            "at least 0.98",
            f"{first['prefetching']:.4f}",
            first["prefetching"] >= 0.98,
            "3 s of disconnection suffice for the flood",
        ),
        Claim(
            "first-probe-order",
            "figure 5: DELAYED rebuilds relatively quickly",
            "first probes delivered: STANDARD < 0.35 < PROXY < 0.98 < DELAYED",
            "in this order",
            shown({each: first[each] for each in ("standard", "proxy", "delayed")}, 3),
            ordered,
            "a graft onto a near tree takes a few hops, onto a far one some more",
        ),
        Claim(
            "combined-first",
            "section 3.1: even better performance when combined",
            "PREFETCHING+DELAYED: share of first probes delivered",
            "at least 0.999",
            f"{first['prefetching+delayed']:.4f}",
            first["prefetching+delayed"] >= 0.999,
            "the new tree is grafted while the publisher is away",
        ),
    ]


def _latency(measured: Measured, figures: dict[str, Record]) -> list[Claim]:
    crowd: dict[str, Any] = {"publishers": measured.plan.crowd}
    medians = {each: measured.mean("delay_median_s", each, **crowd) for each in PAPER}
    means = {each: measured.mean("delay_mean_s", each, **crowd) for each in PAPER}
    sizes = figures["message size"]["series"]
    together = [
        f"{size:g} B"
        for place, size in enumerate(measured.plan.sizes)
        if (sizes["standard"]["rebuild_s"][place] or 9.0) >= 3.4
        and abs(sizes["standard"]["delay_median_s"][place] - 0.3) <= 0.05
        and min(PAPER, key=lambda each: sizes[each]["delay_mean_s"][place]) == "prefetching"
    ]
    return [
        Claim(
            "median-0.3s",
            "figure 6: the median publication is delivered in about 0.3 s",
            "median delay of each algorithm",
            "0.25 to 0.35 s",
            shown(medians, 3),
            all(0.25 <= value <= 0.35 for value in medians.values()),
            "a delay is mostly time on the links, which follows from the message size: see paper-together",
        ),
        Claim(
            "standard-latency",
            "figure 6: STANDARD has the worst delivery latency",
            "mean delay is largest under STANDARD",
            "STANDARD",
            shown(means, 3),
            max(means, key=means.__getitem__) == "standard",
            "its floods and PREFETCHING's share the links with publications; those that a rebuilding tree "
            "loses under STANDARD do not count as late",
        ),
        Claim(
            "prefetching-latency",
            "figure 6: PREFETCHING has the lowest delivery latency",
            "mean delay is smallest under PREFETCHING",
            "PREFETCHING",
            shown(means, 3),
            min(means, key=means.__getitem__) == "prefetching",
            "it sends the most messages, and other publishers' publications queue behind them; grafting "
            "algorithms send few",
        ),
        Claim(
            "paper-together",
            "figures 5 and 6 together",
            "a message size with a rebuild of 3.4 s or more, a median of 0.3 s and PREFETCHING quickest",
            "at least one size",
            ", ".join(together) or "none of " + ", ".join(f"{size:g} B" for size in measured.plan.sizes),
            bool(together),
            "large messages slow the rebuild and the median alike, and PREFETCHING's flood most",
        ),
    ]


def _speed(measured: Measured, figures: dict[str, Record]) -> list[Claim]:
    slow, fast = measured.plan.speeds[0], measured.plan.speeds[-1]

    def change(figure: str, key: str, algorithms: Sequence[str] = PAPER) -> dict[str, float]:
        series = figures[figure]["series"]
        return {each: series[each][key][-1] - series[each][key][0] for each in algorithms}

    steep = change("7", "cost_per_s")
    delivered = change("7", "delivered")["standard"]
    later = change("8", "delay_mean_s")
    burst = change("synchronised start", "delay_mean_s")
    more = change("synchronised start", "delivered")["standard"]
    return [
        Claim(
            "speed-cost",
            "section 4.3: faster mobility costs more, most for STANDARD and PREFETCHING",
            f"messages per second more at {fast:g} than at {slow:g} km/h",
            "all above 0; STANDARD and PREFETCHING above the others",
            shown(steep, 1),
            min(steep.values()) > 0
            and min(steep["standard"], steep["prefetching"]) > max(steep["proxy"], steep["delayed"]),
            "more moves of the same cost each",
        ),
        Claim(
            "speed-delivery",
            "figure 7: STANDARD's delivery ratio increases with speed",
            f"STANDARD: share delivered at {fast:g} minus at {slow:g} km/h",
            "above 0",
            f"{delivered:+.4f}",
            delivered > 0,
            "more moves, more messages in the queues: delivery falls with speed; see speed-anomaly for what "
            "makes it rise",
        ),
        Claim(
            "speed-latency",
            "figure 8: delivery latency decreases with faster mobility for all algorithms",
            f"mean delay at {fast:g} minus at {slow:g} km/h",
            "all below 0",
            shown(later, 4),
            max(later.values()) < 0,
            "with de-phased publishers nothing gets quicker by moving faster",
        ),
        Claim(
            "speed-anomaly",
            'figures 7 and 8, "we are not sure why"',
            "if all publishers connect at the same moment, delay falls with speed under every algorithm, and "
            "STANDARD delivers more",
            "delays below 0, STANDARD's deliveries above 0",
            f"{shown(burst, 3)}; STANDARD's deliveries {more:+.4f}",
            max(burst.values()) < 0 < more,
            "the burst at the start delays its publications, and loses some, at any speed; the faster "
            "publishers move, the smaller a part of all publications these are",
        ),
    ]


def rebuild_s(probes: Sequence[float], enough: float = 0.999) -> float | None:
    """Return when the first probe after which all are delivered was sent; None if the last was not.

    Examples
    --------
    >>> rebuild_s([0.2, 0.9, 1.0, 1.0]), rebuild_s([1.0, 1.0]), rebuild_s([1.0, 0.9])
    (0.6, 0.2, None)
    """
    short = [place for place, share in enumerate(probes) if not share >= enough]
    first = short[-1] + 1 if short else 0
    return round(0.2 * (first + 1), 1) if first < len(probes) else None
