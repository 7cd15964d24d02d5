"""Tables as the server has them, and what their columns can be read as."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from firesteel.columns import column_types as t
from firesteel.connectors.cdc.splits import KnownTable
from firesteel.connectors.mysql_cdc.server import query
from firesteel.connectors.mysql_cdc.settings import CdcSettings, MySqlCdcError

if TYPE_CHECKING:
    from pymysql.connections import Connection

_TABLES = """
SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE'
AND TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema') ORDER BY 1, 2
"""
_COLUMNS = """
SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, coalesce(CHARACTER_OCTET_LENGTH, 0), coalesce(NUMERIC_PRECISION, 0),
       coalesce(NUMERIC_SCALE, 0), coalesce(DATETIME_PRECISION, 0), EXTRA, IS_NULLABLE,
       coalesce(COLLATION_NAME, '')
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION
"""
_KEY = """
SELECT COLUMN_NAME FROM information_schema.STATISTICS
WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND INDEX_NAME = 'PRIMARY' ORDER BY SEQ_IN_INDEX
"""

GENERATED = "generated"
"""Signature of a generated column, which the log may have or not."""

_STRING = (t.CharType, t.VarCharType)
_BYTES = (t.BinaryType, t.VarBinaryType)
_WHOLE = (t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType, t.DecimalType)
_ZONED = (t.TimestampType, t.LocalZonedTimestampType)
_BLOBS = {"tinyblob": 1, "blob": 2, "mediumblob": 3, "longblob": 4}
_TEXTS = {"tinytext": 1, "text": 2, "mediumtext": 3, "longtext": 4}

_ALLOWED: Mapping[str, tuple[type[t.DataType], ...]] = {
    "tinyint": (*_WHOLE, t.BooleanType),
    "tinyint unsigned": (*_WHOLE[1:], t.BooleanType),
    "smallint": _WHOLE[1:],
    "smallint unsigned": _WHOLE[2:],
    "mediumint": _WHOLE[2:],
    "mediumint unsigned": _WHOLE[2:],
    "int": _WHOLE[2:],
    "int unsigned": _WHOLE[3:],
    "bigint": _WHOLE[3:],
    "bigint unsigned": (t.DecimalType,),
    "float": (t.FloatType, t.DoubleType),
    "double": (t.DoubleType,),
    "decimal": (t.DecimalType, *_STRING),
    "bit": (t.BooleanType, *_BYTES),
    "date": (t.DateType,),
    "time": (t.TimeType,),
    "datetime": (t.TimestampType,),
    "timestamp": _ZONED,
    "year": _WHOLE[2:],
    **dict.fromkeys(("char", "varchar", *_TEXTS, "enum", "json"), _STRING),
    **dict.fromkeys(("binary", "varbinary", *_BLOBS), _BYTES),
    "set": (t.ArrayType, *_STRING),
}
"""The types of columns that a type of MySQL can be read as; any other, such as `geometry` and `uuid`, as none."""

_KEY_TYPES = frozenset(
    {
        *("tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "date"),
        *("char", "varchar", "binary", "varbinary", "datetime", "timestamp", "enum", "year"),
    }
)


@dataclass(frozen=True, slots=True)
class ColumnShape:
    """A column: its type by name, the whole type, what of it must not change, whether it is NOT NULL, and digits.

    Attributes:
        collation: Of texts; empty for others.
        digits: Digits in all and after the point of DECIMAL; of a second of times, and bits of BIT.
    """

    name: str
    type_name: str
    whole_type: str
    signature: str
    is_required: bool
    digits: tuple[int, int]
    collation: str

    @property
    def allowed(self) -> tuple[type[t.DataType], ...]:
        """The types that it can be read as."""
        sign = " unsigned" if "unsigned" in self.whole_type else ""
        return _ALLOWED.get(self.type_name + sign) or _ALLOWED.get(self.type_name, ())

    @property
    def is_generated(self) -> bool:
        """Whether the server computes it."""
        return self.signature == GENERATED

    def is_readable(self, data_type: t.DataType) -> bool:
        """Return whether it can be read as a type."""
        if self.type_name == "bit" and isinstance(data_type, t.BooleanType):
            return self.whole_type == "bit(1)"
        if isinstance(data_type, t.ArrayType):
            return self.type_name == "set" and isinstance(data_type.element_type, _STRING)
        return isinstance(data_type, self.allowed)


@dataclass(frozen=True, slots=True)
class TableShape:
    """A table; its name is `<database>.<table>`."""

    name: str
    columns: Mapping[str, ColumnShape]
    primary_key: Sequence[str]

    @property
    def layout(self) -> list[tuple[str, str, str]]:
        """Name, collation and type of the columns in their order."""
        return [(column.name, column.collation, column.whole_type) for column in self.columns.values()]

    def known(self, chunk: tuple[str, str] = ("", ""), *, begins_now: bool = True) -> KnownTable:
        """Return what is kept of the table.

        Args:
            chunk: The column that divides it into chunks, and its type as of `chunk_type`.
            begins_now: Whether it was like this where the log is read from.
        """
        signatures = {name: column.signature for name, column in self.columns.items()}
        return KnownTable(signatures, list(self.primary_key), *chunk, self.layout if begins_now else [])


def captured_tables(connection: Connection, settings: CdcSettings) -> list[TableShape]:
    """Return the tables whose names match.

    Raises:
        MySqlCdcError: there is none.
    """
    pattern = re.compile(settings.tables)
    found = [(str(database), str(name)) for database, name in query(connection, _TABLES)]
    names = [(database, name) for database, name in found if pattern.fullmatch(f"{database}.{name}")]
    if not names:
        raise MySqlCdcError(
            f"mysql-cdc: no table of {settings.server} matches {settings.tables}; it has "
            f"{', '.join(f'{database}.{name}' for database, name in found[:10]) or 'none that this user can see'}"
        )
    return [table_shape(connection, database, name) for database, name in names]


def table_shape(connection: Connection, database: str, name: str) -> TableShape:
    """Return the columns and the key of a table."""
    at = (database, name)
    columns = [_column(row) for row in query(connection, _COLUMNS, at)]
    key = [str(column) for (column,) in query(connection, _KEY, at)]
    return TableShape(f"{database}.{name}", {column.name: column for column in columns}, key)


def _column(row: Sequence[object]) -> ColumnShape:
    name, type_name, whole, extra, nullable, collation = (str(row[place]) for place in (0, 1, 2, 7, 8, 9))
    size, precision, scale, fraction = (int(str(row[place])) for place in range(3, 7))
    if type_name in ("geometrycollection", "geomcollection"):
        type_name = "geometry"
    details = {
        **dict.fromkeys(("char", "varchar", "binary", "varbinary"), f"({size})"),
        **dict.fromkeys(("time", "datetime", "timestamp"), f"({fraction})"),
        "decimal": f"({precision},{scale})",
        "bit": f"({precision})",
    }
    signature = f"{type_name}{details.get(type_name, '')}{' unsigned' if 'unsigned' in whole else ''}"
    if type_name not in _ALLOWED:
        signature = ""
    if "GENERATED" in extra.upper() and "DEFAULT_GENERATED" not in extra.upper():
        signature = GENERATED
    digits = (precision or fraction, scale)
    return ColumnShape(name, type_name, whole, signature, nullable == "NO", digits, collation)


def check_columns(settings: CdcSettings, shape: TableShape) -> None:
    """Check that a table has the declared columns.

    Raises:
        MySqlCdcError: a column is missing or generated, or has a type that cannot be read as declared.
    """
    for column in settings.columns:
        found = shape.columns.get(column.name)
        where = f"mysql-cdc: column {column.name!r} of {shape.name}"
        if found is None:
            raise MySqlCdcError(f"{where} does not exist; the table has {', '.join(shape.columns)}")
        if found.is_generated:
            raise MySqlCdcError(f"{where} is generated, so the log may not have it; compute it in the query")
        if not found.is_readable(column.type):
            raise MySqlCdcError(
                f"{where} has the type {found.whole_type}, declared is {column.type}; allowed is "
                f"{_readable_types(found)}"
            )


def _readable_types(column: ColumnShape) -> str:
    names = {t.VarCharType: "STRING", t.VarBinaryType: "BYTES", t.ArrayType: "ARRAY<STRING>"}
    found = [one for one in column.allowed if one not in (t.CharType, t.BinaryType)]
    return " or ".join(names.get(one, one.__name__.removesuffix("Type").upper()) for one in found) or "no type"


def chunk_column(settings: CdcSettings, shape: TableShape) -> ColumnShape:
    """Return the column of the primary key by which the snapshot of a table is divided.

    Raises:
        MySqlCdcError: there is no usable key, or the column that is asked for is not of the key.
    """
    option = "scan.incremental.snapshot.chunk.key-column"
    if not shape.primary_key:
        raise MySqlCdcError(
            f"mysql-cdc: {shape.name} has no primary key, which tells the rows of the snapshot that have changed "
            "while it was read. 'scan.startup.mode' latest-offset needs none"
        )
    for name in shape.primary_key:
        if shape.columns[name].type_name not in _KEY_TYPES:
            raise MySqlCdcError(
                f"mysql-cdc: {shape.name} has the column {name!r} of type {shape.columns[name].whole_type} in its "
                f"primary key; allowed is {', '.join(sorted(_KEY_TYPES))}"
            )
    name = settings.chunk_column or shape.primary_key[0]
    if name not in shape.primary_key:
        raise MySqlCdcError(
            f"mysql-cdc: '{option}' is {name!r}; allowed is a column of the primary key of {shape.name}: "
            f"{', '.join(shape.primary_key)}"
        )
    return shape.columns[name]
