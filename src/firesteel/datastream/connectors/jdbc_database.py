"""Databases that a `JdbcSink` writes to through Python's drivers: how to connect, how statements and values look."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol
from urllib.parse import parse_qsl, urlsplit

from firesteel.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    LocalTimeTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
    _ElementTypeInfo,
)

Convert = Callable[[Any], Any]

_TOKEN = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/ | \$(\w*)\$.*?\$\1\$ | (?P<escaped>\?\?)"""
    r""" | (?P<parameter>\?) | (?P<percent>%)""",
    re.VERBOSE | re.DOTALL,
)
"""What may hold question marks that are no parameters, and what is one."""


class Database(Protocol):
    """One kind of database.

    Attributes:
        parameter: How its driver writes a parameter.
        percent: How its driver writes a percent sign.
        bookkeeping: Creates the table of what was committed.
        lock: Keeps others from committing for the same sink until the transaction ends, or None: the whole database is
            locked already. Its parameter names the sink.
    """

    parameter: ClassVar[str]
    percent: ClassVar[str]
    bookkeeping: ClassVar[str]
    lock: ClassVar[str | None]

    def connect(self) -> Any:
        """A connection (PEP 249) in autocommit mode.

        Raises:
            ModuleNotFoundError: the driver is not installed; the message names it.
        """

    @property
    def begin(self) -> str:
        """Begins a transaction."""

    def converter(self, type_info: TypeInformation) -> Convert | None:
        """How values of a type are handed to the driver; None: as they are.

        Raises:
            NotImplementedError: no column holds them.
        """

    def is_transient(self, error: Exception) -> bool:
        """True if the same transaction may succeed when it is tried again."""


_BOOKKEEPING = (
    "CREATE TABLE IF NOT EXISTS firesteel_commits (job VARCHAR(64) NOT NULL, sink VARCHAR(255) NOT NULL, "
    "subtask INTEGER NOT NULL, number BIGINT NOT NULL, PRIMARY KEY (job, sink, subtask))"
)


@dataclass(frozen=True, slots=True)
class SqliteDatabase:
    """A file, by Python's own `sqlite3`. Times are kept as text, `2024-01-31 12:00:00`, decimals as text, too."""

    parameter: ClassVar[str] = "?"
    percent: ClassVar[str] = "%"
    bookkeeping: ClassVar[str] = _BOOKKEEPING
    lock: ClassVar[str | None] = None
    begin: ClassVar[str] = "BEGIN IMMEDIATE"
    path: str

    def connect(self) -> Any:
        """A connection that waits up to a minute for others who write."""
        import sqlite3

        return sqlite3.connect(self.path, timeout=60, isolation_level=None)

    def converter(self, type_info: TypeInformation) -> Convert | None:
        """Numbers, text and bytes as they are, the rest as text."""
        return _converter(type_info, _SQLITE_TYPES, "SQLite")

    def is_transient(self, error: Exception) -> bool:
        """True if others hold the file."""
        import sqlite3

        return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


@dataclass(frozen=True, slots=True)
class PostgresDatabase:
    """PostgreSQL, by `psycopg`."""

    parameter: ClassVar[str] = "%s"
    percent: ClassVar[str] = "%%"
    bookkeeping: ClassVar[str] = (
        # Only who creates the table needs the right to; two who do so at once would fail without the lock.
        "DO $$ BEGIN IF to_regclass('firesteel_commits') IS NULL THEN "
        f"PERFORM pg_advisory_xact_lock(hashtext('firesteel_commits')); {_BOOKKEEPING}; END IF; END $$"
    )
    lock: ClassVar[str | None] = "SELECT pg_advisory_xact_lock(hashtext(%s))"
    begin: ClassVar[str] = "BEGIN"
    url: str
    options: tuple[tuple[str, str], ...] = field(repr=False)

    def connect(self) -> Any:
        """A connection."""
        return _psycopg(self.url).connect(self.url, autocommit=True, **dict(self.options))

    def converter(self, type_info: TypeInformation) -> Convert | None:
        """All but an Instant as they are; lists become arrays."""
        return _converter(type_info, _POSTGRES_TYPES, "PostgreSQL")

    def is_transient(self, error: Exception) -> bool:
        """True for lost connections, deadlocks and conflicts of transactions."""
        return isinstance(error, _psycopg(self.url).OperationalError)


def _psycopg(url: str) -> Any:
    try:
        import psycopg
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"JdbcSink to {url} needs the package psycopg: pip install 'firesteel[postgresql]'", name=error.name
        ) from None
    return psycopg


# --- values ----------------------------------------------------------------------------------------------------------


def _text(value: Any) -> str:
    return str(value)


def _timestamp_text(value: datetime.datetime) -> str:
    return value.isoformat(" ")


def _iso_text(value: Any) -> str:
    return str(value.isoformat())


