"""Accumulators of the built-in aggregate functions.

A state is a list of plain Python values, so that it pickles small; the accumulator object holds no data. Arguments and
results are Python values as returned by `pyarrow.Array.to_pylist`.
"""

# ruff: noqa: D102

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from firesteel.columns import column_types as t
from firesteel.errors import JobExecutionError

State = list[Any]
WIDE = Context(prec=100, rounding=ROUND_HALF_UP)

_BITS: dict[type[t.DataType], int] = {t.TinyIntType: 8, t.SmallIntType: 16, t.IntType: 32, t.BigIntType: 64}


def wrap(value: int, bits: int) -> int:
    """Wrap an integer to a signed integer of `bits` bits, as Java does."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def fit_decimal(value: Decimal, data_type: t.DecimalType) -> Decimal | None:
    """Round a decimal half up to the scale of a type; return None if it has too many digits."""
    if value and value.adjusted() > t.MAX_DECIMAL_PRECISION:
        return None
    rounded = value.quantize(Decimal(1).scaleb(-data_type.scale), context=WIDE)
    return rounded if len(rounded.as_tuple().digits) <= data_type.precision else None


def number_cast(data_type: t.DataType) -> Callable[[Any], Any]:
    """Return a function that converts a sum or quotient to a numeric type."""
    if isinstance(data_type, t.DecimalType):
        return lambda value: fit_decimal(Decimal(value), data_type)
    if isinstance(data_type, t.FloatType):
        return lambda value: float(np.float32(value))
    if isinstance(data_type, t.DoubleType):
        return float
    bits = _BITS[type(data_type)]
    return lambda value: 0 if value != value else wrap(int(value), bits)  # as Java casts NaN


class Accumulator:
    """The state logic of an aggregate function for one group. Flink: `AggsHandleFunction`."""

    def new(self) -> State:
        """Return the state of a group without rows."""
        raise NotImplementedError

    def add(self, state: State, *args: object) -> None:
        """Add a row to the group."""
        raise NotImplementedError

    def retract(self, state: State, *args: object) -> None:
        """Retract a row that was added before."""
        raise NotImplementedError

    def value(self, state: State) -> Any:
        """Return the result of the group."""
        raise NotImplementedError


class SignedAccumulator(Accumulator):
    """An accumulator of one argument, without its NULLs, to which a retracted row is one that is added -1 times."""

    def _change(self, state: State, value: object, count: int) -> None:
        raise NotImplementedError

    def add(self, state: State, *args: object) -> None:
        if args[0] is not None:
            self._change(state, args[0], 1)

    def retract(self, state: State, *args: object) -> None:
        if args[0] is not None:
            self._change(state, args[0], -1)


class Count(Accumulator):
    """COUNT: the number of rows without a NULL argument."""

    def new(self) -> State:
        return [0]

    def add(self, state: State, *args: object) -> None:
        if None not in args:
            state[0] += 1

    def retract(self, state: State, *args: object) -> None:
        if None not in args:
            state[0] -= 1

    def value(self, state: State) -> Any:
        return state[0]


class Sum(SignedAccumulator):
    """SUM and $SUM0; the state holds the sum and the number of values.

    Args:
        result_type: The type of the sum.
        is_nullable: Whether the sum of no values is NULL. Otherwise, as in Flink, the result is the sum even if more
            values were retracted than added.
    """

    def __init__(self, result_type: t.DataType, is_nullable: bool) -> None:
        self._convert = number_cast(result_type)
        self._float = isinstance(result_type, t.FloatType)
        self._is_nullable = is_nullable
        self._zero: object = Decimal(0) if isinstance(result_type, t.DecimalType) else 0
        if is_nullable and isinstance(result_type, t.FloatType | t.DoubleType):
            self._zero = -0.0  # A sum of -0.0 is -0.0, as Flink's begins with the first value.

    def new(self) -> State:
        return [self._zero, 0]

    def _change(self, state: State, value: object, count: int) -> None:
        # Decimal's operators round to 28 digits, DECIMAL has up to 38.
        total = WIDE.add(state[0], value) if isinstance(value, Decimal) else state[0] + value
        # After each addition, as Java adds floats.
        state[0] = float(np.float32(total)) if self._float else total
        state[1] += count

    def retract(self, state: State, *args: Any) -> None:
        if args[0] is not None:
            self._change(state, args[0].copy_negate() if isinstance(args[0], Decimal) else -args[0], -1)

    def value(self, state: State) -> Any:
        return self._convert(state[0]) if state[1] or not self._is_nullable else None


class Avg(Sum):
    """AVG; integers use a BIGINT sum and integer division."""

    def __init__(self, result_type: t.DataType) -> None:
        super().__init__(result_type, is_nullable=False)  # as its sum begins with 0
        self._integral = isinstance(result_type, t.IntegralType)
        # In Flink the sum of an average of FLOAT is a DOUBLE.
        self._float = False

    def value(self, state: State) -> Any:
        total, count = state
        if not count:
            return None
        if self._integral:
            return self._convert(quotient(wrap(total, 64), count))
        return self._convert(WIDE.divide(total, count) if isinstance(total, Decimal) else total / count)


def quotient(dividend: int, divisor: int) -> int:
    """Return an integer quotient, truncated towards zero as in Java."""
    result = abs(dividend) // abs(divisor)
    return result if (dividend < 0) == (divisor < 0) else -result


class Variance(SignedAccumulator):
    """VAR_POP, VAR_SAMP and their square roots, computed from the count, the sum and the sum of squares.

    The sums are exact, also those of floating point numbers: what is lost by their rounding can exceed the result. As
    Flink's are, results are DOUBLE before they become the type of the values.
    """

    def __init__(self, result_type: t.DataType, sample: bool, root: bool) -> None:
        self._convert = _from_double(result_type)
        self._base = 10 if isinstance(result_type, t.DecimalType) else 2
        self._sample = sample
        self._root = root

    def new(self) -> State:
        """Return count, sum, sum of squares, the digits of these behind the point, and how many are no numbers."""
        return [0, 0, 0, 0, 0]

    def _change(self, state: State, value: Any, sign: int) -> None:
        state[0] += sign
        if isinstance(value, float) and not math.isfinite(value):
            state[4] += sign
            return
        number, digits = _as_integer(value)
        number *= self._shared(state, digits)
        state[1] += sign * number
        state[2] += sign * number * number

    def _shared(self, state: State, digits: int) -> int:
        """Let the sums have at least so many digits, and return the factor for numbers that have fewer."""
        if digits <= state[3]:
            return int(self._base ** (state[3] - digits))
        factor = int(self._base ** (digits - state[3]))
        state[1:4] = [state[1] * factor, state[2] * factor * factor, digits]
        return 1

    def value(self, state: State) -> Any:
        count, total, squares, digits, strange = state
        divisor = count - 1 if self._sample else count
        if divisor <= 0:
            return None
        if strange:
            return self._convert(math.nan)
        variance = _as_double(Fraction(squares * count - total * total, count * divisor * self._base ** (2 * digits)))
        if not self._root:
            return self._convert(variance)
        # Where a value was taken back that had not come, the variance can be negative. Java's root of it is NaN.
        return self._convert(math.sqrt(variance) if variance >= 0 else math.nan)


def _as_integer(value: Decimal | float) -> tuple[int, int]:
    """Return a number without its point, and how many digits are behind that, of base 10 (Decimal) or 2 (float)."""
    if isinstance(value, Decimal):
        digits = max(0, -int(value.as_tuple().exponent))
        return int(value.scaleb(digits, WIDE)), digits
    number, divisor = value.as_integer_ratio()
    return number, divisor.bit_length() - 1


def _as_double(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _from_double(data_type: t.DataType) -> Callable[[float], object]:
    """Return the conversion of a DOUBLE as Java does it: to INT or BIGINT, which end at their limits, then narrower."""
    convert = number_cast(data_type)
    if isinstance(data_type, t.DecimalType):
        return lambda value: convert(repr(value)) if math.isfinite(value) else None
    if not isinstance(data_type, t.IntegralType):
        return convert
    limit = 2**63 if isinstance(data_type, t.BigIntType) else 2**31
    # Limited before and after it is whole: infinity has no whole number, and no DOUBLE is 2**63 - 1.
    return lambda value: convert(min(int(max(-limit, min(value, limit))), limit - 1)) if value == value else 0


class SingleValue(Accumulator):
    """SINGLE_VALUE: the value of a scalar subquery, which has at most one row."""

    def new(self) -> State:
        return [None, 0]

    def add(self, state: State, *args: object) -> None:
        self._change(state, args[0], 1)

    def retract(self, state: State, *args: object) -> None:
        self._change(state, None, -1)

    def _change(self, state: State, value: object, count: int) -> None:
        state[1] += count
        if state[1] > 1:
            raise JobExecutionError("SingleValueAggFunction received more than one element.")
        state[0] = value

    def value(self, state: State) -> Any:
        return state[0]
