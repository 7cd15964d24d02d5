"""The sink of Iceberg tables: slots write data files, which the committer adds to the table. Flink: `IcebergSink`."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow

from firesteel.columns.batch import ColumnBatch, Kind
from firesteel.columns.last_rows import last_by_key
from firesteel.connectors.data_file_writer import DataFileWriter
from firesteel.connectors.iceberg.committer import IcebergCommitter, WriteMode, WrittenFiles
from firesteel.connectors.iceberg.files import data_files_of, write_keys
from firesteel.connectors.iceberg.tables import IcebergTableAddress
from firesteel.connectors.stored_columns import to_stored_array
from firesteel.functions.connector_base import Committer, Sink, WriterInitContext

if TYPE_CHECKING:
    from pyiceberg.table import Table

_REMOVING = (int(Kind.UPDATE_BEFORE), int(Kind.DELETE))


class IcebergSink(Sink[ColumnBatch]):
    """Writes column batches to an Iceberg table, with one commit per checkpoint.

    Args:
        address: The table.
        names: The names of the columns of the batches.
        keys: The positions of the key columns, by which the mode UPSERT replaces rows.
        mode: The effect on rows that are in the table.
    """

    def __init__(
        self, address: IcebergTableAddress, names: tuple[str, ...], keys: tuple[int, ...], mode: WriteMode
    ) -> None:
        super().__init__()
        self.address = address
        self.names = names
        self.keys = keys
        self.mode = mode

    def create_writer(self, context: WriterInitContext) -> IcebergWriter:
        """Return the writer of one subtask."""
        return IcebergWriter(self, context)

    def create_committer(self) -> Committer:
        """Return the committer, which makes a snapshot of the data files of all subtasks."""
        return IcebergCommitter(self.address, tuple(self.names[key] for key in self.keys), self.mode)


class IcebergWriter(DataFileWriter[WrittenFiles]):
    """Writes the rows of one subtask; `remove_orphan_files` of Iceberg removes the files of failed attempts."""

    def __init__(self, sink: IcebergSink, context: WriterInitContext) -> None:
        super().__init__(context, sink.mode is not WriteMode.UPSERT)
        self._sink = sink

    def write_files(self, rows: ColumnBatch) -> WrittenFiles:
        """Write rows to data files, and the keys of the rows that they replace to another file."""
        with self._sink.address.opened() as table:
            keys = None
            if self._sink.mode is WriteMode.UPSERT:
                # Keys replace rows of the table, but not earlier rows of the same files.
                rows = last_by_key(rows, self._sink.keys)
                keys = write_keys(table, self._arrow(table, rows, [self._sink.names[key] for key in self._sink.keys]))
                rows = rows.filter(~np.isin(rows.kinds_or_inserts(), _REMOVING))
            files = data_files_of(table, self._arrow(table, rows, self._sink.names))
            return WrittenFiles.of(table, files, keys)

    def merged(self, parts: Sequence[WrittenFiles]) -> WrittenFiles:
        """Return all files that were written for a checkpoint as one committable."""
        return WrittenFiles.merged(uuid.uuid4().hex[:16], parts)

    def _arrow(self, table: Table, rows: ColumnBatch, names: Sequence[str]) -> pa.Table:
        """Return columns with the Arrow types of the Iceberg table."""
        schema = schema_to_pyarrow(table.schema())
        fields = [schema.field(name) for name in names]
        columns = [rows.columns[self._sink.names.index(name)] for name in names]
        arrays = [to_stored_array(column, field.type) for column, field in zip(columns, fields, strict=True)]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))
