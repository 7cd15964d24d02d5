"""The form of states' keys and values in JSON, for those who read the state of a running job.

| Python | JSON |
|---|---|
| None, bool, int, str, finite float | themselves |
| other floats | `"NaN"`, `"Infinity"`, `"-Infinity"` |
| Decimal, date, time, datetime, Instant | text, in ISO-8601 |
| bytes, bytearray | text in base64 |
| list, tuple, set, frozenset | array |
| dict | array of `[key, value]` |
| Row | object if its fields have names, else array |
"""

from __future__ import annotations

import base64
import datetime
import math
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import TypeAlias

from firesteel.common.json_types import Json
from firesteel.common.time import Instant
from firesteel.common.types import Row
from firesteel.errors import FiresteelError

__all__ = ["WRITERS", "JsonValueError", "to_json"]

Value: TypeAlias = object
_EPOCH = datetime.datetime(1970, 1, 1)


class JsonValueError(FiresteelError):
    """A value has no form in JSON; the argument is its class."""

    def __str__(self) -> str:
        found = self.args[0]
        return (
            f"values of {found.__module__}.{found.__qualname__} cannot be shown as JSON; declare a type for the state, "
            "or keep plain values"
        )


def _float(value: float) -> Json:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _array(value: Iterable[Value]) -> Json:
    return [to_json(item) for item in value]


def _pairs(value: Mapping[Value, Value]) -> Json:
    return [[to_json(key), to_json(item)] for key, item in value.items()]


def _row(value: Row) -> Json:
    names = value._fields
    parts = [to_json(part) for part in value._values]
    return dict(zip(names, parts, strict=True)) if names else parts


def _instant(value: Instant) -> Json:
    seconds = (_EPOCH + datetime.timedelta(seconds=value.seconds)).isoformat()
    fraction = f".{value.nanos:09}".rstrip("0") if value.nanos else ""
    return f"{seconds}{fraction}Z"


def _base64(value: bytes | bytearray) -> Json:
    return base64.b64encode(value).decode()


WRITERS: dict[type, Callable[..., Json]] = {
    type(None): lambda value: None,
    bool: bool,
    int: int,
    str: str,
    float: _float,
    Decimal: str,
    datetime.date: datetime.date.isoformat,
    datetime.time: datetime.time.isoformat,
    datetime.datetime: datetime.datetime.isoformat,
    Instant: _instant,
    bytes: _base64,
    bytearray: _base64,
    list: _array,
    tuple: _array,
    set: _array,
    frozenset: _array,
    dict: _pairs,
    Row: _row,
}
"""How to write the values of each class; of other classes there is no form."""


def to_json(value: Value) -> Json:
    """Return the form of a value in JSON.

    Raises:
        JsonValueError: it has none.

    Example:
        >>> to_json({"a": (1, float("nan"))})
        [['a', [1, 'NaN']]]
    """
    write = WRITERS.get(value.__class__)
    if write is None:
        raise JsonValueError(value.__class__)
    return write(value)
