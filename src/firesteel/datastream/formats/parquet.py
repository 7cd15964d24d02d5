"""Rows as Parquet files (module as `pyflink.datastream.formats.parquet`), by pyarrow and not by Java's writer."""

from __future__ import annotations

from firesteel.common.serialization import RowDataBulkWriterFactory
from firesteel.common.typeinfo import RowTypeInfo

__all__ = ["ParquetBulkWriters"]


class ParquetBulkWriters:
    """Writes Parquet files from Rows."""

    @staticmethod
    def for_row_type(row_type: RowTypeInfo) -> RowDataBulkWriterFactory:
        """Writes files with a column per field, for `FileSink.for_bulk_format`.

        Differs from PyFlink in that the type is a `Types.ROW_NAMED`, as there is no Table API, and in that there are no
        settings of Hadoop. Decimals have 38 digits, 18 of them behind the point.

        Raises:
            TypeError: it is no row type.

        Example:
            >>> row_type = Types.ROW_NAMED(["word", "total"], [Types.STRING(), Types.INT()])
            >>> sink = FileSink.for_bulk_format("/data/out", ParquetBulkWriters.for_row_type(row_type)).build()
        """
        if not isinstance(row_type, RowTypeInfo):
            raise TypeError(f"ParquetBulkWriters.for_row_type takes a Types.ROW_NAMED, found {row_type!r}")
        return RowDataBulkWriterFactory("parquet", row_type, row_type)
