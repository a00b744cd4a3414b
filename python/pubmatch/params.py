"""All knobs of the index in one frozen, validated value."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from pubmatch.arrays import checked_integer, checked_number
from pubmatch.errors import ArgumentError, ArgumentTypeError
from pubmatch.shown import shown

__all__ = ["Params", "params_from_core", "params_to_core"]

_Fields = dict[str, Any]  # inside the class, `dict` is the method

# The smallest capacity still splits into two halves of two; the largest is one bitmap block.
_CAPACITY = (4, 512)
_BUCKETS = (4, 128)
_FILL = (0.5, 1.0)
_CHOICES = {"node_kernel": ("auto", "compare", "bitmap"), "split": ("rstar", "quadratic")}


@dataclasses.dataclass(frozen=True, slots=True)
class Params:
    """How an index lays out and splits its nodes; `None` and `"auto"` leave the choice to the data.

    Parameters
    ----------
    node_capacity : int, optional
        Most children of an inner node, 4 to 512.
    leaf_capacity : int, optional
        Most boxes of a leaf, 4 to 512.
    node_kernel : {"auto", "compare", "bitmap"}
        How nodes are tested: by comparing envelopes, or by bitmaps over buckets of each dimension.
    split : {"rstar", "quadratic"}
        How a full node of the "compare" layout is divided when boxes are inserted.
    fill : float, optional
        How full bulk-loaded leaves are, 0.5 to 1.0; the room left takes later inserts without splits.
    buckets : int, optional
        Buckets per dimension in bitmap leaves, 4 to 128.

    Examples
    --------
    >>> import pubmatch as pm
    >>> paper = pm.Params(node_capacity=10, leaf_capacity=20, node_kernel="compare")
    >>> paper.leaf_capacity
    20
    >>> paper == pm.Params(**paper.dict())
    True
    >>> pm.Params(leaf_capacity=3)
    Traceback (most recent call last):
    ...
    pubmatch.errors.ArgumentError: leaf_capacity must be None or from 4 to 512, got 3
    """

    node_capacity: int | None = None
    leaf_capacity: int | None = None
    node_kernel: Literal["auto", "compare", "bitmap"] = "auto"
    split: Literal["rstar", "quadratic"] = "rstar"
    fill: float | None = None
    buckets: int | None = None

    def __post_init__(self) -> None:
        problems: list[str] = []
        for field, allowed in _CHOICES.items():
            value = getattr(self, field)
            if not isinstance(value, str) or value not in allowed:
                problems.append(f"{field} must be one of {', '.join(allowed)}, got {value!r}")
        for field, (low, high) in {
            "node_capacity": _CAPACITY,
            "leaf_capacity": _CAPACITY,
            "buckets": _BUCKETS,
        }.items():
            given = getattr(self, field)
            whole = None if given is None else checked_integer(field, given)
            object.__setattr__(self, field, whole)
            if whole is not None and not low <= whole <= high:
                problems.append(f"{field} must be None or from {low} to {high}, got {shown(whole)}")
        share = None if self.fill is None else checked_number("fill", self.fill)
        object.__setattr__(self, "fill", share)
        if share is not None and not _FILL[0] <= share <= _FILL[1]:
            problems.append(f"fill must be None or from {_FILL[0]} to {_FILL[1]}, got {share}")
        if problems:
            raise ArgumentError("; ".join(problems))

    def dict(self) -> _Fields:
        """The fields as a dictionary that `Params(**...)` takes back.

        Examples
        --------
        >>> import pubmatch as pm
        >>> pm.Params(leaf_capacity=64).dict()["leaf_capacity"]
        64
        """
        return dataclasses.asdict(self)


def params_to_core(params: Params | None) -> _Fields:
    """The fields as the core takes them: 0 where the data decides."""
    if params is not None and not isinstance(params, Params):
        raise ArgumentTypeError(f"params must be a pubmatch.Params, got {type(params).__name__}")
    return {field: 0 if value is None else value for field, value in (params or Params()).dict().items()}


def params_from_core(fields: _Fields) -> Params:
    """The inverse of `params_to_core`."""
    known: _Fields = {field.name: fields[field.name] or None for field in dataclasses.fields(Params)}
    return Params(**known)
