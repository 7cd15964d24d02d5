"""Formats of `connect()`: JSON, CSV and Avro."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn, Self

from firesteel.columns.type_text import type_text
from firesteel.pyflink1.removed import Removed, note
from firesteel.pyflink1.tables.descriptors.base import FormatDescriptor
from firesteel.table.functions.function_types import as_data_type
from firesteel.table.table_schema import TableSchema

_INSTEAD = "TableDescriptor.Builder.format(), or 'format' = '...' in CREATE TABLE"


class _FormatWithSchema(FormatDescriptor):
    def schema(self, schema: object) -> Self:
        """Declare the fields by a row type, for the types of fields that the table renames."""
        kind = as_data_type(schema, "schema")
        return self._set("format.schema", type_text(kind))

    def derive_schema(self) -> Self:
        """Take the fields of the table, which is always done."""
        return self._set("format.derive-schema", True)


class Json(_FormatWithSchema):
    """JSON, one document per record or line."""

    def __init__(self, json_schema: str | None = None, schema: object = None, derive_schema: bool = False) -> None:
        note("descriptors.Json", _INSTEAD)
        super().__init__("json")
        self._apply(json_schema=json_schema, schema=schema, derive_schema=derive_schema)

    def json_schema(self, json_schema: str) -> Json:
        """Declare the fields by a JSON schema, for the types of fields that the table renames."""
        return self._set("format.json-schema", json_schema)

    def fail_on_missing_field(self, fail_on_missing_field: bool) -> Json:
        """Set whether a missing field fails the job; otherwise it is NULL."""
        return self._set("format.fail-on-missing-field", fail_on_missing_field)

    def ignore_parse_errors(self, ignore_parse_errors: bool) -> Json:
        """Set whether fields that cannot be parsed are NULL."""
        return self._set("format.ignore-parse-errors", ignore_parse_errors)


class Csv(_FormatWithSchema):
    """CSV as in RFC 4180."""

    def __init__(
        self,
        schema: object = None,
        field_delimiter: str | None = None,
        line_delimiter: str | None = None,
        quote_character: str | None = None,
        allow_comments: bool = False,
        ignore_parse_errors: bool = False,
        array_element_delimiter: str | None = None,
        escape_character: str | None = None,
        null_literal: str | None = None,
    ) -> None:
        note("descriptors.Csv", _INSTEAD)
        super().__init__("csv")
        self._apply(
            schema=schema,
            field_delimiter=field_delimiter,
            line_delimiter=line_delimiter,
            quote_character=quote_character,
            allow_comments=allow_comments,
            ignore_parse_errors=ignore_parse_errors,
            array_element_delimiter=array_element_delimiter,
            escape_character=escape_character,
            null_literal=null_literal,
        )

    def field_delimiter(self, delimiter: str) -> Csv:
        """Set the delimiter of fields."""
        return self._set("format.field-delimiter", delimiter)

    def line_delimiter(self, delimiter: str) -> Csv:
        """Set the end of lines; only a line feed is possible."""
        return self._set("format.line-delimiter", delimiter)

    def quote_character(self, quote_character: str) -> Csv:
        """Set the quote around fields."""
        return self._set("format.quote-character", quote_character)

    def disable_quote_character(self) -> Csv:
        """Read and write fields without quotes."""
        return self._set("format.disable-quote-character", True)

    def allow_comments(self) -> Csv:
        """Skip lines that begin with `#`."""
        return self._set("format.allow-comments", True)

    def ignore_parse_errors(self) -> Csv:
        """Skip lines that cannot be parsed."""
        return self._set("format.ignore-parse-errors", True)

    def array_element_delimiter(self, delimiter: str) -> Csv:
        """Set the delimiter of the elements of arrays."""
        return self._set("format.array-element-delimiter", delimiter)

    def escape_character(self, escape_character: str) -> Csv:
        """Set the character before a quote that belongs to a field."""
        return self._set("format.escape-character", escape_character)

    def null_literal(self, null_literal: str) -> Csv:
        """Set the text of NULL."""
        return self._set("format.null-literal", null_literal)


class OldCsv(FormatDescriptor):
    """CSV of files in Flink 1, whose fields are not quoted unless a quote is set."""

    def __init__(
        self,
        schema: TableSchema | None = None,
        field_delimiter: str | None = None,
        line_delimiter: str | None = None,
        quote_character: str | None = None,
        comment_prefix: str | None = None,
        ignore_parse_errors: bool = False,
        ignore_first_line: bool = False,
        fields: Mapping[str, object] | None = None,
    ) -> None:
        note("descriptors.OldCsv", _INSTEAD)
        super().__init__("csv")
        self._count = 0
        self._apply(
            schema=schema,
            field_delimiter=field_delimiter,
            line_delimiter=line_delimiter,
            quote_character=quote_character,
            comment_prefix=comment_prefix,
            ignore_parse_errors=ignore_parse_errors,
            ignore_first_line=ignore_first_line,
            fields=fields,
        )

    def field_delimiter(self, delimiter: str) -> OldCsv:
        """Set the delimiter of fields."""
        return self._set("format.field-delimiter", delimiter)

    def line_delimiter(self, delimiter: str) -> OldCsv:
        """Set the end of lines; only a line feed is possible."""
        return self._set("format.line-delimiter", delimiter)

    def schema(self, table_schema: TableSchema) -> OldCsv:
        """Declare the fields, which are those of the table."""
        for name, kind in zip(table_schema.get_field_names(), table_schema.get_field_data_types(), strict=True):
            self.field(name, kind)
        return self

    def fields(self, fields: Mapping[str, object]) -> OldCsv:
        """Declare fields by names and types."""
        for name, kind in fields.items():
            self.field(name, kind)
        return self

    def field(self, field_name: str, field_type: object) -> OldCsv:
        """Declare a field, which is one of the table."""
        self._set(f"format.fields.{self._count}.name", field_name)
        self._set(f"format.fields.{self._count}.data-type", type_text(as_data_type(field_type, "field_type")))
        self._count += 1
        return self

    def quote_character(self, quote_character: str) -> OldCsv:
        """Set the quote around fields."""
        return self._set("format.quote-character", quote_character)

    def comment_prefix(self, prefix: str) -> OldCsv:
        """Skip lines that begin with `#`, the only prefix that is possible."""
        return self._set("format.comment-prefix", prefix)

    def ignore_parse_errors(self) -> OldCsv:
        """Skip lines that cannot be parsed."""
        return self._set("format.ignore-parse-errors", True)

    def ignore_first_line(self) -> OldCsv:
        """Leave out the first line of each file."""
        return self._set("format.ignore-first-line", True)


class Avro(FormatDescriptor):
    """Avro records."""

    def __init__(self, record_class: str | None = None, avro_schema: str | None = None) -> None:
        note("descriptors.Avro", _INSTEAD)
        super().__init__("avro")
        self._apply(record_class=record_class, avro_schema=avro_schema)

    def record_class(self, record_class: str) -> NoReturn:
        """Raise an error: Java classes are not available.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(f"Java classes such as {record_class} are not available; use avro_schema()")

    def avro_schema(self, avro_schema: str) -> Avro:
        """Accept a schema; records have the fields of the table."""
        return self._set("format.avro-schema", avro_schema)


_CLASSES = (FormatDescriptor, Json, Csv, OldCsv, Avro)
REMOVED = tuple(Removed(("table.descriptors",), cls.__name__, cls, _INSTEAD) for cls in _CLASSES)
