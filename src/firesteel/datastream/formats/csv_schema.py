"""Files of CSV with columns: re-exported by `firesteel.datastream.formats.csv`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

from firesteel.common.serialization import BulkWriterFactory
from firesteel.common.typeinfo import ListTypeInfo, RowTypeInfo, TypeInformation, Types
from firesteel.datastream.connectors.file_source import StreamFormat


@dataclass(frozen=True)
class CsvColumn:
    """One column; `array_separator` is set for arrays."""

    name: str
    type_info: TypeInformation[Any]
    array_separator: str | None = None


@dataclass(frozen=True)
class CsvSchema:
    """Columns and layout of a CSV file.

    Example:
        >>> schema = CsvSchema.builder().add_string_column("name").add_number_column("age").build()
    """

    columns: tuple[CsvColumn, ...] = ()
    allow_comments: bool = False
    any_property_name: str | None = None
    array_element_separator: str = ";"
    column_separator: str = ","
    escape_char: str | None = None
    line_separator: str = "\n"
    null_value: str | None = None
    quote_char: str | None = '"'
    skip_first_data_row: bool = False
    strict_headers: bool = False
    use_header: bool = False
    row_type: RowTypeInfo = field(default_factory=lambda: RowTypeInfo([]))

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """A builder."""
        return CsvSchemaBuilder()

    def size(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


class CsvSchemaBuilder:
    """Builds a `CsvSchema`."""

    def __init__(self) -> None:
        self._schema = CsvSchema()

    def _with(self, **changes: Any) -> Self:
        self._schema = replace(self._schema, **changes)
        return self

    def _add(self, column: CsvColumn) -> Self:
        return self._with(columns=(*self._schema.columns, column))

    def add_string_column(self, name: str) -> Self:
        """Adds a column of text."""
        return self._add(CsvColumn(name, Types.STRING()))

    def add_boolean_column(self, name: str) -> Self:
        """Adds a column of truth values."""
        return self._add(CsvColumn(name, Types.BOOLEAN()))

    def add_number_column(self, name: str, number_type: TypeInformation[Any] | None = None) -> Self:
        """Adds a column of numbers (`Types.LONG()`)."""
        return self._add(CsvColumn(name, _checked(number_type, name) or Types.LONG()))

    def add_array_column(
        self, name: str, separator: str = ";", element_type: TypeInformation[Any] | None = None
    ) -> Self:
        """Adds a column of arrays (of `Types.STRING()`)."""
        return self._add(CsvColumn(name, ListTypeInfo(_checked(element_type, name) or Types.STRING()), separator))

    def add_columns_from(self, schema: CsvSchema) -> Self:
        """Adds the columns of another schema."""
        return self._with(columns=(*self._schema.columns, *schema.columns))

    def clear_columns(self) -> Self:
        """Removes all columns."""
        return self._with(columns=())

    def set_allow_comments(self, allow: bool = True) -> Self:
        """Skips lines that start with `#`."""
        return self._with(allow_comments=allow)

    def set_any_property_name(self, name: str) -> Self:
        """Refused.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("CsvSchemaBuilder.set_any_property_name: surplus fields can't be collected")

    def set_array_element_separator(self, separator: str) -> Self:
        """Sets what separates the elements of arrays."""
        return self._with(array_element_separator=separator)

    def disable_array_element_separator(self) -> Self:
        """Takes arrays as one element."""
        return self._with(array_element_separator="")

    def remove_array_element_separator(self, index: int) -> Self:
        """Takes the arrays of one column as one element."""
        columns = list(self._schema.columns)
        columns[index] = replace(columns[index], array_separator="")
        return self._with(columns=tuple(columns))

    def set_column_separator(self, char: str) -> Self:
        """Sets what separates columns."""
        return self._with(column_separator=char)

    def set_escape_char(self, char: str) -> Self:
        """Sets what escapes a character."""
        return self._with(escape_char=char)

    def disable_escape_char(self) -> Self:
        """Escapes nothing."""
        return self._with(escape_char=None)

    def set_line_separator(self, separator: str) -> Self:
        """Sets what ends a line."""
        return self._with(line_separator=separator)

    def set_null_value(self, null_value: str) -> Self:
        """Sets the text that stands for null."""
        return self._with(null_value=null_value)

    def set_quote_char(self, char: str) -> Self:
        """Sets what fields are quoted with."""
        return self._with(quote_char=char)

    def disable_quote_char(self) -> Self:
        """Quotes nothing."""
        return self._with(quote_char=None)

    def set_skip_first_data_row(self, skip: bool = True) -> Self:
        """Skips the first row of data."""
        return self._with(skip_first_data_row=skip)

    def set_strict_headers(self, strict: bool = True) -> Self:
        """Refuses files whose header names other columns."""
        return self._with(strict_headers=strict)

    def set_use_header(self, use: bool = True) -> Self:
        """Reads and writes a header line."""
        return self._with(use_header=use)

    def size(self) -> int:
        """Number of columns."""
        return self._schema.size()

    def __len__(self) -> int:
        return self._schema.size()

    def build(self) -> CsvSchema:
        """The schema."""
        columns = self._schema.columns
        row_type = RowTypeInfo([column.type_info for column in columns], [column.name for column in columns])
        return replace(self._schema, row_type=row_type)


def _checked(type_info: Any, column: str) -> TypeInformation[Any] | None:
    if hasattr(type_info, "to_type_info"):  # PyFlink's CSV columns take the DataTypes of tables
        type_info = type_info.to_type_info()
    if type_info is not None and not isinstance(type_info, TypeInformation):
        expected = "one of firesteel.common.Types or firesteel.table.DataTypes"
        raise TypeError(f"Column {column!r}: the type must be {expected}, found {type_info!r}")
    return type_info


class CsvReaderFormat(StreamFormat[Any]):
    """Reads CSV files as Rows, each file as one split.

    A header line is skipped, and compared with the columns if headers are strict; columns are found by position.

    Attributes:
        schema: Columns and layout.
    """

    def __init__(self, schema: CsvSchema) -> None:
        super().__init__("csv")
        self.schema = schema

    @property
    def produced_type(self) -> TypeInformation[Any]:
        """Rows with the columns of the schema."""
        return self.schema.row_type

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """Reads files of that schema."""
        return CsvReaderFormat(schema)


class CsvBulkWriters:
    """Writes CSV files from Rows."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> BulkWriterFactory:
        """Writes files of that schema, for `FileSink.for_bulk_format`."""
        return BulkWriterFactory("csv", schema)
