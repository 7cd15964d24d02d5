"""Columns of tables of PostgreSQL as Debezium has them in its records."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Mapping
from decimal import Decimal

import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.pylist import pylist
from firesteel.common.values.decimals import unscaled
from firesteel.connectors.cdc.record_values import (
    DECIMALS,
    Encode,
    RecordColumn,
    big_endian,
    counted,
    encoded,
    moments,
    plain,
)
from firesteel.connectors.postgres_cdc.pgoutput import PostgresCdcError
from firesteel.connectors.postgres_cdc.server import ColumnShape, TableShape
from firesteel.connectors.postgres_cdc.settings import Address
from firesteel.connectors.table_connector import Column

_STRING = t.VarCharType(2**31 - 1)
_MAX_DIGITS = 38
_MIDNIGHT = datetime.date(1970, 1, 1)


def _times(values: pa.Array) -> list[object]:
    return [None if value is None else _micros(datetime.time.fromisoformat(value)) for value in pylist(values)]


def _micros(value: datetime.time) -> int:
    since = datetime.datetime.combine(_MIDNIGHT, value) - datetime.datetime.combine(_MIDNIGHT, datetime.time())
    return since // datetime.timedelta(microseconds=1)


def _with_scales(values: pa.Array) -> list[object]:
    return [None if value is None else _with_scale(Decimal(value)) for value in pylist(values)]


def _with_scale(value: Decimal) -> object:
    scale = max(0, -int(value.as_tuple().exponent)) if value.is_finite() else 0
    if not value.is_finite():
        raise PostgresCdcError(f"postgres-cdc: {value} has no form of Debezium with 'decimal.handling.mode' precise")
    return {"scale": scale, "value": base64.b64encode(big_endian(unscaled(value, scale))).decode()}


def _as_floats(values: pa.Array) -> list[object]:
    return [None if value is None else float(value) for value in pylist(values)]


_TEXTS_OF_DECIMALS: Mapping[str, Encode] = {"precise": _with_scales, "string": plain, "double": _as_floats}
"""Encodings of decimals that are read as text: those without a scale, or with many digits."""

_KINDS: Mapping[str, tuple[t.DataType, Encode]] = {
    **dict.fromkeys(("int2", "int4", "int8", "oid"), (t.BigIntType(), plain)),
    "float4": (t.FloatType(), plain),
    "float8": (t.DoubleType(), plain),
    "bool": (t.BooleanType(), plain),
    "date": (t.DateType(), counted),
    "time": (_STRING, _times),
    "timestamp": (t.TimestampType(6), counted),
    "timestamptz": (t.LocalZonedTimestampType(6), moments),
    "bytea": (t.VarBinaryType(2**31 - 1), encoded),
}
_ITEMS = frozenset({"int2", "int4", "int8", "oid", "float4", "float8", "bool"})
_WITHOUT = frozenset({"money", "interval", "timetz", "hstore", "point", "geometry", "geography"})
"""Types that Debezium writes in a form of its own, which is not made here."""


def record_columns(address: Address, shape: TableShape, decimals: str) -> list[RecordColumn]:
    """Return the columns of a table, without generated ones, which the log does not have.

    Args:
        address: The table, for messages.
        shape: What the server says of it.
        decimals: Debezium's `decimal.handling.mode`.

    Raises:
        PostgresCdcError: a column has a type that is not written as Debezium does.
    """
    found = []
    for column in shape.columns.values():
        if column.is_generated:
            continue
        if column.type_name.removeprefix("_") in _WITHOUT or column.type_name in ("_date", "_time", "_numeric"):
            raise PostgresCdcError(
                f"postgres-cdc: column {column.name!r} of {address} has the type {column.type_name}, which has no "
                "form in records; the table connector may read it"
            )
        kind, encode = _kind(column, decimals)
        found.append(RecordColumn(Column(column.name, kind), encode))
    return found


def _kind(column: ColumnShape, decimals: str) -> tuple[t.DataType, Encode]:
    name = column.type_name
    if name == "numeric":
        precision, scale = (column.modifier - 4) >> 16, (column.modifier - 4) & 0x7FF
        if column.modifier < 0 or precision > _MAX_DIGITS or scale > precision:
            return _STRING, _TEXTS_OF_DECIMALS[decimals]
        return t.DecimalType(precision, scale), DECIMALS[decimals]
    if name.startswith("_"):
        item = name[1:]
        return t.ArrayType(_KINDS[item][0] if item in _ITEMS else _STRING), plain
    return _KINDS.get(name, (_STRING, plain))
