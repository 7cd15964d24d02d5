"""All names of PyFlink 1 for tables."""

from __future__ import annotations

from functools import cache

from firesteel.pyflink1.names import install
from firesteel.pyflink1.removed import Removed
from firesteel.pyflink1.tables import (
    buffered_inserts,
    catalog_objects,
    csv_sink,
    csv_source,
    environments,
    functions,
    legacy_tables,
    planners,
    registrations,
    settings_conversion,
    table_config,
    text_arguments,
    type_variables,
)
from firesteel.pyflink1.tables.descriptors import connect, connectors, formats

_PIECES = (
    buffered_inserts,
    catalog_objects,
    connect,
    connectors,
    csv_sink,
    csv_source,
    environments,
    formats,
    functions,
    legacy_tables,
    planners,
    registrations,
    settings_conversion,
    table_config,
    text_arguments,
    type_variables,
)
TABLE_NAMES: tuple[Removed, ...] = sum((piece.REMOVED for piece in _PIECES), ())


@cache
def add_table_names() -> None:
    """Add the names of PyFlink 1 to the modules and classes of tables."""
    install(TABLE_NAMES)
