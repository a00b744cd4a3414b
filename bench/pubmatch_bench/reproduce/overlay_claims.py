"""The overlay paper's claims, and our own about what goes beyond it, judged by a report's numbers."""

from __future__ import annotations

from collections.abc import Iterator

from pubmatch_bench.record import Record
from pubmatch_bench.reproduce.claims import Claim

__all__ = ["judge"]

_CLOSED_FORM = 0.005
_COMBINER_SHARE = 0.55


def judge(report: Record) -> list[Claim]:
    """Return every claim with its verdict.

    Parameters
    ----------
    report : dict
        What `reproduce.overlay.run` has measured so far.
    """
    return [*_unbalanced(report), *_balanced(report), *_calculating(report), *_beyond(report), *_core(report)]


def _near(measured: float, expected: float) -> bool:
    return abs(measured - expected) <= _CLOSED_FORM * expected


def _unbalanced(report: Record) -> Iterator[Claim]:
    slow, fast = report["figures"]["8"], report["figures"]["9"]
    apart = max(
        abs(3 * low - high)
        for system in ("ours", "dsm")
        for low, high in zip(slow[system]["loads"], fast[system]["loads"], strict=True)
    )
    yield Claim(
        "fig9-proportional",
        "IV-B, figures 8 and 9: the same tendency; messages increase in proportion to the publishing rate",
        "without balancing every node's load is three times as high at three times the rate",
        "difference 0",
        f"largest difference {apart:g}",
        apart < 1e-9,
        "nothing but the rate changes",
    )
    peak = fast["ours"]["peak"]
    yield Claim(
        "fig9-peak",
        "figure 9",
        "the busiest node of ours without balancing: a joint that is an edge too",
        "1150 to 1350",
        f"{peak:g}",
        1150 <= peak <= 1350,
        "937.5 in and 93.75 out as a joint, 180 as an edge",
    )
    root, edge = fast["dsm"]["root_peak"], fast["dsm"]["edge_peak"]
    yield Claim(
        "fig9-dsm",
        "figure 9",
        "DSM-Pub/Sub: the root takes all filtered readings, an edge serves two nodes' publishers",
        "937.5 and 360",
        f"{root:g} and {edge:g}",
        _near(root, 937.5) and _near(edge, 360),
        "closed form",
    )
    ratio = report["edge_ratio"]
    yield Claim(
        "fig8-twice",
        "IV-B: at the lower x-axis side DSM-Pub/Sub is twice ours",
        "an edge of DSM-Pub/Sub carries twice what an edge of ours does",
        "1.95 to 2.05",
        f"{ratio:.3f}",
        1.95 <= ratio <= 2.05,
        "only every other node can be a leaf of a binary tree",
    )


def _balanced(report: Record) -> Iterator[Claim]:
    limit = report["parameters"]["threshold"]
    ours, dsm = report["figures"]["10"]["ours"], report["figures"]["10"]["dsm"]
    yield Claim(
        "fig10-threshold",
        "IV-B: no processing node exceeds 500 in our system",
        "balancing brings every node below the threshold",
        f"above 430, at most {limit:g}",
        f"{ours['peak']:g}",
        430 < ours["peak"] <= limit,
        "only the excess is moved, so the peak stays close to the threshold",
    )
    yield Claim(
        "fig10-dsm-root",
        "IV-B: the root node receives the same data size as before the load balancing",
        "balancing does not help a root of DSM-Pub/Sub",
        f"{report['figures']['9']['dsm']['root_peak']:g} as in figure 9",
        f"{dsm['root_peak']:g}",
        dsm["root_peak"] == report["figures"]["9"]["dsm"]["root_peak"],
        "leaves send straight to it",
    )
    splits = report["dsm_splits"]
    yield Claim(
        "dsm-new-nodes",
        "IV-B: adding a new node for each load balancing operation is clearly inefficient",
        f"DSM-Pub/Sub needs new nodes to get its edges below {splits['threshold']}, ours none",
        "new nodes, root as before",
        f"{splits['new_nodes']} new nodes, edge {splits['edge_peak']:g}, root {splits['root_after']:g}",
        splits["new_nodes"] > 0 and splits["root_after"] == splits["root_before"],
        "every split takes two; ours reaches the same threshold with the nodes there are (190)",
    )
    strict, dsm = report["figures"]["11"]["ours"], report["figures"]["11"]["dsm"]
    yield Claim(
        "fig11-favourable",
        "IV-B, figure 11: DSM-Pub/Sub compares favorably",
        "with rate_fil 0.25 the peak of DSM-Pub/Sub is not above ours",
        "468.75 against 430 to 500",
        f"{dsm['peak']:g} against {strict['peak']:g}",
        _near(dsm["peak"], 468.75) and dsm["peak"] <= strict["peak"] <= limit,
        "half as many readings reach the root; ours stops moving below the threshold",
    )


