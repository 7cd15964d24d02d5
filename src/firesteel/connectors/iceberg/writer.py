"""The sink of Iceberg tables: slots write data files, which the committer adds to the table. Flink: `IcebergSink`."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow

from firesteel.columns.batch import ColumnBatch, Kind, concat
from firesteel.columns.row_keys import key_column
from firesteel.connectors.iceberg.committer import IcebergCommitter, WriteMode, WrittenFiles
from firesteel.connectors.iceberg.files import data_files_of, write_keys
from firesteel.connectors.iceberg.iceberg_types import to_iceberg_array
from firesteel.connectors.iceberg.tables import IcebergTableAddress
from firesteel.connectors.spooled_columns import SpooledColumns
from firesteel.functions.connector_base import Committer, Sink, SinkWriter, WriterInitContext

if TYPE_CHECKING:
    from pyiceberg.table import Table

_FILE_BYTES = 128 << 20
"""Size in memory of the rows after which a subtask that appends rows begins another data file."""

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


class IcebergWriter(SinkWriter[ColumnBatch]):
    """Writes the rows of one subtask to data files, at the latest before each checkpoint.

    The data files of failed attempts belong to no snapshot. As in Flink, `remove_orphan_files` of Iceberg removes them.
    """

    def __init__(self, sink: IcebergSink, context: WriterInitContext) -> None:
        self._sink = sink
        self._context = context
        self._rows = SpooledColumns(context.spool_directory)
        self._written: list[WrittenFiles] = []
        self._prepared: list[WrittenFiles] = []

    def write(self, element: ColumnBatch, timestamp: int | None) -> None:
        """Write one column batch."""
        self._rows.add(element)
        if self._rows.size_bytes >= _FILE_BYTES and self._sink.mode is not WriteMode.UPSERT:
            self._write_files()

    def flush(self, end_of_input: bool) -> None:
        """Write the rows to data files if a checkpoint follows, otherwise to the local file."""
        if end_of_input or self._context.is_checkpoint() or self._context.is_savepoint():
            self._write_files()
            if self._written:
                self._prepared.append(WrittenFiles.merged(uuid.uuid4().hex[:16], self._written))
                self._written = []
        self._rows.persist()

    def _write_files(self) -> None:
        batches = self._rows.take()
        if not batches:
            return
        rows = concat(batches)
        with self._sink.address.opened() as table:
            keys = None
            if self._sink.mode is WriteMode.UPSERT:
                rows = last_by_key(rows, self._sink.keys)
                keys = write_keys(table, self._arrow(table, rows, [self._sink.names[key] for key in self._sink.keys]))
                rows = rows.filter(~np.isin(rows.kinds_or_inserts(), _REMOVING))
            files = data_files_of(table, self._arrow(table, rows, self._sink.names))
            self._written.append(WrittenFiles.of(table, files, keys))

    def _arrow(self, table: Table, rows: ColumnBatch, names: Sequence[str]) -> pa.Table:
        """Return columns with the Arrow types of the Iceberg table."""
        schema = schema_to_pyarrow(table.schema())
        fields = [schema.field(name) for name in names]
        columns = [rows.columns[self._sink.names.index(name)] for name in names]
        arrays = [to_iceberg_array(column, field.type) for column, field in zip(columns, fields, strict=True)]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    def prepare_commit(self) -> Sequence[WrittenFiles]:
        """Return what was written since the last checkpoint, as one committable."""
        prepared, self._prepared = self._prepared, []
        return prepared

    def snapshot_state(self) -> Any:
        """Return the local file and the data files that wait for the next checkpoint."""
        place = self._rows.snapshot()
        return (place, self._written) if place is not None or self._written else None

    def restore_state(self, state: Any) -> None:
        """Continue with the rows of a state.

        Raises:
            OSError: the local file is missing.
        """
        place, written = state
        if place is not None:
            self._rows.restore(place)
        self._written += written

    def close(self) -> None:
        """Close the local file."""
        self._rows.close()


def last_by_key(rows: ColumnBatch, keys: Sequence[int]) -> ColumnBatch:
    """Return the last row of each key.

    Args:
        rows: The changes of one subtask in their order.
        keys: The positions of the key columns.
    """
    names = [f"key{index}" for index in range(len(keys))]
    columns = [*(key_column(rows.columns[key]) for key in keys), pa.array(np.arange(rows.length))]
    groups = pa.table(columns, names=[*names, "row"]).group_by(names).aggregate([("row", "max")])
    return rows.take(np.sort(groups["row_max"].to_numpy()))
