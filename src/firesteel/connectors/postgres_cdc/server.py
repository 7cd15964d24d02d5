"""The server: connections, what it says of the table, and positions of its log."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from firesteel.common.optional_package import optional_package
from firesteel.connectors.postgres_cdc.pgoutput import PostgresCdcError
from firesteel.connectors.postgres_cdc.settings import Address, CdcSettings
from firesteel.connectors.postgres_cdc.text_columns import KEY_READERS, SESSION, is_readable, readable_types

if TYPE_CHECKING:
    from types import ModuleType

    from psycopg import Connection
    from psycopg.sql import Composed

_RETRY_S = 0.5

_COLUMNS = """
SELECT a.attname AS name, a.atttypid AS type_oid, a.atttypmod AS modifier,
       coalesce(b.typname, t.typname) AS type_name, a.attgenerated <> '' AS is_generated,
       a.attnotnull AS is_required,
       CASE WHEN n.collname = 'default'
         THEN d.datcollate IN ('C', 'POSIX') AND coalesce(to_jsonb(d) ->> 'datlocprovider', 'c') = 'c'
         ELSE n.collname IN ('C', 'POSIX') END AS is_bytewise
FROM pg_attribute a
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_type b ON b.oid = t.typbasetype
LEFT JOIN pg_collation n ON n.oid = a.attcollation
JOIN pg_database d ON d.datname = current_database()
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_NAMES = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') ORDER BY 1, 2
"""
_KEY = """
SELECT a.attname FROM pg_index i
CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, place)
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
WHERE i.indrelid = %s AND i.indisprimary ORDER BY k.place
"""


def psycopg_library() -> ModuleType:
    """Return the module `psycopg`.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    with optional_package("postgres-cdc", "psycopg", "postgresql"):
        import psycopg
    return psycopg


def connect(address: Address, **more: str) -> Connection[tuple[object, ...]]:
    """Return a connection without transactions, whose values have the texts that `text_columns` reads.

    Args:
        address: The table, for its server.
        more: Parameters of libpq.
    """
    library = psycopg_library()
    for attempt in range(address.retries + 1):
        try:
            connection: Connection[tuple[object, ...]] = library.connect(
                host=address.hostname,
                port=address.port,
                user=address.username,
                password=address.password,
                dbname=address.database,
                connect_timeout=address.timeout_s,
                application_name="firesteel postgres-cdc",
                client_encoding="utf8",
                autocommit=True,
                options=" ".join(f"-c {name}={value}" for name, value in SESSION.items()),
                **more,
            )
            return connection
        except library.OperationalError as error:
            if attempt == address.retries:
                raise PostgresCdcError(f"postgres-cdc: {address}: {error}") from error
            time.sleep(_RETRY_S)
    raise AssertionError("unreachable")


@dataclass(frozen=True, slots=True)
class ColumnShape:
    """A column of the table: its type, and whether it is generated, NOT NULL and ordered by bytes."""

    name: str
    type_oid: int
    modifier: int
    type_name: str
    is_generated: bool
    is_required: bool
    is_bytewise: bool | None

    @property
    def signature(self) -> str:
        """What must not change while the log is read."""
        return f"{self.type_oid}/{self.modifier}"


@dataclass(frozen=True, slots=True)
class TableShape:
    """The table as the server has it."""

    columns: Mapping[str, ColumnShape]
    primary_key: Sequence[str]

    @property
    def signature(self) -> dict[str, str]:
        """The columns that the log has, each with what must not change."""
        return {name: column.signature for name, column in self.columns.items() if not column.is_generated}


def table_shape(connection: Connection[tuple[object, ...]], address: Address) -> TableShape:
    """Return the columns and the key of the table.

    Raises:
        PostgresCdcError: there is no such table.
    """
    from psycopg.rows import class_row

    names = (address.schema, address.table)
    found = connection.execute(
        "SELECT c.oid, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'p', 'v', 'm', 'f')",
        names,
    ).fetchone()
    if found is None:
        raise PostgresCdcError(
            f"postgres-cdc: there is no {address}; schema-name and table-name are names, no regular expressions"
        )
    if found[1] != "r":
        raise PostgresCdcError(
            f"postgres-cdc: {address} is no ordinary table; partitioned tables and views are refused"
        )
    with connection.cursor(row_factory=class_row(ColumnShape)) as cursor:
        columns = cursor.execute(_COLUMNS, (found[0],)).fetchall()
    key = [str(name) for (name,) in connection.execute(_KEY, (found[0],))]
    return TableShape({column.name: column for column in columns}, key)