def _calculating(report: Record) -> Iterator[Claim]:
    slow, fast = report["figures"]["12"], report["figures"]["13"]
    limit = report["parameters"]["threshold"]
    yield Claim(
        "fig12-lower",
        "IV-B, figure 12: the peak of their system is less than that of ours",
        "DSM-Pub/Sub with calculation has a lower peak than ours at pub_rate 3",
        "252 against 430 to 500",
        f"{slow['dsm']['peak']:g} against {slow['ours']['peak']:g}",
        _near(slow["dsm"]["peak"], 252) and slow["dsm"]["peak"] < slow["ours"]["peak"],
        "leaves that calculate send a tenth",
    )
    yield Claim(
        "fig13-kept",
        "IV-B, figure 13: our system kept the proper range",
        "ours stays below the threshold at pub_rate 4",
        f"above 430, at most {limit:g}",
        f"{fast['ours']['peak']:g}",
        430 < fast["ours"]["peak"] <= limit,
        "more flows move",
    )
    plain = 625 * 4 * 0.5
    yield Claim(
        "fig13-increased",
        "IV-B, figure 13: the peak of their system was increased, still lower than without calculation",
        "DSM-Pub/Sub with calculation grows with the rate and stays below DSM-Pub/Sub without",
        f"336, below {plain:g}",
        f"{slow['dsm']['peak']:g} to {fast['dsm']['peak']:g}",
        _near(fast["dsm"]["peak"], 336) and slow["dsm"]["peak"] < fast["dsm"]["peak"] < plain,
        "closed form",
    )
    yield Claim(
        "fig13-exceeds",
        "IV-B, figure 13, against figure 12: in this result ours is the better one",
        "DSM-Pub/Sub with calculation has a higher peak than ours at pub_rate 4",
        f"above {fast['ours']['peak']:g}",
        f"{fast['dsm']['peak']:g}",
        fast["dsm"]["peak"] > fast["ours"]["peak"],
        "no reading of the paper's accounting gives this together with figure 11: an edge's share of 80 "
        "publishers at rate 4 is 336, and ours balances no lower than its threshold asks",
    )


def _beyond(report: Record) -> Iterator[Claim]:
    reached, stopped = report["thresholds"]["190"], report["thresholds"]["150"]
    yield Claim(
        "threshold-190",
        "not in the paper",
        "threshold 190 can be reached at pub_rate 3",
        "nobody unrelieved",
        f"peak {reached['peak']:g}, {len(reached['unrelieved'])} unrelieved, {reached['halvings']} halvings",
        not reached["unrelieved"] and reached["peak"] <= 190,
        "an edge alone carries 180; roots are relieved by joints that buffer and send half as often",
    )
    yield Claim(
        "threshold-150",
        "not in the paper",
        "at threshold 150 balancing stops and reports exactly the nodes above it",
        "a report",
        f"{len(stopped['unrelieved'])} nodes reported, peak {stopped['peak']:g}",
        bool(stopped["unrelieved"]) and stopped["exact"],
        "an edge's own load of 180 cannot be moved",
    )
    policies = report["policies"]
    paper, offer, combiner = policies["paper"], policies["offer"], policies["combiner"]
    yield Claim(
        "offer-probes",
        "not in the paper",
        "candidates that say how much they take are asked a fiftieth as often or less, at the same peak",
        f"at most {paper['probes'] // 50}, peak at most the threshold",
        f"{offer['probes']} instead of {paper['probes']}, peak {offer['peak']:g}",
        offer["probes"] <= paper["probes"] / 50 and offer["peak"] <= report["parameters"]["threshold"],
        "a refusal of a large chunk says nothing about a small one, an offer does",
    )
    share = combiner["peak"] / paper["peak"]
    yield Claim(
        "combiner-peak",
        "not in the paper",
        "partial aggregates made on the edges lower the peak, without any move",
        f"at most {_COMBINER_SHARE} of the paper's policy, 0 moves",
        f"{combiner['peak']:g} of {paper['peak']:g}: {share:.3f}, {combiner['moves']} moves",
        share <= _COMBINER_SHARE and combiner["moves"] == 0,
        "an edge sends a tenth of what passes its filter",
    )
    waits = {name: 1000 * row["latency"]["wait_s"] for name, row in policies.items()}
    yield Claim(
        "combiner-latency",
        "not in the paper",
        "the lower peak is paid for in time: readings wait longer in partial aggregates",
        f"above {waits['paper']:.1f} ms, the wait with the paper's policy",
        f"{waits['combiner']:.1f} ms",
        waits["combiner"] > waits["paper"],
        "an edge's partial aggregate waits for ten of its own readings, a joint's for ten of all its edges'",
    )
    yield from _bounds(report)
    yield _values(report)


