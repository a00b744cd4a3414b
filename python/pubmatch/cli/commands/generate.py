"""`pubmatch generate`: a benchmark workload as a file of arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from pubmatch.cli.output import CommandError, JsonOption, finish, progress, whole_file, writable_file


def register(app: typer.Typer) -> None:
    """Add the command `generate`."""
    app.command()(generate)


def generate(
    workload: Annotated[str, typer.Argument(metavar="NAME", help="W1 to W7.")],
    out: Annotated[Path, typer.Option("--out", metavar="PATH", help="An .npz file, or a directory for it.")],
    scale: Annotated[float, typer.Option(help="Factor on the number of subscriptions.")] = 1.0,
    events: Annotated[int, typer.Option(min=0, help="How many events to add.")] = 1024,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the subscriptions.")] = 0,
    event_seed: Annotated[int, typer.Option(min=0, help="Seed of the events.")] = 1,
    json_file: JsonOption = None,
) -> None:
    """Write a workload's arrays lower, upper and events to an .npz file."""
    from pubmatch_bench import workloads

    try:
        spec = workloads.spec_of(workload)
        target = out / f"{spec.name}.npz" if out.is_dir() else out
        if target.suffix != ".npz":
            raise CommandError(f"{target}: wanted a name ending in .npz, or a directory that exists")
        writable_file(target)
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
