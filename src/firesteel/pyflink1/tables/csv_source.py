"""`CsvTableSource` (as `pyflink.table.sources`)."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.pyflink1.removed import Removed, note
from firesteel.pyflink1.tables.legacy_csv import csv_options
from firesteel.table.schema import Schema
from firesteel.table.table_descriptor import TableDescriptor
from firesteel.table.types import DataType

__all__ = ["CsvTableSource", "TableSource"]

_INSTEAD = "TableDescriptor.for_connector('filesystem') with the format csv"


class TableSource:
    """A table that is described by an object.

    Attributes:
        descriptor: The table in today's form.
    """

    def __init__(self, descriptor: TableDescriptor) -> None:
        self.descriptor = descriptor


class CsvTableSource(TableSource):
    """A table of CSV files.

    Args:
        source_path: A file, or a directory of files.
        field_names: The names of the columns.
        field_types: Their types.
        field_delim: The delimiter of fields.
        line_delim: The end of lines; only a line feed is possible.
        quote_character: The quote around fields; None for none.
        ignore_first_line: Whether the first line of each file is a header.
        ignore_comments: The beginning of comments; only `#` is possible.
        lenient: Whether to skip lines that cannot be parsed.

    Raises:
        NotImplementedError: an argument has another value.
    """

    def __init__(
        self,
        source_path: str,
        field_names: Sequence[str],
        field_types: Sequence[DataType],
        field_delim: str | None = None,
        line_delim: str | None = None,
        quote_character: str | None = None,
        ignore_first_line: bool | None = None,
        ignore_comments: str | None = None,
        lenient: bool | None = None,
    ) -> None:
        note("CsvTableSource", _INSTEAD)
        options = csv_options(
            field_delimiter=field_delim,
            line_delimiter=line_delim,
            quote_character=quote_character,
            ignore_first_line=ignore_first_line,
            comment_prefix=ignore_comments,
            ignore_parse_errors=lenient,
        )
        schema = Schema.new_builder().from_fields(list(field_names), list(field_types)).build()
        files = {"connector": "filesystem", "path": source_path, "format": "csv"}
        super().__init__(TableDescriptor(schema, {**files, **options}))


_PLACES = ("table",)
REMOVED = (
    Removed(_PLACES, "CsvTableSource", CsvTableSource, _INSTEAD),
    Removed(_PLACES, "TableSource", TableSource, _INSTEAD),
)
