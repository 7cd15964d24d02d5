"""What a `JdbcSink` and a `JdbcSource` need to know of a database: how to connect, how statements and values look."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any, ClassVar, Protocol

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

Convert = Callable[[Any], Any]
Rows = Generator[Any, None, None]

BOOKKEEPING = (
    "CREATE TABLE IF NOT EXISTS firesteel_commits (job VARCHAR(64) NOT NULL, sink VARCHAR(255) NOT NULL, "
    "subtask INTEGER NOT NULL, number BIGINT NOT NULL, PRIMARY KEY (job, sink, subtask))"
)
"""Creates the table of what was committed."""

UPSERT = "ON CONFLICT (job, sink, subtask) DO UPDATE SET number = excluded.number"
"""Ends an INSERT into that table that may find the row there."""

_TOKEN = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | `[^`]*` | --[^\n]* | /\*.*?\*/ | \$(\w*)\$.*?\$\1\$ | (?P<escaped>\?\?)"""
    r""" | (?P<parameter>\?) | (?P<percent>%)""",
    re.VERBOSE | re.DOTALL,
)
"""Parts of a statement that may hold question marks that are no parameters, and those that are."""


class Database(Protocol):
    """One kind of database.

    Attributes:
        parameter: How its driver writes a parameter.
        percent: How its driver writes a percent sign.
        begin: Begins a transaction.
        lock: Keeps others from committing for the same sink until the connection or the transaction ends, or None: the
            whole database is locked already. Its parameter names the sink.
        upsert: Ends an INSERT into the table of what was committed.
    """

    parameter: ClassVar[str]
    percent: ClassVar[str]
    begin: ClassVar[str]
    lock: ClassVar[str | None]
    upsert: ClassVar[str]

    def connect(self) -> Any:
        """Return a connection (PEP 249) in autocommit mode.

        Raises:
            ModuleNotFoundError: the driver is not installed; the message names it.
        """

    def create_bookkeeping(self, cursor: Any) -> None:
        """Create the table of what was committed, unless it is there: then no right to create tables is needed."""

    def rows(self, connection: Any, sql: str, parameters: Sequence[Any], fetch_size: int) -> Rows:
        """Yield the rows of a query; the client holds about `fetch_size` of them at a time."""

    def converter(self, type_info: TypeInformation[Any]) -> Convert | None:
        """Return what makes parameters of values of a type; None: they are handed over as they are.

        Raises:
            NotImplementedError: no column holds them.
        """

    def is_transient(self, error: Exception) -> bool:
        """Return whether the same transaction may succeed when it is tried again."""


def fetch_rows(cursor: Any, sql: str, parameters: Sequence[Any], fetch_size: int) -> Rows:
    """Run a query and yield its rows, fetched `fetch_size` at a time; closes the cursor."""
    with closing(cursor):
        cursor.execute(sql, tuple(parameters))
        while fetched := cursor.fetchmany(fetch_size):
            yield from fetched


# --- values ----------------------------------------------------------------------------------------------------------

_LOCAL_TIMES = (DateTypeInfo, TimeTypeInfo, TimestampTypeInfo)


def column_converter(
    type_info: TypeInformation[Any], types: dict[Any, Convert | None], database: str
) -> Convert | None:
    """Return what `types` has for the basic type or the class; the converter leaves None as it is.

    Raises:
        NotImplementedError: no column of the database holds values of the type.
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
    raise NotImplementedError(f"no column of {database} holds values of {type_info!r}")


def _nullable(convert: Convert | None) -> Convert | None:
    return None if convert is None else lambda value: None if value is None else convert(value)


def row_converter(database: Database, row_type: RowTypeInfo) -> Callable[[Any], tuple[Any, ...]]:
    """Return what makes the parameters of a statement of a Row of that type.

    Raises:
        NotImplementedError: no column holds the values of a field; the message names it.
    """
    converts: list[Convert | None] = []
    for name, type_info in zip(row_type.get_field_names(), row_type.get_field_types(), strict=True):
        try:
            converts.append(database.converter(type_info))
        except NotImplementedError as error:
            raise NotImplementedError(f"JdbcSink: field {name!r}: {error}") from None
    if not any(converts):
        return tuple

    def convert_row(row: Any) -> tuple[Any, ...]:
        return tuple([v if convert is None else convert(v) for convert, v in zip(converts, row, strict=True)])

    return convert_row


# --- statements ------------------------------------------------------------------------------------------------------


def count_parameters(sql: str) -> int:
    """Return how many `?` of a statement are parameters.

    Example:
        >>> count_parameters("INSERT INTO t VALUES (?, '?', ?) -- why?")
        2
    """
    return sum(1 for found in _TOKEN.finditer(sql) if found["parameter"])


def native_statement(sql: str, database: Database) -> str:
    """Return the statement as the driver wants it; `??` is a question mark, as in PostgreSQL's JDBC driver.

    Example:
        >>> native_statement("INSERT INTO t VALUES (?, '5%')", PostgresDatabase("", ()))
        "INSERT INTO t VALUES (%s, '5%%')"
    """

    def replace(found: re.Match[str]) -> str:
        if found["parameter"]:
            return database.parameter
        return "?" if found["escaped"] else found[0].replace("%", database.percent)

    return _TOKEN.sub(replace, sql)
