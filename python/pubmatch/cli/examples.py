"""The examples below a command's help: the section `Examples` of its docstring, shown as it is written."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

__all__ = ["help_and_examples", "show_examples"]

_HEADING = re.compile(r"^Examples\n-+\n", re.MULTILINE)


def help_and_examples(docstring: str) -> tuple[str, list[str]]:
    r"""Divide a docstring into its text and the lines of its last section, `Examples`.

    Examples
    --------
    >>> help_and_examples("Greet.\n\nExamples\n--------\npubmatch greet Ann\npubmatch greet Bob")
    ('Greet.', ['pubmatch greet Ann', 'pubmatch greet Bob'])
    >>> help_and_examples("Greet.")
    ('Greet.', [])
    """
    text, *section = _HEADING.split(inspect.cleandoc(docstring))
    return text.rstrip(), [line for line in "".join(section).splitlines() if line]


def show_examples(app: typer.Typer) -> None:
    """Move the examples of every command, also those of groups, below the list of its options."""
    for command in app.registered_commands:
        text, examples = help_and_examples(getattr(command.callback, "__doc__", None) or "")
        if examples:
            command.help = text
            command.epilog = "\n".join(["\b", "Examples:", *(f"  {line}" for line in examples)])
    for group in app.registered_groups:
        if group.typer_instance is not None:
            show_examples(group.typer_instance)
