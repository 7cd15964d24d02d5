"""Files of a table as column batches: content, partitions in the path, and metadata."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch
from firesteel.columns.values import to_arrow
from firesteel.common.files.file_systems import scheme_of
from firesteel.connectors.formats.stream_format import BulkFormat
from firesteel.connectors.formats.table_format import Format
from firesteel.connectors.formats.text_values import reader_of


@dataclass(frozen=True)
class TableFiles:
    """The columns to read from each file.

    Attributes:
        format: Reads the columns stored in files.
        columns: The requested columns: name, type, and whether it is in the path.
        metadata: Keys and types of the metadata columns after these.
        partition_keys: Names and types of all columns that are in the path.
        default_name: Represents NULL in a path.
    """

    format: Format
    columns: tuple[tuple[str, t.DataType, bool], ...]
    metadata: tuple[tuple[str, t.DataType], ...]
    partition_keys: tuple[tuple[str, t.DataType], ...]
    default_name: str

    def rows(self, blocks: Iterator[ColumnBatch], path: str, size: int, modified_ms: int) -> Iterator[list[Any]]:
        """Yield the batches of a file with all columns wanted, one at a time."""
        values = self.partition_values(path)
        places = {name: index for index, name in enumerate(self.format.columns.names)}
        facts = _facts(path, size, modified_ms)
        for block in blocks:
            arrays = [
                constant_column(values[name], kind, block.length) if is_key else block.columns[places[name]]
                for name, kind, is_key in self.columns
            ]
            arrays += [constant_column(facts[key], kind, block.length) for key, kind in self.metadata]
            yield [block.with_columns(arrays)]

    def partition_values(self, path: str) -> dict[str, Any]:
        """Return the values of the partition columns by the directories `key=value` of a path."""
        found = dict(part.split("=", 1) for part in path.split("/")[:-1] if "=" in part)
        values: dict[str, Any] = {}
        for name, kind in self.partition_keys:
            if name not in found:
                raise ValueError(f"File {path} is in no partition '{name}=...'")
            text = unquote(found[name])
            values[name] = None if text == self.default_name else reader_of(kind)(text)
        return values


@dataclass(frozen=True)
class TablePathFilter:
    """A filter of the files of a table that a query reads.

    Attributes:
        pattern: Regular expression that the whole path without its scheme must match; None for any path.
        partitions: A predicate over the partition values; None for all partitions.
        files: Reads partition values from paths.
    """

    pattern: str | None
    partitions: Callable[[dict[str, Any]], bool] | None
    files: TableFiles

    def __call__(self, path: str) -> bool:
        """Return whether to read the file at a path."""
        if self.pattern is not None:
            # Flink matches the path alone.
            plain = urlsplit(path).path if scheme_of(path) else path
            if re.fullmatch(self.pattern, plain) is None:
                return False
        return self.partitions is None or self.partitions(self.files.partition_values(path))


class ColumnsFileFormat(BulkFormat[Any]):
    """A file format that reads column batches; positions are in bytes."""

    def __init__(self, reading: TableFiles) -> None:
        super().__init__("columns")
        self.reading = reading

    @property
    def is_line_splittable(self) -> bool:
        """Whether a file can be read from any line on."""
        return self.reading.format.is_text and self.reading.format.quote is None


def _facts(path: str, size: int, modified_ms: int) -> dict[str, Any]:
    moment = datetime.datetime.fromtimestamp(modified_ms / 1000, datetime.UTC)
    return {
        "file.path": path if scheme_of(path) else f"file:{path}",
        "file.name": os.path.basename(path),
        "file.size": size,
        "file.modification-time": moment,
    }


def constant_column(value: object, kind: t.DataType, length: int) -> pa.Array:
    """Return a column of one value."""
    one = to_arrow([value], kind)
    return one.take(pa.array([0] * length, pa.int64())) if length != 1 else one
