"""CAST and TRY_CAST. Flink: `CastRuleProvider` and its rules."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns import column_types as t
from firesteel.columns.decimal_words import decimals_of_doubles
from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.functions.accumulators import fit_decimal, number_cast
from firesteel.columns.functions.arithmetic import as_number
from firesteel.columns.functions.cast_parsing import CastError, parse_timestamp, text_parser
from firesteel.columns.functions.function import CallSite, Column, Function, Kernel, Operands, Resolved, Types
from firesteel.columns.functions.function_errors import FunctionError, UnsupportedFunctionError
from firesteel.columns.functions.nested_casts import nested_cast
from firesteel.columns.functions.time_zones import to_instant, to_local
from firesteel.columns.pylist import pylist
from firesteel.columns.type_families import BYTES, STRINGS, TIMESTAMPS
from firesteel.columns.type_text import type_text
from firesteel.columns.value_text import cast_formatter
from firesteel.columns.values import arrow_type

Cast = Callable[[pa.Array], pa.Array]


def array_cast(source: t.DataType, target: t.DataType, context: EvaluationContext) -> Cast:
    """Return a function that converts a column.

    Raises:
        UnsupportedFunctionError: Flink supports the cast, firesteel does not.
    """
    if isinstance(source, t.NullType):
        return lambda array: pa.nulls(len(array), arrow_type(target))
    for matches, build in _RULES:
        if matches(source, target):
            return build(source, target, context)
    raise UnsupportedFunctionError(f"firesteel does not support CAST from {type_text(source)} to {type_text(target)}")


def _bind(trying: bool) -> Callable[[CallSite], Kernel]:
    def bind(call: CallSite) -> Kernel:
        cast = array_cast(call.types[0], call.type, call.context)

        def kernel(columns: list[Column], length: int) -> Column:
            column = columns[0]
            if isinstance(column, pa.Scalar):
                single = pa.array([column.as_py()], column.type)
                return (_try(cast, single, call.arrow_type) if trying else cast(single))[0]
            return _try(cast, column, call.arrow_type) if trying else cast(column)

        return kernel

    return bind


def _try(cast: Cast, array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the converted values, with NULL where the conversion raises."""
    try:
        return cast(array)
    except (CastError, pa.ArrowException):
        if len(array) == 1:
            return pa.nulls(1, target)
        # Halves, as few values fail: each costs the logarithm of the length, and not a cast for each row.
        half = len(array) // 2
        return pa.concat_arrays([_try(cast, array[:half], target), _try(cast, array[half:], target)])


def _each(function: Callable[[Any], Any], target: t.DataType) -> Cast:
    wanted = arrow_type(target)
    return lambda array: pa.array([None if v is None else function(v) for v in pylist(array)], wanted)


def _no_cast(source: t.DataType, target: t.DataType, context: EvaluationContext) -> Cast:
    return lambda array: array


def _arrow(source: t.DataType, target: Any, context: EvaluationContext) -> Cast:
    """Use Arrow's cast, in which integers wrap around."""
    wanted = arrow_type(target)
    return lambda array: as_number(array, wanted)


def _float_to_integer(source: t.DataType, target: Any, context: EvaluationContext) -> Cast:
    """Truncate as Java does: saturate at INT or BIGINT, then wrap around to smaller types."""
    wanted = arrow_type(target)
    wide = np.int64 if isinstance(target, t.BigIntType) else np.int32
    limits = np.iinfo(wide)

    def cast(array: pa.Array) -> pa.Array:
        values = pc.fill_null(array, 0).to_numpy(zero_copy_only=False).astype(np.float64)
        values = np.trunc(np.nan_to_num(values, nan=0.0))
        high = values >= float(limits.max)
        # The greatest BIGINT is no double: 1024 less is the next one below it, and `high` sets the limit itself.
        whole = np.clip(values, float(limits.min), float(limits.max) - (1024 if wide is np.int64 else 0)).astype(wide)
        whole[high] = limits.max
        mask = pc.is_null(array).to_numpy(zero_copy_only=False)
        return pa.array(whole, mask=mask).cast(wanted, safe=False)

    return cast


def _decimal_to_integer(source: t.DataType, target: t.DataType, context: EvaluationContext) -> Cast:
    return _each(number_cast(target), target)


