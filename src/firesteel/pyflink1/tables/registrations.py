"""Methods that register functions, tables, sources and sinks, and `scan`."""

from __future__ import annotations

from typing import NoReturn

from firesteel.columns.type_text import quoted, quoted_path
from firesteel.common.checks import require
from firesteel.pyflink1.removed import Removed, note
from firesteel.pyflink1.tables.csv_sink import CsvTableSink
from firesteel.pyflink1.tables.csv_source import CsvTableSource
from firesteel.pyflink1.tables.file_targets import set_file_target
from firesteel.table.table import Table
from firesteel.table.table_environment import TableEnvironment
from firesteel.table.types import DataType

_FUNCTION = "create_temporary_system_function()"
_VIEW = "create_temporary_view()"
_TABLE = "create_temporary_table() with a TableDescriptor, or CREATE TABLE"
_PATH = "from_path()"
_DESCRIPTOR = "from_descriptor()"


def register_function(self: TableEnvironment, name: str, function: object) -> None:
    """Register a function that takes precedence over all other functions of its name."""
    note("register_function()", _FUNCTION)
    self.create_temporary_system_function(name, function)


def register_java_function(self: TableEnvironment, name: str, function_class_name: str) -> NoReturn:
    """Raise an error: Java functions are not available.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(f"Java functions are not available; write {function_class_name} in Python with udf()")


def register_table(self: TableEnvironment, name: str, table: Table) -> None:
    """Register a table under a name."""
    note("register_table()", _VIEW)
    self.create_temporary_view(quoted(name), table)


def register_table_source(self: TableEnvironment, name: str, table_source: CsvTableSource) -> None:
    """Register a source under a name."""
    require(table_source, CsvTableSource, "register_table_source()")
    note("register_table_source()", _TABLE)
    self.create_temporary_table(quoted(name), table_source.descriptor)


def register_table_sink(
    self: TableEnvironment,
    name: str,
    table_sink: CsvTableSink | list[str],
    field_types: list[DataType] | None = None,
    configured_sink: CsvTableSink | None = None,
) -> None:
    """Register a sink under a name.

    Args:
        self: The environment.
        name: The name.
        table_sink: The sink; up to PyFlink 1.9, the names of its columns.
        field_types: The types of its columns, up to PyFlink 1.9.
        configured_sink: The sink, up to PyFlink 1.9.
    """
    note("register_table_sink()", _TABLE)
    if isinstance(table_sink, list) and isinstance(configured_sink, CsvTableSink):
        sink = configured_sink.configure(table_sink, field_types or [])
    else:
        require(table_sink, CsvTableSink, "register_table_sink()")
        assert isinstance(table_sink, CsvTableSink)
        sink = table_sink
    self.create_temporary_table(quoted(name), sink.descriptor)
    set_file_target(self, (name,), sink.target)


def from_table_source(self: TableEnvironment, table_source: CsvTableSource) -> Table:
    """Return the table of a source."""
    require(table_source, CsvTableSource, "from_table_source()")
    note("from_table_source()", _DESCRIPTOR)
    return self.from_descriptor(table_source.descriptor)


def scan(self: TableEnvironment, *table_path: str) -> Table:
    """Return a table by the components of its path."""
    note("scan()", _PATH)
    return self.from_path(quoted_path(table_path))


_PLACES = ("table.TableEnvironment",)
REMOVED = (
    Removed(_PLACES, "register_function", register_function, _FUNCTION),
    Removed(_PLACES, "register_java_function", register_java_function, "udf()"),
    Removed(_PLACES, "register_table", register_table, _VIEW),
    Removed(_PLACES, "register_table_source", register_table_source, _TABLE),
    Removed(_PLACES, "register_table_sink", register_table_sink, _TABLE),
    Removed(_PLACES, "from_table_source", from_table_source, _DESCRIPTOR),
    Removed(_PLACES, "scan", scan, _PATH),
)
