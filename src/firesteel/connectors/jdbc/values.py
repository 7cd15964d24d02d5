"""Values of databases as values of Flink's types."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from firesteel.common.compiled_source import run_source
from firesteel.common.time import Instant
from firesteel.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    LocalTimeTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from firesteel.common.types import Row, RowKind
from firesteel.common.values.coercion import coercer, fits

_MIDNIGHT = datetime.datetime(1970, 1, 1)


def rows_of(row_type: RowTypeInfo) -> Callable[[list[Any]], list[Any]]:
    """Return a function that converts a driver's tuples to Rows; databases have fewer or other types than Flink.

    Raises:
        ValueError: (raised by the returned function) a tuple has another number of columns.
    """
    names, fields = tuple(row_type.get_field_names()), row_type.get_field_types()
    readers = [(i, *reader) for i, each in enumerate(fields) if (reader := _reader_of(each))]
    coerce = coercer(row_type)
    assert coerce is not None

    def slow(row: Any) -> Any:
        values = list(row)
        for i, expected, convert in readers:
            value = values[i]
            if value.__class__ is not expected and value is not None:
                values[i] = convert(value)
        return coerce(values)

    # Fast path: most values already have exactly the field's type and need no conversion call.
    source = f"""
def make_all(rows):
    return [make(names, v) if {fits(TupleTypeInfo(list(fields)), "v")} else slow(v) for v in rows]
"""
    scope: dict[str, Any] = {"make": _made_row, "names": names, "slow": slow}
    run_source(source, scope, __file__)

    def convert_rows(rows: list[Any]) -> list[Any]:
        if rows and len(rows[0]) != len(fields):
            raise ValueError(f"the query has {len(rows[0])} columns, the type {len(fields)} fields")
        made: list[Any] = scope["make_all"](rows)
        return made

    return convert_rows


def _made_row(names: tuple[str, ...], values: tuple[Any, ...]) -> Row:
    row = Row.__new__(Row)
    row._fields, row._row_kind, row._values = names, RowKind.INSERT, list(values)
    return row


_Reader = tuple[type, Callable[[Any], Any]]
"""The required class of values, and the function that converts values of other classes."""


def _reader_of(type_info: TypeInformation[Any]) -> _Reader | None:
    if isinstance(type_info, BasicTypeInfo):
        return _BASIC.get(type_info.basic_type)
    if isinstance(type_info, LocalTimeTypeInfo):
        return _TIMES[type_info.time_type.value][1]
    return next((reader for kind, reader in _TIMES if isinstance(type_info, kind)), None)


def _whole(value: object) -> object:
    return int(value) if isinstance(value, Decimal) and value == value.to_integral_value() else value


def _decimal(value: object) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(str(value))


def _float(value: object) -> object:
    return float(value) if isinstance(value, (int, Decimal)) else value


def _date(value: object) -> object:
    if isinstance(value, str):
        value = datetime.datetime.fromisoformat(value)
    return value.date() if isinstance(value, datetime.datetime) else value


def _time(value: object) -> object:
    if isinstance(value, datetime.timedelta):  # MySQL
        return (_MIDNIGHT + value).time()
    return datetime.time.fromisoformat(value) if isinstance(value, str) else value


def _timestamp(value: object) -> object:
    return datetime.datetime.fromisoformat(value) if isinstance(value, str) else value


def _instant(value: object) -> object:
    moment = _timestamp(value)
    if not isinstance(moment, datetime.datetime):
        return value
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    since = moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return Instant(since.days * 86400 + since.seconds, since.microseconds * 1000)


_WHOLE = (BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG, BasicType.BIG_INT)
_BASIC: dict[BasicType, _Reader] = {
    **dict.fromkeys(_WHOLE, (int, _whole)),
    **dict.fromkeys((BasicType.FLOAT, BasicType.DOUBLE), (float, _float)),
    BasicType.BOOLEAN: (bool, bool),
    BasicType.BIG_DEC: (Decimal, _decimal),
    BasicType.INSTANT: (Instant, _instant),
}
_TIMES: tuple[tuple[type, _Reader], ...] = (
    (DateTypeInfo, (datetime.date, _date)),
    (TimeTypeInfo, (datetime.time, _time)),
    (TimestampTypeInfo, (datetime.datetime, _timestamp)),
)
