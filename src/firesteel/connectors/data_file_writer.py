"""The base of writers that write data files of a table format before each checkpoint."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.connectors.spooled_columns import Place, SpooledColumns
from firesteel.functions.connector_base import SinkWriter, WriterInitContext

T_files = TypeVar("T_files")

_FILE_BYTES = 128 << 20
"""Size in memory of the rows after which a subtask that appends rows begins another data file."""


class DataFileWriter(SinkWriter[ColumnBatch], Generic[T_files]):
    """Writes the rows of one subtask to data files, at the latest before each checkpoint.

    The data files of failed attempts belong to no version of the table, whose own tools remove them.

    Args:
        context: The subtask.
        is_rolling: Whether rows may be written before a checkpoint, when they are many.
    """

    def __init__(self, context: WriterInitContext, is_rolling: bool) -> None:
        self._context = context
        self._is_rolling = is_rolling
        self._rows = SpooledColumns(context.spool_directory)
        self._written: list[T_files] = []
        self._prepared: list[T_files] = []

    @abstractmethod
    def write_files(self, rows: ColumnBatch) -> T_files:
        """Write rows to data files, and return their descriptions."""

    @abstractmethod
    def merged(self, parts: Sequence[T_files]) -> T_files:
        """Return all files that were written for a checkpoint as one committable."""

    def write(self, element: ColumnBatch, timestamp: int | None) -> None:
        """Write one column batch."""
        self._rows.add(element)
        if self._is_rolling and self._rows.size_bytes >= _FILE_BYTES:
            self._write_rows()

    def flush(self, end_of_input: bool) -> None:
        """Write the rows to data files if a checkpoint follows, otherwise to the local file."""
        if end_of_input or self._context.is_checkpoint() or self._context.is_savepoint():
            self._write_rows()
            if self._written:
                self._prepared.append(self.merged(self._written))
                self._written = []
        # Files are written before checkpoints only, as each file is an entry of the table's log; rows wait on the disk.
        self._rows.persist()

    def _write_rows(self) -> None:
        batches = self._rows.take()
        if batches:
            self._written.append(self.write_files(concat(batches)))

    def prepare_commit(self) -> Sequence[T_files]:
        """Return what was written since the last checkpoint, as one committable."""
        prepared, self._prepared = self._prepared, []
        return prepared

    def snapshot_state(self) -> tuple[Place | None, list[T_files]] | None:
        """Return the local file and the data files that wait for the next checkpoint."""
        place = self._rows.snapshot()
        return (place, self._written) if place is not None or self._written else None

    def restore_state(self, state: tuple[Place | None, list[T_files]]) -> None:
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
