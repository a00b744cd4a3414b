"""The frame around the commands: finds them, runs one, turns its errors into one line and an exit code.

Each module of `pubmatch.cli.commands` is a command or a group of commands and offers `register(app)`; a new
one needs no other change than its file. A command's docstring ends with a section `Examples`: lines to type.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from typing import TYPE_CHECKING, Annotated

import typer

import pubmatch
from pubmatch.cli import commands
from pubmatch.cli.examples import show_examples
from pubmatch.cli.output import CommandError
from pubmatch.errors import CorruptIndexError, PubmatchError

if TYPE_CHECKING:
    from collections.abc import Sequence


def make_app() -> typer.Typer:
    """Assemble the application from the modules in `pubmatch.cli.commands`."""
    app = typer.Typer(
        help="Tells, for every event, which of millions of subscriptions it satisfies.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # plain text: the same on a terminal and in a log
    )

    # With a callback, one command alone is still called by its name.
    @app.callback()
    def _pubmatch(
        version: Annotated[
            bool,
            typer.Option(
                "--version", help="Show the version and exit.", is_eager=True, callback=_show_version
            ),
        ] = False,
    ) -> None: ...

    for module in sorted(pkgutil.iter_modules(commands.__path__), key=lambda found: found.name):
        importlib.import_module(f"{commands.__name__}.{module.name}").register(app)
    show_examples(app)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pubmatch {pubmatch.__version__}")
        raise typer.Exit


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command that `arguments` name; see `pubmatch.cli.main`."""
    try:
        make_app()(args=None if arguments is None else list(arguments), prog_name="pubmatch")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except CommandError as error:
        return _fail(str(error), error.exit_code)
    except OSError as error:
        return _fail(_system_message(error), 2)
    except PubmatchError as error:
        return _fail(str(error), 1 if isinstance(error, CorruptIndexError) else 2)
    except MemoryError as error:
        return _fail(f"not enough memory: {error}".rstrip(": "), 2)
    return 0


def _system_message(error: OSError) -> str:
    """Name the file first and leave out the number, as other tools do."""
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}"


def _fail(message: str, exit_code: int) -> int:
    sys.stderr.write(f"pubmatch: {' '.join(message.split())}\n")
    return exit_code
