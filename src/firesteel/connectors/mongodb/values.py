"""Values of documents as values of columns, and back. Flink: `BsonToRowDataConverters`, `RowDataToBsonConverters`."""

from __future__ import annotations

import datetime
import math
import re
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal

from firesteel.columns import column_types as t
from firesteel.columns.cells import Cell
from firesteel.columns.type_text import type_text
from firesteel.columns.value_text import double_text
from firesteel.common.table_errors import ValidationException
from firesteel.common.unchanged import unchanged
from firesteel.common.values.decimals import EXACT, fitted
from firesteel.connectors.table_connector import Column

Convert = Callable[[Cell], Cell]

_WHOLE: dict[type[t.DataType], int] = {t.TinyIntType: 8, t.SmallIntType: 16, t.IntType: 32, t.BigIntType: 64}
_TEXTS = (t.CharType, t.VarCharType)
_BYTES = (t.BinaryType, t.VarBinaryType)
_FLOATS = (t.FloatType, t.DoubleType)
_WRITTEN = (t.BooleanType, t.IntType, t.BigIntType, t.DoubleType, t.DecimalType, t.LocalZonedTimestampType, *_TEXTS,
            *_BYTES)  # fmt: skip
_READ = (*_WRITTEN, t.TinyIntType, t.SmallIntType, t.FloatType, t.TimestampType)

_MOST_DIGITS = 34
_REGEX_FLAGS = ((re.IGNORECASE, "i"), (re.MULTILINE, "m"), (re.DOTALL, "s"), (re.VERBOSE, "x"))


def check_types(columns: Sequence[Column], is_sink: bool) -> None:
    """Check that values of all columns can be read, or written.

    Raises:
        ValidationException: a column has a type that MongoDB's connector does not have.
    """
    known = _WRITTEN if is_sink else _READ
    for column in columns:
        if not _is_known(column.type, known):
            raise ValidationException(
                f"Column '{column.name}' is {type_text(column.type)}, which cannot be "
                f"{'written to' if is_sink else 'read from'} MongoDB"
            )


def _is_known(kind: t.DataType, known: tuple[type[t.DataType], ...]) -> bool:
    if isinstance(kind, t.ArrayType):
        return _is_known(kind.element_type, known)
    if isinstance(kind, t.MapType):
        return isinstance(kind.key_type, _TEXTS) and _is_known(kind.value_type, known)
    if isinstance(kind, t.RowType):
        return all(_is_known(field, known) for field in kind.field_types())
    return isinstance(kind, known)


# --- reading ---------------------------------------------------------------------------------------------------------


def reader_of(kind: t.DataType) -> Convert:
    """Return what converts a value of a document; it raises ValueError for one of another type. None is NULL."""
    read = _reader(kind)
    return lambda value: None if value is None or _is_nan(value) else read(value)


def _reader(kind: t.DataType) -> Convert:
    if isinstance(kind, t.ArrayType):
        element = reader_of(kind.element_type)
        return lambda value: [element(one) for one in _expected(value, list, kind)]
    if isinstance(kind, t.MapType):
        item = reader_of(kind.value_type)
        return lambda value: {key: item(one) for key, one in _expected(value, dict, kind).items()}
    if isinstance(kind, t.RowType):
        fields = [(field.name, reader_of(field.data_type)) for field in kind.fields]
        return lambda value: tuple(read(_expected(value, dict, kind).get(name)) for name, read in fields)
    if type(kind) in _WHOLE:
        return lambda value: _whole(value, kind)
    if isinstance(kind, _FLOATS):
        return lambda value: float(_number(value, kind))
    if isinstance(kind, t.DecimalType):
        return lambda value: fitted(_decimal(value, kind), kind.precision, kind.scale)
    if isinstance(kind, (t.TimestampType, t.LocalZonedTimestampType)):
        return lambda value: _moment(value, kind)
    if isinstance(kind, _BYTES):
        return lambda value: bytes(_expected(value, bytes, kind))
    return (lambda value: _boolean(value, kind)) if isinstance(kind, t.BooleanType) else text_of


