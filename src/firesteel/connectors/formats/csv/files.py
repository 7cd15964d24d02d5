"""CSV files as Rows, parsed like Flink's `CsvReaderFormat` (Jackson's CSV parser and its converters)."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import Any, TextIO

from firesteel.common.typeinfo import BasicType, BasicTypeInfo, ElementTypeInfo, TypeInformation, Types
from firesteel.common.types import Row
from firesteel.connectors.formats.csv.file_schema import CsvColumn, CsvSchema

_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}
_BITS = {BasicType.BYTE: 8, BasicType.SHORT: 16, BasicType.INT: 32, BasicType.LONG: 64}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_LARGEST_FIELD = 1 << 30

Convert = Callable[[str], Any]


def read_csv(file: TextIO, schema: CsvSchema, chunk_rows: int) -> Iterator[list[Row]]:
    """Yield the rows of a file in chunks; the file must be opened without newline translation.

    Raises:
        ValueError: a row does not match the schema, or the header does not in strict mode; the message names the line.
    """
    records = _Records(file, schema)
    names = [column.name for column in schema.columns]
    if schema.use_header:
        _check_header(next(records, []), names, schema.strict_headers)
    if schema.skip_first_data_row:
        next(records, None)
    converters = [_converter(column, schema) for column in schema.columns]
    rows = (_row(fields, names, converters, records) for fields in records)
    while chunk := list(islice(rows, chunk_rows)):
        yield chunk


class _Records:
    """An iterator over the fields of each record, which tracks the line number for messages."""

    def __init__(self, file: TextIO, schema: CsvSchema) -> None:
        csv.field_size_limit(_LARGEST_FIELD)
        self._schema = schema
        self._at_start = True
        self._skipped = 0
        self._reader = csv.reader(
            self._lines(file),
            delimiter=schema.column_separator,
            quotechar=schema.quote_char,
            quoting=csv.QUOTE_MINIMAL if schema.quote_char else csv.QUOTE_NONE,
            escapechar=schema.escape_char,
            strict=True,
        )

    @property
    def line(self) -> int:
        """The number of the line read last, from 1."""
        return self._reader.line_num + self._skipped

    def _lines(self, file: TextIO) -> Iterator[str]:
        escape, comments = self._schema.escape_char, self._schema.allow_comments
        escaped = re.compile(re.escape(escape) + "(.)") if escape else None
        for line in file:
            if comments and self._at_start and line.startswith("#"):
                self._skipped += 1
                continue
            self._at_start = False
            yield line if escaped is None else escaped.sub(self._unescaped, line)

    def _unescaped(self, match: re.Match[str]) -> str:
        """Return the character that an escape sequence stands for, escaped so that the reader takes it literally."""
        return f"{self._schema.escape_char}{_ESCAPED.get(match[1], match[1])}"

    def __iter__(self) -> Iterator[list[str]]:
        return self

    def __next__(self) -> list[str]:
        self._at_start = True
        try:
            return next(self._reader) or [""]  # an empty line is one empty field
        except csv.Error as error:
            raise ValueError(f"line {self.line}: {error}") from error


def _check_header(found: list[str], names: list[str], strict: bool) -> None:
    if strict and found and found != names:
        raise ValueError(f"the header has the columns {found}, the schema has {names}")


def _row(fields: list[str], names: list[str], converters: list[Convert], records: _Records) -> Row:
    if len(fields) != len(converters):
        raise ValueError(f"line {records.line}: {len(converters)} fields expected, found {len(fields)}: {fields}")
    values = []
    for name, convert, field in zip(names, converters, fields, strict=True):
        try:
            values.append(convert(field))
        except (ValueError, ArithmeticError) as error:
            raise ValueError(f"line {records.line}, column {name!r}: {error}") from error
    row = Row(*values)
    row.set_field_names(names)
    return row


def _converter(column: CsvColumn, schema: CsvSchema) -> Convert:
    convert = _of_type(column.type_info, column)
    if isinstance(column.type_info, ElementTypeInfo):
        element = _of_type(column.type_info.element_type, column)
        separator = schema.array_separator_of(column)

        def convert(text: str) -> Any:
            return [element(part) for part in text.split(separator)] if text else []

    null_value = schema.null_value
    if null_value is None:
        return convert
    return lambda text: None if text == null_value else convert(text)


def _of_type(type_info: TypeInformation[Any], column: CsvColumn) -> Convert:
    if column.decimal is not None and type_info == Types.BIG_DEC():
        return lambda text: column.fit(_decimal(text))
    kind = type_info.basic_type if isinstance(type_info, BasicTypeInfo) else None
    if kind in _BITS:
        return _integer(kind.name, 1 << _BITS[kind] - 1)
    return _CONVERTERS.get(kind, str)


def _integer(name: str, bound: int) -> Convert:
    def convert(text: str) -> int:
        text = text.strip()
        if not _INTEGER.fullmatch(text) or not -bound <= (number := int(text)) < bound:
            raise ValueError(f"{text!r} is no {name}")
        return number

    return convert


def _plain_number(text: str) -> str:
    if "_" in text:  # Python allows it between digits, Java does not
        raise ValueError(f"{text!r} is not a number")
    return text.strip()


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(_plain_number(text))
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a number") from None


_CONVERTERS: dict[BasicType | None, Convert] = {
    BasicType.FLOAT: lambda text: float(_plain_number(text)),
    BasicType.DOUBLE: lambda text: float(_plain_number(text)),
    BasicType.BIG_INT: lambda text: int(_plain_number(text)),
    BasicType.BIG_DEC: _decimal,
    BasicType.BOOLEAN: lambda text: text.strip().lower() == "true",
}
