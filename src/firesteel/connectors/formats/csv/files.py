"""CSV files of Rows, read like Flink's `CsvReaderFormat` and written like its `CsvBulkWriter`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import islice
from typing import Any, TextIO

from firesteel.columns import column_types as t
from firesteel.common.typeinfo import ElementTypeInfo
from firesteel.common.types import Row
from firesteel.common.values.decimals import fitted
from firesteel.common.values.jackson_csv import jackson_quoter
from firesteel.connectors.formats.csv.codec import CsvCodec, Elements, Part, Scalar
from firesteel.connectors.formats.csv.column_parts import column_part
from firesteel.connectors.formats.csv.dialect import CsvRecords
from firesteel.connectors.formats.csv.file_schema import CsvColumn, CsvSchema
from firesteel.connectors.formats.csv.type_parts import type_part
from firesteel.connectors.formats.row_fields import all_fields


def read_csv(file: TextIO, schema: CsvSchema, chunk_rows: int) -> Iterator[list[Row]]:
    """Yield the rows of a file in chunks; the file must be opened without newline translation.

    Raises:
        ValueError: a row does not match the schema, or the header does not in strict mode; the message names the line.
    """
    records = schema.dialect.records(file)
    rows = _rows(records, schema)
    try:
        while chunk := list(islice(rows, chunk_rows)):
            yield chunk
    except ValueError as error:
        raise ValueError(f"line {records.line}: {error}") from error


def _rows(records: CsvRecords, schema: CsvSchema) -> Iterator[Row]:
    names, codec = _names(schema), _codec(schema)
    if schema.use_header:
        found = next(records, [])
        if schema.strict_headers and found and found != names:
            raise ValueError(f"the header has the columns {found}, the schema has {names}")
    if schema.skip_first_data_row:
        next(records, None)
    for fields in records:
        row = Row(*codec.values(fields))
        row.set_field_names(names)
        yield row


def csv_encoder(schema: CsvSchema) -> tuple[bytes, Callable[[Any], bytes]]:
    """Return the header of a file, and the function that returns the line of a row."""
    codec, names, end = _codec(schema), _names(schema), schema.line_separator
    quoted = jackson_quoter(schema.column_separator, schema.quote_char, schema.escape_char)
    header = schema.column_separator.join(map(quoted, names)) + end if schema.use_header else ""
    return header.encode(), lambda row: (codec.line(all_fields(row, names)) + end).encode()


def _names(schema: CsvSchema) -> list[str]:
    return [column.name for column in schema.columns]


def _codec(schema: CsvSchema) -> CsvCodec:
    return CsvCodec(schema.dialect, _names(schema), [_part(column, schema) for column in schema.columns])


def _part(column: CsvColumn, schema: CsvSchema) -> Part:
    if column.decimal is None:
        return type_part(column.type_info, column.array_separator)
    decimal = _decimal(t.DecimalType(*column.decimal), schema.null_value or "")
    return Elements(decimal, column.array_separator) if isinstance(column.type_info, ElementTypeInfo) else decimal


def _decimal(kind: t.DecimalType, null: str) -> Scalar:
    """Return how numbers of a DECIMAL are written: rounded to its scale, NULL if they have too many digits."""
    scalar = column_part(kind, False)
    assert isinstance(scalar, Scalar)

    def write(value: Decimal) -> str:
        number = fitted(value, kind.precision, kind.scale)
        return null if number is None else scalar.write(number)

    return replace(scalar, write=write)
