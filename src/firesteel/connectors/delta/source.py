"""The source of Delta tables: a split is a data file. Flink: `DeltaSource`, of Delta's connector for Flink."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from firesteel.columns.batch import ColumnBatch
from firesteel.common.files.file_systems import join, scheme_of
from firesteel.connectors.data_file_source import DataFileSource
from firesteel.connectors.delta.address import DeltaAddress
from firesteel.connectors.delta.versions import DataFile, Versions, data_files
from firesteel.connectors.files.table_paths import constant_column
from firesteel.connectors.formats.table_format import Columns, make_format
from firesteel.connectors.formats.text_values import reader_of
from firesteel.connectors.table_connector import Column, ResolvedTable, ScanRequest
from firesteel.connectors.table_options import Options
from firesteel.functions.source_reading import SourceEnumerator, SourceReader, SourceReaderContext


class DeltaSource(DataFileSource[DataFile]):
    """Reads data files as column batches.

    Args:
        address: The Delta table.
        versions: The versions to read.
        table: The table as it was declared.
        request: The columns to read, and what a filter leaves.
        monitor_ms: Interval in ms at which new versions are discovered; None reads the present ones and ends.
    """

    def __init__(
        self,
        address: DeltaAddress,
        versions: Versions,
        table: ResolvedTable,
        request: ScanRequest,
        monitor_ms: int | None,
    ) -> None:
        super().__init__(f"Delta table {address}", monitor_ms)
        self._address = address
        self._versions = versions
        self._request = request
        self._keys = {c.name: c.type for c in table.physical_columns if c.name in table.partition_keys}
        self._parquet = make_format("parquet", _columns(self._stored(table)), Options({}, "parquet"), "files")
        self._parquet = self._parquet.with_condition(request.condition, _columns(table.physical_columns))
        self._last: int | None = None

    def __getstate__(self) -> dict[str, object]:
        return {**super().__getstate__(), "_last": None}

    def _stored(self, table: ResolvedTable) -> tuple[Column, ...]:
        """Return the columns to read from files, at least one, as they tell how many rows there are."""
        wanted = tuple(c for c in self._request.columns if c.name not in self._keys)
        return wanted or tuple(c for c in table.physical_columns if c.name not in self._keys)[:1]

    def create_enumerator(self, configuration: Mapping[str, str]) -> SourceEnumerator:
        """Return the enumerator of data files."""
        self._address = self._address.with_configuration(configuration)
        return super().create_enumerator(configuration)

    def create_reader(self, context: SourceReaderContext) -> SourceReader:
        """Return the reader of a subtask."""
        self._address = self._address.with_configuration(context.configuration)
        return super().create_reader(context)

    def new_files(self) -> Mapping[str, DataFile]:
        """Return the files of the first version and of later ones, apart from those of other partitions."""
        found = list(self._whole()) if self._last is None else []
        if self._versions.after is not None:
            last = self._versions.after if self._last is None else self._last
            self._last = self._address.opened().version()
            for version in range(last + 1, self._last + 1):
                found += self._versions.files_added(version, self._address.files, self._address.path)
        return {file.path: file for file in found if self._is_wanted(file)}

    def _whole(self) -> Iterator[DataFile]:
        if self._versions.whole is not None:
            yield from data_files(self._address.opened(self._versions.whole))

    def _is_wanted(self, file: DataFile) -> bool:
        return self._request.partitions is None or self._request.partitions(self._partition(file))

    def _partition(self, file: DataFile) -> dict[str, object]:
        texts = {name: file.partition.get(name) for name in self._keys}
        return {name: reader_of(self._keys[name])(text) if text else None for name, text in texts.items()}

    def read_file(self, file: DataFile) -> Iterator[ColumnBatch]:
        """Yield the rows of a data file."""
        # In Delta's log paths are URIs.
        path, values = unquote(file.path), self._partition(file)
        path = path if scheme_of(path) or path.startswith("/") else join(self._address.path, path)
        places = {name: place for place, name in enumerate(self._parquet.columns.names)}
        for block in self._parquet.read_file(path, self._address.files):
            yield block.with_columns(
                [
                    constant_column(values[c.name], c.type, block.length)
                    if c.name in values
                    else block.columns[places[c.name]]
                    for c in self._request.columns
                ]
            )


def _columns(columns: tuple[Column, ...]) -> Columns:
    return Columns(tuple(c.name for c in columns), tuple(c.type for c in columns))
