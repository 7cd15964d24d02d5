"""The rules of Avro between values that fastavro reads and writes and values of programs.

Adapters describe types by an `AvroPart`: `type_parts` for DataStreams, `column_parts` for tables. fastavro knows the
encoding and resolves schemas of writers. Why: `docs/decisions/0043-one-codec-per-format.md`.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar
from uuid import UUID

from firesteel.common.unchanged import unchanged
from firesteel.connectors.formats.row_fields import first_fields

Convert = Callable[[Any], Any]
T = TypeVar("T")

REQUIRED = object()
"""In place of a default: the writer must have written the field."""

_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)
_MILLISECOND = datetime.timedelta(milliseconds=1)
_MISFITS = (ValueError, OverflowError, TypeError)


def fastavro() -> ModuleType:
    """Import and return the package fastavro.

    Raises:
        ModuleNotFoundError: fastavro is not installed; the message says how to install it.
    """
    try:
        import fastavro as package
    except ModuleNotFoundError as error:
        message = "Avro needs the package fastavro: pip install 'firesteel[avro]'"
        raise ModuleNotFoundError(message, name=error.name) from None
    module: ModuleType = package
    return module


@dataclass(frozen=True)
class AvroPart:
    """How values of a type are read and written.

    Attributes:
        read: Returns the value for one that fastavro read; raises ValueError if it is of another type.
        write: Returns the value that fastavro writes.
    """

    read: Convert = unchanged
    write: Convert = unchanged

    def or_null(self) -> AvroPart:
        """Return the part for values that may be NULL."""
        return AvroPart(_or_null(self.read), _or_null(self.write))


def _or_null(convert: Convert) -> Convert:
    return convert if convert is unchanged else lambda value: None if value is None else convert(value)


def expect(value: object, wanted: type[T], name: str) -> T:
    """Return a value of the wanted type.

    Raises:
        ValueError: it has another type.
    """
    if not isinstance(value, wanted):
        raise ValueError(f"expected {name}, found {str(value)[:100]}")
    return value


# --- arrays, maps and records ----------------------------------------------------------------------------------------


def elements(element: AvroPart) -> AvroPart:
    """Return the part of arrays."""
    return AvroPart(
        lambda value: [element.read(one) for one in expect(value, list, "an array")],
        lambda value: [element.write(one) for one in value],
    )


def entries(item: AvroPart) -> AvroPart:
    """Return the part of maps, which are dicts or lists of pairs."""

    def write(value: Any) -> dict[str, Any]:
        pairs = value.items() if isinstance(value, dict) else value
        return {_key(key): item.write(one) for key, one in pairs}

    return AvroPart(
        lambda value: {key: item.read(one) for key, one in expect(value, dict, "a map").items()},
        write,
    )


def _key(key: object) -> Any:
    if key is None:
        raise ValueError("Avro has no NULL as key of a map")
    return key


class AvroField:
    """A field of records.

    Args:
        name: The name.
        part: The values.
        default: Replaces what the writer did not write, as the reader schema says.
    """

    def __init__(self, name: str, part: AvroPart, default: object = REQUIRED) -> None:
        self.name = name
        self.part = part
        self._default = default

    def values(self, records: list[Any]) -> list[Any]:
        """Return the value of each record.

        Raises:
            ValueError: a value does not fit the type, or a required field is missing; the text names the field.
        """
        name, read = self.name, self.part.read
        try:
            values = [record[name] for record in records]
            return values if read is unchanged else [read(value) for value in values]
        except (KeyError, *_MISFITS):
            return [self.value(record) for record in records]  # with defaults, or the error of the field

    def value(self, record: dict[str, Any]) -> Any:
        """Return the value of one record."""
        value = record.get(self.name, self._default)
        if value is REQUIRED:
            raise ValueError(f"found the fields {', '.join(record) or '(none)'}, missing required field {self.name}")
        try:
            return self.part.read(value)
        except _MISFITS as error:
            raise ValueError(f"field '{self.name}': {error}") from error


def record(fields: Sequence[AvroField]) -> AvroPart:
    """Return the part of records; they are read as tuples, and written from dicts or rows."""
    names = [field.name for field in fields]
    writes = [field.part.write for field in fields]

    def write(value: Any) -> dict[str, Any]:
        values = [value[name] for name in names] if isinstance(value, dict) else first_fields(value, names)
        return {name: write(one) for name, write, one in zip(names, writes, values, strict=True)}

    return AvroPart(
        lambda value: tuple([field.value(expect(value, dict, "a record")) for field in fields]),
        write,
    )


# --- values without parts --------------------------------------------------------------------------------------------


def timestamps(is_millis: bool, zone: datetime.tzinfo | None = None, digits: int = 6) -> AvroPart:
    """Return the part of timestamps.

    Numbers without a logical type are read as the schema stores them. fastavro returns instants in UTC and local
    timestamps without a zone; which of them the writer had does not matter.

    Args:
        is_millis: Whether they are stored in milliseconds; otherwise in microseconds.
        zone: The zone of the values: UTC, or None.
        digits: How many digits of a second they have.
    """
    unit, step = _MILLISECOND if is_millis else _MICROSECOND, 10 ** max(0, 6 - digits)

    def read(value: object) -> datetime.datetime:
        moment = _EPOCH + value * unit if isinstance(value, int) else expect(value, datetime.datetime, "a timestamp")
        return moment.replace(microsecond=moment.microsecond // step * step, tzinfo=zone)

    return AvroPart(read, lambda value: (value.replace(tzinfo=None) - _EPOCH) // unit)


def _date(value: object) -> datetime.date:
    if isinstance(value, int):
        return (_EPOCH + datetime.timedelta(value)).date()
    return expect(value, datetime.date, "a date")


def _time(value: object) -> datetime.time:
    if isinstance(value, int):
        return (_EPOCH + value * _MILLISECOND).time()
    time = expect(value, datetime.time, "a time")
    return time.replace(microsecond=time.microsecond // 1000 * 1000)  # TIME(3), the only one that Flink converts


SAME = AvroPart()
TEXT = AvroPart(lambda value: str(value) if isinstance(value, UUID) else value)
DATE = AvroPart(_date)
TIME = AvroPart(_time)
