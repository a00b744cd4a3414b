"""`bench matcher`: what named attributes and filters cost on top of the bare index, and beside DuckDB.

Three parts. The chosen workloads (W2 by default), as bounds on named attributes, matched from Arrow tables by
`Matcher.match` and from bare arrays by `Index.match`, in turn. The flights, with filters as people write
them; on a sample DuckDB evaluates the same filter texts. And how long it takes to subscribe a million filters
of every kind, to save and load them, and to subscribe and match one at a time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import pubmatch as pm
from pubmatch_bench import options as opt
from pubmatch_bench.flights import SCHEMA as FLIGHT_SCHEMA
from pubmatch_bench.flights import flight_events, flight_filters
from pubmatch_bench.peers import Csr
from pubmatch_bench.record import Record, new_record
from pubmatch_bench.timing import spread, timed
from pubmatch_bench.workloads import Workload, make

DEFAULT_WORKLOADS = "W2"
DEFAULT_ROUNDS = 40
PEERS = ("duckdb",)

BATCH = 1000
FLIGHT_BATCH = 10_000
FLIGHT_FILTERS = 100_000
FLIGHTS = 336_776
SAMPLED_FILTERS, SAMPLED_FLIGHTS = 1000, 5000
"""How many filters DuckDB is asked about how many flights, in each round."""
SAMPLE_ROUNDS = 5
TEXTS = 1_000_000
SINGLE_CALLS = 200

_TOGETHER = 100  # filters in one query of DuckDB
_CHECKED_FILTERS, _CHECKED_EVENTS = 300, 40


def run(options: opt.Options, notify: opt.Notify) -> Record:
    """Measure everything and return the record."""
    record = new_record(
        "matcher",
        quick=options.quick,
        parameters=options.parameters("workloads", "peers", "rounds", "scale")
        | {"batch": BATCH, "flight_batch": FLIGHT_BATCH, "threads": 1},
        seeds=opt.SEEDS,
    )
    for name in options.workloads:
        record["results"].append(measure(name, options, partial(_third, opt.part(notify, name, options))))
    record["results"].append(measure_flights(options, lambda what, done: notify(what, (1 + done) / 3)))
    record["results"].append(measure_subscribing(options, lambda what, done: notify(what, (2 + done) / 3)))
    return record


def _third(notify: opt.Notify, what: str, done: float) -> None:
    notify(what, done / 3)


def measure(name: str, options: opt.Options, notify: opt.Notify) -> Record:
    """Match a workload with the matcher and with the bare index, batch by batch in turn."""
    notify("build", 0.0)
    workload = make(name, options.scale, opt.SUBSCRIPTION_SEED)
    matcher = _matcher_of(workload)
    index = pm.Index.build(workload.lower.astype(np.float64), workload.upper.astype(np.float64))
    ways: dict[str, Callable[[Any, Any], Any]] = {
        "Index.match": lambda table, points: index.match(points),
        "Matcher.match": lambda table, points: matcher.match(table),
        "Matcher.match, pairs": lambda table, points: matcher.match(table).pairs(),
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    equal, matches = True, 0
    for turn in range(-1, options.rounds):
        notify(f"round {turn + 1} of {options.rounds}", max(turn, 0) / options.rounds)
        points = workload.events(BATCH, opt.EVENT_SEED + turn if turn >= 0 else opt.WARM_UP_SEED)
        arrays = points.astype(np.float64)
        table = pa.table({f"x{place}": arrays[:, place].copy() for place in range(workload.dims)})
        answers = {}
        for way in _rotated(list(ways), turn):
            taken, answers[way] = timed(ways[way], table, arrays)
            if turn >= 0:
                seconds[way].append(taken)
        theirs = answers["Index.match"]
        positions, keys = answers["Matcher.match, pairs"]
        equal &= Csr(theirs.offsets, theirs.ids).same_sets(Csr.from_pairs(positions, keys, BATCH))
        equal &= np.array_equal(answers["Matcher.match"].counts, theirs.counts)
        matches += len(keys) if turn >= 0 else 0
    return {
        "workload": name,
        "about": workload.spec.about,
        "dims": workload.dims,
        "subscriptions": len(workload),
        "matches_per_event": matches / (BATCH * options.rounds),
        "ways": [_way(way, taken, seconds["Index.match"]) for way, taken in seconds.items()],
        "equal": bool(equal),
    }


def _way(name: str, seconds: Sequence[float], reference: Sequence[float]) -> Record:
    pairs = np.array(seconds) / np.array(reference)
    return {
        "way": name,
        "ms_per_event": spread([1e3 * taken / BATCH for taken in seconds]),
        "ratio": float(np.median(seconds) / np.median(reference)),
        "ratio_per_batch": spread(pairs.tolist()),
    }


def measure_flights(options: opt.Options, notify: opt.Notify) -> Record:
    """Subscribe filters about flights, match the flights, and ask DuckDB the same on samples."""
    notify("flights: generate", 0.0)
    filters = flight_filters(max(_TOGETHER, round(FLIGHT_FILTERS * options.scale)), opt.SUBSCRIPTION_SEED)
    flights = flight_events(max(FLIGHT_BATCH, round(FLIGHTS * options.scale)), opt.EVENT_SEED)
    matcher = pm.Matcher(FLIGHT_SCHEMA)
    notify("flights: subscribe", 0.1)
    subscribe_s, _ = timed(matcher.subscribe_many, filters)
    matcher.match(flights.slice(0, FLIGHT_BATCH))
    match_s, matches = 0.0, 0
    for first in range(0, flights.num_rows, FLIGHT_BATCH):
        notify("flights: match", 0.2 + 0.3 * first / flights.num_rows)
        taken, result = timed(lambda at: matcher.match(at).to_arrow(), flights.slice(first, FLIGHT_BATCH))
        match_s += taken
        matches += result.num_rows
    return {
        "workload": "flights",
        "subscriptions": len(matcher),
        "boxes": matcher.stats()["boxes"],
        "events": flights.num_rows,
        "subscribe_s": subscribe_s,
        "match_s": match_s,
        "events_per_s": flights.num_rows / match_s,
        "matches": matches,
        "matches_per_event": matches / flights.num_rows,
        "single": _single_calls(matcher, flights),
        "sample": _sampled(options, notify) if "duckdb" in options.peers else None,
    }


def _single_calls(matcher: pm.Matcher, flights: pa.Table) -> Record:
    """Microseconds of calls with one event or one filter, as a program without batches makes them."""
    events = flights.slice(0, SINGLE_CALLS).drop_columns(["event_id"]).to_pylist()
    filters = flight_filters(SINGLE_CALLS, opt.EVENT_SEED)["filter"].to_pylist()
    calls: dict[str, list[Callable[[], object]]] = {
        "match": [partial(_first_keys, matcher, event) for event in events],
        "subscribe": [partial(matcher.subscribe, number, text) for number, text in enumerate(filters)],
        "unsubscribe": [partial(matcher.unsubscribe, number) for number in range(len(filters))],
    }
    return {
        f"{name}_us": spread([1e6 * timed(call)[0] for call in made][SINGLE_CALLS // 10 :])
        for name, made in calls.items()
    }


def _first_keys(matcher: pm.Matcher, event: dict[str, Any]) -> list[str | int]:
    return matcher.match([event])[0]


def _sampled(options: opt.Options, notify: opt.Notify) -> Record:
    """DuckDB and a matcher of the same few filters, on the same few flights, in turn."""
    import duckdb

    count = max(_TOGETHER, round(SAMPLED_FILTERS * min(1.0, 4 * options.scale)))
    filters = flight_filters(count, opt.SUBSCRIPTION_SEED)
    texts = filters["filter"].to_pylist()
    matcher = pm.Matcher(FLIGHT_SCHEMA)
    matcher.subscribe_many({"key": range(count), "filter": filters["filter"]})
    queries = list(_queries(texts))
    database = duckdb.connect(config={"threads": 1})
    database.execute("SET TimeZone = 'UTC'")
    seconds: dict[str, list[float]] = {"pubmatch": [], "duckdb": []}
    equal, matches = True, 0
    for turn in range(min(SAMPLE_ROUNDS, options.rounds)):
        notify("flights: DuckDB", 0.5 + 0.5 * turn / SAMPLE_ROUNDS)
        flights = flight_events(SAMPLED_FLIGHTS, opt.EVENT_SEED + turn)
        numbers = pa.array(np.arange(flights.num_rows))
        database.register("given", flights.append_column("position", numbers))
        database.execute("CREATE OR REPLACE TABLE flights AS SELECT * FROM given")
        ways: dict[str, Callable[[], Any]] = {
            "pubmatch": partial(_pairs, matcher, flights),
            "duckdb": lambda: [database.execute(query).fetchnumpy() for query in queries],
        }
        answers = {}
        for way in _rotated(list(ways), turn):
            taken, answers[way] = timed(ways[way])
            seconds[way].append(taken)
        positions, ids = (
            np.concatenate([part[name] for part in answers["duckdb"]]).astype(np.int64)
            for name in ("position", "id")
        )
        equal &= answers["pubmatch"].same_sets(Csr.from_pairs(positions, ids, flights.num_rows))
        matches += len(ids)
    database.close()
    medians = {way: float(np.median(taken)) for way, taken in seconds.items()}
    return {
        "peer": "duckdb",
        "about": f"the filter texts, {_TOGETHER} in one query, one thread",
        "filters": count,
        "events": SAMPLED_FLIGHTS,
        "matches": matches,
        "seconds": {way: spread(taken) for way, taken in seconds.items()},
        "ratio": medians["duckdb"] / medians["pubmatch"],
        "equal": bool(equal),
    }


def _pairs(matcher: pm.Matcher, events: pa.Table) -> Csr:
    positions, keys = matcher.match(events).pairs()
    return Csr.from_pairs(positions, keys, events.num_rows)


def _queries(texts: Sequence[str]) -> Iterator[str]:
    for first in range(0, len(texts), _TOGETHER):
        yield " UNION ALL ".join(
            f"SELECT position, {number} AS id FROM flights WHERE {text}"
            for number, text in enumerate(texts[first : first + _TOGETHER], first)
        )


def measure_subscribing(options: opt.Options, notify: opt.Notify) -> Record:
    """How long `subscribe_many` takes for tables of each kind, and saving and loading what it made."""
    count = max(1000, round(TEXTS * options.scale))
    notify("subscribe: generate", 0.0)
    workload = make("W2", count / 1_000_000, opt.SUBSCRIPTION_SEED)
    bounds, schema = _bounds_of(workload), _schema_of(workload)
    tables = {
        "bounds": (schema, bounds),
        "conjunctions": (
            schema,
            pa.table({"key": bounds["key"], "filter": _box_texts(bounds, workload.dims)}),
        ),
        "every construct": (CONSTRUCTS_SCHEMA, construct_texts(count, opt.SUBSCRIPTION_SEED)),
    }
    made: dict[str, pm.Matcher] = {}
    rows = []
    for place, (name, (own, table)) in enumerate(tables.items()):
        notify(f"subscribe: {name}", 0.2 + 0.2 * place)
        made[name] = matcher = pm.Matcher(own)
        seconds, _ = timed(matcher.subscribe_many, table)
        stats = matcher.stats()
        rows.append({"table": name, "rows": len(matcher), "seconds": seconds, "boxes": stats["boxes"]})
        rows[-1] |= {"shapes": stats["shapes"]} | _files(matcher)
    points = workload.events(64, opt.EVENT_SEED).astype(np.float64)
    events = {f"x{place}": points[:, place] for place in range(workload.dims)}
    answers = [_pairs(made[name], pa.table(events)) for name in ("bounds", "conjunctions")]
    equal = answers[0].same_sets(answers[1]) and _evaluated_alike(made["every construct"])
    return {"workload": "subscribing", "tables": rows, "equal": equal}


def _files(matcher: pm.Matcher) -> Record:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matcher"
        save_s, _ = timed(matcher.save, path)
        load_s, loaded = timed(pm.Matcher.load, path)
        return {"save_s": save_s, "load_s": load_s, "bytes": path.stat().st_size, "loaded": len(loaded)}


def _evaluated_alike(matcher: pm.Matcher) -> bool:
    """Whether some filters match as they do when each is evaluated by itself."""
    rng = np.random.default_rng(opt.EVENT_SEED)
    events: list[dict[str, Any]] = [
        {
            "price": None if rng.random() < 0.2 else float(rng.random()),
            "volume": int(rng.integers(0, 1000)),
            "symbol": None if rng.random() < 0.2 else f"S{rng.integers(0, 5000)}",
            "halted": [None, True, False][rng.integers(3)],
            "hour": int(rng.integers(0, 24)),
        }
        for _ in range(_CHECKED_EVENTS)
    ]
    keys = [int(key) for key in rng.choice(len(matcher), min(_CHECKED_FILTERS, len(matcher)), replace=False)]
    filters = {key: matcher.filter_of(key) for key in keys}
    found = [set(row) for row in matcher.match(events)]
    return all(
        (key in row) == (filters[key].matches(event) is True)
        for event, row in zip(events, found, strict=True)
        for key in keys
    )


CONSTRUCTS_SCHEMA = pm.Schema(
    price=pm.Number(),
    volume=pm.Integer(),
    symbol=pm.Category(),
    halted=pm.Boolean(),
    hour=pm.Integer(domain=(0, 23)),
)
_CONSTRUCTS = (
    "price > {p} AND volume BETWEEN {v} AND {w}",
    "symbol IN ('S{s}', 'S{t}') AND price < {p}",
    "NOT (price > {p} OR volume < {v})",
    "symbol NOT IN ('S{s}', 'S{t}') AND volume = {v}",
    "price IS NULL AND volume > {v}",
    "symbol IS NOT NULL AND hour >= {h} AND volume <> {v}",
    "halted AND hour BETWEEN {h} AND 23 AND price <= {p}",
    "price < {p} OR price > 1{p} AND NOT halted",
    "symbol LIKE 'S{s}%' AND price >= {p}",
    "symbol NOT LIKE 'S{s}%' AND volume IN ({v}, {w}, {h})",
)


def construct_texts(count: int, seed: int) -> pa.Table:
    """Filters of every construct, in equal shares, as a table of keys and texts.

    Examples
    --------
    >>> construct_texts(2, 0)["filter"].to_pylist()[1]
    "symbol IN ('S3107', 'S108') AND price < 0.4307"
    """
    rng = np.random.default_rng([16, seed])
    price, volume, wide = rng.random(count), rng.integers(0, 500, count), rng.integers(500, 1000, count)
    one, other, hour = rng.integers(0, 5000, count), rng.integers(0, 5000, count), rng.integers(0, 23, count)
    values = zip(*(column.tolist() for column in (price, volume, wide, one, other, hour)), strict=True)
    texts = [
        _CONSTRUCTS[row % len(_CONSTRUCTS)].format(p=f"{p:.4f}", v=v, w=w, s=s, t=t, h=h)
        for row, (p, v, w, s, t, h) in enumerate(values)
    ]
    return pa.table({"key": np.arange(count), "filter": pa.array(texts, pa.string())})


def _schema_of(workload: Workload) -> pm.Schema:
    return pm.Schema(**{f"x{place}": pm.Number() for place in range(workload.dims)})


def _bounds_of(workload: Workload) -> pa.Table:
    columns: dict[str, Any] = {"key": np.arange(len(workload))}
    for place in range(workload.dims):
        for side, bounds in (("min", workload.lower), ("max", workload.upper)):
            column = bounds[:, place].astype(np.float64)
            columns[f"x{place}_{side}"] = pa.array(column, mask=np.isinf(column))
    return pa.table(columns)


def _box_texts(bounds: pa.Table, dims: int) -> list[str]:
    """The boxes as people would write them: one BETWEEN for each attribute that is constrained."""
    texts: list[list[str]] = [[] for _ in range(bounds.num_rows)]
    for place in range(dims):
        low, high = (bounds[f"x{place}_{side}"].to_pylist() for side in ("min", "max"))
        for row, (least, most) in enumerate(zip(low, high, strict=True)):
            if least is not None and most is not None:
                texts[row].append(f"x{place} BETWEEN {least!r} AND {most!r}")
            elif least is not None or most is not None:
                texts[row].append(f"x{place} >= {least!r}" if most is None else f"x{place} <= {most!r}")
    return [" AND ".join(parts) or "TRUE" for parts in texts]


def _matcher_of(workload: Workload) -> pm.Matcher:
    matcher = pm.Matcher(_schema_of(workload))
    matcher.subscribe_many(_bounds_of(workload))
    return matcher


def _rotated(names: list[str], turn: int) -> list[str]:
    shift = turn % len(names)
    return names[shift:] + names[:shift]
