"""Every command there is, and whether a line of text would be understood as one."""

from __future__ import annotations

import functools
import shlex
from typing import Any

import typer

from pubmatch.cli.app import make_app


def commands_of(app: typer.Typer, *path: str) -> dict[str, Any]:
    """Every command that does something, by the words that call it."""
    found = {}
    for command in app.registered_commands:
        found[" ".join([*path, command.name or command.callback.__name__])] = command
    for group in app.registered_groups:
        found |= commands_of(group.typer_instance, *path, group.name)
    return found


def understood(line: str) -> str | None:
    """Parse a line that begins with pubmatch, without doing what it says; return the command it calls.

    None if it would end with a usage error, or asks for help or completion.
    """
    app: typer.Typer = make_app()
    called: list[str] = []
    for name, command in commands_of(app).items():
        noted = functools.partial(_note, called, name)
        command.callback = functools.wraps(command.callback)(noted)
    try:
        app(shlex.split(line)[1:], prog_name="pubmatch")
    except SystemExit as end:
        return called[0] if end.code == 0 and called else None
    return None


def _note(called: list[str], name: str, **given: object) -> None:
    called.append(name)
