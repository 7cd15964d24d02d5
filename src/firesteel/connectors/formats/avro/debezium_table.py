"""Debezium's changes as Avro with a schema registry. Flink: `DebeziumAvroFormatFactory`; it has no metadata here."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch, Kind
from firesteel.columns.rows import are_retractions
from firesteel.columns.values import arrow_type
from firesteel.connectors.formats.avro import confluent_table
from firesteel.connectors.formats.avro.derived_schema import row_type
from firesteel.connectors.formats.changes import DEBEZIUM, Messages, changes_of
from firesteel.connectors.formats.table_format import Columns, Format
from firesteel.connectors.table_connector import ALL_KINDS
from firesteel.connectors.table_options import Options


def make(columns: Columns, options: Options) -> DebeziumAvroMessages:
    """Return the format, with the options of `avro-confluent`.

    Raises:
        ValidationException: Avro has no such columns, or the schema in the options does not match them.
        ModuleNotFoundError: fastavro is not installed.
    """
    return DebeziumAvroMessages(columns, options)


class DebeziumAvroMessages(Format):
    """Messages of one change with the id of their schema."""

    is_text = False

    def __init__(self, columns: Columns, options: Options) -> None:
        super().__init__(columns, options)
        row = row_type(columns).nullable()
        names = (DEBEZIUM.old, DEBEZIUM.new, DEBEZIUM.operation)
        self._messages = confluent_table.make(Columns(names, (row, row, t.VarCharType(t.MAX_LENGTH))), options)
        self.reads_fields = self._messages.reads_fields

    @property
    def kinds(self) -> frozenset[Kind]:
        """All kinds."""
        return ALL_KINDS

    def check_sink(self) -> None:
        """Check that there is a subject to register the schema under.

        Raises:
            ValidationException: there is none.
        """
        self._messages.check_sink()

    def decode_messages(self, messages: list[bytes | None]) -> ColumnBatch:
        """Return the changes of messages; those without content have none."""
        old, new, operation = self._messages.decode_messages([message for message in messages if message]).columns
        try:
            return changes_of(Messages(operation, new, old), DEBEZIUM)
        except ValueError as error:
            raise ValueError(f"Can't deserialize Debezium Avro message: {error}") from error

    def encode(self, batch: ColumnBatch) -> list[bytes]:
        """Return a message per row: created, or deleted."""
        kind = arrow_type(row_type(self.columns))
        deleted = are_retractions(batch.kinds_or_inserts())
        sides = [
            pa.StructArray.from_arrays(batch.columns, fields=list(kind), mask=pa.array(is_absent))
            for is_absent in (~deleted, deleted)
        ]
        operation = pa.array(np.where(deleted, "d", "c").tolist(), pa.string())
        return self._messages.encode(ColumnBatch((*sides, operation), batch.length))
