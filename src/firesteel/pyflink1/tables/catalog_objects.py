"""Methods of objects of catalogs that have another name today."""

from __future__ import annotations

from firesteel.pyflink1.removed import Removed, note
from firesteel.table.catalog import CatalogBaseTable, CatalogFunction
from firesteel.table.table_parts import columns_of
from firesteel.table.table_schema import TableSchema

_OPTIONS = "get_options()"
_SCHEMA = "get_unresolved_schema()"
_GENERIC = "nothing; every function is generic"


def get_properties(self: CatalogBaseTable) -> dict[str, str]:
    """Return the options."""
    note("CatalogBaseTable.get_properties()", _OPTIONS)
    return self.get_options()


def get_schema(self: CatalogBaseTable) -> TableSchema:
    """Return names and types of the columns that are not computed."""
    note("CatalogBaseTable.get_schema()", _SCHEMA)
    columns = [column for column in columns_of(self.get_unresolved_schema()) if column.type is not None]
    return TableSchema([column.name for column in columns], [column.declared_type for column in columns])


def is_generic(self: CatalogFunction) -> bool:
    """Return True."""
    note("CatalogFunction.is_generic()", _GENERIC)
    return True


REMOVED = (
    Removed(("table.catalog.CatalogBaseTable",), "get_properties", get_properties, _OPTIONS),
    Removed(("table.catalog.CatalogBaseTable",), "get_schema", get_schema, _SCHEMA),
    Removed(("table.catalog.CatalogFunction",), "is_generic", is_generic, _GENERIC),
)
