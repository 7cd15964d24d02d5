"""Part files of tables: column batches written as records of a format, in one directory per partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import IO, Any

import numpy as np

from firesteel.columns.batch import ColumnBatch
from firesteel.connectors.files.gathered_file import GatheredStream
from firesteel.connectors.files.sink_settings import FileSinkSettings
from firesteel.connectors.files.writer import FileWriter
from firesteel.connectors.files.writer_settings import EncodedStream, PartFormat
from firesteel.functions.connector_base import WriterInitContext


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

    def write_all(self, elements: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        """Write column batches."""
        now = self._now()
        for batch in elements:
            for bucket, rows in self._by_partition(batch):
                self.write_to(bucket, [rows.with_columns([rows.columns[i] for i in self._stored])], now)

    def _by_partition(self, batch: ColumnBatch) -> Iterator[tuple[str, ColumnBatch]]:
        positions = self._names.positions
        if not positions:
            yield "", batch
            return
        values = list(zip(*(batch.columns[i].to_pylist() for i in positions), strict=True))
        places: dict[Any, list[int]] = {}
        for place, value in enumerate(values):
            places.setdefault(value, []).append(place)
        for value, found in places.items():
            yield self._names.of(value), batch.take(np.array(found, np.int64))


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
