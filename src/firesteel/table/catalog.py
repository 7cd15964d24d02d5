"""Catalogs and their objects (module as `pyflink.table.catalog`)."""

from __future__ import annotations

from firesteel.table.catalogs.catalog_base import Catalog
from firesteel.table.catalogs.catalog_objects import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogDescriptor,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
    CatalogPartitionSpec,
    ObjectIdentifier,
    ObjectPath,
    Procedure,
)
from firesteel.table.catalogs.catalog_statistics import CatalogColumnStatistics, CatalogTableStatistics
from firesteel.table.catalogs.jdbc_catalog import JdbcCatalog
from firesteel.table.catalogs.memory_catalog import GenericInMemoryCatalog
from firesteel.table.resolved_schema import (
    Column,
    ComputedColumn,
    Constraint,
    MetadataColumn,
    PhysicalColumn,
    ResolvedSchema,
    UniqueConstraint,
    WatermarkSpec,
)

__all__ = [
    "Catalog",
    "CatalogBaseTable",
    "CatalogColumnStatistics",
    "CatalogDatabase",
    "CatalogDescriptor",
    "CatalogFunction",
    "CatalogModel",
    "CatalogPartition",
    "CatalogPartitionSpec",
    "CatalogTableStatistics",
    "Column",
    "ComputedColumn",
    "Constraint",
    "GenericInMemoryCatalog",
    "HiveCatalog",
    "JdbcCatalog",
    "MetadataColumn",
    "ObjectIdentifier",
    "ObjectPath",
    "PhysicalColumn",
    "Procedure",
    "ResolvedSchema",
    "UniqueConstraint",
    "WatermarkSpec",
]


class HiveCatalog(Catalog):
    """Hive's metastore; creating it raises NotImplementedError.

    Args:
        catalog_name: Not used, like the other arguments.
        default_database: Not used.
        hive_conf_dir: Not used.
        hadoop_conf_dir: Not used.
        hive_version: Not used.

    Raises:
        NotImplementedError: always.

    Example:
        >>> HiveCatalog("hive")
        Traceback (most recent call last):
            ...
        NotImplementedError: There is no Hive connector; declare its tables with the filesystem connector
    """

    def __init__(
        self,
        catalog_name: str,
        default_database: str | None = None,
        hive_conf_dir: str | None = None,
        hadoop_conf_dir: str | None = None,
        hive_version: str | None = None,
    ) -> None:
        raise NotImplementedError("There is no Hive connector; declare its tables with the filesystem connector")
