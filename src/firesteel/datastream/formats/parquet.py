"""The Parquet format (module as `pyflink.datastream.formats.parquet`), implemented with pyarrow."""

from __future__ import annotations

from firesteel.connectors.formats.parquet.schemas import (
    AvroParquetReaders,
    AvroParquetWriters,
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)

__all__ = ["AvroParquetReaders", "AvroParquetWriters", "ParquetBulkWriters", "ParquetColumnarRowInputFormat"]
