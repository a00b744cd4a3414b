"""Subscriptions: an area, and a tree of operators over what sensors there publish (paper, figure 4).

A filter operator passes readings of one type that satisfy a predicate; a calculation operator makes one
number per window out of the readings of filters, or of the results of other calculations. The tree may also
be written as named operators that refer to each other; then it is checked for unknown names and circles.
"""

from __future__ import annotations

import operator as number
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pubmatch as pm
from pubmatch.errors import ArgumentError, ArgumentTypeError
from pubmatch.overlay import zorder
from pubmatch.overlay.id_ranges import IdRange, maximal_runs

__all__ = ["FUNCTIONS", "MAX_OPERATOR_DEPTH", "Area", "Calculate", "Filter", "Operator", "Subscription"]

FUNCTIONS = ("mean", "sum", "count", "min", "max")
"""What a calculation can do; partial aggregates of each merge exactly."""

MAX_OPERATOR_DEPTH = 50
"""Calculations on one path, so that walking a tree never exhausts the stack."""

Area = tuple[float, float, float, float]
"""South, west, north, east in degrees; west > east crosses the antimeridian."""


@dataclass(frozen=True, slots=True, init=False)
class Filter:
    """A filter operator: readings of one type that satisfy a predicate.

    Parameters
    ----------
    type : str
        The type of the publishers it listens to.
    predicate : str or pubmatch.Filter, optional
        What a reading must satisfy, as SQL text or an expression of `pubmatch.attr`; none passes everything.
    area : (south, west, north, east), optional
        Where it listens, if not in the subscription's own area (figure 4b).
    ranges : iterable of (low, high), optional
        The same as half-open ranges of ids.
    value : str
        The attribute of a reading that calculations take.

    Examples
    --------
    >>> import pubmatch as pm
    >>> Filter("rain", "value > 30") == Filter("rain", pm.attr("value") > 30)
    True
    """

    type: str
    predicate: pm.Filter | None
    area: Area | None
    ranges: tuple[IdRange, ...] | None
    value: str

    def __init__(
        self,
        type: str,
        predicate: str | pm.Filter | None = None,
        *,
        area: Area | None = None,
        ranges: Iterable[tuple[int, int]] | None = None,
        value: str = "value",
    ) -> None:
        if area is not None and ranges is not None:
            raise ArgumentError("a filter listens in an area or in ranges, not both")
        object.__setattr__(self, "type", _checked_name(type, "the type of a filter"))
        object.__setattr__(self, "predicate", _checked_predicate(predicate))
        object.__setattr__(self, "area", None if area is None else checked_area(area))
        object.__setattr__(self, "ranges", None if ranges is None else maximal_runs(ranges))
        object.__setattr__(self, "value", _checked_name(value, "the value of a filter"))


@dataclass(frozen=True, slots=True, init=False)
class Calculate:
    """A calculation operator over filters, other calculations, or both.

    A filter gives all its readings of a window, a calculation its one result.

    Parameters
    ----------
    function : {"mean", "sum", "count", "min", "max"}
        What is made of the inputs.
    *inputs : Filter, Calculate or str
        At least one; a text is the name of one of the subscription's `operators`.

    Examples
    --------
    Figure 4a, danger of a flood, as the larger one of two averages:

    >>> rain = Calculate("mean", Filter("rain", "value > 0"))
    >>> level = Calculate("mean", Filter("water level"))
    >>> danger = Calculate("max", rain, level)
    >>> danger.depth
    2
    """

    function: str
    inputs: tuple[Operator | str, ...]
    depth: int

    def __init__(self, function: str, *inputs: Operator | str) -> None:
        if function not in FUNCTIONS:
            raise ArgumentError(f"function must be one of {', '.join(FUNCTIONS)}, got {function!r}")
        if not inputs:
            raise ArgumentError(f"a calculation needs at least one input, {function!r} got none")
        for position, each in enumerate(inputs):
            if not isinstance(each, Filter | Calculate | str):
                raise ArgumentTypeError(
                    f"input {position} of {function!r} must be a Filter, a Calculate or the name of one, "
                    f"got {each!r}"
                )
        depth = 1 + max(each.depth if isinstance(each, Calculate) else 0 for each in inputs)
        if depth > MAX_OPERATOR_DEPTH:
            raise ArgumentError(f"calculations may be nested {MAX_OPERATOR_DEPTH} deep, got {depth}")
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "depth", depth)


Operator = Filter | Calculate


