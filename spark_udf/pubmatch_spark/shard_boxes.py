"""Subscriptions and events on axes that all shards share.

Inside a matcher a string's position depends on the other strings of that matcher, so positions of two shards
cannot be compared. Planning and routing need axes that can: here strings lie on *coarse* labels, made from a
sample. Two strings may share a position, but never change places. So a box here is never smaller than the
subscription's own, and an event outside it cannot match. All other attributes are encoded as in a matcher.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pubmatch.encoding.axes import LOWEST
from pubmatch.encoding.events import event_columns
from pubmatch.encoding.labels import Labels
from pubmatch.encoding.points import encode_points
from pubmatch.schema import Category
from pubmatch.shapes import Shapes
from pubmatch.subscription_table import read_subscriptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pubmatch.schema import Schema
    from pubmatch.shapes import Prepared
    from pubmatch.subscription_table import Refusal

__all__ = ["MAX_BOXES", "Boxes", "coarse_labels", "event_points", "read_boxes", "read_prepared"]

MAX_BOXES = 64
"""How many boxes one filter may need, as for a `Matcher`."""

_COARSE = 2048  # labels of one attribute


@dataclass(frozen=True, slots=True)
class Boxes:
    """The boxes of some subscriptions on the shared axes.

    Attributes
    ----------
    lower, upper : (boxes, dims) arrays
        The bounds.
    owner : (boxes,) array of int64
        Which subscription each box belongs to.
    count : int
        How many subscriptions there are.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    owner: NDArray[np.int64]
    count: int

    def hulls(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """For each subscription the smallest box around all of its boxes."""
        lower = np.full((self.count, self.lower.shape[1]), np.inf)
        upper = np.full_like(lower, -np.inf)
        np.minimum.at(lower, self.owner, self.lower)
        np.maximum.at(upper, self.owner, self.upper)
        return lower, upper


def read_prepared(table: Any, schema: Schema) -> tuple[Prepared, list[Refusal]]:
    """The filters of a table of subscriptions, and the rows that cannot be taken."""
    given = read_subscriptions(table, "key", "filter", schema)
    _, prepared, refused = given.prepare(_shapes(schema), {}, True)
    return prepared, refused


def coarse_labels(strings: Mapping[str, set[str]], schema: Schema) -> dict[str, Labels]:
    """Labels for each Category: all of its strings, or so many of them, evenly taken in their order.

    Examples
    --------
    >>> from pubmatch.schema import Category, Schema
    >>> labels = coarse_labels({"symbol": {"AMD", "IBM"}}, Schema(symbol=Category()))
    >>> amd, hp, hq = labels["symbol"].positions(["AMD", "HP", "HQ"]).tolist()
    >>> amd < hp == hq
    True
    """
    found = {}
    for name in _categories(schema):
        words = sorted(strings.get(name, ()))
        if len(words) > _COARSE:
            words = [words[place] for place in np.linspace(0, len(words) - 1, _COARSE).astype(int).tolist()]
        found[name] = Labels.of(words)
    return found


def read_boxes(prepared: Prepared, schema: Schema, coarse: Mapping[str, Labels]) -> Boxes:
    """The boxes of filters that were understood."""
    own = {name: Labels.of(prepared.strings.get(name, ())) for name in _categories(schema)}
    lower, upper = prepared.encode(own)
    for dimension, name in enumerate(schema.names):
        if name in own:
            _coarsen(lower[:, dimension], upper[:, dimension], own[name], coarse[name])
    return Boxes(lower, upper, prepared.owner, len(prepared.texts))


def event_points(events: Any, schema: Schema, coarse: Mapping[str, Labels]) -> NDArray[np.float64]:
    """Events, of any kind that `Matcher.match` takes, as points on the shared axes."""
    return encode_points(event_columns(events, schema.names), schema, coarse)


def _coarsen(lower: NDArray[np.float64], upper: NDArray[np.float64], own: Labels, coarse: Labels) -> None:
    """Move bounds from the filters' own labels to coarse ones, in place, outwards where in doubt."""
    strings, positions = own.to_lists()
    if not strings:
        return
    places = np.array(positions, np.float64)
    common = coarse.positions(strings)
    bounded = np.flatnonzero(lower > LOWEST)
    # A bound lies on a label, or beside it if open; its string is the nearest label outwards.
    lower[bounded] = common[np.searchsorted(places, lower[bounded], side="right") - 1]
    bounded = np.flatnonzero((upper < np.inf) & (upper >= LOWEST))
    upper[bounded] = common[np.searchsorted(places, upper[bounded], side="left")]


@lru_cache(maxsize=4)
def _shapes(schema: Schema) -> Shapes:
    """What is known of templates, kept from batch to batch."""
    return Shapes(schema, MAX_BOXES)


def _categories(schema: Schema) -> list[str]:
    return [name for name in schema.names if isinstance(schema[name], Category)]
