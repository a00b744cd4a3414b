"""The command line. This module stays light: typer and rich are looked for only when a command runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 a check failed, 2 bad input or wrong usage.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after the program's name; by default those the process was started with.
    """
    try:
        from pubmatch.cli.app import run
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("rich", "typer"):
            raise
        sys.stderr.write(f"pubmatch: {missing} is not installed; run: pip install 'pubmatch[cli]'\n")
        return 2
    return run(arguments)
