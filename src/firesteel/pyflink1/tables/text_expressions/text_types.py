"""Types of expressions as text: `INT`, `LONG`, `SQL_TIMESTAMP`, `MAP(STRING, INT)`, or the name of a type in SQL."""

from __future__ import annotations

from firesteel.columns.type_text import parse_type
from firesteel.common.table_errors import TableException
from firesteel.pyflink1.tables.text_expressions.reader import TokenReader
from firesteel.table.types import DataType, DataTypes

_NAMED = {
    "BYTE": DataTypes.TINYINT(),
    "SHORT": DataTypes.SMALLINT(),
    "INT": DataTypes.INT(),
    "LONG": DataTypes.BIGINT(),
    "FLOAT": DataTypes.FLOAT(),
    "DOUBLE": DataTypes.DOUBLE(),
    "BOOLEAN": DataTypes.BOOLEAN(),
    "STRING": DataTypes.STRING(),
    "SQL_DATE": DataTypes.DATE(),
    "SQL_TIMESTAMP": DataTypes.TIMESTAMP(3),
    "SQL_TIME": DataTypes.TIME(),
    "DECIMAL": DataTypes.DECIMAL(38, 18),
    "INTERVAL_MONTHS": DataTypes.INTERVAL(DataTypes.MONTH()),
    "INTERVAL_MILLIS": DataTypes.INTERVAL(DataTypes.SECOND(3)),
}
_ARRAYS = ("PRIMITIVE_ARRAY", "OBJECT_ARRAY")


def take_type(reader: TokenReader) -> DataType:
    """Take a type.

    Raises:
        ExpressionParserException: there is none.
    """
    error = reader.error("type expected")
    name = reader.name().upper()
    if name in _ARRAYS:
        return DataTypes.ARRAY(_parameters(reader, 1)[0])
    if name == "MAP":
        key, value = _parameters(reader, 2)
        return DataTypes.MAP(key, value)
    if name in _NAMED:
        return _NAMED[name]
    try:
        return parse_type(name)
    except (TableException, ValueError):
        raise error from None


def _parameters(reader: TokenReader, count: int) -> list[DataType]:
    reader.expect("(")
    found = [take_type(reader)]
    while len(found) < count:
        reader.expect(",")
        found.append(take_type(reader))
    reader.expect(")")
    return found
