"""Values of columns as Debezium has them in JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns.pylist import pylist
from firesteel.common.values.decimals import unscaled
from firesteel.connectors.formats.text_values import bytes_text
from firesteel.connectors.table_connector import Column

Encode = Callable[[pa.Array], list[object]]


@dataclass(frozen=True, slots=True)
class RecordColumn:
    """A column of a record: what is read, and how it becomes a value of JSON."""

    column: Column
    encode: Encode


def plain(values: pa.Array) -> list[object]:
    """Return values as they are."""
    found: list[object] = pylist(values)
    return found


def counted(values: pa.Array) -> list[object]:
    """Return days since 1970 of dates, and microseconds since then of times."""
    return plain(pc.cast(values, pa.int32() if pa.types.is_date(values.type) else pa.int64()))


def milliseconds(values: pa.Array) -> list[object]:
    """Return milliseconds since 1970 of times."""
    return [None if value is None else value // 1000 for value in pylist(pc.cast(values, pa.int64()))]


def moments(values: pa.Array) -> list[object]:
    """Return times in UTC as text."""
    return [None if value is None else _moment(value.isoformat()) for value in pylist(values)]


def _moment(text: str) -> str:
    whole, _, fraction = text.removesuffix("+00:00").partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}Z" if fraction else f"{whole}Z"


def encoded(values: pa.Array) -> list[object]:
    """Return bytes as Base64."""
    return [None if value is None else bytes_text(value) for value in pylist(values)]


def reversed_bytes(values: pa.Array) -> list[object]:
    """Return bits as Base64 of bytes of which the first has the last bits."""
    return [None if value is None else bytes_text(value[::-1]) for value in pylist(values)]


def whole_numbers(values: pa.Array) -> list[object]:
    """Return decimals without fraction as integers."""
    return [None if value is None else int(value) for value in pylist(values)]


def _unscaled(values: pa.Array) -> list[object]:
    scale = values.type.scale
    return [None if value is None else bytes_text(big_endian(unscaled(value, scale))) for value in pylist(values)]


def big_endian(value: int) -> bytes:
    """Return the shortest big-endian form of an integer with a sign."""
    return value.to_bytes((value if value >= 0 else ~value).bit_length() // 8 + 1, "big", signed=True)


def _texts(values: pa.Array) -> list[object]:
    return [None if value is None else format(value, "f") for value in pylist(values)]


def _floats(values: pa.Array) -> list[object]:
    return [None if value is None else float(Decimal(value)) for value in pylist(values)]


DECIMALS: Mapping[str, Encode] = {"precise": _unscaled, "string": _texts, "double": _floats}
"""Encodings of decimals by Debezium's `decimal.handling.mode`."""
