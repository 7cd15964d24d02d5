"""CSV serialization schemas for Rows: re-exported by `firesteel.datastream.formats.csv`."""

from __future__ import annotations

import csv
import datetime
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, Self

from firesteel.common.serialization import DeserializationSchema, SerializationSchema
from firesteel.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ElementTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
from firesteel.common.types import Row
from firesteel.common.values.batch_decoding import decode_all
from firesteel.common.values.coercion import coercer
from firesteel.common.values.jackson_csv import check_characters, jackson_quoter
from firesteel.common.values.java_text import java_formatter
from firesteel.common.values.whole_numbers import parse_whole
from firesteel.connectors.formats.row_fields import all_fields


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(_plain_number(text))
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a number") from None


def _plain_number(text: str) -> str:
    if "_" in text:  # Python allows it between digits, Java does not
        raise ValueError(f"{text!r} is not a number")
    return text


@dataclass(frozen=True)
class CsvDialect:
    """The syntax of a CSV line."""

    field_delimiter: str = ","
    line_delimiter: str = "\n"
    array_element_delimiter: str = ";"
    quote_character: str | None = '"'
    escape_character: str | None = None
    null_literal: str | None = None
    allow_comments: bool = False
    ignore_parse_errors: bool = False

    def __post_init__(self) -> None:
        check_characters(
            {
                "field delimiter": self.field_delimiter,
                "quote character": self.quote_character,
                "escape character": self.escape_character,
            }
        )
        if not self.array_element_delimiter:
            raise ValueError("the delimiter of array elements must not be empty")

    def reader_options(self) -> dict[str, Any]:
        """Return the options for Python's csv module."""
        return {
            "delimiter": self.field_delimiter,
            "quotechar": self.quote_character,
            "quoting": csv.QUOTE_MINIMAL if self.quote_character else csv.QUOTE_NONE,
            "escapechar": self.escape_character,
        }


