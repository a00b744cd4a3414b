"""What commands have in common: tables, `--json`, progress bars, files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

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
    if path.exists() and not path.is_file():  # a device or a pipe, which is written to as it is
        if not os.access(path, os.W_OK):
            raise CommandError(f"{path}: is not writable")
        return path
    if not path.parent.is_dir():
        raise CommandError(f"{path}: there is no directory {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise CommandError(f"{path}: directory {path.parent} is not writable")
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


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that takes the name `path` if the block ends well, and vanishes if not.

    What is there and is no regular file, such as /dev/stdout or a pipe, is written to as it is.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as device:
            yield device
        return
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        partial = Path(file.name)
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            partial.chmod(0o666 & ~_umask())
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def _umask() -> int:
    # The mask can only be read by setting it; temporary files ignore it and are private.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def finish(result: dict[str, Any], json_file: Path | None, *shown: RenderableType) -> None:
    """Show a result and write it to the file that `--json` named."""
    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else _PIPE_WIDTH, highlight=False, emoji=False)
    for part in shown:
        console.print(part)
    if json_file is not None:
        with whole_file(json_file) as file:
            file.write(json.dumps(result, indent=2, allow_nan=False).encode() + b"\n")


@contextlib.contextmanager
def progress(title: str) -> Iterator[Callable[[str, float], None]]:
    """Show a progress bar if stderr is a terminal; yield a function of (what is done, fraction done)."""
    if not sys.stderr.isatty():
        yield lambda what, done: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    # No refreshing in the background: its thread would run in the middle of what a benchmark times.
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task(title, total=1.0)

        def notify(what: str, done: float) -> None:
            bar.update(task, description=f"{title}: {what}", completed=done, refresh=True)

        yield notify
