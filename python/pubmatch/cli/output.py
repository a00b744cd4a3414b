"""What commands have in common: tables, `--json`, progress bars, files checked before long work."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from pubmatch.whole_files import replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.console import RenderableType

_PIPE_WIDTH = 140


class CommandError(Exception):
    """Ends a command with one line on stderr.

    Parameters
    ----------
    message : str
        What is wrong.
    exit_code : int
        2 for bad input, 1 for a check that failed.
    """

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def writable_file(path: Path | None) -> Path | None:
    """Refuse a path that cannot be written, before long work instead of after it."""
    if path is None:
        return None
    if path.is_dir():
        raise CommandError(f"{path}: is a directory, not a file")
    if path.exists() and not os.access(path, os.W_OK):
        raise CommandError(f"{path}: is not writable")
    if path.exists() and not path.is_file():  # a device or a pipe, which is written to as it is
        return path
    parent = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    if not parent.is_dir():
        raise CommandError(f"{path}: there is no directory {parent}")
    if not os.access(parent, os.W_OK):
        raise CommandError(f"{path}: directory {parent} is not writable")
    return path


def check_files(read: Iterable[Path | None], written: Iterable[Path | None]) -> None:
    """Refuse to write over what is read, or the same file twice."""
    taken = {os.path.realpath(path) for path in read if path is not None}
    for path in written:
        if path is None:
            continue
        name = os.path.realpath(path)
        if name in taken:
            raise CommandError(f"{path}: is named twice; the file would be written over")
        taken.add(name)


JsonOption = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Also write the result as JSON.", callback=writable_file),
]


def finish(result: dict[str, Any], json_file: Path | None, *shown: RenderableType) -> None:
    """Show a result and write it to the file that `--json` named."""
    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else _PIPE_WIDTH, highlight=False, emoji=False, markup=False)
    for part in shown:
        console.print(part)
    if json_file is not None:
        replace_file(json_file, json.dumps(result, indent=2, allow_nan=False).encode() + b"\n")


@contextlib.contextmanager
def progress(title: str) -> Iterator[Callable[[str, float], None]]:
    """Show a progress bar if stderr is a terminal; yield a function of (what is done, fraction done)."""
    if not sys.stderr.isatty():
        yield lambda what, done: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    # No refreshing in the background: its thread would run in the middle of what a benchmark times.
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task(title, total=1.0)

        def notify(what: str, done: float) -> None:
            bar.update(task, description=f"{title}: {what}", completed=done, refresh=True)

        yield notify