def _is_nan(value: object) -> bool:
    from bson.decimal128 import Decimal128

    return isinstance(value, Decimal128) and value.to_decimal().is_nan()


def _expected(value: object, kind: type | tuple[type, ...], wanted: t.DataType) -> Cell:
    if not isinstance(value, kind):
        raise ValueError(f"Unable to convert to {type_text(wanted)} from unexpected value {value!r}")
    return value


def _boolean(value: object, kind: t.DataType) -> bool:
    if isinstance(value, str):
        return value.lower() == "true"
    return bool(_expected(value, int, kind) == 1)


def _number(value: object, kind: t.DataType) -> int | float | Decimal:
    from bson.decimal128 import Decimal128

    if isinstance(value, Decimal128):
        return value.to_decimal()
    if isinstance(value, str):
        return Decimal(value)
    number: int | float = _expected(value, (int, float), kind)
    return number


def _whole(value: object, kind: t.DataType) -> int:
    """Return a number without its fraction, a time as seconds (BIGINT: milliseconds) since 1970."""
    from bson.timestamp import Timestamp

    unit = 1000 if isinstance(kind, t.BigIntType) else 1
    if isinstance(value, datetime.datetime):
        return int(value.timestamp() * unit)
    if isinstance(value, Timestamp):
        return int(value.time) * unit
    number = _number(value, kind)
    bound = 1 << _WHOLE[type(kind)] - 1
    if not math.isfinite(number):
        return bound - 1 if number > 0 else -bound
    return int(number)


def _decimal(value: object, kind: t.DataType) -> Decimal:
    number = _number(value, kind)
    found = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    if not found.is_finite():
        raise ValueError(f"Unable to convert to {type_text(kind)} from {value!r}, which has no end")
    return found


def _moment(value: object, kind: t.DataType) -> datetime.datetime:
    from bson.timestamp import Timestamp

    if isinstance(value, Timestamp):
        value = value.as_datetime()
    found: datetime.datetime = _expected(value, datetime.datetime, kind)
    return found if isinstance(kind, t.LocalZonedTimestampType) else found.astimezone().replace(tzinfo=None)


def text_of(value: object) -> str:
    """Return the text of a value of any type: of documents and arrays JSON."""
    from bson import json_util
    from bson.code import Code
    from bson.regex import Regex
    from bson.timestamp import Timestamp

    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, Timestamp):
        value = value.as_datetime()
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat(timespec="auto").replace("+00:00", "Z")
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (dict, list)) and not isinstance(value, Code):
        return json_util.dumps(value, json_options=json_util.RELAXED_JSON_OPTIONS)
    if isinstance(value, Regex):
        return f"/{value.pattern}/{''.join(letter for flag, letter in _REGEX_FLAGS if value.flags & flag)}"
    return str(value)


# --- writing ---------------------------------------------------------------------------------------------------------


def writer_of(kind: t.DataType) -> Convert:
    """Return what converts a value of a column (as `pyarrow.Array.to_pylist` returns it) for a document."""
    write = _writer(kind)
    return lambda value: None if value is None else write(value)


def _writer(kind: t.DataType) -> Convert:
    if isinstance(kind, t.ArrayType):
        element = writer_of(kind.element_type)
        return lambda value: [element(one) for one in value]
    if isinstance(kind, t.MapType):
        item = writer_of(kind.value_type)
        return lambda value: {key: item(one) for key, one in (value.items() if isinstance(value, dict) else value)}
    if isinstance(kind, t.RowType):
        fields = [(field.name, writer_of(field.data_type)) for field in kind.fields]
        return lambda value: {name: write(value[name]) for name, write in fields}
    if isinstance(kind, t.BigIntType):
        return _int64
    if isinstance(kind, t.DecimalType):
        return _decimal128
    return unchanged


def _int64(value: int) -> object:
    from bson.int64 import Int64

    return Int64(value)


def _decimal128(value: Decimal) -> object:
    from bson.decimal128 import Decimal128

    if len(value.normalize(EXACT).as_tuple().digits) > _MOST_DIGITS:
        raise ValueError(f"MongoDB has decimals of up to {_MOST_DIGITS} digits, found {value}")
    return Decimal128(value)
