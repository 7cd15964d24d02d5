"""The check of Python values against a row type. PyFlink: `_create_type_verifier`."""

from __future__ import annotations

import array
import datetime
import decimal
import numbers
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from firesteel.columns import column_types as t
from firesteel.columns.data_type import DataType
from firesteel.columns.type_text import type_text
from firesteel.common.table_errors import ValidationException
from firesteel.common.time import Instant
from firesteel.common.types import Row
from firesteel.errors import TypeMismatchError, ValueOverflowError

Check = Callable[[object], None]

_BITS: dict[type, int] = {t.TinyIntType: 8, t.SmallIntType: 16, t.IntType: 32, t.BigIntType: 64}
_NUMBER = (numbers.Real, decimal.Decimal)
_CLASSES: dict[type, tuple[type, ...]] = {
    t.BooleanType: (bool, np.bool_),
    t.FloatType: _NUMBER,
    t.DoubleType: _NUMBER,
    t.DecimalType: _NUMBER,
    t.CharType: (str,),
    t.VarCharType: (str,),
    t.BinaryType: (bytes, bytearray),
    t.VarBinaryType: (bytes, bytearray),
    t.DateType: (datetime.date,),
    t.TimeType: (datetime.time,),
    t.TimestampType: (datetime.datetime,),
    t.LocalZonedTimestampType: (datetime.datetime, Instant),
    t.DayTimeIntervalType: (datetime.timedelta,),
    t.MapType: (Mapping,),
}
"""The classes of values; as in PyFlink, except that each number is a value of DOUBLE and DECIMAL."""


def check_rows(rows: Sequence[Sequence[object]], row_type: t.RowType) -> None:
    """Check the values of rows.

    Raises:
        TypeError: a value is of another class than its type, or a number outside of its range.
        ValueError: None for a type that is NOT NULL, or a text of a wrong length.
    """
    checks = [_located(_check_of(field.data_type), f".{field.name}") for field in row_type.fields]
    try:
        for place, check in enumerate(checks):
            for row in rows:
                check(row[place])
    except _UnfitError as error:
        raise ValidationException(f"field {error.path.lstrip('.')}: {error.text}") from None


class _UnfitError(Exception):
    def __init__(self, text: str, path: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.path = path


def _check_of(kind: DataType) -> Check:
    inner = _INNER[type(kind)](kind) if type(kind) in _INNER else _no_check
    if kind.is_nullable:
        return lambda value: None if value is None else inner(value)

    def of_value(value: object) -> None:
        if value is None:
            raise _UnfitError(f"declared as {type_text(kind)}, found None")
        inner(value)

    return of_value


def _no_check(value: object) -> None:
    """Accept a value of a type that other code checks."""


def _located(check: Check, step: str) -> Check:
    def located(value: object) -> None:
        try:
            check(value)
        except TypeMismatchError as error:
            raise error.below(step) from None
        except _UnfitError as error:
            raise _UnfitError(error.text, step + error.path) from None

    return located


def _of_class(kind: DataType) -> Check:
    classes, text = _CLASSES[type(kind)], type_text(kind)

    def check(value: object) -> None:
        if not isinstance(value, classes) or (isinstance(value, bool) and bool not in classes):
            raise TypeMismatchError(text, value)

    return check


def _of_whole_number(kind: DataType) -> Check:
    limit, text = 1 << (_BITS[type(kind)] - 1), type_text(kind)

    def check(value: object) -> None:
        if not isinstance(value, numbers.Integral) or isinstance(value, bool):
            raise TypeMismatchError(text, value)
        if not -limit <= int(value) < limit:
            raise ValueOverflowError(text, value)

    return check


def _of_text(kind: t.CharType | t.VarCharType | t.BinaryType | t.VarBinaryType) -> Check:
    of_class, is_fixed = _of_class(kind), isinstance(kind, t.CharType | t.BinaryType)

    def check(value: object) -> None:
        of_class(value)
        length = len(value) if isinstance(value, str | bytes | bytearray) else 0
        if length > kind.length or (is_fixed and length < kind.length):
            raise _UnfitError(f"declared as {type_text(kind)}, found {value!r} of length {length}")

    return check


def _of_array(kind: t.ArrayType) -> Check:
    element, text = _located(_check_of(kind.element_type), "[]"), type_text(kind)

    def check(value: object) -> None:
        if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__"):
            raise TypeMismatchError(text, value)
        if not isinstance(value, array.array):
            for item in value:
                element(item)

    return check


def _of_map(kind: t.MapType) -> Check:
    of_class = _of_class(kind)
    key, item = _located(_check_of(kind.key_type), "{key}"), _located(_check_of(kind.value_type), "{value}")

    def check(value: object) -> None:
        of_class(value)
        for one, other in value.items() if isinstance(value, Mapping) else ():
            key(one)
            item(other)

    return check


def _of_row(kind: t.RowType) -> Check:
    text, names = type_text(kind), kind.field_names()
    fields = [_located(_check_of(field.data_type), f".{field.name}") for field in kind.fields]

    def check(value: object) -> None:
        values = _fields_of(value, names)
        if values is None:
            raise TypeMismatchError(text, value)
        if len(values) != len(fields):
            raise _UnfitError(f"declared as {text}, found {value!r} of {len(values)} fields")
        for of_field, item in zip(fields, values, strict=True):
            of_field(item)

    return check


def _fields_of(value: object, names: Sequence[str]) -> Sequence[object] | None:
    if isinstance(value, Mapping):
        return [value.get(name) for name in names]
    if isinstance(value, tuple | list | Row):
        return list(value)
    return [vars(value).get(name) for name in names] if hasattr(value, "__dict__") else None


_INNER: dict[type, Callable[..., Check]] = {
    **dict.fromkeys(_CLASSES, _of_class),
    **dict.fromkeys(_BITS, _of_whole_number),
    **dict.fromkeys((t.CharType, t.VarCharType, t.BinaryType, t.VarBinaryType), _of_text),
    t.ArrayType: _of_array,
    t.MapType: _of_map,
    t.RowType: _of_row,
}
