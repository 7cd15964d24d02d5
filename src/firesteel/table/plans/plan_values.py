"""Types and constants of compiled plans as JSON."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable
from decimal import Decimal

from firesteel.columns.column_types import (
    DataType,
    LocalZonedTimestampType,
    NullType,
    RowField,
    RowType,
    TimestampKind,
    TimestampType,
)
from firesteel.columns.type_text import parse_type, type_text
from firesteel.common.json_types import Json
from firesteel.common.table_errors import TableException
from firesteel.common.time import Instant

__all__ = ["constant_json", "constant_of", "type_json", "type_of"]


def type_json(kind: DataType) -> Json:
    """Return a type as JSON: its text; that of a row has its fields, and that of a time attribute says so.

    Raises:
        TableException: the type has no text, as the type of Python objects.
    """
    if isinstance(kind, RowType):
        fields: list[Json] = [[field.name, type_json(field.data_type)] for field in kind.fields]
        return {"fields": fields, "nullable": kind.is_nullable}
    if isinstance(kind, TimestampType | LocalZonedTimestampType) and kind.kind is not TimestampKind.REGULAR:
        return {"type": type_text(kind.with_kind(TimestampKind.REGULAR)), "time": kind.kind.name}
    text = type_text(kind)
    if not isinstance(kind, NullType) and parse_type(text) != kind:
        raise TableException(f"A compiled plan can't contain the type {text}")
    return text


def type_of(found: Json) -> DataType:
    """Return the type of its JSON."""
    match found:
        case {"fields": list(fields), "nullable": bool(nullable)}:
            return RowType([RowField(str(name), type_of(kind)) for name, kind in fields], nullable)
        case {"type": str(text), "time": str(time)}:
            kind = parse_type(text)
            assert isinstance(kind, TimestampType | LocalZonedTimestampType)
            return kind.with_kind(TimestampKind[time])
        case "NULL":
            return NullType()
        case str(text):
            return parse_type(text)
    raise TableException(f"A compiled plan has the type {found!r}, which is none")


def _seconds(value: datetime.timedelta) -> str:
    return str(value // datetime.timedelta(microseconds=1))


_WRITERS: tuple[tuple[type, str, Callable[..., str]], ...] = (
    (float, "float", repr),
    (Decimal, "decimal", str),
    (bytes, "bytes", lambda value: base64.b64encode(value).decode()),
    (datetime.datetime, "timestamp", datetime.datetime.isoformat),
    (datetime.date, "date", datetime.date.isoformat),
    (datetime.time, "time", datetime.time.isoformat),
    (datetime.timedelta, "interval", _seconds),
    (Instant, "instant", lambda value: f"{value.seconds} {value.nanos}"),
)
_READERS: dict[str, Callable[[str], object]] = {
    "float": float,
    "decimal": Decimal,
    "bytes": lambda text: base64.b64decode(text),
    "timestamp": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "interval": lambda text: datetime.timedelta(microseconds=int(text)),
    "instant": lambda text: Instant(*map(int, text.split())),
}


def constant_json(value: object) -> Json:
    """Return the value of a constant as JSON.

    Raises:
        TableException: it is of a class that has no text.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, DataType):
        return {"type": type_json(value)}
    for kind, name, text in _WRITERS:
        if isinstance(value, kind):
            return {name: text(value)}
    raise TableException(f"A compiled plan can't contain the constant {value!r}")


def constant_of(found: Json) -> object:
    """Return the value of a constant."""
    if not isinstance(found, dict):
        return found
    ((name, text),) = found.items()
    return type_of(text) if name == "type" else _READERS[name](str(text))
