"""Tables and columns of databases, read from their own catalogs. Flink: `PostgresTypeMapper`, `MySqlTypeMapper`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from firesteel.common.options.sensitive_values import masked_text
from firesteel.common.table_errors import CatalogException
from firesteel.connectors.jdbc.address import database_of

_MAX_DECIMAL = 38
_SQLITE_HEADER = b"SQLite format 3\0"


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table.

    Attributes:
        columns: Name and SQL type of each column.
        key: The columns of the primary key.
    """

    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...]


@dataclass(frozen=True)
class Address:
    """The databases behind a base URL such as `jdbc:postgresql://host:port`."""

    base_url: str
    username: str | None
    password: str | None = field(repr=False)

    def url(self, database: str) -> str:
        """Return the URL of a database."""
        return f"{self.base_url.rstrip('/')}/{database}"

    def query(self, database: str, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query, with the placeholders of the driver."""
        kind = database_of(self.url(database), self.username, self.password)
        with closing(kind.connect()) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(sql, parameters)
            return [tuple(row) for row in cursor.fetchall()]


class Metadata(Protocol):
    """The metadata of a kind of database."""

    def databases(self, address: Address, default: str) -> list[str]:
        """Return the names of all databases except those of the server itself."""

    def tables(self, address: Address, database: str) -> list[str]:
        """Return the names of the tables and views of a database."""

    def columns(self, address: Address, database: str, table: str) -> TableColumns:
        """Return the columns of a table.

        Raises:
            CatalogException: a column has a type that tables cannot have.
        """


def metadata_of(base_url: str) -> Metadata:
    """Return the metadata of the kind of database at a URL.

    Raises:
        CatalogException: the kind is not supported.
    """
    kind = base_url.removeprefix("jdbc:").split(":")[0]
    found = _KINDS.get(kind)
    if found is None:
        raise CatalogException(
            f"JDBC catalogs do not support {masked_text(base_url)!r}; supported: "
            "jdbc:postgresql://<host>:<port>, jdbc:mysql://<host>:<port>, jdbc:mariadb://<host>:<port> and "
            "jdbc:sqlite:<directory>"
        )
    return found


def _typed(rows: list[tuple[Any, ...]], type_of: Callable[..., str | None], table: str) -> tuple[tuple[str, str], ...]:
    """Return name and SQL type of columns from name, nullability and the properties that determine the type."""
    columns = []
    for name, nullable, *facts in rows:
        kind = type_of(*facts)
        if kind is None:
            raise CatalogException(
                f"Column {name!r} of table {table!r} has the type {facts[0]!r}, which is not supported"
            )
        columns.append((name, kind if nullable else f"{kind} NOT NULL"))
    return tuple(columns)


def _decimal(precision: Any, scale: Any) -> str:
    if not precision or int(precision) > _MAX_DECIMAL:
        # A number without precision has any number of digits; Flink takes this type for it, and for those that are too
        # wide.
        return "DECIMAL(38, 18)"
    return f"DECIMAL({int(precision)}, {int(scale or 0)})"


# --- PostgreSQL ------------------------------------------------------------------------------------------------------

_POSTGRES_TYPES = {
    "bool": "BOOLEAN",
    "bytea": "BYTES",
    "int2": "SMALLINT",
    "int4": "INT",
    "int8": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "text": "STRING",
    "uuid": "STRING",
    "json": "STRING",
    "jsonb": "STRING",
    "xml": "STRING",
    "name": "STRING",
    "date": "DATE",
}
_POSTGRES_TIMES = {"timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMP_LTZ", "time": "TIME"}
_POSTGRES_OWN = ("pg_catalog", "information_schema")


def _postgres_type(name: str, length: object, precision: object, scale: object, digits: object) -> str | None:
    if name.startswith("_"):
        # PostgreSQL names an array type after its elements; information_schema has neither dimensions nor digits of
        # these.
        element = _postgres_type(name[1:], length, precision, scale, 6)
        return None if element is None else f"ARRAY<{element}>"
    if name == "numeric":
        return _decimal(precision, scale)
    if name in ("varchar", "bpchar"):
        kind = "VARCHAR" if name == "varchar" else "CHAR"
        return "STRING" if length is None else f"{kind}({length})"
    if name in _POSTGRES_TIMES:
        return f"{_POSTGRES_TIMES[name]}({6 if digits is None else digits})"
    return _POSTGRES_TYPES.get(name)


class PostgresMetadata:
    """The databases of a PostgreSQL server; `table` without a schema is in `public`. Flink: `PostgresCatalog`."""

    def databases(self, address: Address, default: str) -> list[str]:
        """Return the databases of the server."""
        # Templates refuse connections, or are no place for tables.
        rows = address.query(default, "SELECT datname FROM pg_database WHERE NOT datistemplate ORDER BY datname")
        return [row[0] for row in rows]

    def tables(self, address: Address, database: str) -> list[str]:
        """Return the tables of all schemas."""
        rows = address.query(
            database,
            "SELECT table_schema, table_name FROM information_schema.tables "
            "WHERE table_schema <> ALL(%s) ORDER BY table_schema, table_name",
            list(_POSTGRES_OWN),
        )
        return [".".join(row) for row in rows]

    def columns(self, address: Address, database: str, table: str) -> TableColumns:
        """Return the columns of a table."""
        schema, _, name = table.rpartition(".")
        place = (schema or "public", name)
        rows = address.query(
            database,
            "SELECT column_name, is_nullable = 'YES', udt_name, character_maximum_length, numeric_precision, "
            "numeric_scale, datetime_precision FROM information_schema.columns "
            "WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
            *place,
        )
        return TableColumns(_typed(rows, _postgres_type, table), _standard_key(address, database, *place))


def _standard_key(address: Address, database: str, schema: str, table: str) -> tuple[str, ...]:
    rows = address.query(
        database,
        # The table is part of the join: names of constraints are unique per table only, and in MySQL each primary key
        # is named PRIMARY.
        "SELECT u.column_name FROM information_schema.table_constraints c "
        "JOIN information_schema.key_column_usage u ON u.constraint_schema = c.constraint_schema "
        "AND u.constraint_name = c.constraint_name AND u.table_name = c.table_name "
        "WHERE c.constraint_type = 'PRIMARY KEY' AND c.table_schema = %s AND c.table_name = %s "
        "ORDER BY u.ordinal_position",
        schema,
        table,
    )
    return tuple(row[0] for row in rows)


# --- MySQL and MariaDB -----------------------------------------------------------------------------------------------

_MYSQL_TYPES = {
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "mediumint": "INT",
    "int": "INT",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "year": "INT",
    **dict.fromkeys(("tinytext", "text", "mediumtext", "longtext", "json", "enum", "set"), "STRING"),
    **dict.fromkeys(("tinyblob", "blob", "mediumblob", "longblob", "binary", "varbinary"), "BYTES"),
}
_MYSQL_UNSIGNED = {
    "tinyint": "SMALLINT",
    "smallint": "INT",
    "mediumint": "INT",
    "int": "BIGINT",
    "bigint": "DECIMAL(20, 0)",
}
_MYSQL_OWN = {"information_schema", "mysql", "performance_schema", "sys"}


def _mysql_type(name: str, full: str, length: object, precision: object, scale: object, digits: object) -> str | None:
    # BOOLEAN is another name for tinyint(1) in MySQL, and MySQL's driver for Java, which Flink uses, reads both so.
    if full == "tinyint(1)" or full == "bit(1)":
        return "BOOLEAN"
    if "unsigned" in full and name in _MYSQL_UNSIGNED:
        return _MYSQL_UNSIGNED[name]
    if name == "decimal":
        return _decimal(precision, scale)
    if name in ("char", "varchar"):
        return f"{name.upper()}({length})"
    if name in ("datetime", "timestamp", "time"):
        return f"{'TIME' if name == 'time' else 'TIMESTAMP'}({digits or 0})"
    return _MYSQL_TYPES.get(name)


class MySqlMetadata:
    """The databases of a server of MySQL or MariaDB. Flink: `MySqlCatalog`."""

    def databases(self, address: Address, default: str) -> list[str]:
        """Return the databases of the server."""
        rows = address.query(default, "SELECT schema_name FROM information_schema.schemata ORDER BY schema_name")
        return [row[0] for row in rows if row[0] not in _MYSQL_OWN]

    def tables(self, address: Address, database: str) -> list[str]:
        """Return the tables of a database."""
        sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s ORDER BY table_name"
        return [row[0] for row in address.query(database, sql, database)]

    def columns(self, address: Address, database: str, table: str) -> TableColumns:
        """Return the columns of a table."""
        rows = address.query(
            database,
            "SELECT column_name, is_nullable = 'YES', data_type, column_type, character_maximum_length, "
            "numeric_precision, numeric_scale, datetime_precision FROM information_schema.columns "
            "WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
            database,
            table,
        )
        return TableColumns(_typed(rows, _mysql_type, table), _standard_key(address, database, database, table))


# --- SQLite ----------------------------------------------------------------------------------------------------------

_SQLITE_TYPES = {
    "BOOLEAN": "BOOLEAN",
    "DATE": "DATE",
    "TIME": "TIME(0)",
    "DATETIME": "TIMESTAMP(6)",
    "TIMESTAMP": "TIMESTAMP(6)",
    "TINYINT": "TINYINT",
    "SMALLINT": "SMALLINT",
}
_SQLITE_AFFINITIES = (("INT", "BIGINT"), ("CHAR", "STRING"), ("CLOB", "STRING"), ("TEXT", "STRING"), ("BLOB", "BYTES"),
                      ("REAL", "DOUBLE"), ("FLOA", "DOUBLE"), ("DOUB", "DOUBLE"))  # fmt: skip
"""Parts of declared types that decide how SQLite stores values, in its order (https://sqlite.org/datatype3.html)."""


def _sqlite_type(declared: str) -> str | None:
    text = declared.upper()
    name, _, rest = text.partition("(")
    if name.strip() in ("DECIMAL", "NUMERIC"):
        precision, scale = [*re.findall(r"\d+", rest), None, None][:2]
        return _decimal(precision, scale)
    known = _SQLITE_TYPES.get(name.strip())
    if known is not None or not text:
        return known
    return next((kind for part, kind in _SQLITE_AFFINITIES if part in text), "DECIMAL(38, 18)")


class SqliteMetadata:
    """The databases of SQLite: the files of a directory."""

    def databases(self, address: Address, default: str) -> list[str]:
        """Return the names of the files."""
        directory = Path(urlsplit(address.base_url.removeprefix("jdbc:").removeprefix("sqlite:")).path)
        files = (path for path in directory.iterdir() if path.is_file()) if directory.is_dir() else ()
        return sorted(path.name for path in files if _is_database(path))

    def tables(self, address: Address, database: str) -> list[str]:
        """Return the tables of a file."""
        sql = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite%' ORDER BY name"
        return [row[0] for row in address.query(database, sql)]

    def columns(self, address: Address, database: str, table: str) -> TableColumns:
        """Return the columns of a table."""
        if database not in self.databases(address, database):
            # SQLite would create the file, and with it a database for all later requests.
            return TableColumns((), ())
        rows = address.query(database, 'SELECT name, "notnull", type, pk FROM pragma_table_info(?)', table)
        facts = [(name, not not_null, declared) for name, not_null, declared, _ in rows]
        # `pk` is the place of the column in the key, which need not be the order of the columns; 0 is not in it.
        key = tuple(name for place, name in sorted((pk, name) for name, _, _, pk in rows) if place)
        return TableColumns(_typed(facts, _sqlite_type, table), key)


def _is_database(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(len(_SQLITE_HEADER))
    # An empty file is a database without tables: SQLite writes the header with the first one.
    return head in (b"", _SQLITE_HEADER)


_KINDS: Mapping[str, Metadata] = {
    "postgresql": PostgresMetadata(),
    "postgres": PostgresMetadata(),
    "mysql": MySqlMetadata(),
    "mariadb": MySqlMetadata(),
    "sqlite": SqliteMetadata(),
}