class Subscription:
    """What one subscriber wants to know: an operator tree over an area.

    Parameters
    ----------
    name : str
        Its name in the network.
    operator : Filter, Calculate or str
        The operator whose output the subscriber receives; a text is one of `operators`.
    area : (south, west, north, east), optional
        The requested area in degrees.
    ranges : iterable of (low, high), optional
        The same as half-open ranges of ids. One of both is needed unless every filter has its own.
    subscriber : int or (latitude, longitude), optional
        Where the subscriber is, an id or a place: the node there becomes the root. In the middle of the
        first range if not given.
    operators : mapping of str to Filter or Calculate, optional
        Named operators that inputs refer to.

    Examples
    --------
    >>> rain = Subscription("rain", Calculate("mean", Filter("rain", "value > 5")), ranges=[(0, 64)])
    >>> rain.ranges
    ((0, 64),)
    >>> Subscription("x", "a", ranges=[(0, 4)], operators={"a": Calculate("sum", "b"),
    ...                                                    "b": Calculate("sum", "a")})
    Traceback (most recent call last):
    ...
    pubmatch.errors.ArgumentError: the operators go in a circle: a -> b -> a
    """

    __slots__ = ("area", "name", "operator", "ranges", "subscriber")

    def __init__(
        self,
        name: str,
        operator: Operator | str,
        *,
        area: Area | None = None,
        ranges: Iterable[tuple[int, int]] | None = None,
        subscriber: int | tuple[float, float] | None = None,
        operators: Mapping[str, Operator] | None = None,
    ) -> None:
        if area is not None and ranges is not None:
            raise ArgumentError("a subscription has an area or ranges, not both")
        self.name = _checked_name(name, "the name of a subscription")
        self.operator: Operator = resolved(operator, operators or {})
        self.area = None if area is None else checked_area(area)
        self.ranges = None if ranges is None else maximal_runs(ranges)
        self.subscriber = _checked_subscriber(subscriber)
        if area is None and ranges is None:
            _check_own_areas(self.operator)

    def __repr__(self) -> str:
        where = f"area={self.area}" if self.ranges is None else f"ranges={self.ranges}"
        return f"Subscription({self.name!r}, {self.operator!r}, {where})"


def resolved(operator: Operator | str, operators: Mapping[str, Operator]) -> Operator:
    """The operator with every name replaced by what it stands for.

    Examples
    --------
    >>> resolved("a", {"a": Calculate("sum", "b"), "b": Filter("rain")}) == Calculate("sum", Filter("rain"))
    True
    """
    for name, each in operators.items():
        if not isinstance(each, Filter | Calculate):
            raise ArgumentTypeError(f"operator {name!r} must be a Filter or a Calculate, got {each!r}")
    return _resolve(operator, operators, [], {})


def _resolve(
    operator: Operator | str, operators: Mapping[str, Operator], path: list[str], done: dict[str, Operator]
) -> Operator:
    if isinstance(operator, Filter):
        return operator
    if isinstance(operator, Calculate):
        if not any(isinstance(each, str | Calculate) for each in operator.inputs):
            return operator
        inputs = (_resolve(each, operators, path, done) for each in operator.inputs)
        return Calculate(operator.function, *inputs)
    if not isinstance(operator, str):
        raise ArgumentTypeError(f"an operator must be a Filter or a Calculate, got {operator!r}")
    if operator in path:
        circle = [*path[path.index(operator) :], operator]
        raise ArgumentError(f"the operators go in a circle: {' -> '.join(circle)}")
    if operator not in operators:
        known = ", ".join(operators) or "none"
        raise ArgumentError(f"there is no operator {operator!r}; there are {known}")
    if len(path) >= MAX_OPERATOR_DEPTH:
        raise ArgumentError(f"calculations may be nested {MAX_OPERATOR_DEPTH} deep, got more at {operator!r}")
    if operator not in done:
        path.append(operator)
        done[operator] = _resolve(operators[operator], operators, path, done)
        path.pop()
    return done[operator]


def checked_area(area: object) -> Area:
    """Four degrees that enclose an area.

    Examples
    --------
    >>> checked_area((30, 170, 40, -170))
    (30.0, 170.0, 40.0, -170.0)
    >>> checked_area((30, 10, 30, 20))
    Traceback (most recent call last):
    ...
    pubmatch.errors.ArgumentError: south must be below north, got 30.0 and 30.0: an empty area
    """
    try:
        south, west, north, east = (float(each) for each in area)  # type: ignore[attr-defined]  # checked here
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"an area is four degrees (south, west, north, east), got {area!r}") from None
    zorder.ranges(south, west, north, east, bits=1)  # says what is wrong with an area
    return south, west, north, east


def _checked_name(name: object, what: str) -> str:
    if not isinstance(name, str):
        raise ArgumentTypeError(f"{what} must be a text, got {name!r}")
    if not name:
        raise ArgumentError(f"{what} must not be empty")
    return name


def _checked_predicate(predicate: object) -> pm.Filter | None:
    if predicate is None or isinstance(predicate, pm.Filter):
        return predicate
    if isinstance(predicate, str):
        return pm.parse(predicate)
    raise ArgumentTypeError(f"a predicate is SQL text or a pubmatch filter, got {predicate!r}")


def _checked_subscriber(subscriber: object) -> int | tuple[float, float] | None:
    if subscriber is None:
        return None
    if isinstance(subscriber, tuple | list):
        try:
            latitude, longitude = (float(each) for each in subscriber)
        except (TypeError, ValueError):
            raise ArgumentTypeError(
                f"a subscriber is an id or (latitude, longitude), got {subscriber!r}"
            ) from None
        return latitude, longitude
    try:
        place = number.index(subscriber)  # type: ignore[arg-type]  # anything else ends below
    except TypeError:
        raise ArgumentTypeError(
            f"a subscriber is an id or (latitude, longitude), got {subscriber!r}"
        ) from None
    if place < 0:
        raise ArgumentError(f"the id of a subscriber must not be below 0, got {place}")
    return place


def _check_own_areas(operator: Operator) -> None:
    """Without an area of the subscription, every filter needs one."""
    open_operators: list[Operator | str] = [operator]
    while open_operators:
        each = open_operators.pop()
        if isinstance(each, Calculate):
            open_operators.extend(each.inputs)
        elif isinstance(each, Filter) and each.area is None and each.ranges is None:
            raise ArgumentError(
                f"the area is empty: neither the subscription nor its filter on {each.type!r} has one"
            )
