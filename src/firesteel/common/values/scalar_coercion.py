"""Conversion of values to types without parts, for `coercion`."""

from __future__ import annotations

import contextlib
import datetime
import operator
import struct
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any, SupportsIndex

from firesteel.common.time import Instant
from firesteel.common.typeinfo import BasicType
from firesteel.common.values.whole_numbers import MAX_LONG, MIN_LONG, WHOLE_BITS, range_of
from firesteel.errors import TypeMismatchError, ValueOverflowError

Coercer = Callable[[Any], Any]
"""Returns a value of its type, or raises a `TypeMismatchError`; None is a value of every type."""

_FLOAT = struct.Struct("<f")

INLINE = {
    BasicType.STRING: "{v}.__class__ is str",
    BasicType.BOOLEAN: "{v}.__class__ is bool",
    BasicType.DOUBLE: "{v}.__class__ is float",
    **{basic: "{{v}}.__class__ is int and {} <= {{v}} <= {}".format(*range_of(basic)) for basic in WHOLE_BITS},
}
"""Source code that tells whether a value `v` passes unchanged, where this takes no call."""


@cache
def scalar_coercer(basic: BasicType) -> Coercer:
    """Return the function that converts a value to a basic type."""
    if basic in WHOLE_BITS:
        return _whole_coercer(f"{basic.name} (int)", *range_of(basic))
    return _SCALARS[basic]


def _whole_coercer(expected: str, low: int, high: int) -> Coercer:
    def coerce(value: Any) -> Any:
        if value.__class__ is int:
            if low <= value <= high:
                return value
            raise ValueOverflowError(expected, value)
        if value is None:
            return None
        try:
            whole = operator.index(value)
        except TypeError:
            whole = _cut(expected, value)
        if low <= whole <= high:
            return whole
        raise ValueOverflowError(expected, value)

    return coerce


def _cut(expected: str, value: Any) -> int:
    """Return a number without its fraction, as PyFlink does."""
    try:
        whole: int = value.__int__()
        return whole
    except (AttributeError, TypeError, ValueError, OverflowError):  # no number, an array, NaN, infinite
        raise TypeMismatchError(expected, value) from None


def _coerce_string(value: object) -> object:
    if value is None or value.__class__ is str:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeMismatchError("STRING (str)", value)


def index_of(value: object, expected: str) -> int:
    """Return the whole number that a value is.

    Raises:
        TypeMismatchError: it is none; the error names the type that was `expected`.
    """
    if isinstance(value, SupportsIndex):
        with contextlib.suppress(TypeError):  # an array of numpy
            return operator.index(value)
    raise TypeMismatchError(expected, value)


def _coerce_boolean(value: object) -> object:
    if value is None or value.__class__ is bool:
        return value
    if type(value).__name__ in ("bool", "bool_"):  # those of numpy, which is not imported here
        return bool(value)
    number = index_of(value, "BOOLEAN (bool)")
    if 0 <= number <= 255:  # as in PyFlink, which writes a byte
        return number != 0
    raise ValueOverflowError("BOOLEAN (bool)", value)


def _coerce_float(value: Any) -> object:
    if value is None:
        return None
    try:
        return _FLOAT.unpack(_FLOAT.pack(value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    except (struct.error, TypeError):
        raise TypeMismatchError("FLOAT (float)", value) from None


def _coerce_double(value: Any) -> object:
    if value is None or value.__class__ is float:
        return value
    if not isinstance(value, str):
        with contextlib.suppress(TypeError, ValueError):
            return float(value)
    raise TypeMismatchError("DOUBLE (float)", value)


def _coerce_char(value: object) -> object:
    if value is None:
        return None
    if isinstance(value, str) and len(value) == 1:
        return str.__str__(value)
    raise TypeMismatchError("CHAR (str of length 1)", value)


def _coerce_big_int(value: object) -> object:
    return value if value is None or value.__class__ is int else index_of(value, "BIG_INT (int)")


def _coerce_big_dec(value: object) -> object:
    if value is None or value.__class__ is Decimal:
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Decimal(str(value))
    raise TypeMismatchError("BIG_DEC (decimal.Decimal)", value)


def _coerce_instant(value: object) -> object:
    if value is None:
        return None
    if isinstance(value, Instant):
        if MIN_LONG <= value.seconds <= MAX_LONG:
            return value
        raise ValueOverflowError("INSTANT (Instant)", value)
    raise TypeMismatchError("INSTANT (Instant)", value)


_SCALARS: dict[BasicType, Coercer] = {
    BasicType.STRING: _coerce_string,
    BasicType.BOOLEAN: _coerce_boolean,
    BasicType.FLOAT: _coerce_float,
    BasicType.DOUBLE: _coerce_double,
    BasicType.CHAR: _coerce_char,
    BasicType.BIG_INT: _coerce_big_int,
    BasicType.BIG_DEC: _coerce_big_dec,
    BasicType.INSTANT: _coerce_instant,
}


def coerce_date(value: object) -> object:
    """Return a value as a date."""
    if value is None or value.__class__ is datetime.date:
        return value
    if isinstance(value, datetime.date):
        return datetime.date(value.year, value.month, value.day)
    raise TypeMismatchError("SQL_DATE (datetime.date)", value)


def coerce_time(value: object) -> Any:
    """Return a value as a time of day with milliseconds."""
    found = _coerce_local_time(value)
    return None if found is None else found.replace(microsecond=found.microsecond // 1000 * 1000)


def coerce_timestamp(value: object) -> object:
    """Return a value as a timestamp with milliseconds."""
    found = _coerce_local_timestamp(value)
    return None if found is None else found.replace(microsecond=found.microsecond // 1000 * 1000)


def _coerce_local_time(value: object) -> datetime.time | None:
    if value is None or isinstance(value, datetime.time):
        return value if value is None or value.tzinfo is None else value.replace(tzinfo=None)
    raise TypeMismatchError("SQL_TIME (datetime.time)", value)


def _coerce_local_timestamp(value: object) -> datetime.datetime | None:
    if value is None or isinstance(value, datetime.datetime):
        return value if value is None or value.tzinfo is None else value.replace(tzinfo=None)
    raise TypeMismatchError("SQL_TIMESTAMP (datetime.datetime)", value)


def local_time_coercer(type_info: Any) -> Coercer:
    """Return the function that converts a value to a `LocalTimeTypeInfo`."""
    return (coerce_date, _coerce_local_time, _coerce_local_timestamp)[type_info.time_type.value]
