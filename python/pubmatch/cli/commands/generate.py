"""`pubmatch generate`: a benchmark workload as a file of arrays, or the flights as tables."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from pubmatch.cli.output import (
    CommandError,
    JsonOption,
    check_files,
    finish,
    progress,
    writable_file,
)
from pubmatch.whole_files import whole_file

_FLIGHT_FILTERS = 10_000
_WORKLOAD_EVENTS = 1024


def register(app: typer.Typer) -> None:
    """Add the command `generate`."""
    app.command()(generate)


def generate(
    workload: Annotated[str, typer.Argument(metavar="NAME", help="W1 to W7, or flights.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="PATH",
            help="An .npz file, or a directory for it. For flights: a directory, or the events' file "
            "(.parquet, .csv, .jsonl, .arrow); the subscriptions are written beside it.",
        ),
    ],
    scale: Annotated[
        float | None, typer.Option(help="Factor on a workload's number of subscriptions; default 1.")
    ] = None,
    subscriptions: Annotated[
        int | None, typer.Option(min=0, help=f"Filters for the flights; default {_FLIGHT_FILTERS}.")
    ] = None,
    events: Annotated[
        int | None,
        typer.Option(min=0, help=f"How many events; default {_WORKLOAD_EVENTS}, of the flights all."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the subscriptions.")] = 0,
    event_seed: Annotated[int, typer.Option(min=0, help="Seed of the events.")] = 1,
    json_file: JsonOption = None,
) -> None:
    """Write a workload's arrays lower, upper and events to an .npz file, or flights and filters to tables.

    Examples
    --------
    pubmatch generate W3 --out W3.npz --scale 0.1
    pubmatch generate flights --out flights.parquet --subscriptions 1000 --events 5000
    """
    if workload.lower() == "flights":
        if scale is not None:
            raise CommandError("--scale is for W1 to W7; flights take --subscriptions")
        count = _FLIGHT_FILTERS if subscriptions is None else subscriptions
        _flights(out, count, events, seed, event_seed, json_file)
    else:
        if subscriptions is not None:
            raise CommandError("--subscriptions is for flights; W1 to W7 take --scale")
        count = _WORKLOAD_EVENTS if events is None else events
        _workload(workload, out, 1.0 if scale is None else scale, count, seed, event_seed, json_file)


def _workload(
    workload: str, out: Path, scale: float, events: int, seed: int, event_seed: int, json_file: Path | None
) -> None:
    from pubmatch_bench import workloads

    try:
        spec = workloads.spec_of(workload)
        target = out / f"{spec.name}.npz" if out.is_dir() else out
        if target.suffix != ".npz":
            raise CommandError(f"{target}: wanted a name ending in .npz, or a directory that exists")
        writable_file(target)
        check_files([], [target, json_file])
        with progress("generate") as notify:
            notify(spec.about, 0.0)
            made = workloads.make(spec.name, scale, seed)
            points = made.events(events, event_seed)
            notify("write", 0.6)
            with whole_file(target) as file:
                np.savez(file, lower=made.lower, upper=made.upper, events=points)
    except ValueError as error:
        raise CommandError(str(error)) from error
    result = {
        "name": "generate",
        "workload": spec.name,
        "about": spec.about,
        "file": str(target),
        "dims": spec.dims,
        "subscriptions": len(made),
        "events": events,
        "scale": scale,
        "seeds": {"subscriptions": seed, "events": event_seed},
    }
    finish(result, json_file, f"{target}: {len(made)} subscriptions, {events} events, {spec.dims} attributes")


def _flights(
    out: Path, subscriptions: int, events: int | None, seed: int, event_seed: int, json_file: Path | None
) -> None:
    try:
        from pubmatch_bench import flights
    except ModuleNotFoundError as error:
        raise CommandError(f"flights need {error.name}: pip install 'pubmatch[bench,sql]'") from None
    events_file, filters_file = _flight_files(out)
    check_files([], [events_file, filters_file, json_file])
    try:
        with progress("generate") as notify:
            notify("flights", 0.0)
            events_table = flights.flight_events(events, event_seed)
            notify("filters", 0.2)
            filters_table = flights.flight_filters(subscriptions, seed)
            notify("write", 0.8)
            _write_tables({events_file: events_table, filters_file: filters_table})
    except (ValueError, flights.FlightsMissing) as error:
        raise CommandError(str(error)) from error
    result = {
        "name": "generate",
        "workload": "flights",
        "about": "flights from New York in 2013, and alerts about them",
        "events_file": str(events_file),
        "subscriptions_file": str(filters_file),
        "subscriptions": filters_table.num_rows,
        "events": events_table.num_rows,
        "seeds": {"subscriptions": seed, "events": event_seed},
    }
    finish(
        result,
        json_file,
        f"{events_file}: {events_table.num_rows} events",
        f"{filters_file}: {filters_table.num_rows} subscriptions",
    )


def _flight_files(out: Path) -> tuple[Path, Path]:
    """The files of the events and of the filters, which can be written."""
    from pubmatch.tables import format_of

    if not out.suffix and not out.is_dir():
        writable_file(out)
        out.mkdir(exist_ok=True)
    events = out / "flights.parquet" if out.is_dir() else out
    format_of(events)
    filters = events.with_name(f"{events.stem}-subscriptions{events.suffix}")
    writable_file(events)
    writable_file(filters)
    return events, filters


def _write_tables(tables: dict[Path, Any]) -> None:
    """Write all files; none takes its name before all are complete."""
    from pubmatch.tables import format_of, table_writer

    with contextlib.ExitStack() as files:
        for path, table in tables.items():
            file = files.enter_context(whole_file(path))
            with table_writer(file, format_of(path), table.schema) as write:
                write(table)
