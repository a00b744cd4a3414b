"""What a clustering shows: clusters and deliveries; and how attribute sets are checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from pubmatch.errors import ArgumentError, ArgumentTypeError

__all__ = ["Cluster", "Delivery", "attribute_set"]


@dataclasses.dataclass(frozen=True)
class Cluster:
    """One cluster at one moment.

    Attributes
    ----------
    id : int
        Its number; younger clusters have higher ones, and no number is used twice.
    combinations : frozenset of frozenset of str
        The attribute combinations it owns. A subscriber to one of them connects here.
    publishers : frozenset of str
        The connected publishers: those that offer one of the combinations.
    """

    id: int
    combinations: frozenset[frozenset[str]]
    publishers: frozenset[str]


@dataclasses.dataclass(frozen=True)
class Delivery:
    """What became of one notification.

    Attributes
    ----------
    deliveries : int
        Subscribers that received it.
    false_positives : int
        Of these, subscribers whose combination it does not contain.
    by_cluster : dict
        Both numbers for each cluster the publisher is connected to.

    Examples
    --------
    >>> Delivery(4, 1).rate
    0.25
    """

    deliveries: int
    false_positives: int
    by_cluster: Mapping[int, tuple[int, int]] = dataclasses.field(default_factory=dict, compare=False)

    @property
    def rate(self) -> float:
        """The share of false positives; 0 if nobody received anything."""
        return self.false_positives / self.deliveries if self.deliveries else 0.0


def attribute_set(attributes: Iterable[str], what: str) -> frozenset[str]:
    """Check a set of attribute names.

    Parameters
    ----------
    attributes : iterable of str
        The names; a bare text is refused, for its letters are hardly meant.
    what : str
        What they are, for the message.

    Examples
    --------
    >>> sorted(attribute_set(["B", "A"], "advertisement"))
    ['A', 'B']
    """
    if isinstance(attributes, str | bytes):
        raise ArgumentTypeError(f"{what} must be a set of attribute names, got the text {attributes!r}")
    try:
        names = frozenset(attributes)
    except TypeError:
        raise ArgumentTypeError(f"{what} must be a set of attribute names, got {attributes!r}") from None
    for name in names:
        if not isinstance(name, str):
            raise ArgumentTypeError(f"{what} must hold attribute names, got {name!r}")
    if not names:
        raise ArgumentError(f"{what} must have at least one attribute, got none")
    return names
