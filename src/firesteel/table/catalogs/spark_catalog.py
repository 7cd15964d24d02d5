"""A catalog of the tables that Spark knows, for CREATE CATALOG. Flink has none."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from firesteel.client.spark_tables import SparkTableError, SparkTables, quoted_name
from firesteel.common.table_errors import (
    CatalogException,
    DatabaseNotExistException,
    TableNotExistException,
    ValidationException,
)
from firesteel.connectors.spark.spark_types import sql_type
from firesteel.table.catalogs.catalog_base import Catalog, check_catalog_options
from firesteel.table.catalogs.catalog_objects import CatalogBaseTable, CatalogDatabase, ObjectPath
from firesteel.table.schema import Schema
from firesteel.table.syntax.statements import ColumnDefinition

T = TypeVar("T")

_OPTIONS = ("type", "default-database", "spark-catalog", "staging.path", "property-version")
_PREFIX = "spark."
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class SparkCatalog(Catalog):
    """The databases, tables and views of a catalog of Spark, which can be read only.

    Args:
        name: The name of the catalog.
        options: The options of CREATE CATALOG.
        configuration: The configuration of the environment.

    Raises:
        CatalogException: Spark has no such catalog or database, or cannot be started.
    """

    def __init__(self, name: str, options: Mapping[str, str], configuration: Mapping[str, str]) -> None:
        self._name = name
        self._default_database = options.get("default-database", "default")
        self._passed = {key: text for key, text in options.items() if key == "staging.path" or key.startswith(_PREFIX)}
        self._tables = SparkTables(
            {key: text for key, text in options.items() if key.startswith(_PREFIX)}, configuration
        )
        self._catalog = options.get("spark-catalog") or _ask(self._tables.current_catalog)
        if not self.database_exists(self._default_database):
            raise CatalogException(
                f"Spark's catalog '{self._catalog}' has no database '{self._default_database}'; set 'default-database' "
                f"to one of {', '.join(self.list_databases())}"
            )

    @staticmethod
    def of_options(name: str, options: Mapping[str, str], configuration: Mapping[str, str]) -> SparkCatalog:
        """Return the catalog that the options of CREATE CATALOG describe.

        Raises:
            ValidationException: an option is unknown or does not fit.
        """
        check_catalog_options(name, "spark", options, _OPTIONS, (_PREFIX,))
        try:
            return SparkCatalog(name, options, configuration)
        except ValidationException as error:
            raise ValidationException(f"Unable to create catalog '{name}'. {error}") from error

    def get_default_database(self) -> str:
        """Return the default database."""
        return self._default_database

    # --- databases ---------------------------------------------------------------------------------------------------

    def list_databases(self) -> list[str]:
        """Return the names of all databases."""
        return _ask(lambda: self._tables.databases(self._catalog))

    def database_exists(self, database_name: str) -> bool:
        """Return whether a database exists."""
        return _ask(lambda: self._tables.database_exists(self._catalog, database_name))

    def get_database(self, database_name: str) -> CatalogDatabase:
        """Return a database."""
        self._check(database_name)
        return CatalogDatabase({}, _ask(lambda: self._tables.database_comment(self._catalog, database_name)))

    def _check(self, database: str) -> None:
        if not self.database_exists(database):
            raise DatabaseNotExistException(self._name, database)

    # --- tables ------------------------------------------------------------------------------------------------------

    def list_tables(self, database_name: str) -> list[str]:
        """Return the names of all tables and views, without Spark's temporary views."""
        self._check(database_name)
        return _ask(lambda: self._tables.tables(self._catalog, database_name))

    def list_views(self, database_name: str) -> list[str]:
        """Return an empty list: views of Spark are tables here."""
        return []

    def list_materialized_tables(self, database_name: str) -> list[str]:
        """Return an empty list."""
        return []

    def table_exists(self, table_path: ObjectPath) -> bool:
        """Return whether a table or view exists."""
        return _ask(lambda: self._tables.metadata(self._spark_name(table_path))) is not None

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        """Return a table of the connector `spark`.

        Raises:
            TableNotExistException: there is no such table.
            ValidationException: a column has a type that is not supported.
        """
        name = self._spark_name(table_path)
        found = _ask(lambda: self._tables.metadata(name))
        if found is None:
            raise TableNotExistException(self._name, table_path.get_full_name())
        columns = tuple(map(_column, found.schema.fields))
        options = {"connector": "spark", "table": name, **self._passed}
        return CatalogBaseTable(Schema(columns), options, found.partition_keys, found.comment)

    def _spark_name(self, path: ObjectPath) -> str:
        parts = (self._catalog, *path.get_database_name().split("."), path.get_object_name())
        return ".".join(part if _PLAIN_NAME.fullmatch(part) else quoted_name(part) for part in parts)

    # --- other objects -----------------------------------------------------------------------------------------------

    def list_functions(self, database_name: str) -> list[str]:
        """Return an empty list: functions of Spark cannot be called."""
        return []

    def function_exists(self, function_path: ObjectPath) -> bool:
        """Return False."""
        return False

    # --- changes -----------------------------------------------------------------------------------------------------

    def _unsupported(self, method: str) -> Exception:
        if method.partition("_")[0] not in ("create", "drop", "rename", "alter"):
            return super()._unsupported(method)
        return CatalogException(
            f"Catalog '{self._name}' of type 'spark' can only be read. Change its databases and tables in Spark; "
            "Table.to_spark() returns a DataFrame that Spark can store"
        )


def _ask(request: Callable[[], T]) -> T:
    try:
        return request()
    except SparkTableError as error:
        raise CatalogException(str(error)) from error


def _column(field: Any) -> ColumnDefinition:
    kind = sql_type(field.dataType, field.name)
    comment = (field.metadata or {}).get("comment")
    return ColumnDefinition(field.name, kind if field.nullable else kind.not_null(), comment=comment)
