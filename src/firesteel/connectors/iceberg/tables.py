"""Catalogs and tables of Iceberg, opened by the options of Flink. Flink: `CatalogLoader` and `TableLoader`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NamespaceAlreadyExistsError, NotInstalledError, TableAlreadyExistsError

from firesteel.common.table_errors import CatalogException, ValidationException
from firesteel.connectors.iceberg.iceberg_types import partition_spec_of, schema_of
from firesteel.connectors.iceberg.package import (
    CATALOG_PREFIXES,
    CATALOG_PROPERTIES,
    FORMAT_VERSION,
    JDBC_CREDENTIALS,
    NESSIE_OPTIONS,
    TABLE_PREFIXES,
)
from firesteel.connectors.table_connector import ResolvedTable

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

_TYPES = {
    "hive": {"type": "hive"},
    "rest": {"type": "rest"},
    "glue": {"type": "glue"},
    "jdbc": {"type": "sql"},
    "nessie": {"type": "rest"},
    "hadoop": {"py-catalog-impl": "firesteel.connectors.iceberg.hadoop_catalog.HadoopCatalog"},
}
"""The types of catalogs, and how pyiceberg finds them."""

_IMPLEMENTATIONS = {
    "org.apache.iceberg.hive.HiveCatalog": "hive",
    "org.apache.iceberg.rest.RESTCatalog": "rest",
    "org.apache.iceberg.aws.glue.GlueCatalog": "glue",
    "org.apache.iceberg.jdbc.JdbcCatalog": "jdbc",
    "org.apache.iceberg.nessie.NessieCatalog": "nessie",
    "org.apache.iceberg.hadoop.HadoopCatalog": "hadoop",
}
"""The types of catalogs that `catalog-impl` may name by their classes."""

_FILE_IOS = frozenset(
    f"org.apache.iceberg.{name}"
    for name in (
        "aws.s3.S3FileIO",
        "azure.adlsv2.ADLSFileIO",
        "gcp.gcs.GCSFileIO",
        "hadoop.HadoopFileIO",
        "io.ResolvingFileIO",
    )
)
"""The classes that `io-impl` may name: pyiceberg chooses by the schemes of paths, as the last of them does."""

_REQUIRED = {"hive": "uri", "rest": "uri", "jdbc": "uri", "nessie": "uri", "hadoop": "warehouse"}
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
        kind = _kind_of(name, options)
        file_io = options.get("io-impl")
        if file_io is not None and file_io not in _FILE_IOS:
            raise _invalid("io-impl", file_io, sorted(_FILE_IOS))
        if kind in _REQUIRED and _REQUIRED[kind] not in options:
            raise ValidationException(
                "One or more required options are missing.\n\nMissing required options are:\n\n"
                f"{_REQUIRED[kind]} (of 'catalog-type' = '{kind}')"
            )
        properties = {key: options[key] for key in CATALOG_PROPERTIES if key in options}
        if kind == "jdbc":
            properties["uri"] = _database_url(options["uri"], options)
        elif kind == "nessie":
            properties |= _nessie_properties(options)
        elif used := [key for key in NESSIE_OPTIONS if key in options]:
            raise ValidationException(
                f"Option '{used[0]}' of 'iceberg' is for catalogs of Nessie; 'branch' and 'tag' choose a version of a "
                "table"
            )
        for key, value in options.items():
            if key.startswith(CATALOG_PREFIXES):
                properties[key.removeprefix("catalog.")] = value
        return IcebergCatalogAddress(name, {**properties, **_TYPES[kind]})

    @property
    def is_read_only(self) -> bool:
        """Whether tables can neither be created nor written."""
        return "py-catalog-impl" in self.properties

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


def _kind_of(name: str, options: Mapping[str, str]) -> str:
    implementation = options.get("catalog-impl")
    if implementation is None:
        kind = options.get("catalog-type", "hive").lower()
        if kind not in _TYPES:
            raise _invalid("catalog-type", kind, _TYPES)
        return kind
    if "catalog-type" in options:
        raise ValidationException(
            f"Cannot create catalog {name}, both catalog-type and catalog-impl are set: "
            f"catalog-type={options['catalog-type']}, catalog-impl={implementation}"
        )
    if implementation not in _IMPLEMENTATIONS:
        raise _invalid("catalog-impl", implementation, _IMPLEMENTATIONS)
    return _IMPLEMENTATIONS[implementation]


def _invalid(option: str, found: str, allowed: Iterable[str]) -> ValidationException:
    return ValidationException(
        f"Invalid value for option '{option}' of 'iceberg': expected one of {', '.join(allowed)}, found '{found}'"
    )


def _nessie_properties(options: Mapping[str, str]) -> dict[str, str]:
    """Return the address of Nessie's REST catalog, whose path ends with the branch, and the token for it."""
    server = re.sub(r"/(api(/v\d)?|iceberg(/.*)?)?/?$", "", options["uri"])
    kind = options.get("authentication.type", "NONE").upper()
    if kind not in ("NONE", "BEARER"):
        raise _invalid("authentication.type", kind, ("NONE", "BEARER"))
    token = {"token": options["authentication.token"]} if "authentication.token" in options else {}
    return {"uri": f"{server}/iceberg/{quote(options.get('ref', 'main'), safe='')}", **token}


def _database_url(uri: str, options: Mapping[str, str]) -> str:
    """Return the URL of a database with the driver that firesteel uses; a prefix `jdbc:` is optional."""
    uri = uri.removeprefix("jdbc:")
    user, password = (options.get(key) for key in JDBC_CREDENTIALS)
    if user is not None and "@" not in uri:
        scheme, separator, rest = uri.partition("://")
        given = quote(user, safe="") + ("" if password is None else f":{quote(password, safe='')}")
        uri = f"{scheme}{separator}{given}@{rest}"
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