_TIMES: tuple[tuple[type, Callable[[str], Any]], ...] = (
    (DateTypeInfo, lambda text: datetime.date.fromisoformat(text.strip())),
    (TimeTypeInfo, lambda text: datetime.time.fromisoformat(text.strip())),
    (TimestampTypeInfo, lambda text: datetime.datetime.fromisoformat(text.strip())),
)
_WHOLE = (BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG, BasicType.BIG_INT)
_NUMBERS: dict[BasicType, Any] = {
    **{basic_type: partial(parse_whole, basic_type=basic_type) for basic_type in _WHOLE},
    **dict.fromkeys((BasicType.FLOAT, BasicType.DOUBLE), lambda text: float(_plain_number(text))),
    BasicType.BIG_DEC: _decimal,
    BasicType.BOOLEAN: lambda text: text.strip().lower() == "true",
}


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
        self._coerce = coercer(row_type)
        names, types = row_type.get_field_names(), row_type.get_field_types()
        self._readers = [(name, self._nullable(self._reader_of(one))) for name, one in zip(names, types, strict=True)]

    def deserialize(self, message: bytes) -> Row | None:
        """Return the Row of a line; None for a comment, and for an invalid line if parse errors are ignored.

        Raises:
            ValueError: the number of fields is wrong, or a field has another type; the error names it.
        """
        try:
            text = message.decode()
            return None if self._is_comment(text) else self._row(self._split([text])[0])
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

    def _is_comment(self, text: str) -> bool:
        return self.dialect.allow_comments and text.startswith("#")

    def _rows(self, messages: list[bytes]) -> list[Row | None]:
        texts = [message.decode() for message in messages]
        if any(map(self._is_comment, texts)):
            raise ValueError("there are comments")
        return [self._row(fields) for fields in self._split(texts)]

    def _split(self, texts: list[str]) -> list[list[str]]:
        """Return the fields of each message; raise an error if an unclosed quote joins a message with the next."""
        stripped = [text.rstrip("\r\n") for text in texts]
        try:
            lines = list(csv.reader(stripped, strict=True, **self.dialect.reader_options()))
        except csv.Error as error:
            raise ValueError(str(error)) from error
        if len(lines) != len(texts):
            raise ValueError("a message is not a single CSV line")
        return lines

    def _row(self, fields: list[str]) -> Row:
        if len(fields) != len(self._readers):
            raise ValueError(f"{len(self._readers)} fields expected but was {len(fields)}")
        assert self._coerce is not None
        row: Row = self._coerce([_read_field(*one) for one in zip(fields, self._readers, strict=True)])
        return row

    def _reader_of(self, type_info: TypeInformation[Any]) -> Callable[[str], Any]:
        """Return the function that converts the text of a field to a value."""
        separator = self.dialect.array_element_delimiter
        if isinstance(type_info, ElementTypeInfo):
            element = self._nullable(self._reader_of(type_info.element_type))
            return lambda text: [element(part) for part in text.split(separator)] if text else []
        if isinstance(type_info, BasicTypeInfo):
            number: Callable[[str], Any] = _NUMBERS.get(type_info.basic_type, str)
            return number
        return next((read for kind, read in _TIMES if isinstance(type_info, kind)), str)

    def _nullable(self, read: Callable[[str], Any]) -> Callable[[str], Any]:
        null = self.dialect.null_literal
        return read if null is None else lambda text: None if text == null else read(text)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.row_type, self.dialect)

    class Builder:
        """A builder of `CsvRowDeserializationSchema`.

        Args:
            type_info: A `Types.ROW` or `Types.ROW_NAMED` with the fields in the order of a line.

        Raises:
            TypeError: `type_info` is another type.
        """

        def __init__(self, type_info: TypeInformation[Any]) -> None:
            self._type_info = _row_type(type_info)
            self._dialect = CsvDialect()

        def _with(self, **changes: Any) -> Self:
            self._dialect = replace(self._dialect, **changes)
            return self

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

        def set_array_element_delimiter(self, delimiter: str) -> Self:
            """Set the delimiter of array elements.

            Args:
                delimiter: Any text except an empty one (default `;`).
            """
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
        array_delimiters: Delimiter of array elements for each field, with an unused one for fields of other types;
            None uses that of the dialect for all fields.

    Example:
        >>> row_type = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
        >>> schema = CsvRowSerializationSchema.Builder(row_type).set_line_delimiter("").build()
        >>> schema.serialize(Row("Smith, Ann", 36))
        b'"Smith, Ann",36'
    """

    def __init__(
        self, row_type: RowTypeInfo, dialect: CsvDialect, array_delimiters: tuple[str, ...] | None = None
    ) -> None:
        self.row_type = row_type
        self.dialect = dialect
        types = row_type.get_field_types()
        self._array_delimiters = array_delimiters or (dialect.array_element_delimiter,) * len(types)
        self._quoted = jackson_quoter(dialect.field_delimiter, dialect.quote_character, dialect.escape_character)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.row_type, self.dialect, self._array_delimiters)

    def serialize(self, element: object) -> bytes:
        """Return the line, including its line delimiter.

        Raises:
            ValueError: the element has another number of fields.
        """
        values = all_fields(element, self.row_type.get_field_names())
        columns = zip(values, self.row_type.get_field_types(), self._array_delimiters, strict=True)
        fields = [self._field(value, type_info, delimiter) for value, type_info, delimiter in columns]
        return (self.dialect.field_delimiter.join(fields) + self.dialect.line_delimiter).encode()

    def _field(self, value: object, type_info: TypeInformation[Any], array_delimiter: str) -> str:
        text = self._text(value, type_info, array_delimiter)
        is_number = isinstance(type_info, BasicTypeInfo) and type_info.basic_type in _NUMBERS
        return text if value is None or is_number else self._quoted(text)

    def _text(self, value: Any, type_info: TypeInformation[Any], array_delimiter: str) -> str:
        if value is None:
            return self.dialect.null_literal or ""
        if isinstance(type_info, ElementTypeInfo):
            return array_delimiter.join(self._text(v, type_info.element_type, array_delimiter) for v in value)
        return java_formatter(type_info)(value)

    class Builder:
        """A builder of `CsvRowSerializationSchema`.

        Args:
            type_info: A `Types.ROW` or `Types.ROW_NAMED` with the fields in the order of a line.

        Raises:
            TypeError: `type_info` is another type.
        """

        def __init__(self, type_info: TypeInformation[Any]) -> None:
            self._type_info = _row_type(type_info)
            self._dialect = CsvDialect()

        def _with(self, **changes: Any) -> Self:
            self._dialect = replace(self._dialect, **changes)
            return self

        def set_field_delimiter(self, c: str) -> Self:
            """Set the delimiter of fields.

            Args:
                c: A single character (default `,`).
            """
            return self._with(field_delimiter=c)

        def set_line_delimiter(self, delimiter: str) -> Self:
            """Set the delimiter of lines.

            Args:
                delimiter: Any text (default a line feed); an empty one suits messages.
            """
            return self._with(line_delimiter=delimiter)

        def set_array_element_delimiter(self, delimiter: str) -> Self:
            """Set the delimiter of array elements.

            Args:
                delimiter: Any text (default `;`).
            """
            return self._with(array_element_delimiter=delimiter)

        def disable_quote_character(self) -> Self:
            """Disable quoting."""
            return self._with(quote_character=None)

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

        def set_null_literal(self, s: str) -> Self:
            """Set the text that represents null.

            Args:
                s: Any text (default: empty).
            """
            return self._with(null_literal=s)

        def build(self) -> CsvRowSerializationSchema:
            """Return the schema."""
            return CsvRowSerializationSchema(self._type_info, self._dialect)


def _read_field(text: str, field: tuple[str, Callable[[str], Any]]) -> object:
    name, read = field
    try:
        return read(text)
    except ValueError as error:
        raise ValueError(f"field {name}: {error}") from error


def _row_type(type_info: TypeInformation[Any]) -> RowTypeInfo:
    if not isinstance(type_info, RowTypeInfo):
        raise TypeError(f"CSV schemas take a Types.ROW, found {type_info!r}")
    return type_info
