"""CSV files with typed columns: re-exported by `firesteel.datastream.formats.csv`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from firesteel.columns.column_type_information import type_info_of
from firesteel.columns.data_type import DataType
from firesteel.common.serialization import BulkWriterFactory
from firesteel.common.typeinfo import ListTypeInfo, RowTypeInfo, TypeInformation, Types
from firesteel.connectors.formats.csv.dialect import CsvDialect
from firesteel.connectors.formats.stream_format import StreamFormat


@dataclass(frozen=True)
class CsvColumn:
    """A column.

    Attributes:
        name: Name of the field in the rows, and in the header.
        type_info: Type of the values.
        array_separator: Separator of the elements of an array.
        decimal: Precision and scale of a `DataTypes.DECIMAL`, also as the element of an array.
    """

    name: str
    type_info: TypeInformation[Any]
    array_separator: str | None = None
    decimal: tuple[int, int] | None = None


@dataclass(frozen=True)
class CsvSchema:
    """The columns and the syntax of a CSV file.

    Attributes:
        columns: The columns in the order of the fields in a line.
        allow_comments: Whether lines that start with `#` are skipped, when reading.
        any_property_name: Not used: surplus fields cannot be collected.
        array_element_separator: Separator of array elements, for columns without a separator of their own.
        column_separator: A single character between two fields.
        escape_char: The character before an escaped character; None disables escaping.
        line_separator: Text after each line, when writing; all common ones can be read.
        null_value: Text that represents null; None writes null as empty text and reads no text as null.
        quote_char: The character around quoted fields; None disables quoting.
        skip_first_data_row: Whether the first row after the header is skipped, when reading.
        strict_headers: Whether a header with other columns fails the job; has no effect without `use_header`.
        use_header: Whether files have a header line.

    Raises:
        ValueError: the column separator, the quote character or the escape character is not a single character.

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

    def __post_init__(self) -> None:
        _ = self.dialect  # checks its characters

    @property
    def row_type(self) -> RowTypeInfo:
        """The type of the rows."""
        return RowTypeInfo([column.type_info for column in self.columns], [column.name for column in self.columns])

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Return a builder."""
        return CsvSchemaBuilder()

    @property
    def dialect(self) -> CsvDialect:
        """The syntax."""
        return CsvDialect(
            self.column_separator,
            self.line_separator,
            self.array_element_separator,
            self.quote_char,
            self.escape_char,
            self.null_value,
            self.allow_comments,
        )

    def size(self) -> int:
        """Return the number of columns."""
        return len(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


class CsvSchemaBuilder:
    """A builder of `CsvSchema`.

    Example:
        >>> schema = (
        ...     CsvSchema.builder()
        ...     .add_string_column("name")
        ...     .add_number_column("age", Types.INT())
        ...     .set_column_separator(";")
        ...     .set_use_header()
        ...     .build()
        ... )
        >>> len(schema)
        2
    """

    def __init__(self) -> None:
        self._schema = CsvSchema()

    def _with(self, **changes: Any) -> Self:
        self._schema = replace(self._schema, **changes)
        return self

    def _add(self, column: CsvColumn) -> Self:
        return self._with(columns=(*self._schema.columns, column))

    def add_string_column(self, name: str) -> Self:
        """Add a string column.

        Args:
            name: Name of the field in the rows, and in the header.
        """
        return self._add(CsvColumn(name, Types.STRING()))

    def add_boolean_column(self, name: str) -> Self:
        """Add a boolean column; text other than `true` is read as False.

        Args:
            name: Name of the field in the rows, and in the header.
        """
        return self._add(CsvColumn(name, Types.BOOLEAN()))

    def add_number_column(self, name: str, number_type: TypeInformation[Any] | None = None) -> Self:
        """Add a number column, of type `Types.LONG()` by default.

        Args:
            name: Name of the column.
            number_type: One of `Types` or `DataTypes`; None means LONG. Numbers of a `DataTypes.DECIMAL` are rounded
                to its scale, and null if they have too many digits, as in Flink.
        """
        return self._add(CsvColumn(name, _checked(number_type, name) or Types.LONG(), None, _decimal(number_type)))

    def add_array_column(
        self, name: str, separator: str = ";", element_type: TypeInformation[Any] | None = None
    ) -> Self:
        """Add an array column, with elements of type `Types.STRING()` by default.

        Args:
            name: Name of the column.
            separator: Separator of the elements.
            element_type: Type of the elements, one of `Types` or `DataTypes`; None means STRING.
        """
        elements: ListTypeInfo[Any] = ListTypeInfo(_checked(element_type, name) or Types.STRING())
        return self._add(CsvColumn(name, elements, separator, _decimal(element_type)))

    def add_columns_from(self, schema: CsvSchema) -> Self:
        """Add the columns of another schema, but not its syntax.

        Args:
            schema: The schema; its columns follow the present ones.
        """
        return self._with(columns=(*self._schema.columns, *schema.columns))

    def clear_columns(self) -> Self:
        """Remove all columns."""
        return self._with(columns=())

    def set_allow_comments(self, allow: bool = True) -> Self:
        """Set whether lines that start with `#` are skipped as comments, when reading.

        Args:
            allow: False unless this method is called.
        """
        return self._with(allow_comments=allow)

    def set_any_property_name(self, name: str) -> Self:
        """Raise an error: surplus fields cannot be collected.

        Args:
            name: Only named for compatibility.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("CsvSchemaBuilder.set_any_property_name: surplus fields cannot be collected")

    def set_array_element_separator(self, separator: str) -> Self:
        """Set the separator of array elements.

        Args:
            separator: Any text (default `;`), for columns without a separator of their own
                (`remove_array_element_separator`).
        """
        return self._with(array_element_separator=separator)

    def disable_array_element_separator(self) -> Self:
        """Remove the separator of the schema, so that each array column needs its own."""
        return self._with(array_element_separator="")

    def remove_array_element_separator(self, index: int) -> Self:
        """Remove the separator of one array column, which then uses that of the schema.

        Args:
            index: Position of the column from 0; a negative number counts from the end.

        Raises:
            IndexError: there is no such column.
        """
        columns = list(self._schema.columns)
        columns[index] = replace(columns[index], array_separator="")
        return self._with(columns=tuple(columns))

    def set_column_separator(self, char: str) -> Self:
        """Set the separator of columns.

        Args:
            char: A single character (default `,`).

        Raises:
            ValueError: it is not a single character.
        """
        return self._with(column_separator=char)

    def set_escape_char(self, char: str) -> Self:
        """Set the escape character.

        Args:
            char: A single character; by default nothing is escaped.
        """
        return self._with(escape_char=char)

    def disable_escape_char(self) -> Self:
        """Disable escaping."""
        return self._with(escape_char=None)

    def set_line_separator(self, separator: str) -> Self:
        """Set the separator of lines, when writing; all common ones can be read.

        Args:
            separator: Any text (default a line feed).
        """
        return self._with(line_separator=separator)

    def set_null_value(self, null_value: str) -> Self:
        """Set the text that represents null.

        Args:
            null_value: Any text. By default, null is written as empty text, and no text is read as null.
        """
        return self._with(null_value=null_value)

    def set_quote_char(self, char: str) -> Self:
        """Set the quote character.

        Args:
            char: A single character (default `"`).
        """
        return self._with(quote_char=char)

    def disable_quote_char(self) -> Self:
        """Disable quoting."""
        return self._with(quote_char=None)

    def set_skip_first_data_row(self, skip: bool = True) -> Self:
        """Set whether the first row after the header is skipped, when reading.

        Args:
            skip: False unless this method is called.
        """
        return self._with(skip_first_data_row=skip)

    def set_strict_headers(self, strict: bool = True) -> Self:
        """Set whether files whose header names other columns fail the job.

        Args:
            strict: False unless this method is called; it has no effect without a header line.
        """
        return self._with(strict_headers=strict)

    def set_use_header(self, use: bool = True) -> Self:
        """Set whether files have a header line.

        Args:
            use: False unless this method is called.
        """
        return self._with(use_header=use)

    def size(self) -> int:
        """Return the number of columns."""
        return self._schema.size()

    def __len__(self) -> int:
        return self._schema.size()

    def build(self) -> CsvSchema:
        """Return the schema.

        Raises:
            ValueError: an array column has no separator, neither its own nor that of the schema.
        """
        for column in self._schema.columns:
            if isinstance(column.type_info, ListTypeInfo) and not (
                column.array_separator or self._schema.array_element_separator
            ):
                raise ValueError(f"Column {column.name!r}: an array needs an array element separator")
        return self._schema


