"""`CsvTableSink` and `WriteMode` (as `pyflink.table.sinks`)."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.pyflink1.removed import Removed, note
from firesteel.pyflink1.tables.file_targets import FileTarget
from firesteel.pyflink1.tables.legacy_csv import csv_options
from firesteel.table.schema import Schema
from firesteel.table.table_descriptor import TableDescriptor
from firesteel.table.types import DataType

__all__ = ["CsvTableSink", "TableSink", "WriteMode"]

_INSTEAD = "TableDescriptor.for_connector('filesystem') with the format csv"
_OVERWRITE = "execute_insert(path, overwrite=True)"


class WriteMode:
    """What a sink does if its path exists: fail, or replace it."""

    NO_OVERWRITE = 0
    OVERWRITE = 1


class TableSink:
    """A table to write to that is described by an object.

    Attributes:
        descriptor: The table in today's form.
    """

    def __init__(self, descriptor: TableDescriptor) -> None:
        self.descriptor = descriptor


class CsvTableSink(TableSink):
    """CSV files: a directory, or a single file if the parallelism is 1 and `execute` of the environment writes it.

    Fields are not quoted, as in Flink 1.

    Args:
        field_names: The names of the columns.
        field_types: Their types.
        path: The directory or file.
        field_delimiter: The delimiter of fields.
        num_files: The number of subtasks that write; less than 1 for the default parallelism.
        write_mode: What to do if the path exists; by default the job fails.

    Attributes:
        target: The path, and whether existing files are replaced.
    """

    def __init__(
        self,
        field_names: Sequence[str],
        field_types: Sequence[DataType],
        path: str,
        field_delimiter: str = ",",
        num_files: int = -1,
        write_mode: int | None = None,
    ) -> None:
        note("CsvTableSink", _INSTEAD)
        self.target = FileTarget(path, write_mode == WriteMode.OVERWRITE, num_files if num_files > 0 else None)
        self._options = {"connector": "filesystem", "path": path, "format": "csv"}
        self._options |= csv_options(field_delimiter=field_delimiter)
        if num_files > 0:
            self._options["sink.parallelism"] = str(num_files)
        super().__init__(self._described(field_names, field_types))

    def _described(self, names: Sequence[str], types: Sequence[DataType]) -> TableDescriptor:
        schema = Schema.new_builder().from_fields(list(names), list(types)).build()
        return TableDescriptor(schema, dict(self._options))

    def configure(self, field_names: Sequence[str], field_types: Sequence[DataType]) -> CsvTableSink:
        """Set the columns and return this sink."""
        self.descriptor = self._described(field_names, field_types)
        return self


_PLACES = ("table",)
REMOVED = (
    Removed(_PLACES, "CsvTableSink", CsvTableSink, _INSTEAD),
    Removed(_PLACES, "TableSink", TableSink, _INSTEAD),
    Removed(_PLACES, "WriteMode", WriteMode, _OVERWRITE),
)
