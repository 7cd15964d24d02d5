"""The JSON format (module as `pyflink.datastream.formats.json`)."""

from __future__ import annotations

from typing import Any

from firesteel.common.serialization import DeserializationSchema, SerializationSchema
from firesteel.common.typeinfo import RowTypeInfo, TypeInformation
from firesteel.common.types import Row
from firesteel.common.values.batch_decoding import decode_all
from firesteel.connectors.formats.json.batch import json_batch_decoder, json_reader, parse_json
from firesteel.connectors.formats.json.codec import JsonCodec, JsonRules
from firesteel.connectors.formats.json.json_schema import type_of_json_schema
from firesteel.connectors.formats.json.type_parts import type_part

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]


class JsonRowDeserializationSchema(DeserializationSchema[Row]):
    """Deserializes a JSON object to a Row of a declared type.

    Args:
        row_type: Names and types of the fields; other fields of an object are ignored.
        fail_on_missing_field: Whether an object without one of the fields is invalid; otherwise the field is null.
        ignore_parse_errors: Whether invalid fields are null, and messages that are no JSON objects are skipped;
            otherwise they fail the job. The builder rejects it together with `fail_on_missing_field`.

    Example:
        >>> schema = JsonRowDeserializationSchema.builder().type_info(Types.ROW_NAMED(["a"], [Types.INT()])).build()
        >>> schema.deserialize(b'{"a": 1}')
        Row(a=1)
    """

    def __init__(self, row_type: RowTypeInfo, fail_on_missing_field: bool, ignore_parse_errors: bool) -> None:
        self.row_type = row_type
        self.fail_on_missing_field = fail_on_missing_field
        self.ignore_parse_errors = ignore_parse_errors
        rules = JsonRules(ignore_parse_errors, fail_on_missing_field)
        self._read = json_reader(row_type, rules)
        self._read_all = json_batch_decoder(row_type, rules)

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """Return a builder."""
        return JsonRowDeserializationSchema.Builder()

    def deserialize(self, message: bytes) -> Row | None:
        """Return the Row of a message; None for `null`, and for an invalid message if parse errors are ignored.

        Raises:
            ValueError: the message is not a JSON object, or a field is missing or has another type; the error names it.
        """
        try:
            return self._read_one(message)
        except ValueError as error:
            if self.ignore_parse_errors:
                return None
            raise ValueError(f"Failed to deserialize JSON {message[:200]!r}: {error}") from error

    def deserialize_all(self, messages: list[bytes]) -> list[Row | None]:
        """Return the Rows of several messages, which is much faster than one call per message.

        Raises:
            ValueError: a message is invalid; the error names its position and the field.
        """
        return decode_all(messages, self._read_all, self.deserialize)

    def get_produced_type(self) -> TypeInformation[Any]:
        """Return the type of the rows."""
        return self.row_type

    def _read_one(self, message: bytes) -> Row | None:
        value = parse_json(message, self.row_type)
        if value is not None and not isinstance(value, dict):
            raise ValueError("the message is not a JSON object")
        row: Row | None = self._read(value)
        return row

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.row_type, self.fail_on_missing_field, self.ignore_parse_errors)

    class Builder:
        """A builder of `JsonRowDeserializationSchema`."""

        def __init__(self) -> None:
            self._type_info: TypeInformation[Any] | None = None
            self._fail_on_missing_field = False
            self._ignore_parse_errors = False

        def type_info(self, type_info: TypeInformation[Any]) -> JsonRowDeserializationSchema.Builder:
            """Set the type of the rows.

            Args:
                type_info: A `Types.ROW_NAMED`; `build` raises an error for other types.
            """
            self._type_info = type_info
            return self

        def json_schema(self, json_schema: str) -> JsonRowDeserializationSchema.Builder:
            """Set the type of the rows by a JSON schema.

            Args:
                json_schema: JSON text of an object schema: integers become `BIG_INT`, other numbers `BIG_DEC`.

            Raises:
                ValueError: the schema has a type that is not supported.
            """
            self._type_info = type_of_json_schema(json_schema)
            return self

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            """Reject objects without one of the fields, which is null otherwise."""
            self._fail_on_missing_field = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """Read fields that cannot be converted as null, and skip messages that cannot be parsed."""
            self._ignore_parse_errors = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """Return the schema.

            Raises:
                ValueError: no row type is set, or both error options are set.
            """
            if not isinstance(self._type_info, RowTypeInfo):
                raise ValueError(f"type_info() must be given a Types.ROW, found {self._type_info!r}")
            if self._fail_on_missing_field and self._ignore_parse_errors:
                raise ValueError("fail_on_missing_field() and ignore_parse_errors() cannot both be set")
            return JsonRowDeserializationSchema(self._type_info, self._fail_on_missing_field, self._ignore_parse_errors)


class JsonRowSerializationSchema(SerializationSchema[Any]):
    """Serializes a Row of a declared type to a JSON object.

    Args:
        row_type: Names and types of the fields; the names are the keys of the objects.

    Example:
        >>> row_type = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
        >>> JsonRowSerializationSchema.builder().with_type_info(row_type).build().serialize(Row("Ann", 36))
        b'{"name":"Ann","age":36}'
    """

    def __init__(self, row_type: RowTypeInfo) -> None:
        self.row_type = row_type
        self._write = JsonCodec(JsonRules()).writer(type_part(row_type))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.row_type,)

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """Return a builder."""
        return JsonRowSerializationSchema.Builder()

    def serialize(self, element: object) -> bytes:
        """Return the JSON object, without whitespace."""
        return self._write(element).encode()

    class Builder:
        """A builder of `JsonRowSerializationSchema`."""

        def __init__(self) -> None:
            self._type_info: TypeInformation[Any] | None = None

        def with_type_info(self, type_info: TypeInformation[Any]) -> JsonRowSerializationSchema.Builder:
            """Set the type of the rows.

            Args:
                type_info: A `Types.ROW_NAMED`; `build` raises an error for other types.
            """
            self._type_info = type_info
            return self

        def build(self) -> JsonRowSerializationSchema:
            """Return the schema.

            Raises:
                ValueError: no row type is set.
            """
            if not isinstance(self._type_info, RowTypeInfo):
                raise ValueError(f"with_type_info() must be given a Types.ROW, found {self._type_info!r}")
            return JsonRowSerializationSchema(self._type_info)
