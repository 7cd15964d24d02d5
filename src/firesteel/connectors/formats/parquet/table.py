"""Parquet files. Flink: `ParquetFileFormatFactory`."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.rex import Rex
from firesteel.columns.values import arrow_type
from firesteel.common.files.file_systems import Files
from firesteel.connectors.formats.parquet.row_groups import RowGroupFilter, is_prunable
from firesteel.connectors.formats.table_format import Columns, Format
from firesteel.connectors.table_options import Options

_BATCH_ROWS = 10_000

_COMPRESSIONS = {"uncompressed": "none", **{name: name for name in ("snappy", "gzip", "brotli", "lz4", "zstd")}}
_ONLY = {"utc-timezone": "true", "write.int64.timestamp": "true", "timestamp.time.unit": "micros"}
"""Options of Flink's about times, and what is written here: microseconds of UTC."""

_OPTIONS = ("compression", "enable.dictionary", "page.size", "dictionary.page.size", *_ONLY)
_KIB, _MIB = 1 << 10, 1 << 20


def make(columns: Columns, options: Options) -> ParquetFormat:
    """Return the format."""
    options.check((), _OPTIONS)
    for key, value in _ONLY.items():
        options.choice(key, (value,), value)
    return ParquetFormat(columns, options)


def _writing(options: Options) -> dict[str, object]:
    """Return the arguments of the writer of files."""
    return {
        "compression": _COMPRESSIONS[options.choice("compression", tuple(_COMPRESSIONS), "snappy")],
        "use_dictionary": options.flag("enable.dictionary", True),
        "data_page_size": options.positive("page.size", _MIB),
        "dictionary_pagesize_limit": options.positive("dictionary.page.size", _MIB),
    }


class ParquetFormat(Format):
    """Files of columns; columns that a file does not have are NULL.

    Attributes:
        row_groups: Chooses the row groups of a file that are read; None for all.
    """

    is_text = False
    reads_fields = True
    suffix = "parquet"

    def __init__(self, columns: Columns, options: Options) -> None:
        super().__init__(columns, options)
        self.row_groups: RowGroupFilter | None = None
        self._writing = _writing(options)

    def with_condition(self, condition: Rex | None, columns: Columns) -> ParquetFormat:
        """Return a format that leaves out row groups whose statistics exclude a condition."""
        if condition is None:
            return self
        changed = copy.copy(self)
        changed.row_groups = RowGroupFilter(condition, tuple(zip(columns.names, columns.types, strict=True)))
        return changed

    def uses_condition(self, rex: Rex) -> bool:
        """Return whether statistics of row groups may exclude a condition."""
        return is_prunable(rex)

    def rows_in_file(self, path: Path) -> float:
        """Return how many rows a local file has, which its footer says."""
        return float(pyarrow.parquet.read_metadata(path).num_rows)

    def read_file(self, path: str, files: Files) -> Iterator[ColumnBatch]:
        """Yield the rows of a file."""
        groups = None if self.row_groups is None else self.row_groups.in_file(files.input(path))
        with pyarrow.parquet.ParquetFile(files.input(path)) as parquet:
            there = parquet.schema_arrow
            pairs = zip(self.columns.names, self.columns.types, strict=True)
            found = [(name, arrow_type(kind), there.field(name).type) for name, kind in pairs if name in there.names]
            paths = [path for name, wanted, stored in found for path in _paths(name, wanted, stored)]
            for batch in parquet.iter_batches(_BATCH_ROWS, row_groups=groups, columns=paths):
                yield self._batch(batch)

    def write_file(self, file: IO[bytes], batches: Iterable[ColumnBatch]) -> None:
        """Write the rows of batches, with one row group per batch."""
        schema = pa.schema(list(zip(self.columns.names, map(arrow_type, self.columns.types), strict=True)))
        with pyarrow.parquet.ParquetWriter(file, schema, **self._writing) as writer:
            for batch in batches:
                writer.write_batch(pa.RecordBatch.from_arrays(list(batch.columns), schema=schema))

    def _batch(self, batch: pa.RecordBatch) -> ColumnBatch:
        there = set(batch.schema.names)
        arrays = []
        for name, kind in zip(self.columns.names, self.columns.types, strict=True):
            wanted = arrow_type(kind)
            arrays.append(_converted(batch.column(name), wanted) if name in there else pa.nulls(batch.num_rows, wanted))
        return ColumnBatch(tuple(arrays), batch.num_rows)


def _paths(name: str, wanted: pa.DataType, stored: pa.DataType) -> list[str]:
    """Return the paths of the parts of a column to read: the wanted fields of a row, if it has all of them."""
    if not (pa.types.is_struct(wanted) and pa.types.is_struct(stored)):
        return [name]
    fields = {field.name: field.type for field in stored}
    if not all(field.name in fields and "." not in field.name for field in wanted):
        return [name]
    return [path for field in wanted for path in _paths(f"{name}.{field.name}", field.type, fields[field.name])]


def _converted(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    if array.type == wanted:
        return array
    if pa.types.is_timestamp(wanted) and pa.types.is_timestamp(array.type) and array.type.tz and not wanted.tz:
        array = array.cast(pa.timestamp(array.type.unit, "UTC")).cast(pa.int64()).cast(pa.timestamp(array.type.unit))
    return array.cast(wanted, safe=False)
