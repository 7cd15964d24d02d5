"""Records of Kinesis as column batches, and back."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Cell
from firesteel.columns.column_types import DataType, LocalZonedTimestampType, VarCharType
from firesteel.columns.values import to_arrow
from firesteel.common.serialization import SerializationSchema
from firesteel.connectors.formats.table_format import Format
from firesteel.connectors.key_texts import KeyTexts
from firesteel.connectors.kinesis.messages import Message, RecordsSchema
from firesteel.functions.connector_base import Sink, SinkWriter, WriterInitContext

Pair = tuple[str, bytes]
"""A partition key and data."""

METADATA: dict[str, DataType] = {
    "timestamp": LocalZonedTimestampType(3, False),
    "shard-id": VarCharType(128, False),
    "sequence-number": VarCharType(128, False),
}
"""The types of metadata columns by key."""

_VALUES: dict[str, Callable[[Message], Cell]] = {
    "timestamp": lambda record: datetime.datetime.fromtimestamp(record.time_ms / 1000, datetime.UTC),
    "shard-id": lambda record: record.shard_id,
    "sequence-number": lambda record: str(record.sequence_number),
}


class KinesisColumns(RecordsSchema):
    """A deserializer from records to column batches.

    Args:
        value: The format of the data.
        columns: Positions of the columns that are read in those of the format.
        metadata: Keys and types of the metadata columns after these.
    """

    def __init__(self, value: Format, columns: tuple[int, ...], metadata: tuple[tuple[str, DataType], ...]) -> None:
        self._value = value
        self._columns = columns
        self._metadata = metadata

    def decode_records(self, records: Sequence[Message]) -> list[ColumnBatch]:
        """Return the rows of records.

        Raises:
            ValueError: a record cannot be read.
        """
        values = self._value.decode_messages([record.data for record in records])
        if not self._metadata or values.length == len(records):
            return [self._arranged(values, records)]
        if len(records) == 1:
            return [self._arranged(values, [records[0]] * values.length)] if values.length else []
        return [batch for record in records for batch in self.decode_records([record])]

    def _arranged(self, values: ColumnBatch, records: Sequence[Message]) -> ColumnBatch:
        arrays = [values.columns[place] for place in self._columns]
        for key, kind in self._metadata:
            of = _VALUES[key]
            arrays.append(to_arrow([of(record) for record in records], kind))
        return values.with_columns(arrays)


class RecordSink(Sink[ColumnBatch]):
    """A sink of tables that writes a record per row.

    Args:
        sink: The sink of pairs of partition key and data.
        value: The format of the data.
        keys: The partition keys of rows; None if the sink generates them.
    """

    def __init__(self, sink: Sink[Pair], value: Format, keys: KeyTexts | None = None) -> None:
        super().__init__()
        self._sink = sink
        self._value = value
        self._keys = keys

    def create_writer(self, context: WriterInitContext) -> RecordWriter:
        """Return the writer of a subtask."""
        return RecordWriter(self._sink.create_writer(context), self._value, self._keys)


class RecordWriter(SinkWriter[ColumnBatch]):
    """Writes a record per row."""

    def __init__(self, writer: SinkWriter[Pair], value: Format, keys: KeyTexts | None) -> None:
        self._writer = writer
        self._value = value
        self._keys = keys

    def write(self, element: ColumnBatch, timestamp: int | None) -> None:
        """Write the rows of a batch."""
        keys = [""] * element.length if self._keys is None else self._keys.texts(element)
        self._writer.write_all(list(zip(keys, self._value.encode(element), strict=True)), None)

    def flush(self, end_of_input: bool) -> None:
        """Send the buffered records."""
        self._writer.flush(end_of_input)

    def close(self) -> None:
        """Close the connections."""
        self._writer.close()


class DataOfPair(SerializationSchema[Pair]):
    """Takes the data of a pair of partition key and data."""

    def serialize(self, element: Pair) -> bytes:
        """Return the data of a pair."""
        return element[1]


def key_of_pair(element: Pair) -> str:
    """Return the partition key of a pair, as long as Kinesis allows."""
    return element[0][:256]
