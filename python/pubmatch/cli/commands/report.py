"""`pubmatch report`: one HTML page of the latest recorded results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pubmatch.cli.output import (
    CommandError,
    JsonOption,
    check_files,
    finish,
    progress,
    writable_file,
)
from pubmatch.whole_files import replace_file


def register(app: typer.Typer) -> None:
    """Add the command `report`."""
    app.command()(report)


def report(
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The HTML file to write.", callback=writable_file)
    ] = Path("report.html"),
    results: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The records. Default: bench/results here or in the checkout."),
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Draw the latest results of bench and reproduce, each plot with its claim, on one self-contained page.

    Examples
    --------
    pubmatch report --out report.html
    pubmatch report --results bench/results --out report.html --json report.json
    """
    check_files([], [out, json_file])
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise CommandError("report needs matplotlib: pip install 'pubmatch[bench]'") from None
    from pubmatch_bench.report import NoRecordsError, build, default_folder

    folder = default_folder() if results is None else results
    if folder is None:
        raise CommandError("there is no directory bench/results here; name one with --results")
    if not folder.is_dir():
        raise CommandError(f"{folder}: there is no such directory")
    with progress("report") as notify:
        notify("draw", 0.0)
        try:
            page, summary = build(folder)
        except NoRecordsError as error:
            raise CommandError(str(error)) from error
        notify("write", 0.9)
        replace_file(out, page.encode())
    plots = sum(section["plots"] for section in summary["sections"])
    left_out = [f"left out: {entry['record']}: {entry['reason']}" for entry in summary["left_out"]]
    finish({**summary, "out": str(out)}, json_file, *left_out, f"{out}: {plots} plots")
