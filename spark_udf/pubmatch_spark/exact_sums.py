"""Sums and means of integers that are exact, however large the integers are.

Sums are added up as decimals, which hold 2^63 times any integer of 64 bits. Only a result that was asked for
as a sum has to fit 64 bits again. A mean is the real quotient, rounded once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["DIGITS", "integer_mean", "integer_sum"]

DIGITS = 28
"""Decimal digits of a sum that leaves an executor: 2^30 integers of 64 bits; Spark adds ten for its own."""

_EXACT = 2**53  # doubles hold every integer up to here


def integer_sum(total: str, column: str, subscription: str) -> Column:
    """The sum in the decimal column `total` as a bigint; the job fails if it does not fit.

    Parameters
    ----------
    total : str
        The sum.
    column : str
        What was summed up, for the message.
    subscription : str
        The column that tells for which subscription, for the message too.
    """
    from pyspark.sql import functions

    value = functions.col(total)
    told = functions.concat(
        functions.lit(f"column {column!r}: the sum "),
        value,
        functions.lit(" for subscription "),
        functions.col(subscription),
        functions.lit(" does not fit 64 bits"),
    )
    fits = value.between(-(2**63), 2**63 - 1)
    return functions.when(fits, value.cast("bigint")).when(value.isNotNull(), functions.raise_error(told))


def integer_mean(total: str, number: str) -> Column:
    """The quotient of the decimal column `total` and the bigint column `number`, correctly rounded.

    Where both are doubles without loss, their division rounds once. Else the quotient is above 1. Then its
    first 55 bits after the point, and one more that tells whether there is a rest, make an integer of more
    bits than a double has, and rounding that integer is rounding the quotient.
    """
    from pyspark.sql import functions

    whole = f"CAST({total} DIV {number} AS DECIMAL(38, 0))"
    rest = f"({total} % {number}) * {2**55}"
    below = f"CAST({rest} DIV {number} AS DECIMAL(38, 0))"
    bits = f"{whole} * {2**56} + {below} * 2 + CAST(sign({rest} % {number}) AS INT)"
    return functions.expr(
        f"CASE WHEN {number} > 0 AND abs({total}) <= {_EXACT} THEN CAST({total} AS DOUBLE) / {number} "
        f"WHEN {number} > 0 THEN CAST({bits} AS DOUBLE) / {2**56} END"
    )
