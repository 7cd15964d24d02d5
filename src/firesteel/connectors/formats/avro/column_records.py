"""Rows as records of Avro, shared by the formats of messages and files."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.pylist import pylist
from firesteel.columns.values import to_arrow
from firesteel.common.table_errors import ValidationException
from firesteel.common.unchanged import unchanged
from firesteel.connectors.formats.avro.avro_type import avro_type
from firesteel.connectors.formats.avro.binary_columns import read_columns
from firesteel.connectors.formats.avro.binary_messages import messages_of
from firesteel.connectors.formats.avro.codec import AvroField, expect, fastavro
from firesteel.connectors.formats.avro.column_parts import column_fields
from firesteel.connectors.formats.avro.derived_schema import Timestamps, derived_schema, row_type, without_null
from firesteel.connectors.formats.avro.message_bytes import Messages, NotColumnarError
from firesteel.connectors.formats.avro.schemas import AvroSchema
from firesteel.connectors.formats.table_format import Columns, Format
from firesteel.connectors.table_options import Options
from firesteel.errors import TypeMismatchError


class AvroFormat(Format):
    """Base of the formats that store a row as a record.

    Attributes:
        schema: The reader and writer schema.
    """

    is_text = False

    def __init__(self, columns: Columns, options: Options, schema: AvroSchema) -> None:
        super().__init__(columns, options)
        self.schema = schema

    @property
    def _fields(self) -> list[AvroField]:
        """How columns are read and written; made for each batch, as functions can't be pickled with the format."""
        return column_fields(row_type(self.columns), expanded_schema(self.schema.json_schema))

    def columns_of(self, messages: Sequence[bytes], schema: AvroSchema, skipped: int = 0) -> ColumnBatch | None:
        """Return the rows of messages of one record each; None where fastavro has to read them.

        Args:
            messages: The messages.
            schema: The schema with which they were written.
            skipped: The number of bytes before each record.
        """
        declared = without_null(expanded_schema(self.schema.json_schema))["fields"]
        defaults = {field["name"]: field["default"] for field in declared if "default" in field}
        try:
            written = avro_type(expanded_schema(schema.json_schema))
            return read_columns(Messages(messages, skipped), written, row_type(self.columns), defaults)
        except NotColumnarError:
            return None

    def binary_of(self, batch: ColumnBatch) -> list[bytes]:
        """Return the record of each row in Avro's binary encoding."""
        try:
            return messages_of(batch, row_type(self.columns), avro_type(expanded_schema(self.schema.json_schema)))
        except NotColumnarError:
            return [self.binary(record) for record in self.records_of(batch)]

    def batch_of(self, records: list[Any]) -> ColumnBatch:
        """Return the rows of records that fastavro read.

        Raises:
            ValueError: a record has values of other types, or lacks a required field.
        """
        for record in records:
            expect(record, dict, "a record")
        arrays = []
        for field, kind in zip(self._fields, self.columns.types, strict=True):
            try:
                arrays.append(to_arrow(field.values(records), kind))
            except TypeMismatchError as error:
                raise ValueError(f"field '{field.name}': {error}") from error
        return ColumnBatch(tuple(arrays), len(records))

    def records_of(self, batch: ColumnBatch) -> list[dict[str, Any]]:
        """Return a record for fastavro per row."""
        columns = []
        for array, field in zip(batch.columns, self._fields, strict=True):
            write, values = field.part.write, pylist(array)
            columns.append(values if write is unchanged else [write(value) for value in values])
        rows = zip(*columns, strict=True) if columns else [()] * batch.length
        return [dict(zip(self.columns.names, row, strict=True)) for row in rows]

    def binary(self, record: object) -> bytes:
        """Return a record in Avro's binary encoding."""
        buffer = io.BytesIO()
        fastavro().schemaless_writer(buffer, self.schema.parsed, record)
        return buffer.getvalue()


@lru_cache(100)
def expanded_schema(text: str) -> object:
    """Return a schema as JSON data, with all references to types expanded.

    Raises:
        NotColumnarError: A type refers to itself.
    """
    try:
        return fastavro().schema.expand_schema(json.loads(text))
    except RecursionError as error:
        raise NotColumnarError from error


def mapped_schema(columns: Columns, options: Options) -> AvroSchema:
    """Return the schema of columns, with timestamps as the option `timestamp_mapping.legacy` says.

    Raises:
        ValidationException: Avro has no such columns.
    """
    is_legacy = options.flag("timestamp_mapping.legacy", True)
    return parsed_schema(derived_schema(columns, Timestamps.LEGACY if is_legacy else Timestamps.LOCAL), "avro")


def parsed_schema(schema: object, owner: str) -> AvroSchema:
    """Return a schema.

    Args:
        schema: The schema as JSON data or text.
        owner: The format, for messages.

    Raises:
        ValidationException: it is not a valid schema.
    """
    text = schema if isinstance(schema, str) else json.dumps(schema, separators=(",", ":"))
    problems = (ValueError, fastavro().schema.SchemaParseException)
    try:
        return AvroSchema(text)
    except problems as error:
        raise ValidationException(f"Invalid Avro schema of format '{owner}': {error}") from error


def problem(what: str, error: Exception) -> ValueError:
    """Return the error for records that fastavro can't read or write; it raises errors of many kinds."""
    reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    return ValueError(f"Failed to {what}. {reason}")
