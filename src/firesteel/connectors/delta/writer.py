"""The sink of Delta tables: slots write data files, which the committer adds to the log. Flink: `DeltaSink`."""

from __future__ import annotations

import io
import json
import time
import uuid
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from deltalake.transaction import AddAction

from firesteel.columns.batch import ColumnBatch
from firesteel.common.files.file_systems import join
from firesteel.common.files.remote_path import write_durably
from firesteel.connectors.data_file_writer import DataFileWriter
from firesteel.connectors.delta.address import DeltaAddress
from firesteel.connectors.delta.committer import DeltaCommitter, WrittenFiles
from firesteel.connectors.files.column_parts import rows_by_values
from firesteel.connectors.files.table_writing import PartitionNames
from firesteel.connectors.formats.text_values import writer_of
from firesteel.connectors.stored_columns import to_stored_array
from firesteel.connectors.table_connector import Column
from firesteel.functions.connector_base import Committer, Sink, WriterInitContext

_NULL = "__HIVE_DEFAULT_PARTITION__"
_LONGEST_TEXT = 32
"""Length of texts in the statistics of a file; without longer ones, they need not be cut."""


class DeltaSink(Sink[ColumnBatch]):
    """Appends column batches to a Delta table, with one commit per checkpoint.

    Args:
        address: The table.
        columns: The columns of the batches.
    """

    def __init__(self, address: DeltaAddress, columns: tuple[Column, ...]) -> None:
        super().__init__()
        self.address = address
        self.columns = columns

    def create_writer(self, context: WriterInitContext) -> DeltaWriter:
        """Return the writer of one subtask."""
        return DeltaWriter(self, context)

    def create_committer(self) -> Committer:
        """Return the committer, which makes a version of the data files of all subtasks."""
        return DeltaCommitter(self.address)


class DeltaWriter(DataFileWriter[WrittenFiles]):
    """Writes the rows of one subtask; VACUUM of Delta removes the files of failed attempts."""

    def __init__(self, sink: DeltaSink, context: WriterInitContext) -> None:
        super().__init__(context, is_rolling=True)
        self._columns = sink.columns
        self._address = sink.address.with_configuration(context.configuration)
        # Of each attempt its own: numbers of a failed one, perhaps never committed, would be taken for done.
        self._application = uuid.uuid4().hex
        self._transactions = 0

    def write_files(self, rows: ColumnBatch) -> WrittenFiles:
        """Write rows to a data file for each partition."""
        table = self._address.opened()
        schema = pa.schema(table.schema().to_arrow())
        keys = table.metadata().partition_columns
        places = [next(i for i, c in enumerate(self._columns) if c.name == key) for key in keys]
        names = PartitionNames(tuple(zip(keys, places, strict=True)), tuple(c.type for c in self._columns), _NULL)
        files = []
        for values, part in rows_by_values(rows, places):
            texts = dict(zip(keys, self._texts(places, values), strict=True))
            stored = pa.Table.from_arrays(
                [to_stored_array(part.columns[i], schema.field(c.name).type) for i, c in self._stored(places)],
                schema=pa.schema([schema.field(c.name) for _, c in self._stored(places)]),
            )
            files.append(self._written_file(names.of(values), texts, stored))
        return WrittenFiles("", 0, str(table.metadata().id), tuple(keys), tuple(files))

    def _stored(self, places: Sequence[int]) -> Iterator[tuple[int, Column]]:
        return ((place, column) for place, column in enumerate(self._columns) if place not in places)

    def _texts(self, places: Sequence[int], values: Sequence[object]) -> Iterator[str | None]:
        """Yield the values of a partition as Delta's log has them, where an empty text is NULL as well."""
        for place, value in zip(places, values, strict=True):
            write = writer_of(self._columns[place].type, is_plain=True)
            yield None if value is None or value == "" else write(value)

    def _written_file(self, directory: str, partition: dict[str, str | None], rows: pa.Table) -> AddAction:
        name = f"part-{uuid.uuid4()}.snappy.parquet"
        name = f"{directory}/{name}" if directory else name
        file = io.BytesIO()
        pyarrow.parquet.write_table(rows, file)
        write_durably(self._address.files.path(join(self._address.path, name)), file.getvalue())
        return AddAction(name, file.tell(), partition, int(time.time() * 1000), True, statistics(rows))

    def merged(self, parts: Sequence[WrittenFiles]) -> WrittenFiles:
        """Return all files that were written for a checkpoint as the next transaction of this writer."""
        self._transactions += 1
        return WrittenFiles.merged(self._application, self._transactions, parts)


def statistics(rows: pa.Table) -> str:
    """Return the number of rows of a file, and ranges of its columns, as in Delta's log.

    Floats have none, because of NaN, and texts only if all are short.
    """
    ranges = {name: _range(rows[name]) for name in rows.column_names}
    return json.dumps(
        {
            "numRecords": len(rows),
            "minValues": {name: found[0] for name, found in ranges.items() if found is not None},
            "maxValues": {name: found[1] for name, found in ranges.items() if found is not None},
            "nullCount": {name: rows[name].null_count for name in rows.column_names if _is_plain(rows[name].type)},
        }
    )


def _is_plain(kind: pa.DataType) -> bool:
    return not pa.types.is_nested(kind)


def _range(column: pa.ChunkedArray) -> tuple[object, object] | None:
    kind = column.type
    is_text = pa.types.is_string(kind)
    if not (pa.types.is_integer(kind) or pa.types.is_date(kind) or is_text):
        return None
    bounds = pc.min_max(column)
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    if low is None or (is_text and pc.max(pc.utf8_length(column)).as_py() > _LONGEST_TEXT):
        return None
    return (str(low), str(high)) if pa.types.is_date(kind) else (low, high)
