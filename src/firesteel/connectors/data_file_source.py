"""The base of sources whose splits are the data files of a table format."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from firesteel.columns.batch import ColumnBatch
from firesteel.functions.connector_base import Source, SourceSplit
from firesteel.functions.source_reading import ReadingHints

T_file = TypeVar("T_file")


class DataFileSource(Source[ColumnBatch], Generic[T_file]):
    """Reads data files as column batches.

    Each split is one data file, which is read as a whole. The id of a split is the path of its file, so that an
    unbounded source recognises files that it has read.

    Args:
        name: The table, for messages.
        monitor_ms: Interval in ms at which new versions are discovered; None reads the present files and ends.
    """

    reading_hints = ReadingHints(first_elements=64)  # A position is a file.

    def __init__(self, name: str, monitor_ms: int | None) -> None:
        super().__init__()
        self._name = name
        self._is_bounded = monitor_ms is None
        self.discovery_interval_ms = monitor_ms or 0
        self._files: dict[str, T_file] = {}

    def __getstate__(self) -> dict[str, object]:
        # Readers find the files anew: of a large table they would make each task's description megabytes.
        return {**self.__dict__, "_files": {}}

    def is_bounded(self) -> bool:
        """Return whether the source does not look for new versions."""
        return self._is_bounded

    @abstractmethod
    def new_files(self) -> Mapping[str, T_file]:
        """Return the files of the versions since the last call, by their paths."""

    @abstractmethod
    def read_file(self, file: T_file) -> Iterator[ColumnBatch]:
        """Yield the rows of a file."""

    def discover_splits(self) -> Sequence[SourceSplit]:
        """Return a split for each data file."""
        self._files.update(self.new_files())
        finished = not self._is_bounded
        return [SourceSplit(path, 1, is_finished=finished) for path in sorted(self._files)]

    def read_split(self, split_id: str, start: int, end: int) -> Iterator[ColumnBatch]:
        """Yield the rows of a data file.

        Raises:
            FileNotFoundError: the version with the file is gone.
        """
        if split_id not in self._files:
            self._files.update(self.new_files())
        if split_id not in self._files:
            raise FileNotFoundError(f"data file {split_id} is in no version of the table {self._name}")
        yield from self.read_file(self._files[split_id])
