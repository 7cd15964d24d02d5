"""Avro messages in Confluent's wire format. Flink: `RegistryAvroFormatFactory`."""

from __future__ import annotations

import io
import json

import numpy as np

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.formats.avro.codec import fastavro
from firesteel.connectors.formats.avro.column_records import AvroFormat, parsed_schema, problem
from firesteel.connectors.formats.avro.derived_schema import Timestamps, derived_schema, shape, without_null
from firesteel.connectors.formats.avro.registry import SchemaRegistry
from firesteel.connectors.formats.avro.schemas import AvroSchema
from firesteel.connectors.formats.schema_registry import (
    CONFIGS,
    HEAD_BYTES,
    PROPERTIES,
    client_configs,
    schema_id_of,
    split_message,
    wire_message,
)
from firesteel.connectors.formats.table_format import Columns
from firesteel.connectors.table_options import Options

_FALLBACK = "schema-registry."


def make(columns: Columns, options: Options) -> AvroConfluentMessages:
    """Return the format.

    Options may have their names of Flink 1.13, such as `schema-registry.url`.

    Raises:
        ValidationException: Avro has no such columns, or the schema in the options does not match them.
        ModuleNotFoundError: fastavro is not installed.
    """
    older = options.below(_FALLBACK, options.owner).values
    newer = {key: value for key, value in options.values.items() if not key.startswith(_FALLBACK)}
    options = Options({**older, **newer}, options.owner)
    options.check(("url",), ("schema", "subject", *CONFIGS), (PROPERTIES,))
    return AvroConfluentMessages(columns, options)


class AvroConfluentMessages(AvroFormat):
    """Messages of one record with the id of their schema, which is stored in a schema registry."""

    def __init__(self, columns: Columns, options: Options) -> None:
        super().__init__(columns, options, _schema(columns, options))
        self._owner = options.owner
        self._subject = options.values.get("subject")
        try:
            self._registry = SchemaRegistry(options.text("url"), client_configs(options))
        except ValueError as error:
            raise ValidationException(str(error)) from error
        # The schema in the options must match all columns.
        self.reads_fields = "schema" not in options.values

    def check_sink(self) -> None:
        """Check that there is a subject to register the schema under.

        Raises:
            ValidationException: there is none.
        """
        if self._subject is None:
            raise ValidationException(f"Option {self._owner}.subject is required for serialization")

    def decode_messages(self, messages: list[bytes | None]) -> ColumnBatch:
        """Return a row per message."""
        found = [message for message in messages if message is not None]
        try:
            return self._columns(found) or self.batch_of(list(map(self._record, found)))
        except OSError:  # from the registry; the message may be valid
            raise
        except Exception as error:  # fastavro raises errors of many kinds for malformed messages
            raise problem("deserialize Avro record", error) from error

    def encode(self, batch: ColumnBatch) -> list[bytes]:
        """Return the message of each row. The schema is registered before the first one."""
        assert self._subject is not None
        if not batch.length:
            return []
        schema_id = self._registry.register(self._subject, self.schema)
        try:
            return [wire_message(schema_id, record) for record in self.binary_of(batch)]
        except Exception as error:
            raise problem("serialize row", error) from error

    def _columns(self, messages: list[bytes]) -> ColumnBatch | None:
        by_schema: dict[int, list[int]] = {}
        for place, message in enumerate(messages):
            by_schema.setdefault(schema_id_of(message), []).append(place)
        parts = []
        for schema_id, places in by_schema.items():
            rows = self.columns_of([messages[place] for place in places], self._registry.schema(schema_id), HEAD_BYTES)
            if rows is None:
                return None
            parts.append(rows)
        if len(parts) < 2:
            return parts[0] if parts else None
        return concat(parts).take(np.argsort(np.concatenate(list(by_schema.values()))))

    def _record(self, message: bytes) -> object:
        schema_id, body = split_message(message)
        return fastavro().schemaless_reader(io.BytesIO(body), self._registry.schema(schema_id).parsed, None)


def _schema(columns: Columns, options: Options) -> AvroSchema:
    """Return the schema of the options, or the one derived from the columns."""
    if "schema" not in options.values:
        return parsed_schema(derived_schema(columns, Timestamps.LEGACY), options.owner)
    derived = derived_schema(columns, Timestamps.GIVEN)
    given = parsed_schema(options.text("schema"), options.owner)
    expanded = fastavro().schema.expand_schema(json.loads(given.json_schema))
    if shape(without_null(expanded)) != shape(derived):
        raise ValidationException(
            f"Schema provided for '{options.owner}' format does not match the table schema: expected fields as in "
            f"{json.dumps(derived)}, found {given.json_schema}"
        )
    return given
