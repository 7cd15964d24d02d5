"""Values as PostgreSQL writes them, as columns. Snapshot and log have the same texts."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns import column_types as t
from firesteel.columns.pylist import pylist
from firesteel.columns.type_text import type_text
from firesteel.columns.values import arrow_type, to_arrow
from firesteel.connectors.cdc.splits import KeyReader
from firesteel.connectors.postgres_cdc.pgoutput import PostgresCdcError
from firesteel.errors import FiresteelError

SESSION = {"TimeZone": "UTC", "DateStyle": "ISO", "IntervalStyle": "postgres", "extra_float_digits": "1",
           "bytea_output": "hex"}  # fmt: skip
"""Settings of a session by which it writes values in the form that is read here."""


def _order_of_numeric(text: str) -> tuple[bool, Decimal]:
    # PostgreSQL sorts NaN after all numbers, also after infinity; Python can't compare it.
    return (True, Decimal()) if text == "NaN" else (False, Decimal(text))


KEY_READERS: Mapping[str, KeyReader] = {
    **dict.fromkeys(("int2", "int4", "int8"), int),
    "numeric": _order_of_numeric,
    **dict.fromkeys(("uuid", "text", "varchar"), str.encode),
}
"""Types by whose values a table is divided into chunks: how their order is found out here."""

_TEXT = (t.CharType, t.VarCharType)
_WHOLE = (t.SmallIntType, t.IntType, t.BigIntType, t.DecimalType)

_ALLOWED: Mapping[str, tuple[type[t.DataType], ...]] = {
    "int2": (t.TinyIntType, *_WHOLE, *_TEXT),
    "int4": (*_WHOLE[1:], *_TEXT),
    "int8": (t.BigIntType, t.DecimalType, *_TEXT),
    "oid": (t.BigIntType, *_TEXT),
    "float4": (t.FloatType, t.DoubleType),
    "float8": (t.DoubleType,),
    "numeric": (t.DecimalType, *_TEXT),
    "bool": (t.BooleanType,),
    "date": (t.DateType,),
    "time": (t.TimeType,),
    "timestamp": (t.TimestampType,),
    "timestamptz": (t.LocalZonedTimestampType,),
    "bytea": (t.BinaryType, t.VarBinaryType),
    "money": (),
}
"""The types of columns that a type of PostgreSQL can be read as; any other, such as `json` or an enum, is text."""


def is_readable(type_name: str, data_type: t.DataType) -> bool:
    """Return whether values of a PostgreSQL type, as named in `pg_type`, can be read as a type."""
    if isinstance(data_type, t.ArrayType):
        return type_name.startswith("_") and is_readable(type_name[1:], data_type.element_type)
    if type_name.startswith("_"):
        return False
    return isinstance(data_type, _ALLOWED.get(type_name, _TEXT))


def readable_types(type_name: str) -> str:
    """Return the types that a PostgreSQL type can be read as, for messages."""
    if type_name.startswith("_"):
        return f"ARRAY of {readable_types(type_name[1:])}"
    found = [one for one in _ALLOWED.get(type_name, _TEXT) if one is not t.CharType]
    names = ["STRING" if one is t.VarCharType else one.__name__.removesuffix("Type").upper() for one in found]
    return " or ".join(names) or "no type"


def column_of(texts: pa.Array, data_type: t.DataType, name: str) -> pa.Array:
    """Return a column.

    Args:
        texts: Its values as text.
        data_type: Its type.
        name: Its name, for messages.

    Raises:
        PostgresCdcError: a value does not fit the type.
    """
    convert = _BY_ARROW.get(type(data_type))
    try:
        if convert is not None:
            try:
                return convert(texts, data_type)
            except pa.ArrowInvalid:
                pass  # a decimal with more digits, or a value whose error the other way names
        read = _reader(data_type)
        return to_arrow([None if text is None else read(text) for text in pylist(texts)], data_type)
    except (ValueError, ArithmeticError, FiresteelError) as error:
        raise PostgresCdcError(f"column {name!r} of type {type_text(data_type)}: {error}") from error


def _cast(texts: pa.Array, data_type: t.DataType) -> pa.Array:
    return pc.cast(texts, arrow_type(data_type))


def _booleans(texts: pa.Array, data_type: t.DataType) -> pa.Array:
    return pc.equal(texts, "t")


def _timestamps(texts: pa.Array, data_type: t.DataType) -> pa.Array:
    found = _cast(texts, data_type)
    precision = data_type.precision if isinstance(data_type, (t.TimestampType, t.LocalZonedTimestampType)) else 6
    if precision >= 6:
        return found
    plain = pc.floor_temporal(found, multiple=10 ** (6 - precision), unit="microsecond")
    return pc.cast(plain, found.type)


_BY_ARROW: Mapping[type[t.DataType], Callable[[pa.Array, t.DataType], pa.Array]] = {
    **dict.fromkeys((t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType, t.FloatType, t.DoubleType), _cast),
    **dict.fromkeys((t.DecimalType, t.CharType, t.VarCharType, t.DateType), _cast),
    **dict.fromkeys((t.TimestampType, t.LocalZonedTimestampType), _timestamps),
    t.BooleanType: _booleans,
}


def _decimal(text: str) -> Decimal:
    value = Decimal(text)
    if not value.is_finite():
        raise ValueError(f"{text} has no counterpart in DECIMAL; read the column as STRING, which takes all values")
    return value


_READERS: Mapping[type[t.DataType], Callable[[str], object]] = {
    t.BooleanType: lambda text: text == "t",
    **dict.fromkeys((t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType), int),
    **dict.fromkeys((t.FloatType, t.DoubleType), float),
    t.DecimalType: _decimal,
    **dict.fromkeys((t.CharType, t.VarCharType), str),
    **dict.fromkeys((t.BinaryType, t.VarBinaryType), lambda text: bytes.fromhex(text[2:])),
    t.DateType: datetime.date.fromisoformat,
    t.TimeType: datetime.time.fromisoformat,
    **dict.fromkeys((t.TimestampType, t.LocalZonedTimestampType), datetime.datetime.fromisoformat),
}


def _reader(data_type: t.DataType) -> Callable[[str], object]:
    if isinstance(data_type, t.ArrayType):
        read = _reader(data_type.element_type)
        return lambda text: _converted(parse_array(text), read)
    return _READERS[type(data_type)]


def _converted(values: Sequence[object], read: Callable[[str], object]) -> list[object]:
    if any(isinstance(value, list) for value in values):
        raise ValueError("an array of several dimensions has no counterpart")
    return [None if value is None else read(str(value)) for value in values]


def parse_array(text: str) -> list[object]:
    r"""Return the items of an array as text, None for NULL and lists for further dimensions.

    Example:
        >>> parse_array('{a,"b, \\"c",NULL,"NULL"}')
        ['a', 'b, "c', None, 'NULL']
    """
    if text.startswith("["):  # with lower bounds: [2:3]={1,2}
        text = text[text.index("=") + 1 :]
    stack: list[list[object]] = [[]]
    for kind, item in _tokens(text):
        if kind == "{":
            stack.append([])
        elif kind == "}":
            inner = stack.pop()
            stack[-1].append(inner)
        else:
            stack[-1].append(item)
    found = stack[0][0]
    assert isinstance(found, list)
    return found


def _tokens(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield braces and items."""
    at = 0
    while at < len(text):
        one = text[at]
        if one in "{}":
            yield one, None
            at += 1
        elif one == ",":
            at += 1
        elif one == '"':
            item, at = _quoted(text, at + 1)
            yield "item", item
        else:
            end = min(place for place in (text.find(",", at), text.find("}", at)) if place >= 0)
            item, at = text[at:end], end
            yield "item", None if item == "NULL" else item


def _quoted(text: str, at: int) -> tuple[str, int]:
    """Return the item behind a quotation mark, and the place after it."""
    found = []
    while text[at] != '"':
        if text[at] == "\\":
            at += 1
        found.append(text[at])
        at += 1
    return "".join(found), at + 1
