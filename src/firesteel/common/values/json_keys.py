"""Keys of states from their form in JSON (see `json_values`), by their declared types."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

from firesteel.common.json_types import Json
from firesteel.common.time import Instant
from firesteel.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ElementTypeInfo,
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from firesteel.common.types import Row
from firesteel.common.values.coercion import coercer
from firesteel.common.values.whole_numbers import WHOLE_BITS
from firesteel.errors import FiresteelError

__all__ = ["READERS", "JsonKeyError", "from_json"]

Value: TypeAlias = object
_EPOCH = datetime.datetime(1970, 1, 1)


class JsonKeyError(FiresteelError):
    """A JSON value is no key of the operator; the arguments are it and the type of the keys."""

    def __str__(self) -> str:
        found, expected = self.args
        return f"the key {found!r:.80} does not have the type of the operator's keys, {expected}"


Read: TypeAlias = Callable[[Json], Value]
"""Returns the value of a form in JSON; raises ValueError, TypeError or KeyError if it is no such value."""


def from_json(type_info: TypeInformation[Value] | None) -> Read:
    """Return the function that reads values of a type; without one only scalars and arrays, as tuples, are values.

    The function raises `JsonKeyError`.

    Example:
        >>> from_json(Types.TUPLE([Types.STRING(), Types.BIG_DEC()]))(["a", "1.50"])
        ('a', Decimal('1.50'))
    """
    read = _reader(type_info)
    convert = coercer(type_info)

    def value_of(given: Json) -> Value:
        try:
            value = read(given)
            return value if convert is None else convert(value)
        except (ValueError, TypeError, KeyError, ArithmeticError):
            raise JsonKeyError(given, "undeclared" if type_info is None else repr(type_info)) from None

    return value_of


def _reader(type_info: TypeInformation[Value] | None) -> Read:
    if type_info is None:
        return _undeclared
    for kind, reader in READERS.items():
        if isinstance(type_info, kind):
            return reader(type_info)
    raise AssertionError(f"{type_info!r} has no reader")


def _undeclared(given: Json) -> Value:
    if isinstance(given, Mapping):
        raise TypeError
    return tuple(map(_undeclared, given)) if isinstance(given, list) else given


def _of(*classes: type) -> Read:
    def read(given: Json) -> Value:
        if given is not None and given.__class__ not in classes:
            raise TypeError
        return given

    return read


def _text(parse: Callable[[str], Value]) -> Read:
    def read(given: Json) -> Value:
        if given is None:
            return None
        if not isinstance(given, str):
            raise TypeError
        return parse(given)

    return read


def _number(given: Json) -> Value:
    """Return a float; `NaN` and the infinities are texts."""
    if isinstance(given, str):
        return float({"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}[given])
    return _of(int, float)(given)


def _decimal(given: Json) -> Value:
    if isinstance(given, int) and not isinstance(given, bool):
        return Decimal(given)
    try:
        return _text(Decimal)(given)
    except InvalidOperation:
        raise ValueError from None


def _parsed_instant(text: str) -> Instant:
    head, _, rest = text.removesuffix("Z").partition(".")
    seconds = datetime.datetime.fromisoformat(head) - _EPOCH
    return Instant(seconds // datetime.timedelta(seconds=1), int(rest.ljust(9, "0") or "0"))


def _basic(type_info: BasicTypeInfo[Value]) -> Read:
    basic = type_info.basic_type
    if basic in WHOLE_BITS or basic is BasicType.BIG_INT:
        return _of(int)
    return {
        BasicType.STRING: _of(str),
        BasicType.CHAR: _of(str),
        BasicType.BOOLEAN: _of(bool),
        BasicType.FLOAT: _number,
        BasicType.DOUBLE: _number,
        BasicType.BIG_DEC: _decimal,
        BasicType.INSTANT: _text(_parsed_instant),
    }[basic]


def _fields(given: Json, names: Iterable[str], reads: list[Read]) -> list[Value]:
    values = [given[name] for name in names] if isinstance(given, Mapping) else given
    if not isinstance(values, list) or len(values) != len(reads):
        raise TypeError
    return [read(value) for read, value in zip(reads, values, strict=True)]


def _rows(type_info: RowTypeInfo) -> Read:
    reads, names = [_reader(field) for field in type_info.get_field_types()], type_info.get_field_names()

    def read(given: Json) -> Value:
        return None if given is None else Row(*_fields(given, names, reads))

    return read


def _tuples(type_info: TupleTypeInfo) -> Read:
    reads = [_reader(field) for field in type_info.get_field_types()]
    return lambda given: None if given is None else tuple(_fields(given, (), reads))


def _arrays(type_info: ElementTypeInfo[Value]) -> Read:
    if isinstance(type_info, PrimitiveArrayTypeInfo) and repr(type_info.element_type) == BasicType.BYTE.value:
        return _text(base64.b64decode)
    element = _reader(type_info.element_type)

    def read(given: Json) -> Value:
        if given is not None and not isinstance(given, list):
            raise TypeError
        return None if given is None else list(map(element, given))

    return read


def _maps(type_info: MapTypeInfo[Value, Value]) -> Read:
    key, item = _reader(type_info.key_type), _reader(type_info.value_type)

    def read(given: Json) -> Value:
        if given is not None and not isinstance(given, list):
            raise TypeError
        return None if given is None else {key(k): item(v) for k, v in given}

    return read


_PARSERS: dict[LocalTimeTypeInfo.TimeType, Callable[[str], Value]] = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: datetime.date.fromisoformat,
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: datetime.time.fromisoformat,
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: datetime.datetime.fromisoformat,
}


READERS: dict[type, Callable[..., Read]] = {
    BasicTypeInfo: _basic,
    DateTypeInfo: lambda _: _text(datetime.date.fromisoformat),
    TimeTypeInfo: lambda _: _text(datetime.time.fromisoformat),
    TimestampTypeInfo: lambda _: _text(datetime.datetime.fromisoformat),
    LocalTimeTypeInfo: lambda type_info: _text(_PARSERS[type_info.time_type]),
    RowTypeInfo: _rows,
    TupleTypeInfo: _tuples,
    ElementTypeInfo: _arrays,
    MapTypeInfo: _maps,
    ExternalTypeInfo: lambda type_info: _reader(type_info.type_info),
    PickledBytesTypeInfo: lambda _: _undeclared,
}
"""How to read the values of each class of types."""
