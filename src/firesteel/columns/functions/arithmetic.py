"""`+ - * / %` on numbers, dates, times and intervals."""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns import column_types as t
from firesteel.columns.calendar import shifted
from firesteel.columns.cells import Array
from firesteel.columns.conversions import converted
from firesteel.columns.decimal_words import decimals_of, from_int64, int64_of, rounded
from firesteel.columns.functions.accumulators import WIDE, fit_decimal
from firesteel.columns.functions.function import (
    CallSite,
    Column,
    Function,
    Kernel,
    Operands,
    Resolved,
    Types,
    per_row,
)
from firesteel.columns.functions.function_errors import cannot_apply, wrong_count
from firesteel.columns.functions.signatures import argument, signature
from firesteel.columns.type_families import APPROXIMATE, DATETIMES, INTERVALS
from firesteel.columns.type_rules import arithmetic_type, as_decimal, common_type, is_exact
from firesteel.columns.values import arrow_type
from firesteel.columns.years import within_years

_FORMS = {
    "+": ("<NUMERIC> + <NUMERIC>", "<DATETIME_INTERVAL> + <DATETIME_INTERVAL>"),
    "-": ("<NUMERIC> - <NUMERIC>", "<DATETIME_INTERVAL> - <DATETIME_INTERVAL>"),
    "*": ("<NUMERIC> * <NUMERIC>", "<DATETIME_INTERVAL> * <NUMERIC>", "<NUMERIC> * <DATETIME_INTERVAL>"),
    "/": ("<NUMERIC> / <NUMERIC>", "<DATETIME_INTERVAL> / <NUMERIC>"),
    "%": ("<EXACT_NUMERIC> % <EXACT_NUMERIC>",),
}
_KERNELS: dict[str, Callable[[Any, Any], Any]] = {
    "+": pc.add,
    "-": pc.subtract,
    "*": pc.multiply,
    "/": pc.divide,
}
_DECIMALS: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": WIDE.add,
    "-": WIDE.subtract,
    "*": WIDE.multiply,
    "/": WIDE.divide,
    "%": WIDE.remainder,
}
_PYTHON: dict[str, Callable[[object, object], object]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def _resolve(name: str) -> Callable[[Types, Operands], Resolved]:
    def resolve(types: Types, operands: Operands) -> Resolved:
        if len(types) != 2:
            raise wrong_count(name, len(types), "2")
        result = arithmetic_type(name, types[0], types[1])
        if result is None:
            raise cannot_apply(name, types, *_FORMS[name])
        left, right = (result if isinstance(x, t.NullType) else x for x in types)
        return [left.with_nullable(types[0].is_nullable), right.with_nullable(types[1].is_nullable)], result

    return resolve


def _bind(name: str) -> Callable[[CallSite], Kernel]:
    def bind(call: CallSite) -> Kernel:
        left, right = call.types
        if not (isinstance(left, t.NumericType) and isinstance(right, t.NumericType)):
            return _temporal(name, call)
        if isinstance(call.type, t.DecimalType) and is_exact(left) and is_exact(right):
            return _decimal(name, call)
        return _number(name, call)

    return bind


def _negate(call: CallSite) -> Kernel:
    if isinstance(call.type, t.DayTimeIntervalType):
        return per_row(lambda _: operator.neg)(call)
    return lambda columns, length: pc.negate(columns[0])


def _number(name: str, call: CallSite) -> Kernel:
    """Return the kernel for floating point numbers and for integers, which wrap around."""
    common = common_type(call.types) or call.type
    operand_type, target = arrow_type(common), call.arrow_type
    integral = isinstance(common, t.IntegralType)

    def kernel(columns: list[Column], length: int) -> Column:
        left, right = (as_number(column, operand_type) for column in columns)
        if integral and name in "/%" and pc.any(pc.equal(right, pa.scalar(0, operand_type))).as_py():
            _refuse_zero(left, right)
        result = _remainder(left, right) if name == "%" else _KERNELS[name](left, right)
        if integral and name == "/":
            # Arrow makes 0 of the smallest number divided by -1, and Java that number.
            result = pc.if_else(pc.equal(right, pa.scalar(-1, operand_type)), pc.negate(left), result)
        return result if result.type == target else result.cast(target, safe=False)

    return kernel


def as_number(column: Column, target: pa.DataType) -> Column:
    """Return numbers in another type; floating point types take the nearest number that they have."""
    return converted(column, target, safe=False)


def _refuse_zero(left: Column, right: Column) -> None:
    zero = pc.and_(pc.equal(right, pa.scalar(0, right.type)), pc.is_valid(left))
    if pc.any(zero).as_py():
        raise ZeroDivisionError("/ by zero")


def _remainder(left: Column, right: Column) -> Column:
    """Return the remainder; it has the sign of the dividend, as in Java."""
    if isinstance(left, pa.Scalar) and isinstance(right, pa.Scalar):
        left = pa.array([left.as_py()], left.type)
        return _remainder(left, right)[0]
    length = len(right if isinstance(left, pa.Scalar) else left)
    arrays = [pa.repeat(c, length) if isinstance(c, pa.Scalar) else c for c in (left, right)]
    valid = pc.and_(pc.is_valid(arrays[0]), pc.is_valid(arrays[1]))
    x, y = (pc.fill_null(array, pa.scalar(1, array.type)).to_numpy(zero_copy_only=False) for array in arrays)
    with np.errstate(all="ignore"):
        result = np.fmod(x, y)
    return pa.array(result, mask=~valid.to_numpy(zero_copy_only=False))


def _decimal(name: str, call: CallSite) -> Kernel:
    """Return the kernel for decimals: Arrow's if its result type equals Flink's, else integers, else value by value."""
    left, right = (as_decimal(data_type) for data_type in call.types)
    target, operand_types = call.arrow_type, [arrow_type(left), arrow_type(right)]
    slow = per_row(lambda _: _decimal_function(name, call.type))(call)

    def kernel(columns: list[Column], length: int) -> Column:
        casts = [column.cast(data_type) for column, data_type in zip(columns, operand_types, strict=True)]
        # At 38 digits Arrow has no type for the exact result, which Flink rounds; quotients have other scales.
        if name not in "+-*" or target.precision == t.MAX_DECIMAL_PRECISION:
            found = _of_integers(name, casts, target)
            return slow(columns, length) if found is None else found
        result = _KERNELS[name](*casts)
        return result if result.type == target else result.cast(target)

    return kernel


def _of_integers(name: str, columns: list[Column], target: pa.DataType) -> Column | None:
    """Return the results if all values, and those on the way to the results, are integers of less than 62 bits."""
    operands = [int64_of(column) for column in columns]
    arrays = [column for column in columns if not isinstance(column, pa.Scalar)]
    if operands[0] is None or operands[1] is None or not arrays or name not in _OF_INTEGERS:
        return None
    scales = [column.type.scale for column in columns]
    found = _OF_INTEGERS[name](name, operands[0], operands[1], scales, target.scale)
    if found is None:
        return None
    numbers = np.ascontiguousarray(np.broadcast_to(found, len(arrays[0])))
    is_null = np.zeros(len(numbers), bool)
    if target.precision <= _DIGITS_OF_INT64:
        is_null |= np.abs(numbers) >= 10**target.precision
    for array in arrays:
        if array.null_count:
            is_null |= array.is_null().to_numpy(zero_copy_only=False)
    return decimals_of(from_int64(numbers), target, is_null if is_null.any() else None)


def _largest(values: Array | int) -> int:
    """Return the largest size of a value, at least 1: a factor of 0 must have room, too."""
    return max(1, int(np.abs(values).max(initial=0)))


def _sum(name: str, left: Array | int, right: Array | int, scales: list[int], target: int) -> Array | None:
    scale = max(*scales, target)
    first, second = (10 ** (scale - own) for own in scales)
    if max(_largest(left) * first, _largest(right) * second) >= _ROOM // 2:
        return None
    return _rescaled(left * first + right * second if name == "+" else left * first - right * second, scale - target)


def _product(name: str, left: Array | int, right: Array | int, scales: list[int], target: int) -> Array | None:
    scale = max(sum(scales), target)
    factor = 10 ** (scale - sum(scales))
    if _largest(left) * _largest(right) * factor >= _ROOM:
        return None
    return _rescaled(left * right * factor, scale - target)


def _quotient(name: str, left: Array | int, right: Array | int, scales: list[int], target: int) -> Array | None:
    shift = target + scales[1] - scales[0]
    if shift < 0 or _largest(left) * 10**shift >= _ROOM or _largest(right) >= _ROOM or not np.all(right):
        return None  # the divisor may be 0, or NULL, which is 0 here: value by value, the row with 0 is found
    return rounded(np.asarray(left * 10**shift), right)


def _rescaled(values: Array | int, digits: int) -> Array | None:
    """Return values with so many digits less behind the point."""
    if not digits:
        return np.asarray(values)
    return rounded(np.asarray(values), 10**digits) if 10**digits < _ROOM else None


_ROOM = 2**61
_DIGITS_OF_INT64 = 18
_OF_INTEGERS = {"+": _sum, "-": _sum, "*": _product, "/": _quotient}


def _decimal_function(name: str, data_type: Any) -> Callable[[Any, Any], Any]:
    compute = _DECIMALS[name]

    def function(x: Any, y: Any) -> Any:
        if name in "/%" and not y:
            raise ZeroDivisionError("Division by zero")
        return fit_decimal(compute(Decimal(x), Decimal(y)), data_type)

    return function


def _temporal(name: str, call: CallSite) -> Kernel:
    left, right = call.types
    if isinstance(right, t.DayTimeIntervalType) and isinstance(left, (t.TimestampType, t.LocalZonedTimestampType)):
        return lambda columns, length: _KERNELS[name](*columns)
    if isinstance(left, INTERVALS) and isinstance(right, (*_MOMENTS,)):
        flipped = CallSite((call.operands[1], call.operands[0]), call.type, call.context)
        kernel = _temporal(name, flipped)
        return lambda columns, length: kernel([columns[1], columns[0]], length)
    if isinstance(left, t.NumericType):
        flipped = CallSite((call.operands[1], call.operands[0]), call.type, call.context)
        return per_row(lambda _: lambda x, y: _scaled("*", y, x))(CallSite(call.operands, call.type, flipped.context))
    if isinstance(right, t.NumericType):
        return per_row(lambda _: lambda x, y: _scaled(name, x, y))(call)
    if isinstance(left, INTERVALS):
        return per_row(lambda _: _PYTHON[name])(call)
    sign = 1 if name == "+" else -1
    return per_row(lambda _: within_years(lambda x, interval: shifted(x, sign * interval)))(call)


_MOMENTS = (t.DateType, t.TimeType, t.TimestampType, t.LocalZonedTimestampType)


def _scaled(name: str, interval: object, factor: Any) -> object:
    """Return an interval multiplied or divided by a number, truncated to milliseconds or months."""
    if isinstance(interval, datetime.timedelta):
        millis = interval // datetime.timedelta(milliseconds=1)
        return datetime.timedelta(milliseconds=int(millis * factor if name == "*" else millis / factor))
    return int(interval * factor if name == "*" else interval / factor)


def _fails(call: CallSite) -> bool:
    """Return whether the call may divide by zero."""
    divisor = call.literal(1)
    exact = all(is_exact(x) for x in call.types) or not any(isinstance(x, APPROXIMATE) for x in call.types)
    return exact and not divisor


def _overflows(call: CallSite) -> bool:
    """Return whether the result may be a date or an interval that Python does not have."""
    left, right = call.types
    if isinstance(right, t.DayTimeIntervalType) and not isinstance(left, t.DateType):
        return isinstance(call.type, INTERVALS)
    return isinstance(call.type, (*DATETIMES, *INTERVALS))


FUNCTIONS = [
    Function("NEGATE", signature("NEGATE", argument(0), "NUMERIC|INTERVAL"), _negate),
    *(Function(name, _resolve(name), _bind(name), fails=_overflows) for name in "+-*"),
    *(Function(name, _resolve(name), _bind(name), fails=_fails) for name in "/%"),
]