def _bounds(report: Record) -> Iterator[Claim]:
    bound, policies = report["lower_bound"], report["policies"]
    lowest = {name: row["lowest_threshold"] for name, row in policies.items()}
    yield Claim(
        "lower-bound",
        "not in the paper",
        "no policy gets below the linear program's bound",
        f"remote joints {bound['remote']:.1f}, local calculation {bound['local']:.1f}",
        ", ".join(f"{name} reaches {value}" for name, value in lowest.items()),
        min(lowest["paper"], lowest["offer"]) >= bound["remote"] and lowest["combiner"] >= bound["local"],
        "the lowest threshold each policy can keep, buffering allowed in all of them and in the bound",
    )
    eager, calm = (report["hysteresis"][key]["flows_per_tick"] for key in ("1.0", "0.85"))
    yield Claim(
        "hysteresis",
        "not in the paper",
        "relieving to 0.85 of the threshold spares moves while the rate swings by a tenth",
        f"below {eager:g} flows per tick",
        f"{calm:g}",
        calm < eager or eager == calm == 0,
        "a node filled to the brim overflows with the next rise",
    )


def _values(report: Record) -> Claim:
    runs = [run for policy in report["values"].values() for run in policy.values()]
    windows, errors = sum(run["windows"] for run in runs), sum(run["errors"] for run in runs)
    moves, crashes = sum(run["moves"] for run in runs), sum(run["crashes"] for run in runs)
    return Claim(
        "values",
        "III-B, figure 7: combinations of operators must be taken into account for proper results",
        "every result equals the one computed in one place, through moves, departures and crashes",
        "0 errors",
        f"{errors} errors in {windows} windows, {moves} flows moved, {crashes} crashes",
        errors == 0 and moves > 0 and crashes > 0,
        "real readings; partial aggregates carry sum and count; crashes are replayed behind a fence",
    )


def _core(report: Record) -> Iterator[Claim]:
    rows = [(row["log4"], row[spread]) for row in report["hops"] for spread in ("even", "random")]
    shares = [found["mean"] / digits for digits, found in rows]
    yield Claim(
        "lookup-mean",
        "III-A: find information in O(log N)",
        "a lookup takes 0.70 to 0.90 hops per digit of N to base 4 on average",
        "0.70 to 0.90",
        f"{min(shares):.3f} to {max(shares):.3f}",
        min(shares) >= 0.70 and max(shares) <= 0.90,
        "three digits of four differ by chance",
    )
    spare = min(2 * digits + 3 - found["max"] for digits, found in rows)
    yield Claim(
        "lookup-longest",
        "III-A: find information in O(log N)",
        "no lookup takes more than 2 log4(N) + 3 hops",
        "at most that",
        f"{spare:.1f} hops below it or more",
        spare >= 0,
        "down to the area, and down once more if nobody below the id lives there",
    )
