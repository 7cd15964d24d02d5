"""CSV serialization schemas for Rows: re-exported by `firesteel.datastream.formats.csv`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from firesteel.common.serialization import DeserializationSchema, SerializationSchema
from firesteel.common.typeinfo import RowTypeInfo, TypeInformation
from firesteel.common.types import Row
from firesteel.common.values.batch_decoding import decode_all
from firesteel.common.values.coercion import coercer
from firesteel.connectors.formats.csv.codec import CsvCodec
from firesteel.connectors.formats.csv.dialect import CsvDialect
from firesteel.connectors.formats.csv.type_parts import type_part
from firesteel.connectors.formats.row_fields import all_fields

_LINE_DELIMITERS = ("\n", "\r", "\r\n", "")


def _codec(row_type: RowTypeInfo, dialect: CsvDialect) -> CsvCodec:
    return CsvCodec(dialect, row_type.get_field_names(), [type_part(one) for one in row_type.get_field_types()])


class _SyntaxBuilder:
    """What the builders of both schemas set.

    Args:
        type_info: The type of the rows.
    """

    def __init__(self, type_info: TypeInformation[Any]) -> None:
        if not isinstance(type_info, RowTypeInfo):
            raise TypeError(f"CSV schemas take a Types.ROW, found {type_info!r}")
        self._type_info = type_info
        self._dialect = CsvDialect()

    def _with(self, **changes: Any) -> Self:
        self._dialect = replace(self._dialect, **changes)
        return self

    def set_array_element_delimiter(self, delimiter: str) -> Self:
        """Set the delimiter of array elements, and of the fields of nested rows.

        Args:
            delimiter: Any text except an empty one (default `;`).
        """
        if not delimiter:
            raise ValueError("the delimiter of array elements must not be empty")
        return self._with(array_element_delimiter=delimiter)

    def set_quote_character(self, c: str) -> Self:
        """Set the quote character.

        Args:
            c: A single character (default `"`).
        """
        return self._with(quote_character=c)

    def set_escape_character(self, c: str) -> Self:
        """Set the escape character.

        Args:
            c: A single character; by default nothing is escaped.
        """
        return self._with(escape_character=c)


class CsvRowDeserializationSchema(DeserializationSchema[Row]):
    """Deserializes a CSV line to a Row of a declared type.

    `CsvRowDeserializationSchema.Builder` creates it with Flink's default syntax.

    Args:
        row_type: Names and types of the fields, in the order of a line.
        dialect: Syntax of the lines, and whether lines that cannot be parsed are skipped.

    Example:
        >>> row_type = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
        >>> CsvRowDeserializationSchema.Builder(row_type).build().deserialize(b"Ann,7")
        Row(name='Ann', age=7)
    """

    def __init__(self, row_type: RowTypeInfo, dialect: CsvDialect) -> None:
        self.row_type = row_type
        self.dialect = dialect
        self._codec = _codec(row_type, dialect)
        self._coerce = coercer(row_type)

    def deserialize(self, message: bytes) -> Row | None:
        """Return the Row of the first line; None for a comment, and for an invalid line if parse errors are ignored.

        If parse errors are ignored, an invalid field is null, and so are fields that a line lacks.

        Raises:
            ValueError: the number of fields is wrong, or a field has another type; the error names it.
        """
        try:
            return self._row_of(self.dialect.first_record(message.decode("utf-8-sig")))
        except ValueError as error:
            if self.dialect.ignore_parse_errors:
                return None
            shown = message[:200].decode(errors="backslashreplace")
            raise ValueError(f"Failed to deserialize CSV row {shown!r}: {error}") from error

    def deserialize_all(self, messages: list[bytes]) -> list[Row | None]:
        """Return the Rows of several messages, which is faster than one call per message.

        Raises:
            ValueError: a message is invalid; the error names its position and the field.
        """
        return decode_all(messages, self._rows, self.deserialize)

    def get_produced_type(self) -> TypeInformation[Any]:
        """Return the type of the rows."""
        return self.row_type

    def _rows(self, messages: list[bytes]) -> list[Row | None]:
        texts = [message.decode("utf-8-sig") for message in messages]
        return [self._row_of(fields) for fields in self.dialect.first_records(texts)]

    def _row_of(self, fields: list[str] | None) -> Row | None:
        if fields is None:
            return None
        assert self._coerce is not None
        row: Row = self._coerce(self._codec.values(fields))
        return row

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.row_type, self.dialect)

    class Builder(_SyntaxBuilder):
        """A builder of `CsvRowDeserializationSchema`.

        Args:
            type_info: A `Types.ROW` or `Types.ROW_NAMED` with the fields in the order of a line.

        Raises:
            TypeError: `type_info` is another type.
        """

        def set_field_delimiter(self, delimiter: str) -> Self:
            """Set the delimiter of fields.

            Args:
                delimiter: A single character (default `,`).

            Raises:
                ValueError: it is not a single character.
            """
            return self._with(field_delimiter=delimiter)

        def set_allow_comments(self, allow_comments: bool) -> Self:
            """Set whether lines that start with `#` are skipped as comments.

            Args:
                allow_comments: False unless this method is called.
            """
            return self._with(allow_comments=allow_comments)

        def set_null_literal(self, null_literal: str) -> Self:
            """Set the text that is read as null.

            Args:
                null_literal: Any text; by default no text is read as null.
            """
            return self._with(null_literal=null_literal)

        def set_ignore_parse_errors(self, ignore_parse_errors: bool) -> Self:
            """Set whether lines that cannot be parsed are skipped.

            Args:
                ignore_parse_errors: False (the default) fails the job.
            """
            return self._with(ignore_parse_errors=ignore_parse_errors)

        def build(self) -> CsvRowDeserializationSchema:
            """Return the schema."""
            return CsvRowDeserializationSchema(self._type_info, self._dialect)


class CsvRowSerializationSchema(SerializationSchema[Any]):
    """Serializes a Row of a declared type to a CSV line.

    `CsvRowSerializationSchema.Builder` creates it with Flink's default syntax.

    Args:
        row_type: Names and types of the fields, in the order of a line.
        dialect: Syntax of the lines.

    Example:
        >>> row_type = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
        >>> schema = CsvRowSerializationSchema.Builder(row_type).set_line_delimiter("").build()
        >>> schema.serialize(Row("Smith, Ann", 36))
        b'"Smith, Ann",36'
    """

    def __init__(self, row_type: RowTypeInfo, dialect: CsvDialect) -> None:
        self.row_type = row_type
        self.dialect = dialect
        self._codec = _codec(row_type, dialect)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.row_type, self.dialect)

    def serialize(self, element: object) -> bytes:
        """Return the line, including its line delimiter.

        Raises:
            ValueError: the element has another number of fields.
        """
        values = all_fields(element, self.row_type.get_field_names())
        return (self._codec.line(values) + self.dialect.line_delimiter).encode()

    class Builder(_SyntaxBuilder):
        """A builder of `CsvRowSerializationSchema`.

        Args:
            type_info: A `Types.ROW` or `Types.ROW_NAMED` with the fields in the order of a line.

        Raises:
            TypeError: `type_info` is another type.
        """

        def set_field_delimiter(self, c: str) -> Self:
            """Set the delimiter of fields.

            Args:
                c: A single character (default `,`).
            """
            return self._with(field_delimiter=c)

        def set_line_delimiter(self, delimiter: str) -> Self:
            """Set the delimiter of lines.

            Args:
                delimiter: A line feed (the default), a carriage return, both, or an empty text, which suits messages.

            Raises:
                ValueError: it is another text.
            """
            if delimiter not in _LINE_DELIMITERS:
                raise ValueError(f"the line delimiter must be \\n, \\r, \\r\\n or empty, found {delimiter!r}")
            return self._with(line_delimiter=delimiter)

        def disable_quote_character(self) -> Self:
            """Disable quoting."""
            return self._with(quote_character=None)

        def set_null_literal(self, s: str) -> Self:
            """Set the text that represents null.

            Args:
                s: Any text (default: empty).
            """
            return self._with(null_literal=s)

        def build(self) -> CsvRowSerializationSchema:
            """Return the schema."""
            return CsvRowSerializationSchema(self._type_info, self._dialect)
