"""Values of Avro as values of columns, and back. Flink: `AvroToRowDataConverters` and `RowDataToAvroConverters`."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any, TypeVar
from uuid import UUID

from firesteel.columns import column_types as t
from firesteel.columns.value_text import map_types
from firesteel.connectors.formats.avro.derived_schema import is_millis, without_null

Convert = Callable[[Any], Any]

_WIDE = Context(prec=100)
_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_UTC = _EPOCH.replace(tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)
_MILLISECOND = datetime.timedelta(milliseconds=1)
_MISFITS = (ValueError, OverflowError, TypeError)


def value_reader(kind: t.DataType, schema: object) -> Convert:
    """Return the function that converts a value that fastavro read to one that `to_arrow` accepts.

    The writer may have used other types than the derived ones. Numbers and bytes without a logical type are read as the
    derived schema stores them. The function raises ValueError for a value of another type.

    Args:
        kind: The type of the column.
        schema: The reader schema as JSON data, with all references to types expanded. Its defaults replace fields that
            the writer did not write.
    """
    read = _reader(kind, without_null(schema))
    if kind.is_nullable:
        return read if read is same else lambda value: None if value is None else read(value)

    def present(value: object) -> object:
        if value is None:
            raise ValueError("found null in a column that is NOT NULL")
        return read(value)

    return present


class FieldReader:
    """Reads a field of records.

    Args:
        field: Name and type of the field.
        declared: The field in the reader schema.
    """

    def __init__(self, field: t.RowField, declared: Any) -> None:
        self._name = field.name
        self._convert = value_reader(field.data_type, declared["type"])
        self._has_default = "default" in declared
        self._default = declared.get("default")
        if self._default is not None:
            is_binary = isinstance(field.data_type, (t.BinaryType, t.VarBinaryType))
            self._default = self._convert(self._default.encode("iso-8859-1") if is_binary else self._default)

    def values(self, records: list[Any]) -> list[Any]:
        """Return the value of each record.

        Raises:
            ValueError: a value does not fit the type, or a required field is missing; the text names the field.
        """
        name, convert = self._name, self._convert
        try:
            values = [record[name] for record in records]
            return values if convert is same else [convert(value) for value in values]
        except KeyError:
            return [self.value(record) for record in records]
        except _MISFITS as error:
            raise ValueError(f"field '{name}': {error}") from error

    def value(self, record: Any) -> Any:
        """Return the value of one record."""
        if self._name in record:
            try:
                return self._convert(record[self._name])
            except _MISFITS as error:
                raise ValueError(f"field '{self._name}': {error}") from error
        if not self._has_default:
            raise ValueError(f"found the fields {', '.join(record) or '(none)'}, missing required field {self._name}")
        return self._default


def field_readers(kind: t.RowType, schema: object) -> list[FieldReader]:
    """Return a reader per field of a row.

    Args:
        kind: The type of the row.
        schema: The reader schema of the record.
    """
    declared = {field["name"]: field for field in without_null(schema)["fields"]}
    return [FieldReader(field, declared[field.name]) for field in kind.fields]


def _reader(kind: t.DataType, schema: Any) -> Convert:
    if isinstance(kind, t.RowType):
        return _row_reader(kind, schema)
    if isinstance(kind, t.ArrayType):
        element = value_reader(kind.element_type, schema["items"])
        return lambda value: [element(one) for one in expect(value, list, "an array")]
    if isinstance(kind, (t.MapType, t.MultisetType)):
        item = value_reader(map_types(kind)[1], schema["values"])
        return lambda value: {key: item(one) for key, one in expect(value, dict, "a map").items()}
    if isinstance(kind, t.DecimalType):
        return lambda value: _decimal(value, kind.scale)
    if isinstance(kind, (t.TimestampType, t.LocalZonedTimestampType)):
        return _timestamp_reader(kind)
    return _READERS.get(type(kind), same)


T = TypeVar("T")


def expect(value: object, wanted: type[T], name: str) -> T:
    """Return a value of the wanted type.

    Raises:
        ValueError: it has another type.
    """
    if not isinstance(value, wanted):
        raise ValueError(f"expected {name}, found {str(value)[:100]}")
    return value


def _row_reader(kind: t.RowType, schema: object) -> Convert:
    fields = field_readers(kind, schema)
    return lambda value: tuple(field.value(expect(value, dict, "a record")) for field in fields)


def _decimal(value: object, scale: int) -> Any:
    if isinstance(value, bytes):
        return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-scale, _WIDE)
    return value


def _timestamp_reader(kind: t.TimestampType | t.LocalZonedTimestampType) -> Convert:
    zone = None if isinstance(kind, t.TimestampType) else datetime.UTC
    unit = _MILLISECOND if is_millis(kind) else _MICROSECOND
    step = 10 ** max(0, 6 - kind.precision)

    def read(value: object) -> datetime.datetime:
        moment = _EPOCH + value * unit if isinstance(value, int) else expect(value, datetime.datetime, "a timestamp")
        # fastavro returns instants in UTC and local timestamps without a zone.
        return moment.replace(microsecond=moment.microsecond // step * step, tzinfo=zone)

    return read


def _date(value: object) -> datetime.date:
    if isinstance(value, int):
        return datetime.date.fromordinal(value + t.DateType.EPOCH_ORDINAL)
    return expect(value, datetime.date, "a date")


def _time(value: object) -> datetime.time:
    if isinstance(value, int):
        return (_EPOCH + value * _MILLISECOND).time()
    time: datetime.time = expect(value, datetime.time, "a time")
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


def _text(value: object) -> Any:
    return str(value) if isinstance(value, UUID) else value


def same(value: object) -> Any:
    """Return a value as it is."""
    return value


_READERS: dict[type[t.DataType], Convert] = {
    t.CharType: _text,
    t.VarCharType: _text,
    t.DateType: _date,
    t.TimeType: _time,
}


def value_writer(kind: t.DataType) -> Convert:
    """Return the function that converts a value of `pyarrow.Array.to_pylist` to one that fastavro writes."""
    write = _writer(kind)
    return write if write is same else lambda value: None if value is None else write(value)


def _writer(kind: t.DataType) -> Convert:
    if isinstance(kind, t.RowType):
        fields = [(field.name, value_writer(field.data_type)) for field in kind.fields]
        return lambda value: {name: write(value[name]) for name, write in fields}
    if isinstance(kind, t.ArrayType):
        element = value_writer(kind.element_type)
        return lambda value: [element(one) for one in value]
    if isinstance(kind, (t.MapType, t.MultisetType)):
        item = value_writer(map_types(kind)[1])
        return lambda value: {_key(key): item(one) for key, one in value}
    if isinstance(kind, (t.TimestampType, t.LocalZonedTimestampType)):
        epoch = _EPOCH if isinstance(kind, t.TimestampType) else _EPOCH_UTC
        unit = _MILLISECOND if is_millis(kind) else _MICROSECOND
        return lambda value: (value - epoch) // unit
    return same


def _key(key: object) -> Any:
    if key is None:
        raise ValueError("Avro has no NULL as key of a map")
    return key
