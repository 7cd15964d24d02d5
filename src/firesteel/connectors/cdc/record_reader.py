"""The reader of a DataStream source: column batches of captured tables as records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns.batch import ColumnBatch, Kind
from firesteel.columns.pylist import pylist
from firesteel.connectors.cdc.debezium import ChangeRecord, DebeziumDeserializationSchema, Fields
from firesteel.connectors.cdc.record_values import RecordColumn
from firesteel.connectors.cdc.splits import is_log
from firesteel.functions.source_reading import SourceReader
from firesteel.functions.splits import SplitRange

METADATA = ("op_ts",)
"""The metadata columns of batches that become records."""

_OPS = {Kind.INSERT: "c", Kind.UPDATE_AFTER: "u", Kind.DELETE: "d"}


@dataclass(frozen=True, slots=True)
class RecordTable:
    """How rows of a table become records: their columns, and the fields of `source` that all of them have."""

    columns: Sequence[RecordColumn]
    source: Fields


class CapturingReader(Protocol):
    """A reader of column batches that knows their tables."""

    def captured(self, part: SplitRange) -> Iterator[tuple[str, list[ColumnBatch]]]:
        """Yield tables and batches of their rows."""

    def record_table(self, table: str) -> RecordTable:
        """Return how rows of a table become records."""

    def close(self) -> None:
        """Close the connections."""


class RecordReader(SourceReader):
    """Reads changes as elements.

    Args:
        reader: Reads them as column batches.
        deserializer: Makes elements of them.
    """

    def __init__(self, reader: CapturingReader, deserializer: DebeziumDeserializationSchema[object]) -> None:
        self._reader = reader
        self._deserializer = deserializer

    def read(self, part: SplitRange) -> Iterator[list[object]]:
        """Yield the elements of a chunk, or of a range of the log."""
        is_snapshot = not is_log(part.split.split_id)
        before: Fields | None = None  # an update may be divided among two batches
        for table, batches in self._reader.captured(part):
            for batch in batches:
                elements: list[object] = []
                for kind, row, source in _changes(self._reader.record_table(table), batch, is_snapshot):
                    if kind is Kind.UPDATE_BEFORE:
                        before = row
                        continue
                    old = row if kind is Kind.DELETE else before
                    new = None if kind is Kind.DELETE else row
                    before = None
                    record = ChangeRecord("r" if is_snapshot else _OPS[kind], old, new, source)
                    elements += self._deserializer.deserialize(record)
                yield elements

    def close(self) -> None:
        """Close the connections."""
        self._reader.close()


def _changes(table: RecordTable, batch: ColumnBatch, is_snapshot: bool) -> Iterator[tuple[Kind, Fields, Fields]]:
    names = [column.column.name for column in table.columns]
    values = [one.encode(array) for one, array in zip(table.columns, batch.columns, strict=False)]
    rows = zip(*values, strict=True) if values else iter([()] * batch.length)
    kinds = [Kind.INSERT] * batch.length if batch.kinds is None else [Kind(kind) for kind in batch.kinds.tolist()]
    times = [micros // 1000 for micros in pylist(pc.cast(batch.columns[-1], pa.int64()))]
    for kind, row, ms in zip(kinds, rows, times, strict=True):
        source = {**table.source, "ts_ms": ms, "snapshot": "true" if is_snapshot else "false"}
        yield kind, dict(zip(names, row, strict=True)), source
