"""Columns as the log describes them, and their values."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.type_text import type_text
from firesteel.columns.values import to_arrow
from firesteel.connectors.mysql_cdc.settings import MySqlCdcError
from firesteel.errors import FiresteelError

if TYPE_CHECKING:
    from pymysqlreplication.column import Column as LogColumn

Convert = Callable[[object], object]

_TYPES: Mapping[int, str] = {
    1: "tinyint",
    2: "smallint",
    9: "mediumint",
    3: "int",
    8: "bigint",
    4: "float",
    5: "double",
    246: "decimal",
    16: "bit",
    10: "date",
    13: "year",
    7: "timestamp",
    17: "timestamp",
    11: "time",
    19: "time",
    12: "datetime",
    18: "datetime",
    247: "enum",
    248: "set",
    245: "json",
    254: "char",
    15: "varchar",
    253: "varchar",
}
_BINARY = {"char": "binary", "varchar": "varbinary"}
_BLOB_SIZES = ("", "tiny", "", "medium", "long")
_MIDNIGHT = datetime.datetime(1970, 1, 1)
_SECOND = datetime.timedelta(seconds=1)
_DAY = datetime.timedelta(days=1)


def type_name(column: LogColumn) -> str:
    """Return the type of a column by its name in MySQL; empty if it is none of those that can be read."""
    is_binary = column.character_set_name == "binary"
    if column.type == 252:
        return f"{_BLOB_SIZES[column.length_size]}{'blob' if is_binary else 'text'}"
    name = _TYPES.get(column.type, "")
    return _BINARY.get(name, name) if is_binary else name


def signature(column: LogColumn) -> str:
    """Return what must not change of a column, as `ColumnShape.signature`."""
    name = type_name(column)
    if name in ("char", "varchar", "binary", "varbinary"):
        return f"{name}({column.max_length})"
    if name in ("time", "datetime", "timestamp"):
        return f"{name}({getattr(column, 'fsp', 0)})"
    if name == "decimal":
        return f"decimal({column.precision},{column.decimals}){_sign(column)}"
    if name == "bit":
        return f"bit({column.bits})"
    return name if name == "year" else f"{name}{_sign(column)}"


def _sign(column: LogColumn) -> str:
    return " unsigned" if column.unsigned else ""


def key_text(column: LogColumn) -> Callable[[object], object]:
    """Return what makes of a value of a key what the server writes for it."""
    name = type_name(column)
    if name in ("datetime", "timestamp"):
        digits = getattr(column, "fsp", 0)
        return lambda value: _moment_text(value, digits)
    if name == "binary":
        return lambda value: _padded(value, column.max_length)
    if name == "decimal":
        return lambda value: format(value, "f")
    if name == "year":
        return lambda value: f"{_year(value):04d}"
    return lambda value: value if isinstance(value, (str, bytes)) else str(value)


def log_column(values: Sequence[object], column: LogColumn, data_type: t.DataType, zone: ZoneInfo) -> pa.Array:
    """Return a column of values of the log.

    Args:
        values: The values as the library decodes them.
        column: The column.
        data_type: The declared type.
        zone: The zone of values of TIMESTAMP where no zone is declared.

    Raises:
        MySqlCdcError: a value does not fit the type.
    """
    convert = _converter(column, data_type, zone)
    try:
        found = values if convert is None else [None if value is None else convert(value) for value in values]
        return to_arrow(found, data_type)
    except (ValueError, ArithmeticError, FiresteelError) as error:
        raise MySqlCdcError(f"mysql-cdc: column {column.name!r} of type {type_text(data_type)}: {error}") from error


def _converter(column: LogColumn, data_type: t.DataType, zone: ZoneInfo) -> Convert | None:
    name = type_name(column)
    if name in ("timestamp", "datetime"):
        return moment_converter(name, data_type, zone)
    if name == "bit":
        return _bit if isinstance(data_type, t.BooleanType) else _bits
    if name == "decimal":
        return (lambda value: format(value, "f")) if isinstance(data_type, (t.CharType, t.VarCharType)) else None
    if name == "set":
        return _set(column.set_values, isinstance(data_type, t.ArrayType))
    if name == "binary":
        return lambda value: _padded(value, column.max_length)
    if isinstance(data_type, t.BooleanType):
        return lambda value: value != 0
    if name == "time" and isinstance(data_type, t.BigIntType):
        return lambda value: microseconds(_with_true_fraction(value))
    if isinstance(data_type, t.DecimalType):
        return _year_as_decimal if name == "year" else _as_decimal
    return {"time": time_of, "year": _year, "json": _json_text}.get(name)


def moment_converter(type_name: str, data_type: t.DataType, zone: ZoneInfo) -> Convert | None:
    """Return what converts times in UTC, or without zone, to those of a type."""
    digits = data_type.precision if isinstance(data_type, (t.TimestampType, t.LocalZonedTimestampType)) else 6
    step = 10 ** (6 - min(digits, 6))

    def convert(value: object) -> object:
        assert isinstance(value, datetime.datetime)
        if step > 1:
            value = value.replace(microsecond=value.microsecond - value.microsecond % step)
        if type_name == "datetime":
            return value
        aware = value.replace(tzinfo=datetime.UTC)
        if isinstance(data_type, t.LocalZonedTimestampType):
            return aware
        return aware.astimezone(zone).replace(tzinfo=None)

    return convert


def time_of(value: object) -> datetime.time:
    """Return a duration as a time of day.

    Raises:
        ValueError: it is none.
    """
    assert isinstance(value, datetime.timedelta)
    if not datetime.timedelta() <= value < _DAY:
        raise ValueError(f"{value} is no time of day")
    return (_MIDNIGHT + value).time()


def _with_true_fraction(value: object) -> datetime.timedelta:
    """Return a duration; of a negative one the library has the fraction that is missing to the next second."""
    assert isinstance(value, datetime.timedelta)
    fraction = -value % _SECOND
    return value if value >= datetime.timedelta() or not fraction else value + 2 * fraction - _SECOND


def microseconds(value: object) -> int:
    """Return a duration in microseconds."""
    assert isinstance(value, datetime.timedelta)
    return value // datetime.timedelta(microseconds=1)


def _year(value: object) -> int:
    """Return a year; the library adds 1900 to the year 0000, and YEAR has no 1900."""
    assert isinstance(value, int)
    return 0 if value == 1900 else value


def _year_as_decimal(value: object) -> Decimal:
    return Decimal(_year(value))


def _as_decimal(value: object) -> Decimal:
    assert isinstance(value, (int, Decimal))
    return Decimal(value)


def _padded(value: object, length: int) -> bytes:
    """Return a value of BINARY, of which the log has no zeros at the end."""
    assert isinstance(value, bytes)
    return value.ljust(length, b"\0")


def _moment_text(value: object, digits: int) -> str:
    assert isinstance(value, datetime.datetime)
    fraction = f".{value.microsecond:06d}"[: digits + 1] if digits else ""
    return f"{value.replace(microsecond=0).isoformat(' ')}{fraction}"


def _bit(value: object) -> bool:
    return "1" in str(value)


def _bits(value: object) -> bytes:
    text = str(value)
    return int(text, 2).to_bytes(-(-len(text) // 8), "big")


def _set(names: Sequence[str], is_array: bool) -> Convert:
    def convert(value: object) -> object:
        assert isinstance(value, set)
        found = [name for name in names if name in value]
        return found if is_array else ",".join(found)

    return convert


def _json_text(value: object) -> str:
    return json.dumps(_decoded(value), ensure_ascii=False)


def _decoded(value: object) -> object:
    if isinstance(value, dict):
        return {_decoded(key): _decoded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_decoded(one) for one in value]
    return value.decode() if isinstance(value, bytes) else value
