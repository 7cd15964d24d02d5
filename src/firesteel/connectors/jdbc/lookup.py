"""Lookups of rows by key in tables of databases. Flink: `JdbcRowDataLookupFunction`."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from firesteel.columns.cells import Cell
from firesteel.columns.column_types import DataType
from firesteel.columns.pylist import pylist
from firesteel.columns.values import to_arrow, to_python
from firesteel.common.typeinfo import RowTypeInfo
from firesteel.connectors.jdbc.database import Database, native_statement
from firesteel.connectors.jdbc.values import rows_of
from firesteel.connectors.lookup_cache import LookupCache
from firesteel.errors import FiresteelError

_FETCH_SIZE = 1_000

Row = tuple[Cell, ...]


class JdbcLookupError(FiresteelError):
    """A lookup in a database failed."""


@dataclass(frozen=True)
class LookupQuery:
    """A query with a parameter per key column.

    Attributes:
        database: Where it runs.
        sql: The query with `?` for parameters.
        key_type: The types of the key columns, for drivers.
        row_type: The types of the result, for drivers.
        key_types: The logical types of the key columns.
        types: The logical types of the result.
        max_retries: How often a query is repeated after a lost connection.
    """

    database: Database
    sql: str
    key_type: RowTypeInfo
    row_type: RowTypeInfo
    key_types: tuple[DataType, ...]
    types: tuple[DataType, ...]
    max_retries: int


class JdbcLookup:
    """Finds the rows of keys by one query per key.

    Args:
        query: The query.
        cache: Keeps results; None for a query each time.
    """

    def __init__(self, query: LookupQuery, cache: LookupCache | None) -> None:
        self._query = query
        self._cache = cache
        self._connection: Any = None
        self._prepared: tuple[str, list[Any], Callable[[list[Any]], list[Any]]] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return JdbcLookup, (self._query, self._cache)

    def __call__(self, keys: list[Row]) -> list[list[Row]]:
        """Return the rows of each key.

        Raises:
            JdbcLookupError: a query failed.
        """
        return [self._found(key) for key in keys]

    def _found(self, key: Row) -> list[Row]:
        rows = None if self._cache is None else self._cache.get(key)
        if rows is None:
            rows = self._with_retries(key)
            if self._cache is not None:
                self._cache.put(key, rows)
        return rows

    def _with_retries(self, key: Row) -> list[Row]:
        query = self._query
        for attempt in range(query.max_retries + 1):
            try:
                return self._rows(key)
            except Exception as error:
                self.close()
                if attempt == query.max_retries or not query.database.is_transient(error):
                    shown = f"{query.sql!r} with parameters {key!r}"
                    raise JdbcLookupError(f"jdbc lookup: {shown}: {type(error).__name__}: {error}") from error
                time.sleep(attempt + 1)
        raise AssertionError("the last attempt returns or raises")

    def _rows(self, key: Row) -> list[Row]:
        query = self._query
        if self._connection is None:
            self._connection = query.database.connect()
        if self._prepared is None:
            converters = [query.database.converter(kind) for kind in query.key_type.get_field_types()]
            self._prepared = native_statement(query.sql, query.database), converters, rows_of(query.row_type)
        sql, converts, convert_rows = self._prepared
        values = [to_python(to_arrow([cell], kind), kind)[0] for cell, kind in zip(key, query.key_types, strict=True)]
        parameters = [
            value if convert is None else convert(value) for value, convert in zip(values, converts, strict=True)
        ]
        rows = convert_rows(list(query.database.rows(self._connection, sql, parameters, _FETCH_SIZE)))
        columns = zip(*rows, strict=True) if rows else ()
        found = [pylist(to_arrow(column, kind)) for column, kind in zip(columns, query.types, strict=False)]
        return list(zip(*found, strict=True))

    def open(self) -> None:
        """Do nothing: the first lookup connects."""

    def close(self) -> None:
        """Release the connection; a later lookup connects again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()
