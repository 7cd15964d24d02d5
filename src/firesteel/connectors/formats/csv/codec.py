"""The rules of CSV between texts and values: parts, NULL, quoting and errors, for all readers and writers.

Adapters describe the type of each field as a `Part`: `type_parts` for DataStreams, `column_parts` for tables.
Why: `docs/decisions/0043-one-codec-per-format.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from firesteel.common.values.jackson_csv import jackson_quoter
from firesteel.connectors.formats.csv.dialect import CsvDialect

Read = Callable[[str], Any]
Write = Callable[[Any], str]


@dataclass(frozen=True)
class Scalar:
    """A value without parts.

    Attributes:
        read: Parses a text; raises ValueError if it is invalid.
        write: Returns the text of a value.
        is_bare: Whether the text is never quoted, as that of numbers.
    """

    read: Read
    write: Write
    is_bare: bool = False


@dataclass(frozen=True)
class Elements:
    """An array.

    Attributes:
        element: The type of the elements.
        separator: Text between two elements; None for that of the dialect.
    """

    element: Part
    separator: str | None = None


@dataclass(frozen=True)
class Fields:
    """A nested row.

    Attributes:
        fields: The types of its fields.
        values: Returns the values of the fields of a row.
    """

    fields: tuple[Part, ...]
    values: Callable[[Any], Sequence[Any]]


Part = Scalar | Elements | Fields


class CsvCodec:
    """Reads and writes the fields of records.

    Args:
        dialect: The syntax.
        names: Names of the fields.
        parts: Types of the fields.
    """

    def __init__(self, dialect: CsvDialect, names: Sequence[str], parts: Sequence[Part]) -> None:
        self.dialect = dialect
        self._names = names
        self._null_text = dialect.null_literal or ""
        self._quoted = jackson_quoter(dialect.field_delimiter, dialect.quote_character, dialect.escape_character)
        self._readers = [self._reader(part) for part in parts]
        self.writers = [self._field_writer(part) for part in parts]
        """Functions that return the text of a field as it stands in a line, NULL included."""

    # --- reading -----------------------------------------------------------------------------------------------------

    def values(self, fields: list[str]) -> list[Any]:
        """Return the values of a record.

        Raises:
            ValueError: the number of fields is wrong, or a field is invalid; the error names it.
        """
        if len(fields) != len(self._readers):
            return self._values_of_others(fields)
        try:
            return [read(text) for read, text in zip(self._readers, fields, strict=True)]
        except ValueError:
            self._name_field(fields)
            raise

    def _values_of_others(self, fields: list[str]) -> list[Any]:
        """Return the values of a record with more or fewer fields than there are columns."""
        count = len(self._readers)
        if len(fields) == count + 1 and not fields[-1]:  # Jackson ignores a separator at the end
            return self.values(fields[:-1])
        if len(fields) > count and self.dialect.ignore_additional_fields:
            return self.values(fields[:count])
        if len(fields) > count:
            raise ValueError(f"Too many entries: expected at most {count} but was {len(fields)}")
        if not self.dialect.ignore_parse_errors:
            raise ValueError(f"Row length mismatch. {count} fields expected but was {len(fields)}")
        read = [read(text) for read, text in zip(self._readers, fields, strict=False)]
        return [*read, *[None] * (count - len(fields))]

    def _name_field(self, fields: list[str]) -> None:
        for name, read, text in zip(self._names, self._readers, fields, strict=True):
            try:
                read(text)
            except ValueError as error:
                raise ValueError(f"field {name}: {error}") from error

    def _reader(self, part: Part) -> Read:
        """Return the function that reads a text, which may stand for NULL or be invalid."""
        read, null = self._valid_reader(part), self.dialect.null_literal
        if isinstance(part, Scalar) and null is not None:
            valid = read
            read = lambda text: None if text == null else valid(text)  # noqa: E731
        return _or_null(read) if self.dialect.ignore_parse_errors else read

    def _valid_reader(self, part: Part) -> Read:
        match part:
            case Scalar():
                return part.read
            case Elements():
                separator = part.separator or self.dialect.array_element_delimiter
                element = self._reader(part.element)
                return lambda text: [element(one) for one in text.split(separator)] if text else []
            case Fields():
                separator = self.dialect.array_element_delimiter
                readers = [self._reader(field) for field in part.fields]
                is_lenient = self.dialect.ignore_parse_errors
                return lambda text: _fields(text.split(separator), readers, is_lenient) if text else None

    # --- writing -----------------------------------------------------------------------------------------------------

    def line(self, values: Sequence[Any]) -> str:
        """Return the line of a record, without its end."""
        return self.dialect.field_delimiter.join(
            [write(value) for write, value in zip(self.writers, values, strict=True)]
        )

    def _field_writer(self, part: Part) -> Write:
        write, null, quoted = self._writer(part), self._null_text, self._quoted
        if isinstance(part, Scalar) and part.is_bare:
            return lambda value: null if value is None else write(value)
        return lambda value: null if value is None else quoted(write(value))

    def _writer(self, part: Part) -> Write:
        match part:
            case Scalar():
                return part.write
            case Elements():
                separator = part.separator or self.dialect.array_element_delimiter
                element = self._element_writer(part.element)
                return lambda value: separator.join(map(element, value))
            case Fields():
                separator, values = self.dialect.array_element_delimiter, part.values
                writers = [self._element_writer(field) for field in part.fields]
                return lambda value: separator.join(
                    [write(one) for write, one in zip(writers, values(value), strict=True)]
                )

    def _element_writer(self, part: Part) -> Write:
        write, null = self._writer(part), self._null_text
        return lambda value: null if value is None else write(value)


def _or_null(read: Read) -> Read:
    def read_or_null(text: str) -> Any:
        try:
            return read(text)
        except ValueError:
            return None

    return read_or_null


def _fields(texts: list[str], readers: list[Read], is_lenient: bool) -> tuple[Any, ...]:
    if len(texts) != len(readers) and not is_lenient:
        raise ValueError(f"Row length mismatch. {len(readers)} fields expected but was {len(texts)}")
    missing = [None] * (len(readers) - len(texts))
    return (*[read(text) for read, text in zip(readers, texts, strict=False)], *missing)
