"""Databases as a source: a split is a query with its parameters, and a batch reads whole splits."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from firesteel.common.typeinfo import RowTypeInfo
from firesteel.connectors.jdbc.database import native_statement
from firesteel.connectors.jdbc.values import rows_of
from firesteel.errors import FiresteelError
from firesteel.functions.source_reading import SourceEnumerator, SourceReader
from firesteel.functions.splits import Discovered, Known, Split, SplitRange

if TYPE_CHECKING:
    from firesteel.connectors.jdbc.connections import Connection
    from firesteel.connectors.jdbc.source import JdbcSourceSettings


class JdbcEnumerator(SourceEnumerator):
    """The enumerator of one split per list of parameters.

    Args:
        settings: The settings of the source.
        units: (parameters) -> the estimated number of rows.
    """

    def __init__(self, settings: JdbcSourceSettings, units: Callable[[tuple[Any, ...]], int]) -> None:
        self._splits, self._units = settings.splits, units

    def discover(self, parallelism: int, known: Known) -> Discovered:
        """Return all splits, dealt round-robin."""
        return [
            Split(split_id, number % parallelism, 0, self._units(parameters), is_whole=True)
            for number, (split_id, parameters) in enumerate(self._splits.items())
        ], set()


class JdbcReader(SourceReader):
    """A reader that runs the queries of splits over a reused connection (Flink: `JdbcSourceSplitReader`)."""

    def __init__(self, settings: JdbcSourceSettings) -> None:
        self._settings = settings
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
                # Only a query that was read to its end leaves a connection which can be used again.
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


def _close(connection: Connection) -> None:
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
