"""Values of columns from the form of states' values in JSON (`common.values.json_values`)."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

from firesteel.columns import column_types as t
from firesteel.columns.cells import Cell
from firesteel.columns.type_text import type_text
from firesteel.columns.values import arrow_type
from firesteel.common.json_types import Json
from firesteel.connectors.state.client import StateReadError

Read: TypeAlias = Callable[[Json], Cell]
_FLOATS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": -float("inf")}


def cell_reader(data_type: t.DataType, what: str) -> Read:
    """Return the function that reads values of a column, for `columns.values.to_arrow`.

    Args:
        data_type: The type of the column.
        what: What the value is, for messages.

    Raises:
        ValidationException: states have no values of the type.
    """
    read = _reader(data_type)

    def cell(value: Json) -> Cell:
        try:
            return read(value)
        except (TypeError, ValueError, KeyError, InvalidOperation):
            text = f"{what} is {value!r:.200}, which is no value of its column of type {type_text(data_type)}"
            raise StateReadError(text) from None

    return cell


def _reader(data_type: t.DataType) -> Read:
    arrow_type(data_type)  # what a column cannot hold is refused first
    for kinds, read in _SCALARS.items():
        if isinstance(data_type, kinds):
            return lambda value: None if value is None else read(value)
    match data_type:
        case t.ArrayType():
            element = _reader(data_type.element_type)
            return lambda value: None if value is None else [element(item) for item in _list(value)]
        case t.MapType():
            key, item = _reader(data_type.key_type), _reader(data_type.value_type)
            return lambda value: None if value is None else dict(_pairs(value, key, item))
        case t.RowType():
            return _row_reader(data_type)
    raise NotImplementedError(f"states have no values of type {type_text(data_type)}")


def _row_reader(data_type: t.RowType) -> Read:
    names = data_type.names
    reads = [_reader(one.data_type) for one in data_type.fields]

    def read(value: Json) -> Cell:
        if value is None:
            return None
        parts = [value[name] for name in names] if isinstance(value, Mapping) else _list(value)
        return tuple(one(part) for one, part in zip(reads, parts, strict=True))

    return read


def _list(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _pairs(value: Json, key: Read, item: Read) -> Iterator[tuple[Cell, Cell]]:
    for pair in _list(value):
        first, second = _list(pair)
        yield key(first), item(second)


def _of(*classes: type) -> Read:
    def read(value: Json) -> Cell:
        if value.__class__ not in classes:
            raise TypeError
        return value

    return read


def _float(value: Json) -> Cell:
    return _FLOATS[value] if isinstance(value, str) else _of(int, float)(value)


def _decimal(value: Json) -> Cell:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise TypeError
    return Decimal(value)


def _parsed(parse: Callable[[str], Cell]) -> Read:
    return lambda value: parse(str(_of(str)(value)))


def _instant(text: str) -> Cell:
    found = datetime.datetime.fromisoformat(text)
    return found if found.tzinfo is not None else found.replace(tzinfo=datetime.UTC)


_SCALARS: dict[tuple[type[t.DataType], ...], Read] = {
    (t.CharType, t.VarCharType): _of(str),
    (t.BooleanType,): _of(bool),
    (t.IntegralType,): _of(int),
    (t.FloatType, t.DoubleType): _float,
    (t.DecimalType,): _decimal,
    (t.DateType,): _parsed(datetime.date.fromisoformat),
    (t.TimeType,): _parsed(datetime.time.fromisoformat),
    (t.TimestampType,): _parsed(datetime.datetime.fromisoformat),
    (t.LocalZonedTimestampType,): _parsed(_instant),
    (t.BinaryType, t.VarBinaryType): _parsed(base64.b64decode),
}
