"""The CSV format (module as `pyflink.datastream.formats.csv`)."""

from __future__ import annotations

from firesteel.connectors.formats.csv.file_schema import CsvBulkWriters, CsvReaderFormat, CsvSchema, CsvSchemaBuilder
from firesteel.connectors.formats.csv.schemas import CsvRowDeserializationSchema, CsvRowSerializationSchema

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]
