"""Part files of tables: column batches written as records of a format, in one directory per partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import IO, Any

import numpy as np

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.pylist import pylist
from firesteel.common.files.file_systems import join
from firesteel.common.snapshots import Snapshot
from firesteel.connectors.files.gathered_file import GatheredStream
from firesteel.connectors.files.partition_commit import PartitionMark
from firesteel.connectors.files.sink_settings import FileSinkSettings
from firesteel.connectors.files.writer import FileWriter
from firesteel.connectors.files.writer_settings import EncodedStream, PartFormat
from firesteel.functions.connector_base import WriterInitContext

_BEFORE_ALL = -(2**63)
"""The watermark before the first one."""


class TableFileWriter(FileWriter):
    """A file writer that writes each row to the directory of its partition.

    Args:
        settings: The settings of the sink; `columns` defines how rows are partitioned.
        context: The context of the writer.
        record_format: A `firesteel.connectors.formats.table_format.Format`.
    """

    def __init__(self, settings: FileSinkSettings, context: WriterInitContext, record_format: object) -> None:
        super().__init__(settings, context, part_format(record_format))
        self._names = settings.columns.names
        self._stored = settings.columns.stored
        self._trigger = settings.columns.trigger
        self._watermark = _BEFORE_ALL
        self._open: dict[str, int] = {}
        """Partitions that are not committed, with the time of their first row, if there is a trigger."""

    def write_all(self, elements: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        """Write column batches."""
        now = self._now()
        for batch in elements:
            for values, rows in rows_by_values(batch, self._names.positions):
                bucket = self._names.of(values)
                self.write_to(bucket, [rows.with_columns([rows.columns[i] for i in self._stored])], now)
                if self._trigger is not None and bucket not in self._open:
                    self._trigger.due_ms(bucket, now)  # raises an error if its values are no time
                    self._open[bucket] = now

    def write_watermark(self, watermark: int) -> None:
        """Remember how far event time is."""
        self._watermark = watermark

    def flush(self, end_of_input: bool) -> None:
        """Finish parts, and those of partitions that are complete before a checkpoint, which are then committed."""
        complete = self._complete(end_of_input) if end_of_input or self._is_checkpoint() else []
        for bucket in complete:
            if bucket in self._parts:
                self._finish(bucket)
            del self._open[bucket]
        super().flush(end_of_input)
        self._finished += [PartitionMark(join(self._base, bucket)) for bucket in complete]

    def _complete(self, end_of_input: bool) -> list[str]:
        now, watermark, trigger = self._now(), self._watermark, self._trigger
        if trigger is None:
            return []
        return [b for b, at in self._open.items() if end_of_input or trigger.is_due(b, at, now, watermark)]

    def next_flush_ms(self) -> int | None:
        """Return when the next part must be finished, or the next partition is complete by the clock."""
        times = [super().next_flush_ms()]
        if self._trigger is not None and self._trigger.time is None:
            times += [self._trigger.due_ms(bucket, at) for bucket, at in self._open.items()]
        return min((time for time in times if time is not None), default=None)

    @property
    def awaits_checkpoint(self) -> bool:
        """Whether a partition is complete, or parts wait for compaction."""
        return super().awaits_checkpoint or bool(self._complete(False))

    def snapshot_state(self) -> Snapshot:
        """Return the state of the parts, with partitions that are not committed where others have compaction's state.

        Parts of tables are not compacted.
        """
        state: Snapshot = super().snapshot_state()
        return None if state is None else (*state[:3], dict(self._open))

    def restore_state(self, state: Snapshot) -> None:
        """Restore a state, also one of a sink without a trigger."""
        *parts, opened = state
        for bucket, at in opened.items():
            if self._trigger is not None:
                self._open[bucket] = min(at, self._open.get(bucket, at))
        super().restore_state((*parts, {}))


def rows_by_values(batch: ColumnBatch, positions: Sequence[int]) -> Iterator[tuple[tuple[Any, ...], ColumnBatch]]:
    """Yield the rows with each combination of the values of some columns, of no columns all rows."""
    if not positions:
        yield (), batch
        return
    places: dict[tuple[Any, ...], list[int]] = {}
    for place, value in enumerate(zip(*(pylist(batch.columns[i]) for i in positions), strict=True)):
        places.setdefault(value, []).append(place)
    for value, found in places.items():
        yield value, batch.take(np.array(found, np.int64))


def part_format(record_format: Any) -> PartFormat:
    """Return the part format that writes column batches as records of a table format.

    Args:
        record_format: A `firesteel.connectors.formats.table_format.Format`.
    """
    if not record_format.is_text:
        name = record_format.suffix
        return PartFormat(name, lambda file: ColumnsFileStream(file, record_format), is_appendable=False)

    def encode(batch: ColumnBatch) -> bytes:
        return b"".join(record + b"\n" for record in record_format.encode(batch))

    return PartFormat("table", lambda file: EncodedStream(file, encode))


class ColumnsFileStream(GatheredStream):
    """A part stream that collects column batches and converts them to a file that can only be written as a whole."""

    def __init__(self, file: IO[bytes], record_format: Any) -> None:
        super().__init__(file, record_format.suffix)
        self._format = record_format

    def write_file(self, file: IO[bytes], groups: Iterator[list[Any]]) -> None:
        """Write all column batches in the format."""
        self._format.write_file(file, chain.from_iterable(groups))
