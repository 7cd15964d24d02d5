"""Databases as a source: a split is a query with its parameters, and a batch reads whole splits."""

from __future__ import annotations

import datetime
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from decimal import Decimal
from itertools import islice
from typing import Any

from firesteel.common.coercion import coercer, fits
from firesteel.common.time import Instant
from firesteel.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    LocalTimeTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from firesteel.common.types import Row, RowKind
from firesteel.datastream.connectors.jdbc_database import native_statement
from firesteel.datastream.connectors.jdbc_source import JdbcSource, JdbcSourceSettings
from firesteel.errors import FiresteelError
from firesteel.operators.operator import TaskInfo
from firesteel.operators.splits import Discovered, Known, Split, SplitRange

_MIDNIGHT = datetime.datetime(1970, 1, 1)


def discover_queries(source: JdbcSource, parallelism: int, known: Known) -> Discovered:
    """Return one split per list of parameters, assigned to the subtasks round-robin."""
    return [
        Split(split_id, number % parallelism, 0, source.units(parameters), is_whole=True)
        for number, (split_id, parameters) in enumerate(source.settings.splits.items())
    ], set()


class JdbcReader:
    """A reader that runs the queries of splits over a reused connection (Flink: `JdbcSourceSplitReader`)."""

    def __init__(self, source: JdbcSource, task: TaskInfo) -> None:
        settings = self._settings = source.settings
        self._sql = native_statement(settings.sql, settings.database)
        self._elements = _elements_of(settings)
        self._idle: Any = None

    def read(self, part: SplitRange) -> Iterator[list[Any]]:
        """Yield the elements of a split.

        Raises:
            JdbcSourceError: the query failed or its rows do not have the declared type, or a restored split is none of
                the program's.
        """
        settings, split_id = self._settings, part.split.split_id
        if split_id not in settings.splits:
            raise JdbcSourceError(f"JdbcSource: the program has no split {split_id!r} that its checkpoint has")
        parameters = settings.splits[split_id]
        try:
            with ExitStack() as failed:
                connection = self._connection()
                failed.callback(_close, connection)
                rows = settings.database.rows(connection, self._sql, parameters, settings.fetch_size)
                failed.enter_context(closing(rows))
                while chunk := list(islice(rows, settings.fetch_size)):
                    yield self._elements(chunk)
                failed.pop_all()
            self._idle = connection
        except Exception as error:
            what = f"{settings.sql!r} with parameters {parameters!r}"
            raise JdbcSourceError(f"JdbcSource: {what}: {type(error).__name__}: {error}") from error

    def _connection(self) -> Any:
        """Return the idle connection if the server still answers, else a new one."""
        connection, self._idle = self._idle, None
        if connection is not None:
            with suppress(Exception), closing(connection.cursor()) as cursor:
                cursor.execute("SELECT 1")
                cursor.fetchall()
                return connection
            _close(connection)
        connection = self._settings.database.connect()
        weakref.finalize(self, _close, connection)  # the reader of a crashed process is never closed
        return connection

    def close(self) -> None:
        """Close the idle connection."""
        connection, self._idle = self._idle, None
        if connection is not None:
            _close(connection)


def _close(connection: Any) -> None:
    with suppress(Exception):  # PyMySQL raises an error on a second close
        connection.close()


class JdbcSourceError(FiresteelError):
    """A query of a `JdbcSource` failed, or returned rows of another type than declared."""


def _elements_of(settings: JdbcSourceSettings) -> Callable[[list[Any]], list[Any]]:
    extract = settings.result_extractor
    if extract is not None:
        return lambda rows: [extract(row) for row in rows]
    assert isinstance(settings.type_info, RowTypeInfo)
    return rows_of(settings.type_info)


# --- values ----------------------------------------------------------------------------------------------------------


def rows_of(row_type: RowTypeInfo) -> Callable[[list[Any]], list[Any]]:
    """Return a function that converts a driver's tuples to Rows; databases have fewer or other types than Flink.

    Raises:
        ValueError: (raised by the returned function) a tuple has another number of columns.
    """
    names, fields = tuple(row_type.get_field_names()), row_type.get_field_types()
    readers = [(i, *reader) for i, each in enumerate(fields) if (reader := _reader_of(each))]
    coerce = coercer(row_type)
    assert coerce is not None

    def slow(row: Any) -> Any:
        values = list(row)
        for i, expected, convert in readers:
            value = values[i]
            if value.__class__ is not expected and value is not None:
                values[i] = convert(value)
        return coerce(values)

    # Fast path: most values already have exactly the field's type and need no conversion call.
    source = f"""
def make_all(rows):
    return [make(names, v) if {fits(TupleTypeInfo(list(fields)), "v")} else slow(v) for v in rows]
"""
    scope: dict[str, Any] = {"make": _made_row, "names": names, "slow": slow}
    exec(compile(source, f"{__file__}:compiled", "exec"), scope)

    def convert_rows(rows: list[Any]) -> list[Any]:
        if rows and len(rows[0]) != len(fields):
            raise ValueError(f"the query has {len(rows[0])} columns, the type {len(fields)} fields")
        made: list[Any] = scope["make_all"](rows)
        return made

    return convert_rows


def _made_row(names: tuple[str, ...], values: tuple[Any, ...]) -> Row:
    row = Row.__new__(Row)
    row._fields, row._row_kind, row._values = names, RowKind.INSERT, list(values)
    return row


_Reader = tuple[type, Callable[[Any], Any]]
"""The required class of values, and the function that converts values of other classes."""


def _reader_of(type_info: TypeInformation[Any]) -> _Reader | None:
    if isinstance(type_info, BasicTypeInfo):
        return _BASIC.get(type_info.basic_type)
    if isinstance(type_info, LocalTimeTypeInfo):
        return _TIMES[type_info.time_type.value][1]
    return next((reader for kind, reader in _TIMES if isinstance(type_info, kind)), None)


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, Decimal) and value == value.to_integral_value() else value


def _decimal(value: Any) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(str(value))


def _float(value: Any) -> Any:
    return float(value) if isinstance(value, (int, Decimal)) else value


def _date(value: Any) -> Any:
    if isinstance(value, str):
        value = datetime.datetime.fromisoformat(value)
    return value.date() if isinstance(value, datetime.datetime) else value


def _time(value: Any) -> Any:
    if isinstance(value, datetime.timedelta):  # MySQL
        return (_MIDNIGHT + value).time()
    return datetime.time.fromisoformat(value) if isinstance(value, str) else value


def _timestamp(value: Any) -> Any:
    return datetime.datetime.fromisoformat(value) if isinstance(value, str) else value


def _instant(value: Any) -> Any:
    moment = _timestamp(value)
    if not isinstance(moment, datetime.datetime):
        return value
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    since = moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return Instant(since.days * 86400 + since.seconds, since.microseconds * 1000)


_WHOLE = (BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG, BasicType.BIG_INT)
_BASIC: dict[BasicType, _Reader] = {
    **dict.fromkeys(_WHOLE, (int, _whole)),
    **dict.fromkeys((BasicType.FLOAT, BasicType.DOUBLE), (float, _float)),
    BasicType.BOOLEAN: (bool, bool),
    BasicType.BIG_DEC: (Decimal, _decimal),
    BasicType.INSTANT: (Instant, _instant),
}
_TIMES: tuple[tuple[type, _Reader], ...] = (
    (DateTypeInfo, (datetime.date, _date)),
    (TimeTypeInfo, (datetime.time, _time)),
    (TimestampTypeInfo, (datetime.datetime, _timestamp)),
)
