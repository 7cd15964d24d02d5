"""Messages in Avro's binary or JSON encoding, without their schema. Flink: `AvroFormatFactory`."""

from __future__ import annotations

import io
from typing import Any

from firesteel.columns.batch import ColumnBatch
from firesteel.connectors.formats.avro.codec import fastavro
from firesteel.connectors.formats.avro.column_records import AvroFormat, mapped_schema, problem
from firesteel.connectors.formats.table_format import Columns
from firesteel.connectors.table_options import Options


def make(columns: Columns, options: Options) -> AvroMessages:
    """Return the format.

    Raises:
        ValidationException: Avro has no such columns.
        ModuleNotFoundError: fastavro is not installed.
    """
    options.check((), ("encoding", "timestamp_mapping.legacy"))
    return AvroMessages(columns, options)


class AvroMessages(AvroFormat):
    """Messages of one record, written with the schema derived from the columns."""

    def __init__(self, columns: Columns, options: Options) -> None:
        super().__init__(columns, options, mapped_schema(columns, options))
        self._is_json = options.choice("encoding", ("binary", "json"), "binary") == "json"

    def decode_messages(self, messages: list[bytes | None]) -> ColumnBatch:
        """Return a row per message."""
        found = [message for message in messages if message is not None]
        try:
            if self._is_json:
                return self.batch_of(self._from_json(found))
            return self.columns_of(found, self.schema) or self.batch_of(self.read_one_by_one(found))
        except Exception as error:  # fastavro raises errors of many kinds for malformed messages
            raise problem("deserialize Avro record", error) from error

    def encode(self, batch: ColumnBatch) -> list[bytes]:
        """Return the message of each row."""
        try:
            return self._to_json(self.records_of(batch)) if self._is_json else self.binary_of(batch)
        except Exception as error:
            raise problem("serialize row", error) from error

    def read_one_by_one(self, messages: list[bytes]) -> list[Any]:
        """Return the record of each message as fastavro reads it."""
        read, schema = fastavro().schemaless_reader, self.schema.parsed
        return [read(io.BytesIO(message), schema, None) for message in messages]

    def _from_json(self, messages: list[bytes]) -> list[Any]:
        read, schema = fastavro().json_reader, self.schema.parsed
        # fastavro reads a value per line; between the tokens of a message a line end is only a blank.
        texts = (message.decode().replace("\n", " ") for message in messages)
        return [next(read(io.StringIO(text), schema)) for text in texts]

    def _to_json(self, records: list[Any]) -> list[bytes]:
        if not records:
            return []
        buffer = io.StringIO()
        fastavro().json_writer(buffer, self.schema.parsed, records)
        return buffer.getvalue().encode().split(b"\n")
