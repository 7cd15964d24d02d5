"""Values of the snapshot, which the server sends as text, as columns."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns import column_types as t
from firesteel.columns.type_text import type_text
from firesteel.columns.values import arrow_type, to_arrow
from firesteel.connectors.mysql_cdc.columns_of_log import microseconds, moment_converter, time_of
from firesteel.connectors.mysql_cdc.settings import MySqlCdcError
from firesteel.connectors.mysql_cdc.shapes import ColumnShape
from firesteel.errors import FiresteelError

_BY_CAST = (t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType, t.FloatType, t.DoubleType, t.DecimalType)


def selected(column: ColumnShape) -> str:
    """Return the expression of a column in a query: the text of FLOAT has too few digits."""
    name = quoted(column.name)
    return f"{name} + 0e0" if column.type_name == "float" else name


def quoted(name: str) -> str:
    """Return a name as it stands in a statement.

    Example:
        >>> quoted("a`b")
        '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def snapshot_column(values: Sequence[object], column: ColumnShape, data_type: t.DataType, zone: ZoneInfo) -> pa.Array:
    """Return a column.

    Args:
        values: Its values, as text or as bytes.
        column: The column of the table.
        data_type: The declared type.
        zone: The zone of values of TIMESTAMP where no zone is declared.

    Raises:
        MySqlCdcError: a value does not fit the type.
    """
    try:
        if isinstance(data_type, t.BooleanType):
            false = (b"\0", "0")
            return pa.array([None if value is None else value not in false for value in values], pa.bool_())
        if column.type_name == "time":
            convert = time_of if isinstance(data_type, t.TimeType) else microseconds
            return to_arrow([None if value is None else convert(_duration(str(value))) for value in values], data_type)
        if isinstance(data_type, _BY_CAST):
            return pc.cast(pa.array(values, pa.string()), arrow_type(data_type))
        if column.type_name in ("date", "datetime", "timestamp"):
            return _moments(values, column, data_type, zone)
        if isinstance(data_type, t.ArrayType):
            lists = [None if value is None else str(value).split(",") if value else [] for value in values]
            return to_arrow(lists, data_type)
        return to_arrow(values, data_type)
    except (ValueError, ArithmeticError, FiresteelError) as error:
        raise MySqlCdcError(f"mysql-cdc: column {column.name!r} of type {type_text(data_type)}: {error}") from error


def _moments(values: Sequence[object], column: ColumnShape, data_type: t.DataType, zone: ZoneInfo) -> pa.Array:
    """Return dates and times; those with a year, month or day of zero are NULL, as in Flink CDC."""
    texts = [None if value is None or _is_zero(str(value)) else str(value) for value in values]
    if column.type_name == "date":
        return pc.cast(pa.array(texts, pa.string()), arrow_type(data_type))
    if column.type_name == "datetime" and isinstance(data_type, t.TimestampType) and data_type.precision >= 6:
        return pc.cast(pa.array(texts, pa.string()), arrow_type(data_type))
    convert = moment_converter(column.type_name, data_type, zone)
    assert convert is not None
    read = datetime.datetime.fromisoformat
    return to_arrow([None if text is None else convert(read(text)) for text in texts], data_type)


def _is_zero(text: str) -> bool:
    return text[:4] == "0000" or text[5:7] == "00" or text[8:10] == "00"


def _duration(text: str) -> datetime.timedelta:
    hours, minutes, seconds = text.lstrip("-").split(":")
    found = datetime.timedelta(hours=int(hours), minutes=int(minutes), seconds=float(seconds))
    return -found if text.startswith("-") else found
