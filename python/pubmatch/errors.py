"""Every error pubmatch raises on purpose, under one root.

An argument of the wrong value or type is also a `ValueError` or `TypeError`, a file the operating system
refuses is also an `OSError`: code that knows nothing of pubmatch still catches what it expects. The native
core raises the same classes; they are handed to it when the package is imported.
"""

from __future__ import annotations

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "CorruptIndexError",
    "FileAccessError",
    "FilterError",
    "FormatError",
    "MissingFileError",
    "PubmatchError",
    "SchemaError",
]


class PubmatchError(Exception):
    """Root of all pubmatch errors.

    Examples
    --------
    >>> import pubmatch as pm
    >>> try:
    ...     pm.Index(dims=0)
    ... except pm.PubmatchError as error:
    ...     print(error)
    dims must be from 1 to 255, got 0
    """


class ArgumentError(PubmatchError, ValueError):
    """An argument has a value the call cannot work with; nothing was changed."""


class ArgumentTypeError(PubmatchError, TypeError):
    """An argument has a type or dtype the call does not take; nothing was changed."""


class FormatError(PubmatchError):
    """A file or buffer is not what this release can read: foreign, newer, truncated or corrupted."""


class FileAccessError(FormatError, OSError):
    """The operating system refused to open, read or write a file of any kind; see `errno` and `filename`."""


class MissingFileError(FileAccessError, FileNotFoundError):
    """The file, or the directory it should be written to, does not exist."""


class CorruptIndexError(PubmatchError):
    """`Index.check` found nodes that contradict each other, or not those that the file was saved with."""


class SchemaError(PubmatchError, ValueError):
    """A schema, or a value given for one of its attributes, does not fit."""


class FilterError(PubmatchError, ValueError):
    """A subscription's filter cannot be parsed, or cannot be evaluated exactly."""


def file_access_error(error: OSError, path: str) -> FileAccessError:
    """The pubmatch error for what the operating system said about `path`."""
    kind = MissingFileError if isinstance(error, FileNotFoundError) else FileAccessError
    return kind(error.errno, error.strerror or str(error), path)
