"""The options of Iceberg catalogs and tables, and late imports of the modules that need the package pyiceberg."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

CATALOG_PROPERTIES = (
    "uri",
    "warehouse",
    "credential",
    "token",
    "scope",
    "audience",
    "resource",
    "oauth2-server-uri",
    "prefix",
)
"""Properties of catalogs that Iceberg and pyiceberg have in common; those after `warehouse` are for `rest`."""

JDBC_CREDENTIALS = ("jdbc.user", "jdbc.password")
NESSIE_OPTIONS = ("ref", "authentication.type", "authentication.token")

WITHOUT_EFFECT = dict.fromkeys(
    ("clients", "cache-enabled", "cache.expiration-interval-ms", "cache.case-sensitive"),
    "there is no cache of tables and no pool of clients",
)
"""Options of Java's catalogs, with the reason why they have no effect."""

CATALOG_OPTIONS = (
    "catalog-type",
    "catalog-impl",
    "io-impl",
    *CATALOG_PROPERTIES,
    *JDBC_CREDENTIALS,
    *NESSIE_OPTIONS,
)
CATALOG_PREFIXES = ("catalog.", "header.", "rest.", "s3.", "gcs.", "adls.", "hdfs.", "client.", "glue.", "hive.")
"""Prefixes of properties that pyiceberg gets as they are, except that `catalog.` is removed."""

TABLE_PREFIXES = ("write.", "read.", "commit.", "history.")
FORMAT_VERSION = "format-version"
"""Prefixes of the properties that a new table gets, and a property without a prefix."""


def iceberg_module(name: str) -> ModuleType:
    """Import a module of firesteel that uses pyiceberg.

    Args:
        name: Its name, such as `firesteel.connectors.iceberg.tables`.

    Raises:
        ModuleNotFoundError: pyiceberg is not installed; the message says how to install it.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyiceberg":
            raise
        raise ModuleNotFoundError(
            "Iceberg tables need the package pyiceberg: pip install 'firesteel[iceberg]'", name=error.name
        ) from None