def _checked(type_info: object, column: str) -> TypeInformation[Any] | None:
    if isinstance(type_info, DataType):  # PyFlink's CSV columns take the DataTypes of tables
        type_info = type_info_of(type_info)
    if type_info is not None and not isinstance(type_info, TypeInformation):
        expected = "one of firesteel.common.Types or firesteel.table.DataTypes"
        raise TypeError(f"Column {column!r}: the type must be {expected}, found {type_info!r}")
    return type_info


def _decimal(type_info: Any) -> tuple[int, int] | None:
    """Return precision and scale of a `DataTypes.DECIMAL`; no other type has a scale."""
    return (type_info.precision, type_info.scale) if hasattr(type_info, "scale") else None


class CsvReaderFormat(StreamFormat[Any]):
    """A stream format that reads CSV files as Rows, with each file as one split.

    The header line is skipped, and compared with the columns if headers are strict. Columns are matched by position.

    Attributes:
        schema: Columns and syntax.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("people.csv").write_text("Ann,36")
        >>> schema = CsvSchema.builder().add_string_column("name").add_number_column("age", Types.INT()).build()
        >>> source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), "people.csv").build()
        >>> _ = env.from_source(source, WatermarkStrategy.no_watermarks(), "people").collect_async()
        >>> run_local(env).elements
        [Row(name='Ann', age=36)]
    """

    def __init__(self, schema: CsvSchema) -> None:
        super().__init__("csv")
        self.schema = schema

    @property
    def produced_type(self) -> TypeInformation[Any]:
        """The type of the Rows, with the columns of the schema."""
        return self.schema.row_type

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """Return a format that reads files as Rows.

        Args:
            schema: Columns and syntax of the files.
        """
        return CsvReaderFormat(schema)


class CsvBulkWriters:
    """Factory of bulk writers of CSV files.

    Example:
        >>> from pathlib import Path
        >>> row_type = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
        >>> people = env.from_collection([Row("Ann", 36)], row_type)
        >>> schema = CsvSchema.builder().add_string_column("name").add_number_column("age", Types.INT()).build()
        >>> _ = people.sink_to(FileSink.for_bulk_format("people", CsvBulkWriters.for_schema(schema)).build())
        >>> Path(run_local(env).files[0]).read_text().splitlines()
        ['Ann,36']
    """

    @staticmethod
    def for_schema(schema: CsvSchema) -> BulkWriterFactory:
        """Return a writer factory for Rows, for `FileSink.for_bulk_format`.

        Args:
            schema: Columns and syntax of the files; the fields of the Rows are matched by position.
        """
        return BulkWriterFactory("csv", schema)