def captured_tables(connection: Connection[tuple[object, ...]], settings: CdcSettings) -> list[CdcSettings]:
    """Return the settings of each table: of the one that has an address, or of those whose names match.

    Raises:
        PostgresCdcError: no name matches.
    """
    if not settings.tables:
        return [settings]
    names = [f"{schema}.{table}" for schema, table in connection.execute(_NAMES)]
    found = [settings.of_table(name) for name in names if re.fullmatch(settings.tables, name)]
    if not found:
        raise PostgresCdcError(
            f"postgres-cdc: none of the {settings.address} matches {settings.tables}; there are "
            f"{', '.join(names[:10]) or 'none'}"
        )
    return found


def check_columns(settings: CdcSettings, shape: TableShape) -> None:
    """Check that the table has the declared columns.

    Raises:
        PostgresCdcError: a column is missing or generated, or has a type that cannot be read as declared.
    """
    for column in settings.columns:
        found = shape.columns.get(column.name)
        where = f"postgres-cdc: column {column.name!r} of {settings.address}"
        if found is None:
            raise PostgresCdcError(f"{where} does not exist; the table has {', '.join(shape.columns)}")
        if found.is_generated:
            raise PostgresCdcError(f"{where} is generated, so the log does not have it; compute it in the query")
        if not is_readable(found.type_name, column.type):
            raise PostgresCdcError(
                f"{where} has the type {found.type_name}, declared is {column.type}; allowed is "
                f"{readable_types(found.type_name)}"
            )


def chunk_column(settings: CdcSettings, shape: TableShape) -> ColumnShape | None:
    """Return the column by which the snapshot is divided; None for a snapshot in one chunk.

    Raises:
        PostgresCdcError: there is no key, or the column that is asked for cannot divide the table.
    """
    if not settings.is_parallel:
        return None
    name, option = settings.chunk_column, "scan.incremental.snapshot.chunk.key-column"
    if not name and not shape.primary_key:
        raise PostgresCdcError(
            f"postgres-cdc: {settings.address} has no primary key, so '{option}' must name a column that divides it"
        )
    column = shape.columns.get(name or shape.primary_key[0])
    if column is None or not column.is_required or (shape.primary_key and column.name not in shape.primary_key):
        raise PostgresCdcError(
            f"postgres-cdc: '{option}' is {name!r}; allowed is a column of the primary key, or of a table without one "
            "any NOT NULL column"
        )
    # A change is told to be in a chunk by its key's order, which must be the same here as on the server.
    is_ordered = column.type_name in KEY_READERS and (column.is_bytewise or column.type_name not in ("text", "varchar"))
    return column if is_ordered else None


def lsn_of(connection: Connection[tuple[object, ...]], query: str, *parameters: str) -> int:
    """Return the LSN that a query returns, as a number."""
    row = connection.execute(query, parameters).fetchone()
    assert row is not None
    return lsn_number(str(row[0]))


def lsn_number(text: str) -> int:
    """Return an LSN as a number.

    Example:
        >>> lsn_number("1/A0")
        4294967456
    """
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) + int(low, 16)


def lsn_text(number: int) -> str:
    """Return an LSN as PostgreSQL writes it.

    Example:
        >>> lsn_text(4294967456)
        '1/A0'
    """
    return f"{number >> 32:X}/{number & 0xFFFFFFFF:X}"


def copied_lines(connection: Connection[tuple[object, ...]], query: Composed) -> Iterator[bytes]:
    """Yield what a COPY sends, row by row.

    psycopg's own loop takes most of the time of a snapshot (benchmarks/bench_cdc.py). A connection whose rows
    were not all read is closed.

    Raises:
        PostgresCdcError: the server has ended the COPY with an error.
    """
    from psycopg.pq import ExecStatus

    low_level = connection.pgconn
    result = low_level.exec_(query.as_bytes(connection))
    try:
        if result.status == ExecStatus.COPY_OUT:
            while True:
                size, data = low_level.get_copy_data(0)
                if size <= 0:
                    break
                yield bytes(data)
            while (ended := low_level.get_result()) is not None:
                result = ended
    except BaseException:
        connection.close()
        raise
    if result.status != ExecStatus.COMMAND_OK:
        raise PostgresCdcError(f"postgres-cdc: {result.get_error_message()}")
