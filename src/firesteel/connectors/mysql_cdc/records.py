"""Columns of tables of MySQL as Debezium has them in its records."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from firesteel.columns import column_types as t
from firesteel.connectors.cdc.record_values import (
    DECIMALS,
    Encode,
    RecordColumn,
    counted,
    encoded,
    milliseconds,
    moments,
    plain,
    reversed_bytes,
    whole_numbers,
)
from firesteel.connectors.mysql_cdc.settings import MySqlCdcError
from firesteel.connectors.mysql_cdc.shapes import ColumnShape, TableShape
from firesteel.connectors.table_connector import Column

_STRING, _BYTES = t.VarCharType(2**31 - 1), t.VarBinaryType(2**31 - 1)
_MAX_DIGITS = 38

_KINDS: Mapping[str, tuple[t.DataType, Encode]] = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint", "year"), (t.BigIntType(), plain)),
    "float": (t.FloatType(), plain),
    "double": (t.DoubleType(), plain),
    "date": (t.DateType(), counted),
    "time": (t.BigIntType(), plain),
    "timestamp": (t.LocalZonedTimestampType(6), moments),
    **dict.fromkeys(
        ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set", "json"), (_STRING, plain)
    ),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), (_BYTES, encoded)),
}


def record_columns(shape: TableShape, decimals: str) -> list[RecordColumn]:
    """Return the columns of a table, without generated ones, which the log may lack.

    Args:
        shape: The table.
        decimals: Debezium's `decimal.handling.mode`.

    Raises:
        MySqlCdcError: a column has a type that cannot be read.
    """
    found = []
    for column in shape.columns.values():
        if not column.is_generated:
            kind, encode = _kind(shape, column, decimals)
            found.append(RecordColumn(Column(column.name, kind), encode))
    return found


def _kind(shape: TableShape, column: ColumnShape, decimals: str) -> tuple[t.DataType, Encode]:
    made = _MADE.get(column.type_name)
    if made is not None:
        return made(column, decimals)
    kind = _KINDS.get(column.type_name)
    if kind is None:
        raise MySqlCdcError(f"mysql-cdc: column {column.name!r} of {shape.name} has the type {column.whole_type}, "
                            "which cannot be read")  # fmt: skip
    if column.type_name == "bigint" and "unsigned" in column.whole_type:
        return t.DecimalType(20, 0), whole_numbers
    return kind


def _decimal(column: ColumnShape, decimals: str) -> tuple[t.DataType, Encode]:
    precision, scale = column.digits
    if precision > _MAX_DIGITS:
        return _STRING, plain  # more digits than columns of decimals have
    return t.DecimalType(precision, scale), DECIMALS[decimals]


def _datetime(column: ColumnShape, decimals: str) -> tuple[t.DataType, Encode]:
    return t.TimestampType(6), milliseconds if column.digits[0] <= 3 else counted


def _bit(column: ColumnShape, decimals: str) -> tuple[t.DataType, Encode]:
    return (t.BooleanType(), plain) if column.digits[0] == 1 else (_BYTES, reversed_bytes)


_MADE: Mapping[str, Callable[[ColumnShape, str], tuple[t.DataType, Encode]]] = {
    "decimal": _decimal,
    "datetime": _datetime,
    "bit": _bit,
}
