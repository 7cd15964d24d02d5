"""`TableEnvironment.connect` and the table that it describes step by step."""

from __future__ import annotations

from typing import Self

from firesteel.common.checks import require
from firesteel.common.table_errors import ValidationException
from firesteel.pyflink1.removed import Removed, note
from firesteel.pyflink1.tables.descriptors.base import ConnectorDescriptor, FormatDescriptor
from firesteel.pyflink1.tables.descriptors.columns import fields_of, has_other_fields, schema_of, types_of_format
from firesteel.pyflink1.tables.legacy_options import today_options
from firesteel.pyflink1.tables.legacy_tables import note_files
from firesteel.table.descriptors import Schema
from firesteel.table.expressions import col
from firesteel.table.syntax.identifiers import parse_path
from firesteel.table.table_descriptor import TableDescriptor
from firesteel.table.table_environment import TableEnvironment
from firesteel.table.table_parts import is_streaming

_INSTEAD = "create_temporary_table() with a TableDescriptor, or CREATE TABLE"


class ConnectTableDescriptor:
    """A table of an external system, which `create_temporary_table` registers.

    Args:
        environment: The environment.
        connector: The external system.
    """

    def __init__(self, environment: TableEnvironment, connector: ConnectorDescriptor) -> None:
        self._environment = environment
        self._properties = connector.to_properties()

    def with_format(self, format_descriptor: FormatDescriptor) -> Self:
        """Set the format of records or files."""
        require(format_descriptor, FormatDescriptor, "with_format()")
        self._properties |= format_descriptor.to_properties()
        return self

    def with_schema(self, schema: Schema) -> Self:
        """Set the columns."""
        require(schema, Schema, "with_schema()")
        self._properties |= schema.to_properties()
        return self

    def in_append_mode(self) -> Self:
        """Write rows that are only inserted."""
        return self._in_mode("append")

    def in_upsert_mode(self) -> Self:
        """Write rows that replace those of the same key."""
        return self._in_mode("upsert")

    def in_retract_mode(self) -> Self:
        """Write rows and their retractions."""
        return self._in_mode("retract")

    def _in_mode(self, mode: str) -> Self:
        self._properties["update-mode"] = mode
        return self

    def to_properties(self) -> dict[str, str]:
        """Return all properties."""
        return dict(self._properties)

    def create_temporary_table(self, path: str) -> None:
        """Register the table.

        Raises:
            ValidationException: a property has no translation to today's options.
        """
        fields = fields_of(self._properties)
        if not fields:
            raise ValidationException("A table needs columns; call with_schema()")
        schema = schema_of(fields, types_of_format(self._properties))
        if not has_other_fields(fields):
            options = self._options()
            self._environment.create_temporary_table(path, TableDescriptor(schema, options))
            note_files(self._environment, parse_path(path), options)
            return
        hidden = _hidden_path(path)
        self._environment.create_temporary_table(hidden, TableDescriptor(schema, self._options()))
        columns = self._environment.from_path(hidden).select(*(col(field.name) for field in fields))
        self._environment.create_temporary_view(path, columns)

    def _options(self) -> dict[str, str]:
        return today_options({key: text for key, text in self._properties.items() if not key.startswith("schema.")})

    def register_table_source(self, name: str) -> None:
        """Register the table to read from."""
        self.create_temporary_table(f"`{name}`")

    def register_table_sink(self, name: str) -> None:
        """Register the table to write to."""
        self.create_temporary_table(f"`{name}`")

    def register_table_source_and_sink(self, name: str) -> None:
        """Register the table to read from and write to."""
        self.create_temporary_table(f"`{name}`")


class StreamTableDescriptor(ConnectTableDescriptor):
    """A table of a streaming environment."""


class BatchTableDescriptor(ConnectTableDescriptor):
    """A table of a batch environment."""


def _hidden_path(path: str) -> str:
    """Return the path of the table whose columns are the fields of records, behind the view of a table."""
    *database, name = parse_path(path)
    return ".".join(f"`{part}`" for part in (*database, f"{name}$fields"))


def connect(self: TableEnvironment, connector_descriptor: ConnectorDescriptor) -> ConnectTableDescriptor:
    """Begin the description of a table of an external system."""
    require(connector_descriptor, ConnectorDescriptor, "connect()")
    note("TableEnvironment.connect()", _INSTEAD)
    kind = StreamTableDescriptor if is_streaming(self) else BatchTableDescriptor
    return kind(self, connector_descriptor)


_CLASSES = (ConnectTableDescriptor, StreamTableDescriptor, BatchTableDescriptor)
REMOVED = (
    Removed(("table.TableEnvironment",), "connect", connect, _INSTEAD),
    *(Removed(("table.descriptors",), cls.__name__, cls, _INSTEAD) for cls in _CLASSES),
)
