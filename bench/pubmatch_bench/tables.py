"""Records as tables for people; what a program reads is the record itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from pubmatch_bench.record import Record


def number(value: float | None) -> str:
    """Write a number with three significant digits.

    Examples
    --------
    >>> number(0.0123456), number(3.0), number(1234.5), number(None)
    ('0.0123', '3.00', '1,234', '-')
    """
    if value is None:
        return "-"
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    digits = 1 if size >= 10 else 2 if size >= 1 else 3
    while 0 < size < 0.1 and digits < 7:
        size *= 10
        digits += 1
    return f"{value:.{digits}f}"


def _spread(values: dict[str, float]) -> tuple[str, str]:
    """Median, and the quartiles around it."""
    return number(values["median"]), f"{number(values['q1'])} – {number(values['q3'])}"


def _table(title: str, *columns: str) -> Table:
    """Make a table whose first two columns are words and the others numbers."""
    table = Table(title=title, title_justify="left")
    for position, column in enumerate(columns):
        table.add_column(column, justify="left" if position < 2 else "right")
    return table


def header(record: Record) -> str:
    """Return the line above a table: on what it was measured."""
    machine = record["machine"]
    commit = (record["commit"] or "no commit")[:12]
    quick = ", quick run: sizes reduced" if record["quick"] else ""
    return (
        f"{machine['cpu']}, {machine['cores']} cores, kernel {record['kernel']}, "
        f"{record['compiler'] or 'compiler unknown'}, commit {commit}{quick}"
    )


def match_table(record: Record) -> list[RenderableType]:
    """Show times per event and ratios."""
    table = _table(
        "Matching, ms per event",
        "workload",
        "peer",
        "median",
        "quartiles",
        "× pubmatch",
        "build s",
        "B/subscription",
        "events/round",
        "equal",
    )
    for result in record["results"]:
        title = f"{result['workload']}: {result['subscriptions']:,} × {result['dims']}-D"
        subtitle = f"{number(result['matches_per_event'])} matches/event"
        for position, row in enumerate(result["contenders"]):
            label = (title, subtitle)[position] if position < 2 else ""
            table.add_row(label, row["peer"], *_match_cells(row, result))
        if len(result["contenders"]) == 1:
            table.add_row(subtitle)
        table.add_section()
    table.caption = "B/subscription: Index.nbytes of pubmatch; of its peers, growth of resident memory"
    return [header(record), table]


def _match_cells(row: Record, result: Record) -> list[str]:
    if row["status"] != "ok":
        return ["-", row["status"]]
    nbytes = result["index"]["nbytes_per_subscription"] if row["peer"] == "pubmatch" else None
    return [
        *_spread(row["ms_per_event"]),
        number(row["ratio"]),
        number(row["build_s"]),
        number(nbytes if nbytes is not None else row["resident_bytes_per_subscription"]),
        str(row["events_per_round"]),
        "yes" if row["equal"] else "NO",
    ]


def updates_table(record: Record) -> list[RenderableType]:
    """Show microseconds per box, and what replacing does to matching."""
    table = _table("Updates, µs per box", "workload", "how", "insert", "quartiles", "delete", "quartiles")
    after = _table(
        "Matching after 30 % were replaced, ms per event",
        "workload",
        "equal",
        "replaced",
        "fresh build",
        "slowdown",
        "build s",
    )
    for result in record["results"]:
        kinds = {
            f"arrays of {result['array']:,}, replacing": result["replacing"],
            f"arrays of {result['array']:,}, growing": result["growing"],
            "one by one": result["single"],
        }
        if "rtree" in result:
            kinds["rtree, one by one"] = result["rtree"]
        for position, (kind, times) in enumerate(kinds.items()):
            label = "" if position else f"{result['workload']}: {result['subscriptions']:,}"
            table.add_row(label, kind, *_update_cells(times))
        table.add_section()
        matching = result["after_replacing"]
        after.add_row(
            result["workload"],
            "yes" if matching["equal"] else "NO",
            number(matching["replaced_ms_per_event"]["median"]),
            number(matching["fresh_ms_per_event"]["median"]),
            f"{matching['slowdown']:.2f}×",
            number(result["build_s"]["median"]),
        )
    return [header(record), table, after]


def _update_cells(times: Record) -> list[str]:
    if times.get("status", "ok") != "ok":
        return ["-", times["status"]]
    return [*_spread(times["insert_us"]), *_spread(times["delete_us"])]


def memory_table(record: Record) -> list[RenderableType]:
    """Show bytes per subscription."""
    table = _table(
        "Memory, bytes per subscription, each in a fresh process",
        "workload",
        "peer",
        "nbytes",
        "resident",
        "peak of the build",
    )
    for result in record["results"]:
        for position, row in enumerate(result["contenders"]):
            label = "" if position else f"{result['workload']}: {row.get('subscriptions', 0):,}"
            cells = ["-", row["status"]]
            if row["status"] == "ok":
                sizes = ("nbytes", "resident_bytes", "build_peak_bytes")
                cells = [number(row[f"{size}_per_subscription"]) for size in sizes]
            table.add_row(label, row["peer"], *cells)
        table.add_section()
    return [header(record), table]


def threads_table(record: Record) -> list[RenderableType]:
    """Show what more threads bring, and the cost of a call."""
    many = record["parameters"]["threads"]
    table = _table(
        "Threads, ms per event", "workload", "equal", "batch", "1 thread", f"{many} threads", "speed-up"
    )
    for result in record["results"]:
        for position, row in enumerate(result["batches"]):
            table.add_row(
                "" if position else f"{result['workload']}: {result['subscriptions']:,}",
                "yes" if row["equal"] else "NO",
                str(row["batch"]),
                number(row["one_ms_per_event"]["median"]),
                number(row["many_ms_per_event"]["median"]),
                f"{row['speedup']:.2f}×",
            )
    median, quartiles = _spread(record["empty_index_call_us"])
    return [header(record), table, f"One event on an empty index: {median} µs ({quartiles})"]


def sjf_table(record: Record) -> list[RenderableType]:
    """Show what shortest job first saves against first-come order, and the room there was."""
    table = _table(
        "Shortest job first (sjf) against first-come order (fifo), mean response in ms",
        "workload",
        "equal",
        "batch",
        "level",
        "settled",
        "together",
        "fifo",
        "sjf",
        "better",
        "95 %",
        "median",
        "ideal",
        "call",
        "pairs",
    )
    for result in record["results"]:
        for position, row in enumerate(result["batches"]):
            label = "" if position else f"{result['workload']}: {result['subscriptions']:,}"
            table.add_row(label, *_sjf_cells(row))
        table.add_section()
    table.caption = (
        "Same index, same kernel, same batches: what the order alone is worth. The index's own gain over its "
        "peers is another matter: pubmatch bench match. fifo, sjf: median batch; "
        "better: share of fifo's mean response saved; "
        "ideal: saved by events sorted by the time each takes alone; call: time of the whole call over "
        "fifo's; settled: batches the tuner took; together: events that complete at one moment"
    )
    return [header(record), table, targets_table(record)]


def _sjf_cells(row: Record) -> list[str]:
    response = row["response"]
    low, high = response["low"], response["high"]
    return [
        "yes" if row["equal"] else "NO",
        str(row["batch"]),
        str(row["level"]),
        str(row["settling_batches"]) if row["settled"] else "no",
        number(row["events_together"]),
        number(row["fifo_response_ms"]["median"]),
        number(row["sjf_response_ms"]["median"]),
        percent(1 - response["ratio"]),
        "-" if low is None else f"±{100 * (high - low) / 2:.1f}",
        percent(1 - response["median"]),
        percent(1 - row["ideal_response"]["ratio"]),
        f"{row['call']['ratio']:.3f}",
        str(response["pairs"]),
    ]


def percent(share: float) -> str:
    """Write a share as a percentage with its sign.

    Examples
    --------
    >>> percent(0.1234), percent(-0.03)
    ('+12.3 %', '-3.0 %')
    """
    return f"{100 * share:+.1f} %"


def targets_table(record: Record) -> Table:
    """Show every target with what was measured."""
    table = _table("Targets (set for scale 1)", "target", "place", "ratio", "95 %", "at most", "verdict")
    for row in record["targets"]:
        interval = "-" if row["low"] is None else f"{row['low']:.3f} – {row['high']:.3f}"
        verdict = ("met" if row["met"] else "MISSED") + ("" if row["certain"] else ", not certain")
        table.add_row(
            row["target"], row["place"], f"{row['ratio']:.3f}", interval, f"{row['at_most']:.2f}", verdict
        )
    return table


def tuner_table(record: Record) -> list[RenderableType]:
    """Show the self-tuned Level beside every fixed one."""
    table = _table(
        f"Self-tuned level, mean response in ms, batches of {record['parameters']['batch']}",
        "workload, tree",
        "equal",
        "when",
        "settled",
        "level",
        "auto",
        "fixed levels",
        "best",
        "over best",
        "95 %",
        "pairs",
    )
    for result in record["results"]:
        title = f"{result['workload']}, {result['tree']}: {result['subscriptions']:,}"
        for label, phase in ((title, "fresh"), ("", "after_updates")):
            table.add_row(label, *_tuner_cells(result[phase], phase.replace("_", " ")))
        table.add_section()
    table.caption = (
        "settled: batches the tuner took; fixed levels: from 1 (the root, nothing estimated) to the leaves; "
        "over best: auto's mean response over that of the best fixed level, chosen by this very run. "
        "The index's own gain over its peers is another matter: pubmatch bench match"
    )
    return [header(record), table, targets_table(record)]


def _tuner_cells(phase: Record, when: str) -> list[str]:
    against = phase["auto_over_best"]
    low, high = against["low"], against["high"]
    return [
        "yes" if phase["equal"] else "NO",
        when,
        str(phase["batches"]) if phase["settled"] else "no",
        str(phase["level"]),
        number(phase["auto_ms"]["median"]),
        " ".join(number(ms["median"]) for ms in phase["fixed_ms"].values()),
        str(phase["best_level"]),
        percent(against["ratio"] - 1),
        "-" if low is None else f"±{100 * (high - low) / 2:.1f}",
        str(against["pairs"]),
    ]


def spark_table(record: Record) -> list[RenderableType]:
    """Show the ratios, what the first match and the memory of an index cost, and how shards spread events."""
    table = _table("Inside Spark", "workload", "measured", "pubmatch", "other", "ratio", "equal")
    shards = _table("Shards", "workload", "by", "shards", "fan-out", "balance", "build s", "match s", "equal")
    for result in record["results"]:
        for row in _spark_rows(result):
            table.add_row(*row)
        table.add_section()
        for one in result["shards"]:
            numbers = (number(one[name]) for name in ("fan_out", "balance", "build_s", "match_s"))
            shards.add_row(result["workload"], one["by"], str(one["shards"]), *numbers, str(one["equal"]))
        shards.add_section()
    return [header(record), table, shards]


def _spark_rows(result: Record) -> Iterator[list[str]]:
    join, plain, memory, first = (result[name] for name in ("range_join", "plain", "memory", "first_match"))
    for peer in join["peers"]:
        boxes = f"{join['subscriptions']:,} × {join['events']:,}, s: match, {peer['peer']}'s {peer['plan']}"
        times = [number(join["match_s"]["median"]), number(peer["join_s"]["median"]), number(peer["ratio"])]
        yield [result["workload"], boxes, *times, str(peer["equal"])]
    for peer, reason in join["not_measured"].items():
        yield ["", f"{peer}: not measured, {reason}"]
    rates = [number(plain[f"{name}_events_per_s"]["median"]) for name in ("spark", "plain")]
    what = f"{plain['subscriptions']:,}, events/s: one task, plain Python"
    yield ["", what, *rates, number(plain["fraction"]), str(plain["equal"])]
    shared, size = memory["proportional_bytes_of_all"] / 1e6, memory["index_bytes"] / 1e6
    what = f"MB of the index in {memory['workers']} workers, on disk"
    yield ["", what, number(shared), number(size), number(shared / size)]
    for name, told in (("cached", "in the page cache"), ("from_disk", "from disk")):
        what = f"first match, index of {number(first['index_bytes'] / 1e6)} MB {told}, s: task, job"
        yield ["", what, number(first[f"{name}_task_s"]), number(first[f"{name}_job_s"])]


def matcher_table(record: Record) -> list[RenderableType]:
    """Show what filters cost beside bare boxes, beside DuckDB, and to subscribe."""
    from pubmatch_bench.matcher_table import matcher_tables

    return [header(record), *matcher_tables(record)]


TABLES: dict[str, Callable[[Record], list[RenderableType]]] = {
    "match": match_table,
    "updates": updates_table,
    "memory": memory_table,
    "threads": threads_table,
    "sjf": sjf_table,
    "tuner": tuner_table,
    "spark": spark_table,
    "matcher": matcher_table,
}


def differences(record: Record) -> list[str]:
    """Name every place of a record where two results that should be equal were not.

    Examples
    --------
    >>> differences({"results": [{"workload": "W1", "contenders": [{"peer": "rtree", "equal": False}]}]})
    ['W1 rtree']
    """
    return [
        " ".join(filter(None, (result["workload"], result.get("tree"), place)))
        for result in record["results"]
        for place, equal in _verdicts(result)
        if not equal
    ]


def _verdicts(result: Any, place: str = "") -> Iterator[tuple[str, bool]]:
    """Find every "equal" inside a result, with the name of the part it belongs to."""
    if isinstance(result, list):
        for part in result:
            yield from _verdicts(part, place)
    elif isinstance(result, dict):
        place = str(result.get("peer") or result.get("batch") or place)
        if "equal" in result:
            yield place, result["equal"]
        for key, part in result.items():
            yield from _verdicts(part, key if isinstance(part, dict) else place)
