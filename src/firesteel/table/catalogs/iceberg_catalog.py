"""A catalog of Iceberg tables, for CREATE CATALOG. Flink: `org.apache.iceberg.flink.FlinkCatalog`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyiceberg.exceptions import (
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)

from firesteel.common.table_errors import (
    CatalogException,
    DatabaseAlreadyExistException,
    DatabaseNotEmptyException,
    DatabaseNotExistException,
    TableAlreadyExistException,
    TableNotExistException,
    ValidationException,
)
from firesteel.connectors.iceberg.iceberg_types import partition_keys_of, sql_type
from firesteel.connectors.iceberg.package import CATALOG_OPTIONS, CATALOG_PREFIXES, TABLE_PREFIXES, WITHOUT_EFFECT
from firesteel.connectors.iceberg.tables import IcebergCatalogAddress, create_table
from firesteel.connectors.table_connector import Column, ResolvedTable
from firesteel.table.catalogs.catalog_base import Catalog, check_catalog_options
from firesteel.table.catalogs.catalog_objects import CatalogBaseTable, CatalogDatabase, ObjectPath
from firesteel.table.schema import Schema, key_name
from firesteel.table.syntax.statements import ColumnDefinition
from firesteel.table.table_parts import columns_of, primary_key_of, watermarks_of

_OPTIONS = ("type", "default-database", "property-version", *CATALOG_OPTIONS, *WITHOUT_EFFECT)


class IcebergCatalog(Catalog):
    """The databases and tables of an Iceberg catalog. Nested databases have names with dots.

    Args:
        name: The name of the catalog.
        options: The options of CREATE CATALOG that describe the catalog.
        default_database: The database in use after `USE CATALOG`; it is created if there is none, unless the catalog
            is of type `hadoop`, which can only be read.

    Raises:
        ValidationException: an option is missing or does not fit.
        CatalogException: the catalog cannot be opened.
    """

    def __init__(self, name: str, options: Mapping[str, str], default_database: str = "default") -> None:
        self._name = name
        self._options = dict(options)
        self._default_database = default_database
        self._address = IcebergCatalogAddress.of_options(name, options)
        if not self._address.is_read_only:
            self.create_database(default_database, CatalogDatabase({}), True)

    @staticmethod
    def of_options(name: str, options: Mapping[str, str]) -> IcebergCatalog:
        """Return the catalog that the options of CREATE CATALOG describe.

        Raises:
            ValidationException: an option is missing, unknown or does not fit.
        """
        check_catalog_options(name, "iceberg", options, _OPTIONS, CATALOG_PREFIXES)
        try:
            return IcebergCatalog(name, options, options.get("default-database", "default"))
        except ValidationException as error:
            raise ValidationException(f"Unable to create catalog '{name}'. {error}") from error

    def get_default_database(self) -> str:
        """Return the default database."""
        return self._default_database

    # --- databases ---------------------------------------------------------------------------------------------------

    def list_databases(self) -> list[str]:
        """Return the names of all databases."""
        with self._address.opened() as catalog:
            return sorted(".".join(namespace) for namespace in catalog.list_namespaces())

    def database_exists(self, database_name: str) -> bool:
        """Return whether a database exists."""
        with self._address.opened() as catalog:
            return bool(catalog.namespace_exists(_namespace(database_name)))

    def get_database(self, database_name: str) -> CatalogDatabase:
        """Return a database with its properties."""
        with self._address.opened() as catalog:
            try:
                properties = dict(catalog.load_namespace_properties(_namespace(database_name)))
            except NoSuchNamespaceError as error:
                raise DatabaseNotExistException(self._name, database_name) from error
        return CatalogDatabase(properties, properties.pop("comment", None))

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        """Create a database."""
        properties = database.get_properties()
        if database.get_comment():
            properties["comment"] = database.get_comment()
        with self._address.opened() as catalog:
            try:
                if not (ignore_if_exists and catalog.namespace_exists(_namespace(name))):
                    catalog.create_namespace(_namespace(name), properties)
            except NamespaceAlreadyExistsError as error:
                if not ignore_if_exists:
                    raise DatabaseAlreadyExistException(self._name, name) from error

    def drop_database(self, name: str, ignore_if_exists: bool) -> None:
        """Drop an empty database."""
        with self._address.opened() as catalog:
            try:
                catalog.drop_namespace(_namespace(name))
            except NoSuchNamespaceError as error:
                if not ignore_if_exists:
                    raise DatabaseNotExistException(self._name, name) from error
            except NamespaceNotEmptyError as error:
                raise DatabaseNotEmptyException(self._name, name) from error

    # --- tables ------------------------------------------------------------------------------------------------------

    def list_tables(self, database_name: str) -> list[str]:
        """Return the names of all tables."""
        with self._address.opened() as catalog:
            try:
                return sorted(identifier[-1] for identifier in catalog.list_tables(_namespace(database_name)))
            except NoSuchNamespaceError as error:
                raise DatabaseNotExistException(self._name, database_name) from error

    def list_views(self, database_name: str) -> list[str]:
        """Return an empty list: views are not supported."""
        return []

    def list_materialized_tables(self, database_name: str) -> list[str]:
        """Return an empty list."""
        return []

    def table_exists(self, table_path: ObjectPath) -> bool:
        """Return whether a table exists."""
        with self._address.opened() as catalog:
            return bool(catalog.table_exists(_identifier(table_path)))

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        """Return a table of the connector `iceberg`.

        Raises:
            TableNotExistException: there is no such table.
            ValidationException: a column has a type that is not supported.
        """
        with self._address.opened() as catalog:
            try:
                table = catalog.load_table(_identifier(table_path))
            except NoSuchTableError as error:
                raise TableNotExistException(self._name, table_path.get_full_name()) from error
        properties = {key: text for key, text in table.properties.items() if key.startswith(TABLE_PREFIXES)}
        options = {**properties, **self._table_options(table_path)}
        keys = partition_keys_of(table.schema(), table.spec())
        return CatalogBaseTable(_schema_of(table.schema()), options, keys, table.properties.get("comment"))

    def _table_options(self, path: ObjectPath) -> dict[str, str]:
        passed = (*CATALOG_OPTIONS, *CATALOG_PREFIXES)
        own = {key: text for key, text in self._options.items() if key.startswith(passed)}
        place = {"catalog-database": path.get_database_name(), "catalog-table": path.get_object_name()}
        return {"connector": "iceberg", "catalog-name": self._name, **own, **place}

    def create_table(self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool) -> None:
        """Create a table.

        Raises:
            ValidationException: it is a view, or has a connector, a watermark or columns that are not stored.
            TableAlreadyExistException: there is a table of this name.
        """
        declared = self._declared(table_path, table)
        with self._address.opened() as catalog:
            if ignore_if_exists and catalog.table_exists(_identifier(table_path)):
                return
            try:
                create_table(catalog, _identifier(table_path), declared)
            except TableAlreadyExistsError as error:
                if not ignore_if_exists:
                    raise TableAlreadyExistException(self._name, table_path.get_full_name()) from error
            except NoSuchNamespaceError as error:
                raise DatabaseNotExistException(self._name, table_path.get_database_name()) from error

    def _declared(self, path: ObjectPath, table: CatalogBaseTable) -> ResolvedTable:
        if table.is_view:
            raise CatalogException("Views can't be stored in a catalog of type 'iceberg'; use a TEMPORARY VIEW")
        if "connector" in table.options:
            raise CatalogException(
                f"Cannot create the table with 'connector'='{table.options['connector']}' table property in an iceberg "
                "catalog; create it in another catalog, or without options of a connector"
            )
        schema = table.schema
        if any(column.expression is not None or column.is_metadata for column in columns_of(schema)):
            raise CatalogException("Creating table with computed columns is not supported yet.")
        if watermarks_of(schema):
            raise CatalogException("Creating table with watermark specs is not supported yet.")
        keys = primary_key_of(schema)
        columns = tuple(
            Column(c.name, c.declared_type.not_null() if c.name in keys else c.declared_type, comment=c.comment)
            for c in columns_of(schema)
        )
        full_path = (self._name, path.get_database_name(), path.get_object_name())
        return ResolvedTable(full_path, columns, table.options, None, keys, table.partition_keys, comment=table.comment)

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Drop a table with its data, as Iceberg's catalog for Flink does."""
        with self._address.opened() as catalog:
            try:
                catalog.purge_table(_identifier(table_path))
            except NoSuchTableError as error:
                if not ignore_if_not_exists:
                    raise TableNotExistException(self._name, table_path.get_full_name()) from error

    def rename_table(self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool) -> None:
        """Rename a table within its database."""
        new = (*_namespace(table_path.get_database_name()), new_table_name)
        with self._address.opened() as catalog:
            try:
                catalog.rename_table(_identifier(table_path), new)
            except NoSuchTableError as error:
                if not ignore_if_not_exists:
                    raise TableNotExistException(self._name, table_path.get_full_name()) from error
            except TableAlreadyExistsError as error:
                name = f"{table_path.get_database_name()}.{new_table_name}"
                raise TableAlreadyExistException(self._name, name) from error

    # --- other objects -----------------------------------------------------------------------------------------------

    def list_functions(self, database_name: str) -> list[str]:
        """Return an empty list: Iceberg has no functions."""
        return []

    def function_exists(self, function_path: ObjectPath) -> bool:
        """Return False."""
        return False


def _namespace(database: str) -> tuple[str, ...]:
    return tuple(database.split("."))


def _identifier(path: ObjectPath) -> tuple[str, ...]:
    return (*_namespace(path.get_database_name()), path.get_object_name())


def _schema_of(stored: Any) -> Schema:
    """Return the columns and the primary key of an Iceberg schema."""
    columns = []
    for field in stored.fields:
        kind = sql_type(field.field_type, field.name)
        columns.append(ColumnDefinition(field.name, kind.not_null() if field.required else kind, comment=field.doc))
    found = stored.identifier_field_names()
    keys = tuple(field.name for field in stored.fields if field.name in found)
    return Schema(tuple(columns), (), keys, key_name(keys) if keys else None)
