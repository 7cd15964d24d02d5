"""The Parquet format (module as `pyflink.datastream.formats.parquet`), implemented with pyarrow."""

from __future__ import annotations

import json
from typing import Any

from firesteel.columns.column_type_information import type_info_of
from firesteel.columns.column_types import RowType
from firesteel.common.configuration import Configuration
from firesteel.common.serialization import BulkWriterFactory, RowDataBulkWriterFactory
from firesteel.common.typeinfo import (
    BasicTypeInfo,
    DateTypeInfo,
    LocalTimeTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
from firesteel.common.types import Row
from firesteel.connectors.formats.avro.schemas import AvroSchema, GenericRecordAvroTypeInfo
from firesteel.connectors.formats.avro.type_parts import avro_type
from firesteel.connectors.formats.parquet.orc import fields_of
from firesteel.connectors.formats.stream_format import BulkFormat, StreamFormat

__all__ = ["AvroParquetReaders", "AvroParquetWriters", "ParquetBulkWriters", "ParquetColumnarRowInputFormat"]

_PRIMITIVE = (
    BasicTypeInfo,
    DateTypeInfo,
    LocalTimeTypeInfo,
    PrimitiveArrayTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)


class ParquetColumnarRowInputFormat(BulkFormat[Row]):
    """Reads Parquet files as Rows, with each file as one split, for `FileSource.for_bulk_file_format`.

    Differences to PyFlink: `hadoop_config` has no effect.

    Args:
        row_type: The columns to read, of primitive types: a `DataTypes.ROW`, or a `Types.ROW_NAMED` as PyFlink does not
            take. Columns that a file does not have are null.
        hadoop_config: Ignored.
        batch_size: Number of rows read at once.
        is_utc_timestamp: Whether timestamps with a time zone are read in UTC rather than in the local time zone.
        is_case_sensitive: Whether the names of columns and fields are compared case-sensitively.

    Raises:
        TypeError: `row_type` is not a row type of primitive types.

    Example:
        >>> row_type = Types.ROW_NAMED(["word", "total"], [Types.STRING(), Types.INT()])
        >>> source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(row_type), "/data/in").build()
    """

    def __init__(
        self,
        row_type: RowTypeInfo | RowType,
        hadoop_config: Configuration | None = None,
        batch_size: int = 2048,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
    ) -> None:
        super().__init__("parquet")
        found = type_info_of(row_type) if isinstance(row_type, RowType) else row_type
        if not isinstance(found, RowTypeInfo) or not all(
            isinstance(field, _PRIMITIVE) for field in found.get_field_types()
        ):
            raise TypeError(
                "ParquetColumnarRowInputFormat takes a DataTypes.ROW or a Types.ROW_NAMED of primitive types, found "
                f"{row_type!r}"
            )
        self.row_type = found
        self.batch_size = batch_size
        self.is_utc_timestamp = is_utc_timestamp
        self.is_case_sensitive = is_case_sensitive

    @property
    def produced_type(self) -> TypeInformation[Any]:
        """The type of the rows."""
        return self.row_type


class AvroParquetFormat(StreamFormat[Any]):
    """A stream format that reads Parquet files as records of an Avro schema."""

    def __init__(self, schema: AvroSchema) -> None:
        super().__init__("parquet_records")
        self.schema = schema

    @property
    def produced_type(self) -> TypeInformation[Any]:
        """The type of the records."""
        return GenericRecordAvroTypeInfo(self.schema)

    @property
    def names(self) -> list[str]:
        """Names of the fields."""
        return [field["name"] for field in json.loads(self.schema.json_schema)["fields"]]


class AvroParquetReaders:
    """Factory of formats that read Parquet files as dicts.

    Example:
        >>> schema = AvroSchema.parse_string(
        ...     '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
        ... )
        >>> reader = AvroParquetReaders.for_generic_record(schema)
        >>> source = FileSource.for_record_stream_format(reader, "/data/in").build()
    """

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> StreamFormat[Any]:
        """Return a format that reads dicts, for `FileSource.for_record_stream_format`.

        Args:
            schema: A record schema, whose fields are the columns to read.
        """
        return AvroParquetFormat(schema)


class AvroParquetWriters:
    """Factory of bulk writers of Parquet files from dicts.

    Example:
        >>> schema = AvroSchema.parse_string(
        ...     '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
        ... )
        >>> sink = FileSink.for_bulk_format("/data/out", AvroParquetWriters.for_generic_record(schema)).build()
    """

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Return a writer factory for dicts, for `FileSink.for_bulk_format`.

        Args:
            schema: A record schema, whose fields are the columns of the files.

        Raises:
            ValueError: the schema has a type that is not supported.
        """
        return BulkWriterFactory("parquet", avro_type(json.loads(schema.json_schema)))


class ParquetBulkWriters:
    """Factory of bulk writers of Parquet files from Rows."""

    @staticmethod
    def for_row_type(
        row_type: RowTypeInfo | RowType, hadoop_config: Configuration | None = None, utc_timestamp: bool = False
    ) -> RowDataBulkWriterFactory:
        """Return a writer factory for files with one column per field, for `FileSink.for_bulk_format`.

        Differences to PyFlink: `hadoop_config` has no effect, and timestamps are written without a time zone,
        regardless of `utc_timestamp`. Decimals of a `Types.ROW_NAMED` have 38 digits, 18 of them after the decimal
        point.

        Args:
            row_type: Names and types of the fields: a `DataTypes.ROW`, or a `Types.ROW_NAMED` as PyFlink does not take.
            hadoop_config: Has no effect.
            utc_timestamp: Has no effect.

        Raises:
            TypeError: `row_type` is not a row type.

        Example:
            >>> row_type = Types.ROW_NAMED(["word", "total"], [Types.STRING(), Types.INT()])
            >>> sink = FileSink.for_bulk_format("/data/out", ParquetBulkWriters.for_row_type(row_type)).build()
        """
        fields_of(row_type, "ParquetBulkWriters.for_row_type")
        return RowDataBulkWriterFactory("parquet", row_type, row_type)