def _to_decimal(source: t.DataType, target: Any, context: EvaluationContext) -> Cast:
    """Round half up to the target's scale; a number with too many digits becomes NULL."""
    approximate = isinstance(source, (t.FloatType, t.DoubleType))
    slow = _each(lambda v: _decimal(repr(v) if approximate else v, target), target)
    wanted = arrow_type(target)

    def cast(array: pa.Array) -> pa.Array:
        if approximate:
            return decimals_of_doubles(array, wanted, slow)
        try:
            if pa.types.is_integer(array.type):
                array = array.cast(pa.decimal128(19, 0))
            if array.type.scale > target.scale:
                # Arrow rounds what then has a digit more than the type to 0, in silence.
                array = array.cast(pa.decimal256(array.type.precision + 1, array.type.scale))
                array = pc.round(array, target.scale, round_mode="half_towards_infinity")
            return array.cast(wanted)
        except pa.ArrowInvalid:
            return slow(array)

    return cast


def _decimal(value: Any, target: t.DecimalType) -> Decimal | None:
    number = Decimal(value)
    if not number.is_finite():
        raise CastError(f"{value} is not a number that DECIMAL can hold")
    return fit_decimal(number, target)


def _to_boolean(source: t.DataType, target: t.DataType, context: EvaluationContext) -> Cast:
    return lambda array: pc.not_equal(array, pa.scalar(0, array.type))


def _text_to_number(source: t.DataType, target: Any, context: EvaluationContext) -> Cast:
    parse = text_parser(target)
    assert parse is not None
    slow, wanted = _each(parse, target), arrow_type(target)
    if not isinstance(target, (t.IntegralType, t.DoubleType)):
        cut = _time_cut(target)
        return lambda array: cut(slow(array))

    def cast(array: pa.Array) -> pa.Array:
        if pc.any(pc.match_substring_regex(array, "[xX]")).as_py():  # Arrow reads hexadecimal numbers
            return slow(array)
        try:
            result = array.cast(wanted)
        except pa.ArrowInvalid:
            return slow(array)
        finite = pa.types.is_integer(wanted) or pc.all(pc.is_finite(result)).as_py() is not False
        return result if finite else slow(array)

    return cast


def _text_to_timestamp(source: t.DataType, target: t.DataType, context: EvaluationContext) -> Cast:
    cut = _precision_cut(target)
    parsed = _each(parse_timestamp, t.TimestampType(6))
    if isinstance(target, t.TimestampType):
        return lambda array: cut(parsed(array))
    return lambda array: to_instant(cut(parsed(array)), context.time_zone)


