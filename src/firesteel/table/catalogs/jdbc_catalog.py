"""A catalog of the tables of databases; re-exported by `firesteel.table.catalog`. Flink: `JdbcCatalog`."""

from __future__ import annotations

from collections.abc import Mapping

from firesteel.columns.type_text import parse_type
from firesteel.common.table_errors import DatabaseNotExistException, TableNotExistException, ValidationException
from firesteel.connectors.jdbc.names import exact_table
from firesteel.table.catalogs.catalog_base import Catalog
from firesteel.table.catalogs.catalog_objects import CatalogBaseTable, CatalogDatabase, ObjectPath
from firesteel.table.catalogs.jdbc_metadata import Address, metadata_of
from firesteel.table.schema import Schema
from firesteel.table.types import DataType

_OPTIONS = {"type", "base-url", "default-database", "username", "password", "property-version"}


class JdbcCatalog(Catalog):
    """The tables of PostgreSQL, MySQL, MariaDB or SQLite, read with the connector `jdbc`; nothing can be created in it.

    Args:
        catalog_name: The name of the catalog, for messages.
        default_database: The database in use after `USE CATALOG`.
        username: The user; None for none.
        pwd: The password.
        base_url: The URL without a database, such as `jdbc:postgresql://host:5432` or `jdbc:mysql://host:3306`. The
            databases of `jdbc:sqlite:/directory` are its files; Flink has no catalog of SQLite.

    Raises:
        CatalogException: the kind of database is not supported.

    Example:
        >>> catalog = JdbcCatalog("shop", "shop", "reader", "secret", "jdbc:postgresql://localhost:5432")
    """

    def __init__(
        self, catalog_name: str, default_database: str, username: str | None, pwd: str | None, base_url: str
    ) -> None:
        self._name = catalog_name
        self._default_database = default_database
        self._address = Address(base_url, username, pwd)
        self._metadata = metadata_of(base_url)

    @staticmethod
    def of_options(name: str, options: Mapping[str, str]) -> JdbcCatalog:
        """Return the catalog that the options of CREATE CATALOG describe.

        Args:
            name: Name of the catalog, for messages.
            options: `base-url` and `default-database`, and optionally `username` and `password`.

        Raises:
            ValidationException: an option is missing or unknown.
        """
        missing = sorted({"base-url", "default-database"} - set(options))
        unknown = sorted(set(options) - _OPTIONS)
        if missing or unknown:
            what = f"misses {', '.join(missing)}" if missing else f"does not know {', '.join(unknown)}"
            raise ValidationException(
                f"Unable to create catalog '{name}'. A catalog of type 'jdbc' {what}; its options are "
                "base-url, default-database, username and password"
            )
        user, password = options.get("username"), options.get("password")
        return JdbcCatalog(name, options["default-database"], user, password, options["base-url"])

    def get_default_database(self) -> str:
        """Return the default database."""
        return self._default_database

    # --- databases ---------------------------------------------------------------------------------------------------

    def list_databases(self) -> list[str]:
        """Return the names of all databases."""
        return self._metadata.databases(self._address, self._default_database)

    def database_exists(self, database_name: str) -> bool:
        """Return whether a database exists."""
        return database_name in self.list_databases()

    def get_database(self, database_name: str) -> CatalogDatabase:
        """Return a database."""
        self._check(database_name)
        return CatalogDatabase({})

    def _check(self, database: str) -> None:
        if not self.database_exists(database):
            raise DatabaseNotExistException(self._name, database)

    # --- tables ------------------------------------------------------------------------------------------------------

    def list_tables(self, database_name: str) -> list[str]:
        """Return the names of all tables and views; those of PostgreSQL with their schema."""
        self._check(database_name)
        return self._metadata.tables(self._address, database_name)

    def list_views(self, database_name: str) -> list[str]:
        """Return an empty list: views of the database are tables here."""
        return []

    def list_materialized_tables(self, database_name: str) -> list[str]:
        """Return an empty list."""
        return []

    def table_exists(self, table_path: ObjectPath) -> bool:
        """Return whether a table exists."""
        database = table_path.get_database_name()
        if not self.database_exists(database):
            return False
        return bool(self._metadata.columns(self._address, database, table_path.get_object_name()).columns)

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        """Return a table of the connector `jdbc`.

        Raises:
            TableNotExistException: there is no such table.
            CatalogException: a column has a type that is not supported.
        """
        database, name = table_path.get_database_name(), table_path.get_object_name()
        found = self._metadata.columns(self._address, database, name)
        if not found.columns:
            raise TableNotExistException(self._name, table_path.get_full_name())
        builder = Schema.new_builder()
        for column, text in found.columns:
            kind: DataType = parse_type(text)
            # SQLite lets columns of a primary key be declared as nullable, and Flink does not.
            builder.column(column, kind.not_null() if column in found.key else kind)
        if found.key:
            builder.primary_key(*found.key)
        address, url = self._address, self._address.url(database)
        table = exact_table(url, name, [column for column, _ in found.columns])
        options = {"connector": "jdbc", "url": url, "table-name": table}
        if address.username is not None:
            options |= {"username": address.username, "password": address.password or ""}
        return CatalogBaseTable(builder.build(), options)

    # --- other objects -----------------------------------------------------------------------------------------------

    def list_functions(self, database_name: str) -> list[str]:
        """Return an empty list: functions of the database cannot be called."""
        return []

    def function_exists(self, function_path: ObjectPath) -> bool:
        """Return False."""
        return False
