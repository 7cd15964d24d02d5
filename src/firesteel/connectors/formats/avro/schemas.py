"""The Avro format (module as `pyflink.datastream.formats.avro`), implemented with the package fastavro."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from firesteel.common.io import InputFormat
from firesteel.common.serialization import BulkWriterFactory, DeserializationSchema, SerializationSchema
from firesteel.common.typeinfo import PickledBytesTypeInfo, TypeInformation
from firesteel.common.types import Row
from firesteel.common.unchanged import unchanged
from firesteel.common.values.batch_decoding import decode_all
from firesteel.common.values.coercion import coercer
from firesteel.connectors.formats.avro.codec import fastavro
from firesteel.connectors.formats.avro.evolution import conversion
from firesteel.connectors.formats.avro.type_parts import typed_part
from firesteel.connectors.formats.stream_format import StreamFormat

__all__ = [
    "AvroBulkWriters",
    "AvroInputFormat",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "GenericRecordAvroTypeInfo",
]


class AvroSchema:
    """An Avro schema.

    Attributes:
        json_schema: The schema as JSON text.

    Example:
        >>> schema = AvroSchema.parse_string('{"type": "record", "name": "A", "fields": []}')
    """

    def __init__(self, json_schema: str) -> None:
        self.json_schema = json_schema
        self.parsed = fastavro().parse_schema(json.loads(json_schema))

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """Parse a schema given as JSON text.

        Args:
            json_schema: JSON text of a schema.

        Raises:
            ValueError: the text is not valid JSON.
            fastavro.schema.SchemaParseException: the JSON is not an Avro schema.
        """
        return AvroSchema(json_schema)

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """Parse the schema in a file.

        Args:
            file_path: A local path.

        Raises:
            OSError: the file cannot be read.
            ValueError: the file is not valid JSON.
        """
        return AvroSchema(Path(file_path).read_text(encoding="utf-8"))

    def __str__(self) -> str:
        return self.json_schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroSchema) and self.json_schema == other.json_schema

    def __hash__(self) -> int:
        return hash(self.json_schema)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.json_schema,)


class GenericRecordAvroTypeInfo(PickledBytesTypeInfo):
    """The type of records of an Avro schema, which are dicts.

    Attributes:
        schema: The schema of the records.

    Example:
        >>> schema = AvroSchema.parse_string(
        ...     '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
        ... )
        >>> orders = env.from_collection([{"id": 7}], GenericRecordAvroTypeInfo(schema))
    """

    def __init__(self, schema: AvroSchema) -> None:
        super().__init__()
        self.schema = schema

    def schema_text(self) -> tuple[str, str]:
        """Return the kind of the type and its schema, for the descriptions of states."""
        return "AVRO", self.schema.json_schema

    def conversion_from(self, schema: str) -> Callable[[object], object] | None:
        """Return how to convert values of another schema, None if that is not possible.

        Args:
            schema: The schema as JSON text.
        """
        return conversion(schema, self.schema)


class AvroInputFormat(InputFormat):
    """An input format for Avro container files, for `env.create_input`; records are dicts.

    Args:
        path: A file or directory.
        schema: The reader schema; files may be written with another schema that Avro can resolve to it.

    Example:
        >>> schema = AvroSchema.parse_string(
        ...     '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
        ... )
        >>> orders = env.create_input(AvroInputFormat("/data/orders.avro", schema))
    """

    def __init__(self, path: str, schema: AvroSchema) -> None:
        super().__init__("avro", schema)
        self.path = path

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        """Return the type of the records."""
        return GenericRecordAvroTypeInfo(self.settings)


class AvroFormat(StreamFormat[Any]):
    """A stream format that reads Avro container files."""

    def __init__(self, schema: AvroSchema) -> None:
        super().__init__("avro")
        self.schema = schema

    @property
    def produced_type(self) -> TypeInformation[Any]:
        """The type of the records."""
        return GenericRecordAvroTypeInfo(self.schema)


class AvroBulkWriters:
    """Factory of bulk writers of Avro container files."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Return a writer factory for dicts, for `FileSink.for_bulk_format`.

        Args:
            schema: Schema of the dicts, which the files contain.

        Example:
            >>> schema = AvroSchema.parse_string(
            ...     '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
            ... )
            >>> sink = FileSink.for_bulk_format("/data/out", AvroBulkWriters.for_generic_record(schema)).build()
        """
        return BulkWriterFactory("avro", schema)


class _RowsOfSchema:
    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        if record_class is not None:
            raise NotImplementedError(
                f"Avro: the Java class {record_class!r} is not supported; pass avro_schema_string"
            )
        if avro_schema_string is None:
            raise TypeError("record_class or avro_schema_string should be specified.")
        self.schema = AvroSchema(avro_schema_string)
        found = json.loads(avro_schema_string)
        if not isinstance(found, dict) or found.get("type") != "record":
            raise ValueError(f"Avro: rows need a record schema, found {avro_schema_string[:200]}")
        self.row_type, self._part = typed_part(found, {})
        self._coerce = coercer(self.row_type) or unchanged

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (None, self.schema.json_schema)


class AvroRowDeserializationSchema(_RowsOfSchema, DeserializationSchema[Row]):
    """Deserializes Avro's binary encoding of a record to a Row (Flink: `formats.avro.AvroRowDeserializationSchema`).

    Args:
        record_class: Must be None, as Java classes are not supported.
        avro_schema_string: Schema of the records as JSON text.

    Raises:
        TypeError: no schema is given.
        ValueError: the schema is not a record schema, or has a type that is not supported.
        NotImplementedError: `record_class` is given.
        ModuleNotFoundError: fastavro is not installed.

    Example:
        >>> order = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
        >>> AvroRowDeserializationSchema(avro_schema_string=order).deserialize(bytes([14]))
        Row(id=7)
    """

    def deserialize(self, message: bytes) -> Row:
        """Return the Row of a message.

        Raises:
            ValueError: the message is not a record of the schema.
        """
        try:
            return self._deserialized(message)
        except OSError:  # from a schema registry; the message may be valid
            raise
        except Exception as error:  # fastavro raises errors of many kinds for malformed bytes
            raise ValueError(
                f"Failed to deserialize Avro {message[:200]!r}: {type(error).__name__}: {error}"
            ) from error

    def deserialize_all(self, messages: list[bytes]) -> list[Row]:
        """Return the Rows of several messages.

        Raises:
            ValueError: a message is invalid; the error names its position.
        """
        return decode_all(messages, lambda some: list(map(self.deserialize, some)), self.deserialize)

    def get_produced_type(self) -> TypeInformation[Any]:
        """Return the type of the rows."""
        return self.row_type

    def _deserialized(self, message: bytes) -> Row:
        return self._decoded(message, self.schema)

    def _decoded(self, record: bytes, writer: AvroSchema) -> Row:
        found = fastavro().schemaless_reader(io.BytesIO(record), writer.parsed, self.schema.parsed)
        row: Row = self._coerce(self._part.read(found))
        return row


class AvroRowSerializationSchema(_RowsOfSchema, SerializationSchema[Any]):
    """Serializes a Row to Avro's binary encoding of a record (Flink: `formats.avro.AvroRowSerializationSchema`).

    Args:
        record_class: Must be None, as Java classes are not supported.
        avro_schema_string: Schema of the records as JSON text.

    Raises:
        TypeError: no schema is given.
        ValueError: the schema is not a record schema, or has a type that is not supported.
        NotImplementedError: `record_class` is given.
        ModuleNotFoundError: fastavro is not installed.

    Example:
        >>> order = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
        >>> list(AvroRowSerializationSchema(avro_schema_string=order).serialize(Row(id=7)))
        [14]
    """

    def serialize(self, element: object) -> bytes:
        """Return the bytes of a record.

        Raises:
            ValueError: the element is not a record of the schema.
        """
        buffer = io.BytesIO()
        try:
            fastavro().schemaless_writer(buffer, self.schema.parsed, self._part.write(element))
        except Exception as error:  # fastavro raises errors of many kinds for values of other types
            raise ValueError(f"Failed to serialize {element!r} as Avro: {type(error).__name__}: {error}") from error
        return buffer.getvalue()
