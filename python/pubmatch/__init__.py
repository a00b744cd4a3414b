"""pubmatch: which of millions of subscriptions does each event satisfy, told as early as possible.

Examples
--------
>>> import numpy as np, pubmatch as pm
>>> lower = np.array([[10.0, 0.0], [15.0, -np.inf]])
>>> upper = np.array([[20.0, 5.0], [30.0, np.inf]])
>>> index = pm.Index.build(lower, upper)
>>> index.match(np.array([[18.0, 2.0], [25.0, 7.0]]), sort=True).pairs()
(array([0, 0, 1]), array([0, 1, 1]))
"""

from __future__ import annotations

from pubmatch import _core
from pubmatch.errors import (
    ArgumentError,
    ArgumentTypeError,
    CorruptIndexError,
    FileAccessError,
    FilterError,
    FormatError,
    MissingFileError,
    PubmatchError,
    SchemaError,
)

# Before anything can call the core, so that it never has to raise another class.
_core.set_errors(PubmatchError, ArgumentError, ArgumentTypeError, FormatError, CorruptIndexError)

from pubmatch.filters import Filter, attr, covers, intersects, parse  # noqa: E402
from pubmatch.index import MAX_DIMS, MAX_THREADS, Index  # noqa: E402
from pubmatch.matcher import Matcher  # noqa: E402
from pubmatch.matcher_result import MatcherResult  # noqa: E402
from pubmatch.matches import Matches  # noqa: E402
from pubmatch.params import Params  # noqa: E402
from pubmatch.schema import Boolean, Category, Integer, Number, Schema, Timestamp  # noqa: E402
from pubmatch.tuning import LevelTuner, active_kernel, kernels  # noqa: E402

__all__ = [
    "MAX_DIMS",
    "MAX_THREADS",
    "ArgumentError",
    "ArgumentTypeError",
    "Boolean",
    "Category",
    "CorruptIndexError",
    "FileAccessError",
    "Filter",
    "FilterError",
    "FormatError",
    "Index",
    "Integer",
    "LevelTuner",
    "Matcher",
    "MatcherResult",
    "Matches",
    "MissingFileError",
    "Number",
    "Params",
    "PubmatchError",
    "Schema",
    "SchemaError",
    "Timestamp",
    "active_kernel",
    "attr",
    "covers",
    "intersects",
    "kernels",
    "parse",
]


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version  # slow to import, and few ask

        return version("pubmatch")
    raise AttributeError(f"module 'pubmatch' has no attribute {name!r}")