def _precision_cut(target: Any) -> Cast:
    """Return a function that truncates timestamps to the precision of a type."""
    unit = 10 ** max(0, 6 - target.precision)
    if unit == 1:
        return lambda array: array

    def cut(array: pa.Array) -> pa.Array:
        numbers = pc.fill_null(array.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
        if not (numbers % unit).any():
            return array
        mask = pc.is_null(array).to_numpy(zero_copy_only=False)
        return pa.array(numbers - numbers % unit, pa.int64(), mask=mask).cast(array.type)

    return cut


def _timestamps(source: t.DataType, target: t.DataType, context: EvaluationContext) -> Cast:
    cut = _precision_cut(target)
    if type(source) is type(target):
        return cut
    if isinstance(target, t.TimestampType):
        return lambda array: cut(to_local(array, context.time_zone))
    return lambda array: cut(to_instant(array, context.time_zone))


def _date_to_timestamp(source: t.DataType, target: t.DataType, context: EvaluationContext) -> Cast:
    if isinstance(target, t.TimestampType):
        return lambda array: array.cast(pa.timestamp("us"))
    return lambda array: to_instant(array.cast(pa.timestamp("us")), context.time_zone)


def _time_to_timestamp(source: t.DataType, target: t.DataType, context: EvaluationContext) -> Cast:
    epoch = datetime.date(1970, 1, 1)
    local = _each(lambda v: datetime.datetime.combine(epoch, v), t.TimestampType(6))
    if isinstance(target, t.TimestampType):
        return local
    return lambda array: to_instant(local(array), context.time_zone)


def _timestamp_to_part(source: t.DataType, target: Any, context: EvaluationContext) -> Cast:
    """Return the cast of timestamps to DATE or TIME."""
    zoned = isinstance(source, t.LocalZonedTimestampType)
    wanted, cut = arrow_type(target), _time_cut(target)

    def cast(array: pa.Array) -> pa.Array:
        local = to_local(array, context.time_zone) if zoned else array
        if isinstance(target, t.DateType):
            return pc.floor_temporal(local, unit="day").cast(wanted)
        return cut(local.cast(wanted, safe=False))

    return cast


def _time_cut(target: t.DataType) -> Cast:
    """Return the function that drops the digits of the seconds that TIME(n) does not have."""
    if not isinstance(target, t.TimeType) or target.precision >= 6:
        return lambda array: array
    step, kind = 10 ** (6 - target.precision), pa.time64("us")

    def cut(array: pa.Array) -> pa.Array:
        micros = array.cast(kind).cast(pa.int64())
        return pc.multiply(pc.divide(micros, step), step).cast(kind).cast(array.type)

    return cut


def _to_text(source: Any, target: t.DataType, context: EvaluationContext) -> Cast:
    fit = _fit_text(source, target)
    if isinstance(source, STRINGS):
        return fit
    if isinstance(source, (t.IntegralType, t.DateType)):
        return lambda array: fit(array.cast(pa.string()))
    unit = {0: "s", 3: "ms", 6: "us"}.get(getattr(source, "precision", -1))
    if isinstance(source, t.TimestampType) and unit is not None:
        return lambda array: fit(array.cast(pa.timestamp(unit), safe=False).cast(pa.string()))
    each = _each(cast_formatter(source, context.time_zone), t.VarCharType(t.MAX_LENGTH))
    return lambda array: fit(each(array))


def _fit_text(source: t.DataType, target: Any) -> Cast:
    """Return a function that truncates strings to VARCHAR(n) or CHAR(n), and pads them to CHAR(n)."""
    length = target.length
    fits = isinstance(source, STRINGS) and source.length <= length
    pads = isinstance(target, t.CharType) and not (isinstance(source, t.CharType) and source.length == length)
    if length == t.MAX_LENGTH or (fits and not pads):
        return lambda array: array

    def fit(array: pa.Array) -> pa.Array:
        cut = pc.utf8_slice_codeunits(array, 0, length)
        return pc.utf8_rpad(cut, length) if pads else cut

    return fit


def _to_bytes(source: t.DataType, target: Any, context: EvaluationContext) -> Cast:
    length, pads = target.length, isinstance(target, t.BinaryType)

    def fit(value: bytes) -> bytes:
        return value[:length].ljust(length, b"\0") if pads else value[:length]

    binary = pa.binary()
    if length == t.MAX_LENGTH:
        return lambda array: array.cast(binary)
    each = _each(fit, target)
    return lambda array: each(array.cast(binary))


def _nested(source: t.DataType, target: t.DataType, context: EvaluationContext) -> Cast:
    return nested_cast(source, target, lambda a, b: array_cast(a, b, context))


def _is(*families: type[t.DataType] | tuple[type[t.DataType], ...]) -> Callable[[Any, Any], bool]:
    sources, targets = families
    return lambda source, target: isinstance(source, sources) and isinstance(target, targets)


_APPROXIMATE = (t.FloatType, t.DoubleType)
_NESTED = (t.ArrayType, t.MapType, t.MultisetType, t.RowType)
_EXACT = (t.IntegralType, t.DecimalType)

# Ordered: the first matching rule makes the conversion.
_RULES: tuple[tuple[Callable[[Any, Any], bool], Callable[[Any, Any, EvaluationContext], Cast]], ...] = (
    (lambda source, target: source.same_as(target), _no_cast),
    (_is(t.DataType, STRINGS), _to_text),
    (_is((*STRINGS, *BYTES), BYTES), _to_bytes),
    (_is(STRINGS, TIMESTAMPS), _text_to_timestamp),
    (_is(STRINGS, (t.NumericType, t.BooleanType, t.DateType, t.TimeType)), _text_to_number),
    (_is(_APPROXIMATE, t.IntegralType), _float_to_integer),
    (_is(t.DecimalType, t.IntegralType), _decimal_to_integer),
    (_is((*_EXACT, *_APPROXIMATE), t.DecimalType), _to_decimal),
    (_is(t.BooleanType, t.DecimalType), lambda s, x, c: _each(lambda v: fit_decimal(Decimal(int(v)), x), x)),
    (_is((t.NumericType, t.BooleanType), t.NumericType), _arrow),
    (_is(t.NumericType, t.BooleanType), _to_boolean),
    (_is(TIMESTAMPS, TIMESTAMPS), _timestamps),
    (_is(t.DateType, TIMESTAMPS), _date_to_timestamp),
    (_is(t.TimeType, TIMESTAMPS), _time_to_timestamp),
    (_is(TIMESTAMPS, (t.DateType, t.TimeType)), _timestamp_to_part),
    (_is(t.TimeType, t.TimeType), _no_cast),
    (_is(t.DayTimeIntervalType, t.DayTimeIntervalType), _no_cast),
    (_is(t.YearMonthIntervalType, t.YearMonthIntervalType), _no_cast),
    (_is(_NESTED, _NESTED), _nested),
)


def _resolve(types: Types, operands: Operands) -> Resolved:
    raise FunctionError("CAST takes an expression and a type; the planner derives its type")


def _fails(call: CallSite) -> bool:
    return isinstance(call.types[0], (*STRINGS, *_NESTED)) and not isinstance(call.type, STRINGS)


FUNCTIONS = [
    Function("CAST", _resolve, _bind(False), fails=_fails),
    Function("TRY_CAST", _resolve, _bind(True)),
]
