"""One Row as one line of CSV: re-exported by `firesteel.datastream.formats.csv`."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Self

from firesteel.common.coercion import coercer
from firesteel.common.java_text import java_formatter
from firesteel.common.serialization import DeserializationSchema, SerializationSchema
from firesteel.common.typeinfo import BasicType, BasicTypeInfo, RowTypeInfo, TypeInformation, _ElementTypeInfo
from firesteel.common.types import Row


@dataclass(frozen=True)
class CsvDialect:
    """How a line is written."""

    field_delimiter: str = ","
    line_delimiter: str = "\n"
    array_element_delimiter: str = ";"
    quote_character: str | None = '"'
    escape_character: str | None = None
    null_literal: str | None = None
    allow_comments: bool = False
    ignore_parse_errors: bool = False

    def reader_options(self) -> dict[str, Any]:
        """As options of Python's csv module."""
        return {
            "delimiter": self.field_delimiter,
            "quotechar": self.quote_character,
            "quoting": csv.QUOTE_MINIMAL if self.quote_character else csv.QUOTE_NONE,
            "escapechar": self.escape_character,
        }


_NUMBERS: dict[BasicType, Any] = {
    **dict.fromkeys((BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG, BasicType.BIG_INT), int),
    **dict.fromkeys((BasicType.FLOAT, BasicType.DOUBLE), float),
    BasicType.BIG_DEC: Decimal,
    BasicType.BOOLEAN: lambda text: text.strip().lower() == "true",
}


class CsvRowDeserializationSchema(DeserializationSchema):
    """A line of CSV to a Row of a declared type."""

    def __init__(self, row_type: RowTypeInfo, dialect: CsvDialect) -> None:
        self.row_type = row_type
        self.dialect = dialect
        self._coerce = coercer(row_type)

    def deserialize(self, message: bytes) -> Row | None:
        """The Row; None for comments and for what can't be read, if errors are ignored.

        Raises:
            ValueError: the line has another number of fields, or a field is of another type.
        """
        text = message.decode()
        if self.dialect.allow_comments and text.startswith("#"):
            return None
        try:
            return self._read(text)
        except ValueError as error:
            if self.dialect.ignore_parse_errors:
                return None
            raise ValueError(f"Failed to deserialize CSV row {text[:200]!r}: {error}") from error

    def _read(self, text: str) -> Row:
        fields = next(csv.reader([text.rstrip("\r\n")], **self.dialect.reader_options()))
        types = self.row_type.get_field_types()
        if len(fields) != len(types):
            raise ValueError(f"{len(types)} fields expected but was {len(fields)}")
        values = [self._value(field, type_info) for field, type_info in zip(fields, types, strict=True)]
        assert self._coerce is not None
        row: Row = self._coerce(values)
        return row

    def _value(self, text: str, type_info: TypeInformation) -> Any:
        if self.dialect.null_literal is not None and text == self.dialect.null_literal:
            return None
        if isinstance(type_info, _ElementTypeInfo):
            parts = text.split(self.dialect.array_element_delimiter) if text else []
            return [self._value(part, type_info.element_type) for part in parts]
        if isinstance(type_info, BasicTypeInfo) and type_info.basic_type in _NUMBERS:
            return _NUMBERS[type_info.basic_type](text)
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.row_type, self.dialect)

    class Builder:
        """Builds a `CsvRowDeserializationSchema`."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._type_info = _row_type(type_info)
            self._dialect = CsvDialect()

        def _with(self, **changes: Any) -> Self:
            self._dialect = replace(self._dialect, **changes)
            return self

        def set_field_delimiter(self, delimiter: str) -> Self:
            """Sets what separates fields."""
            return self._with(field_delimiter=delimiter)

        def set_allow_comments(self, allow_comments: bool) -> Self:
            """Skips lines that start with `#`."""
            return self._with(allow_comments=allow_comments)

        def set_array_element_delimiter(self, delimiter: str) -> Self:
            """Sets what separates the elements of an array."""
            return self._with(array_element_delimiter=delimiter)

        def set_quote_character(self, c: str) -> Self:
            """Sets what fields are quoted with."""
            return self._with(quote_character=c)

        def set_escape_character(self, c: str) -> Self:
            """Sets what escapes a character."""
            return self._with(escape_character=c)

        def set_null_literal(self, null_literal: str) -> Self:
            """Sets the text that stands for null."""
            return self._with(null_literal=null_literal)

        def set_ignore_parse_errors(self, ignore_parse_errors: bool) -> Self:
            """Skips what can't be read."""
            return self._with(ignore_parse_errors=ignore_parse_errors)

        def build(self) -> CsvRowDeserializationSchema:
            """The schema."""
            return CsvRowDeserializationSchema(self._type_info, self._dialect)


class CsvRowSerializationSchema(SerializationSchema):
    """A Row of a declared type to a line of CSV."""

    def __init__(self, row_type: RowTypeInfo, dialect: CsvDialect) -> None:
        self.row_type = row_type
        self.dialect = dialect

    def serialize(self, element: Any) -> bytes:
        """The line, its end included."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator=self.dialect.line_delimiter, **self.dialect.reader_options())
        types = self.row_type.get_field_types()
        writer.writerow([self._text(value, type_info) for value, type_info in zip(element, types, strict=True)])
        return buffer.getvalue().encode()

    def _text(self, value: Any, type_info: TypeInformation) -> str:
        if value is None:
            return self.dialect.null_literal or ""
        if isinstance(type_info, _ElementTypeInfo):
            return self.dialect.array_element_delimiter.join(self._text(v, type_info.element_type) for v in value)
        return java_formatter(type_info)(value)

    class Builder:
        """Builds a `CsvRowSerializationSchema`."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._type_info = _row_type(type_info)
            self._dialect = CsvDialect()

        def _with(self, **changes: Any) -> Self:
            self._dialect = replace(self._dialect, **changes)
            return self

        def set_field_delimiter(self, c: str) -> Self:
            """Sets what separates fields."""
            return self._with(field_delimiter=c)

        def set_line_delimiter(self, delimiter: str) -> Self:
            """Sets what ends a line."""
            return self._with(line_delimiter=delimiter)

        def set_array_element_delimiter(self, delimiter: str) -> Self:
            """Sets what separates the elements of an array."""
            return self._with(array_element_delimiter=delimiter)

        def disable_quote_character(self) -> Self:
            """Quotes nothing."""
            return self._with(quote_character=None)

        def set_quote_character(self, c: str) -> Self:
            """Sets what fields are quoted with."""
            return self._with(quote_character=c)

        def set_escape_character(self, c: str) -> Self:
            """Sets what escapes a character."""
            return self._with(escape_character=c)

        def set_null_literal(self, s: str) -> Self:
            """Sets the text that stands for null."""
            return self._with(null_literal=s)

        def build(self) -> CsvRowSerializationSchema:
            """The schema."""
            return CsvRowSerializationSchema(self._type_info, self._dialect)


def _row_type(type_info: TypeInformation) -> RowTypeInfo:
    if not isinstance(type_info, RowTypeInfo):
        raise TypeError(f"CSV schemas take a Types.ROW, found {type_info!r}")
    return type_info
