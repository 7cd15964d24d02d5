"""Parquet files. Flink: `ParquetFileFormatFactory`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.values import arrow_type
from firesteel.table.connectors.formats.base import Columns, Format
from firesteel.table.connectors.options import Options

_BATCH_ROWS = 10_000


def make(columns: Columns, options: Options) -> ParquetFormat:
    """Return the format; options of Parquet's own are accepted as they are."""
    return ParquetFormat(columns, options)


class ParquetFormat(Format):
    """Files of columns; columns that a file does not have are NULL."""

    is_text = False

    def __init__(self, columns: Columns, options: Options) -> None:
        super().__init__(columns, options)
        self.compression = options.text("compression", "snappy").lower()

    def read_file(self, path: str, files: Any) -> Iterator[ColumnBatch]:
        """Yield the rows of a file."""
        with pyarrow.parquet.ParquetFile(files.input(path)) as parquet:
            there = set(parquet.schema_arrow.names)
            names = [name for name in self.columns.names if name in there]
            for batch in parquet.iter_batches(_BATCH_ROWS, columns=names):
                yield self._batch(batch)

    def _batch(self, batch: Any) -> ColumnBatch:
        there = set(batch.schema.names)
        arrays = []
        for name, kind in zip(self.columns.names, self.columns.types, strict=True):
            wanted = arrow_type(kind)
            arrays.append(_converted(batch.column(name), wanted) if name in there else pa.nulls(batch.num_rows, wanted))
        return ColumnBatch(tuple(arrays), batch.num_rows)


def _converted(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    if array.type == wanted:
        return array
    if pa.types.is_timestamp(wanted) and pa.types.is_timestamp(array.type) and array.type.tz and not wanted.tz:
        array = array.cast(pa.timestamp(array.type.unit, "UTC")).cast(pa.int64()).cast(pa.timestamp(array.type.unit))
    return array.cast(wanted, safe=False)
