"""HASH_CODE: Java's hash codes of values, without the sign of those of texts. Flink: `HashCodeCallGen`."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from firesteel.columns import column_types as t
from firesteel.columns.functions.function import CallSite, Function, per_row
from firesteel.columns.functions.signatures import INT, signature
from firesteel.columns.type_families import STRINGS
from firesteel.common.keys.key_groups import java_hasher
from firesteel.common.typeinfo import Types

Hash = Callable[..., int]

_EPOCH = datetime.datetime(1970, 1, 1)


def _whole(value: int) -> int:
    """Return the hash of a number of up to 32 bits, which is the number."""
    return value


def _days(value: datetime.date) -> int:
    return value.toordinal() - _EPOCH.toordinal()


def _millis(value: datetime.time) -> int:
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000


def _timestamp(value: datetime.datetime) -> int:
    """Return the hash of Flink's `TimestampData`: of the milliseconds, and of the nanoseconds within one."""
    millis, micros = divmod((value - _EPOCH) // datetime.timedelta(microseconds=1), 1000)
    return 31 * (millis ^ millis >> 32) + micros * 1000


_HASHES: tuple[tuple[type[t.DataType], Hash], ...] = (
    (t.BooleanType, java_hasher(Types.BOOLEAN())),
    (t.BigIntType, java_hasher(Types.LONG())),
    (t.IntegralType, _whole),
    (t.FloatType, java_hasher(Types.FLOAT())),
    (t.DoubleType, java_hasher(Types.DOUBLE())),
    (t.DecimalType, java_hasher(Types.BIG_DEC())),
    (t.CharType, java_hasher(Types.STRING())),
    (t.VarCharType, java_hasher(Types.STRING())),
    (t.DateType, _days),
    (t.TimeType, _millis),
    (t.TimestampType, _timestamp),
)


def _hash_code(call: CallSite) -> Hash:
    hashed = next(hashed for kind, hashed in _HASHES if isinstance(call.types[0], kind))
    if isinstance(call.types[0], STRINGS):
        return lambda value: _in_32_bits(abs(_in_32_bits(hashed(value))))
    return lambda value: _in_32_bits(hashed(value))


def _in_32_bits(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


FUNCTIONS = [
    Function(
        "HASH_CODE",
        signature("HASH_CODE", INT, "BOOLEAN|NUMERIC|CHARACTER|LOCAL_TIMESTAMP|TIME|DATE"),
        per_row(_hash_code),
    ),
]
