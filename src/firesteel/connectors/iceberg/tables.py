"""Catalogs and tables of Iceberg, opened by the options of Flink. Flink: `CatalogLoader` and `TableLoader`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NamespaceAlreadyExistsError, NotInstalledError, TableAlreadyExistsError

from firesteel.common.table_errors import CatalogException, ValidationException
from firesteel.connectors.iceberg.iceberg_types import partition_spec_of, schema_of
from firesteel.connectors.iceberg.package import CATALOG_PREFIXES, CATALOG_PROPERTIES, FORMAT_VERSION, TABLE_PREFIXES
from firesteel.connectors.table_connector import ResolvedTable

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

_TYPES = {"hive": "hive", "rest": "rest", "glue": "glue", "jdbc": "sql"}
"""The types of catalogs, and their names in pyiceberg."""

_WITH_URI = ("hive", "rest", "jdbc")
_DRIVERS = {"sqlite:/": "sqlite:////", "postgresql://": "postgresql+psycopg://", "mysql://": "mysql+pymysql://"}


@dataclass(frozen=True)
class IcebergCatalogAddress:
    """The name and the properties with which pyiceberg opens a catalog.

    Attributes:
        name: The name of the catalog, by which a database of type `jdbc` distinguishes catalogs.
        properties: Properties of pyiceberg, with credentials.
    """

    name: str
    properties: Mapping[str, str] = field(repr=False)

    @staticmethod
    def of_options(name: str, options: Mapping[str, str]) -> IcebergCatalogAddress:
        """Return the address that options of a catalog or a table describe.

        Raises:
            ValidationException: the type is not supported, or the URI is missing.
        """
        kind = options.get("catalog-type", "hive").lower()
        if kind not in _TYPES:
            raise ValidationException(
                f"Invalid value for option 'catalog-type' of 'iceberg': expected one of {', '.join(_TYPES)}, found "
                f"'{kind}'"
            )
        if kind in _WITH_URI and "uri" not in options:
            raise ValidationException(
                "One or more required options are missing.\n\nMissing required options are:\n\n"
                f"uri (of 'catalog-type' = '{kind}')"
            )
        properties = {key: options[key] for key in CATALOG_PROPERTIES if key in options}
        if kind == "jdbc":
            properties["uri"] = _database_url(options["uri"])
        for key, value in options.items():
            if key.startswith(CATALOG_PREFIXES):
                properties[key.removeprefix("catalog.")] = value
        return IcebergCatalogAddress(name, {**properties, "type": _TYPES[kind]})

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Open the pyiceberg catalog, and close its connections at the end.

        Raises:
            CatalogException: it cannot be opened.
            ModuleNotFoundError: pyiceberg needs another package for this type of catalog.
        """
        try:
            catalog = load_catalog(self.name, **self.properties)
        except NotInstalledError as error:
            raise ModuleNotFoundError(f"Iceberg catalog '{self.name}': {error}") from error
        except Exception as error:  # each client has errors of its own
            raise CatalogException(f"Could not open the Iceberg catalog '{self.name}': {error}") from error
        with catalog:
            yield catalog


def _database_url(uri: str) -> str:
    """Return the URL of a database with the driver that firesteel uses; a prefix `jdbc:` is optional."""
    uri = uri.removeprefix("jdbc:")
    for prefix, replacement in _DRIVERS.items():
        if uri.startswith(prefix) and not uri.startswith("sqlite://"):
            return replacement + uri[len(prefix) :]
    return uri


@dataclass(frozen=True)
class IcebergTableAddress:
    """An Iceberg table in a catalog.

    Attributes:
        catalog: The catalog.
        database: The namespace; parts of a nested one are separated by dots.
        table: The name of the table.
    """

    catalog: IcebergCatalogAddress
    database: str
    table: str

    @property
    def identifier(self) -> tuple[str, ...]:
        """The identifier in pyiceberg."""
        return (*self.database.split("."), self.table)

    def __str__(self) -> str:
        return f"{self.catalog.name}.{self.database}.{self.table}"

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Load the pyiceberg table, and close the connections of its catalog at the end.

        Raises:
            CatalogException: the catalog cannot be opened.
            NoSuchTableError: there is no such table.
        """
        with self.catalog.opened() as catalog:
            yield catalog.load_table(self.identifier)

    def ensure(self, table: ResolvedTable) -> Table:
        """Return the pyiceberg table, which is created if there is none, with its database.

        Args:
            table: The declaration of the table to create.

        Raises:
            ValidationException: a column has a type that Iceberg does not have.
        """
        with self.catalog.opened() as catalog:
            if catalog.table_exists(self.identifier):
                return catalog.load_table(self.identifier)
            if not catalog.namespace_exists(self.identifier[:-1]):
                with suppress(NamespaceAlreadyExistsError):
                    catalog.create_namespace(self.identifier[:-1])
            with suppress(TableAlreadyExistsError):  # another program was faster
                return create_table(catalog, self.identifier, table)
            return catalog.load_table(self.identifier)


def create_table(catalog: Catalog, identifier: tuple[str, ...], table: ResolvedTable) -> Table:
    """Create a table and return it.

    Args:
        catalog: The pyiceberg catalog.
        identifier: Namespace and name.
        table: Its columns, primary key, partition columns and properties.

    Raises:
        ValidationException: a column has a type that Iceberg does not have.
        TableAlreadyExistsError: there is a table of this name.
    """
    schema = schema_of(table.physical_columns, table.primary_key)
    spec = partition_spec_of(schema, table.partition_keys)
    properties = {
        key: value for key, value in table.options.items() if key.startswith((*TABLE_PREFIXES, FORMAT_VERSION))
    }
    if table.comment is not None:
        properties["comment"] = table.comment
    location = table.options.get("location")
    return catalog.create_table(identifier, schema, location, partition_spec=spec, properties=properties)
