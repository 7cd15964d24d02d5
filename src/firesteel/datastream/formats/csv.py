"""The CSV format (module as `pyflink.datastream.formats.csv`)."""

from __future__ import annotations

from firesteel.datastream.formats.csv_rows import CsvRowDeserializationSchema, CsvRowSerializationSchema
from firesteel.datastream.formats.csv_schema import CsvBulkWriters, CsvReaderFormat, CsvSchema, CsvSchemaBuilder

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]
