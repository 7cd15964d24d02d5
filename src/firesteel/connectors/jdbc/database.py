"""The interface of databases for `JdbcSink` and `JdbcSource`: connections, statements and values."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from firesteel.common.typeinfo import (
    BasicTypeInfo,
    DateTypeInfo,
    ElementTypeInfo,
    LocalTimeTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)

if TYPE_CHECKING:
    from firesteel.connectors.jdbc.connections import Connection, Cursor

Convert = Callable[[Any], Any]
Rows = Generator[Any, None, None]

BOOKKEEPING = (
    "CREATE TABLE IF NOT EXISTS firesteel_commits (job VARCHAR(64) NOT NULL, sink VARCHAR(255) NOT NULL, "
    "subtask INTEGER NOT NULL, number BIGINT NOT NULL, PRIMARY KEY (job, sink, subtask))"
)
"""Creates the table of commits."""

UPSERT = "ON CONFLICT (job, sink, subtask) DO UPDATE SET number = excluded.number"
"""The end of an INSERT into the table of commits that updates an existing row."""

_TOKEN = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | `[^`]*` | --[^\n]* | /\*.*?\*/ | \$(\w*)\$.*?\$\1\$ | (?P<escaped>\?\?)"""
    r""" | (?P<parameter>\?) | (?P<percent>%)""",
    re.VERBOSE | re.DOTALL,
)
"""Tokens of a statement: literals, comments and escapes, whose question marks are not parameters; and parameters."""


class Database(Protocol):
    """A kind of database.

    Attributes:
        parameter: The driver's placeholder of a parameter.
        percent: The driver's notation of a percent sign.
        begin: Statement that begins a transaction.
        lock: Statement that locks commits of a sink until the end of the connection or transaction, with the sink's
            name as its parameter. None if `begin` locks the whole database.
        upsert: The end of an INSERT into the table of commits that updates an existing row.
    """

    parameter: ClassVar[str]
    percent: ClassVar[str]
    begin: ClassVar[str]
    lock: ClassVar[str | None]
    upsert: ClassVar[str]

    def connect(self) -> Connection:
        """Return a connection (PEP 249) in autocommit mode.

        Raises:
            ModuleNotFoundError: the driver is not installed; the message names it.
        """

    def create_bookkeeping(self, cursor: Cursor) -> None:
        """Create the table of commits unless it exists; an existing table needs no privilege to create tables."""

    def rows(self, connection: Connection, sql: str, parameters: Sequence[Any], fetch_size: int) -> Rows:
        """Yield the rows of a query; the client holds about `fetch_size` of them at a time."""

    def converter(self, type_info: TypeInformation[Any]) -> Convert | None:
        """Return the function that converts values of a type to parameters; None for no conversion.

        Raises:
            NotImplementedError: the database does not support the type.
        """

    def is_transient(self, error: Exception) -> bool:
        """Return whether a retry of the same transaction may succeed."""


def fetch_rows(cursor: Any, sql: str, parameters: Sequence[Any], fetch_size: int) -> Rows:
    """Run a query and yield its rows, fetched `fetch_size` at a time; close the cursor at the end."""
    with closing(cursor):
        cursor.execute(sql, tuple(parameters))
        while fetched := cursor.fetchmany(fetch_size):
            yield from fetched


# --- values ----------------------------------------------------------------------------------------------------------

_LOCAL_TIMES = (DateTypeInfo, TimeTypeInfo, TimestampTypeInfo)


def column_converter(
    type_info: TypeInformation[Any], types: dict[Any, Convert | None], database: str
) -> Convert | None:
    """Return the converter that `types` has for the basic type or the class; it leaves None as it is.

    Raises:
        NotImplementedError: the database does not support the type.
    """
    if isinstance(type_info, BasicTypeInfo):
        return _nullable(types.get(type_info.basic_type))
    if isinstance(type_info, LocalTimeTypeInfo):
        type_info = _LOCAL_TIMES[type_info.time_type.value]()
    if isinstance(type_info, _LOCAL_TIMES):
        return _nullable(types.get(type(type_info)))
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.element_type == BasicTypeInfo.BYTE_TYPE_INFO():
        return None
    if isinstance(type_info, ElementTypeInfo) and ElementTypeInfo in types:
        return types[ElementTypeInfo]
    if isinstance(type_info, PickledBytesTypeInfo):
        return None
    raise NotImplementedError(f"{database} does not support values of {type_info!r}")


def _nullable(convert: Convert | None) -> Convert | None:
    return None if convert is None else lambda value: None if value is None else convert(value)


def row_converter(database: Database, row_type: RowTypeInfo) -> Callable[[Any], tuple[Any, ...]]:
    """Return the function that converts a Row of a type to the parameters of a statement.

    Raises:
        NotImplementedError: the database does not support the type of a field; the message names the field.
    """
    converts: list[Convert | None] = []
    for name, type_info in zip(row_type.get_field_names(), row_type.get_field_types(), strict=True):
        try:
            converts.append(database.converter(type_info))
        except NotImplementedError as error:
            raise NotImplementedError(f"JdbcSink: field {name!r}: {error}") from None
    if not any(converts):
        return tuple

    def convert_row(row: Sequence[Any]) -> tuple[Any, ...]:
        return tuple([v if convert is None else convert(v) for convert, v in zip(converts, row, strict=True)])

    return convert_row


# --- statements ------------------------------------------------------------------------------------------------------


def count_parameters(sql: str) -> int:
    """Return the number of `?` in a statement that are parameters.

    Example:
        >>> count_parameters("INSERT INTO t VALUES (?, '?', ?) -- why?")
        2
    """
    return sum(1 for found in _TOKEN.finditer(sql) if found["parameter"])


def native_statement(sql: str, database: Database) -> str:
    """Return the statement in the driver's notation; `??` is a question mark, as in PostgreSQL's JDBC driver.

    Example:
        >>> from firesteel.connectors.jdbc.postgresql import PostgresDatabase
        >>> native_statement("INSERT INTO t VALUES (?, '5%')", PostgresDatabase("", ()))
        "INSERT INTO t VALUES (%s, '5%%')"
    """

    def replace(found: re.Match[str]) -> str:
        if found["parameter"]:
            return database.parameter
        return "?" if found["escaped"] else found[0].replace("%", database.percent)

    return _TOKEN.sub(replace, sql)
