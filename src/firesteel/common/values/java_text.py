"""Java's text of a value, as shown by Flink's `print()` and text sinks.

`java_formatter(type_info)` compiles a type into one function. Records without a declared type are Python objects to
Flink's Python API, which formats them with `str()`.
"""

from __future__ import annotations

import datetime
import struct
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

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
from firesteel.common.values.hash_map_order import hash_map_order

Formatter = Callable[[Any], str]


def to_java_string(value: object, type_info: TypeInformation[Any] | None = None) -> str:
    """Return Java's text of a value of `type_info`, or `str(value)` without a type.

    Example:
        >>> to_java_string(Row("a", None), Types.ROW([Types.STRING(), Types.INT()]))
        '+I[a, null]'
    """
    return java_formatter(type_info)(value)


def java_formatter(type_info: TypeInformation[Any] | None) -> Formatter:
    """Return the function that formats values of `type_info` as Java does."""
    if type_info is None or isinstance(type_info, PickledBytesTypeInfo):
        return str
    if isinstance(type_info, BasicTypeInfo):
        return _nullable(_SCALARS.get(type_info.basic_type, str))
    for kind, build in _BUILDERS:
        if isinstance(type_info, kind):
            return build(type_info)
    return str


def _nullable(text: Formatter) -> Formatter:
    return lambda value: "null" if value is None else text(value)


def boolean_text(value: object) -> str:
    """Return `true` or `false`."""
    return "true" if value else "false"


_LEAST_NORMAL_DOUBLE = sys.float_info.min
_LEAST_NORMAL_FLOAT = 2.0**-126
"""Numbers nearer to zero have so few bits that one digit may do; Java shows two, the nearest: `4.9E-324`."""


def double_text(value: Any) -> str:
    """Return the text of a DOUBLE, as `Double.toString` does."""
    number = float(value)
    text = repr(number)
    if 0 < abs(number) < _LEAST_NORMAL_DOUBLE and len(Decimal(text).as_tuple().digits) == 1:
        text = f"{number:.1e}"
    return _java_decimal(text, number)


def _float_text(value: Any) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        return _java_decimal("", value)
    single = struct.pack("<f", value)
    fewest = 2 if abs(value) < _LEAST_NORMAL_FLOAT else 1
    digits = next((p for p in range(fewest, 9) if _single(float(f"{value:.{p}g}")) == single), 9)
    return _java_decimal(f"{value:.{digits}g}", value)


def _single(value: float) -> bytes | None:
    """Return the value as 32 bits, or None if it is too large."""
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return None


def _java_decimal(shortest: str, value: float) -> str:
    """Return the shortest decimal text of `value` in the layout of `Double.toString`."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    prefix = "-" if shortest[0] == "-" else ""
    mantissa, _, power = shortest.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    stripped = digits.rstrip("0")
    if not stripped:
        return prefix + "0.0"
    exponent = len(digits) - len(stripped) - len(fraction) + int(power or 0)
    point = len(stripped) + exponent
    if not -3 < point <= 7:
        return f"{prefix}{stripped[0]}.{stripped[1:] or '0'}E{point - 1}"
    if point <= 0:
        return f"{prefix}0.{'0' * -point}{stripped}"
    return f"{prefix}{stripped[:point].ljust(point, '0')}.{stripped[point:] or '0'}"


def _fraction(micros: int) -> str:
    return f"{micros:06d}".rstrip("0") or "0"


def _sql_time_text(value: datetime.time) -> str:
    return value.strftime("%H:%M:%S")


def _sql_timestamp_text(value: datetime.datetime) -> str:
    return f"{value.replace(tzinfo=None).isoformat(' ', 'seconds')}.{_fraction(value.microsecond)}"


def _local_time_text(value: datetime.time | datetime.datetime) -> str:
    """Format a time as `java.time` does: without zero seconds and fraction, with a fraction of 3 or 6 digits."""
    # `isoformat` pads years, which `strftime` does not do everywhere.
    local, micros = value.replace(tzinfo=None), value.microsecond
    if not value.second and not micros:
        return local.isoformat(timespec="minutes")
    return local.isoformat(timespec="seconds" if not micros else "microseconds" if micros % 1000 else "milliseconds")


def _instant_text(value: Instant) -> str:
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=value.seconds)
    nanos = f"{value.nanos:09d}"
    while len(nanos) > 3 and nanos.endswith("000"):
        nanos = nanos[:-3]
    return f"{moment.isoformat()}{'' if not value.nanos else '.' + nanos}Z"


_SCALARS: dict[BasicType, Formatter] = {
    BasicType.BOOLEAN: boolean_text,
    BasicType.DOUBLE: double_text,
    BasicType.FLOAT: _float_text,
    BasicType.INSTANT: _instant_text,
}


def _local_formatter(type_info: Any) -> Formatter:
    time_type = type_info.time_type
    if time_type is LocalTimeTypeInfo.TimeType.LOCAL_DATE:
        return _nullable(str)
    return _nullable(_local_time_text)


def _array_formatter(type_info: Any) -> Formatter:
    element_type: Any = type_info.element_type
    element = java_formatter(element_type)
    if isinstance(type_info, PrimitiveArrayTypeInfo) and element_type.basic_type is BasicType.BYTE:
        return _nullable(lambda value: f"[{', '.join(str(b - 256 if b > 127 else b) for b in value)}]")
    return _nullable(lambda value: f"[{', '.join(map(element, value))}]")


def _map_formatter(type_info: Any) -> Formatter:
    key, item = java_formatter(type_info.key_type), java_formatter(type_info.value_type)
    ordered = hash_map_order(type_info.key_type)
    return _nullable(lambda value: f"{{{', '.join(f'{key(k)}={item(value[k])}' for k in ordered(value))}}}")


def _tuple_formatter(type_info: Any) -> Formatter:
    fields = [java_formatter(field) for field in type_info.get_field_types()]

    def text(value: Any) -> str:
        return f"({','.join(field(item) for field, item in zip(fields, value, strict=False))})"

    return _nullable(text)


def _row_formatter(type_info: Any) -> Formatter:
    fields = [java_formatter(field) for field in type_info.get_field_types()]

    def text(value: Any) -> str:
        kind = str(value.get_row_kind()) if isinstance(value, Row) else "+I"
        return f"{kind}[{', '.join(field(item) for field, item in zip(fields, value, strict=False))}]"

    return _nullable(text)


_BUILDERS: tuple[tuple[type, Callable[[Any], Formatter]], ...] = (
    (TupleTypeInfo, _tuple_formatter),
    (RowTypeInfo, _row_formatter),
    (ElementTypeInfo, _array_formatter),
    (MapTypeInfo, _map_formatter),
    (DateTypeInfo, lambda _: _nullable(str)),
    (TimeTypeInfo, lambda _: _nullable(_sql_time_text)),
    (TimestampTypeInfo, lambda _: _nullable(_sql_timestamp_text)),
    (LocalTimeTypeInfo, _local_formatter),
    (ExternalTypeInfo, lambda type_info: java_formatter(type_info.type_info)),
)