def _instant(value: Any) -> datetime.datetime:
    moment = datetime.datetime.fromtimestamp(value.seconds, datetime.UTC)
    return moment.replace(microsecond=value.nanos // 1000)


def _int64_or_text(value: int) -> Any:
    return value if -(2**63) <= value < 2**63 else str(value)


_SQLITE_TYPES: dict[Any, Convert | None] = {
    BasicType.BOOLEAN: int,
    BasicType.BIG_INT: _int64_or_text,
    BasicType.BIG_DEC: _text,
    BasicType.INSTANT: lambda value: _timestamp_text(_instant(value)),
    DateTypeInfo: _iso_text,
    TimeTypeInfo: _iso_text,
    TimestampTypeInfo: _timestamp_text,
}
_POSTGRES_TYPES: dict[Any, Convert | None] = {
    BasicType.INSTANT: _instant,
    _ElementTypeInfo: None,
}
_LOCAL_TIMES = (DateTypeInfo, TimeTypeInfo, TimestampTypeInfo)


def _converter(type_info: TypeInformation, types: dict[Any, Convert | None], database: str) -> Convert | None:
    """What `types` says of the basic type or of the class, as None stays None."""
    if isinstance(type_info, BasicTypeInfo):
        return _nullable(types.get(type_info.basic_type))
    if isinstance(type_info, LocalTimeTypeInfo):
        type_info = _LOCAL_TIMES[type_info.time_type.value]()
    if isinstance(type_info, _LOCAL_TIMES):
        return _nullable(types.get(type(type_info)))
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.element_type == BasicTypeInfo.BYTE_TYPE_INFO():
        return None
    if isinstance(type_info, _ElementTypeInfo) and _ElementTypeInfo in types:
        return types[_ElementTypeInfo]
    if isinstance(type_info, PickledBytesTypeInfo):
        return None
    raise NotImplementedError(f"no column of {database} holds values of {type_info!r}")


def _nullable(convert: Convert | None) -> Convert | None:
    return None if convert is None else lambda value: None if value is None else convert(value)


def row_converter(database: Database, row_type: RowTypeInfo) -> Callable[[Any], tuple[Any, ...]]:
    """The parameters of a statement for a Row of that type.

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


# --- statements and addresses ----------------------------------------------------------------------------------------


def count_parameters(sql: str) -> int:
    """How many `?` of a statement are parameters.

    Example:
        >>> count_parameters("INSERT INTO t VALUES (?, '?', ?) -- why?")
        2
    """
    return sum(1 for found in _TOKEN.finditer(sql) if found["parameter"])


def native_statement(sql: str, database: Database) -> str:
    """The statement as the driver wants it; `??` is a question mark, as in PostgreSQL's JDBC driver.

    Example:
        >>> native_statement("INSERT INTO t VALUES (?, '5%')", PostgresDatabase("", ()))
        "INSERT INTO t VALUES (%s, '5%%')"
    """

    def replace(found: re.Match[str]) -> str:
        if found["parameter"]:
            return database.parameter
        return "?" if found["escaped"] else found[0].replace("%", database.percent)

    return _TOKEN.sub(replace, sql)


def database_of(url: str, user_name: str | None, password: str | None) -> Database:
    """The database behind an address: `jdbc:sqlite:<path>`, `sqlite://<path>` or `jdbc:postgresql://host:port/name`.

    Raises:
        ValueError: the address is of another kind, or of no file.
    """
    plain = url.removeprefix("jdbc:")
    if plain.startswith("sqlite:"):
        path = plain.removeprefix("sqlite:").removeprefix("//").split("?")[0]
        if path in ("", ":memory:"):
            raise ValueError(f"JdbcSink: {url!r} is a database of one connection only; name a file")
        return SqliteDatabase(path)
    if plain.startswith(("postgresql:", "postgres:")):
        return _postgres(plain, user_name, password)
    raise ValueError(
        f"JdbcSink: no driver for {url!r}; there are jdbc:sqlite:<path>, sqlite://<path> and "
        "jdbc:postgresql://<host>:<port>/<database>"
    )


def _postgres(url: str, user_name: str | None, password: str | None) -> PostgresDatabase:
    """JDBC's properties under libpq's names; those that are the same in both pass."""
    parts = urlsplit(url)
    options = {"user": user_name, "password": password}
    for name, value in parse_qsl(parts.query):
        if name == "currentSchema":
            options["options"] = f"-csearch_path={value}"
        else:
            options[_POSTGRES_PROPERTIES.get(name, name)] = value
    address = parts._replace(query="").geturl()
    return PostgresDatabase(address, tuple((name, value) for name, value in options.items() if value is not None))


_POSTGRES_PROPERTIES = {"ApplicationName": "application_name", "connectTimeout": "connect_timeout"}
