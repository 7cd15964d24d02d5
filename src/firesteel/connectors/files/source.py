"""File source: re-exported by `firesteel.datastream.connectors.file_system`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from firesteel.common.checks import require
from firesteel.common.time import Duration
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.formats.stream_format import BulkFormat, StreamFormat
from firesteel.functions.connector_base import Source
from firesteel.functions.source_reading import ReadingHints, SourceEnumerator, SourceReader, SourceReaderContext

T = TypeVar("T")
T_out = TypeVar("T_out", covariant=True)


class FileEnumeratorProvider:
    """Determines how files are divided into splits.

    Attributes:
        splittable: Whether a file may be divided into several splits.

    Example:
        >>> source = (
        ...     FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/data/in")
        ...     .set_file_enumerator(FileEnumeratorProvider.default_non_splittable_file_enumerator())
        ...     .build()
        ... )
    """

    def __init__(self, splittable: bool) -> None:
        self.splittable = splittable

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Return an enumerator of all files below the paths that divides large files into several splits."""
        return FileEnumeratorProvider(True)

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Return an enumerator of all files below the paths that makes each file one split."""
        return FileEnumeratorProvider(False)


class FileSplitAssignerProvider:
    """Determines which subtask reads which split.

    Example:
        >>> source = (
        ...     FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/data/in")
        ...     .set_split_assigner(FileSplitAssignerProvider.locality_aware_split_assigner())
        ...     .build()
        ... )
    """

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """Return an assigner that prefers splits on the subtask's own host."""
        return FileSplitAssignerProvider()


@dataclass(frozen=True)
class FileSourceSettings:
    """Settings of a `FileSource`.

    Attributes:
        discovery_interval: Interval at which new files are discovered; None reads the present files and ends.
        path_filter: Returns whether to read the file at a path; None reads all files.
    """

    format: StreamFormat[Any] | BulkFormat[Any]
    paths: tuple[str, ...]
    discovery_interval: Duration | None = None
    file_enumerator: FileEnumeratorProvider | None = None
    split_assigner: FileSplitAssignerProvider | None = None
    path_filter: Callable[[str], bool] | None = None


class FileSource(Source[T_out]):
    """Reads the files below the given paths.

    Attributes:
        settings: Settings of the source.

    Example:
        >>> lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/data/in").build()
    """

    def __init__(self, settings: FileSourceSettings) -> None:
        super().__init__()
        self.settings = settings

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat[T], *paths: str) -> FileSourceBuilder[T]:
        """Return a builder of a source that reads files record by record.

        Args:
            stream_format: Format of the files.
            *paths: Files or directories, which are read recursively; hidden files are skipped.
        """
        require(stream_format, StreamFormat, "FileSource.for_record_stream_format()")
        return FileSourceBuilder(FileSourceSettings(stream_format, _checked(paths)))

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat[T], *paths: str) -> FileSourceBuilder[T]:
        """Return a builder of a source that reads files batch by batch.

        Args:
            bulk_format: Format of the files.
            *paths: Files or directories, which are read recursively; hidden files are skipped.
        """
        require(bulk_format, BulkFormat, "FileSource.for_bulk_file_format()")
        return FileSourceBuilder(FileSourceSettings(bulk_format, _checked(paths)))

    @property
    def produced_type(self) -> TypeInformation[Any]:
        """Type of the elements, as declared by the format."""
        return self.settings.format.produced_type

    reading_hints = ReadingHints(units_per_element=64, splits_at_once=16, is_in_order=True, unit="Bytes")

    def create_enumerator(self, configuration: Mapping[str, str]) -> SourceEnumerator:
        """Return the enumerator of files."""
        from firesteel.connectors.files.splits import FileEnumerator  # late, as only jobs need the readers of formats

        return FileEnumerator(self, configuration)

    def create_reader(self, context: SourceReaderContext) -> SourceReader:
        """Return the reader of a subtask."""
        from firesteel.connectors.files.splits import FileReader  # late, as only jobs need the readers of formats

        return FileReader(self, context.configuration)

    def is_bounded(self) -> bool:
        """Return whether the source does not look for new files."""
        return self.settings.discovery_interval is None


def _checked(paths: tuple[str, ...]) -> tuple[str, ...]:
    if not paths:
        raise ValueError("FileSource needs at least one path")
    return tuple(str(path) for path in paths)


class FileSourceBuilder(Generic[T]):
    """A builder of `FileSource`.

    `FileSource.for_record_stream_format` and `FileSource.for_bulk_file_format` return it.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("words.txt").write_text("to be")
        >>> source = (
        ...     FileSource.for_record_stream_format(StreamFormat.text_line_format(), "words.txt")
        ...     .process_static_file_set()
        ...     .build()
        ... )
        >>> _ = env.from_source(source, WatermarkStrategy.no_watermarks(), "words").collect_async()
        >>> run_local(env).elements
        ['to be']
    """

    def __init__(self, settings: FileSourceSettings) -> None:
        self._settings = settings

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder[T]:
        """Make the source unbounded: it looks for new files at the given interval.

        Args:
            discovery_interval: The interval, greater than 0.

        Raises:
            ValueError: the interval is not greater than 0.
        """
        require(discovery_interval, Duration, "monitor_continuously()")
        if discovery_interval.to_nanos() <= 0:
            raise ValueError(f"discovery_interval must be greater than 0, found {discovery_interval}")
        self._settings = replace(self._settings, discovery_interval=discovery_interval)
        return self

    def process_static_file_set(self) -> FileSourceBuilder[T]:
        """Make the source bounded: it reads the present files (the default)."""
        self._settings = replace(self._settings, discovery_interval=None)
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder[T]:
        """Set whether files are divided into several splits.

        Args:
            file_enumerator: One of the enumerators of `FileEnumeratorProvider`; by default large files are divided if
                their format allows it.
        """
        require(file_enumerator, FileEnumeratorProvider, "set_file_enumerator()")
        self._settings = replace(self._settings, file_enumerator=file_enumerator)
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder[T]:
        """Store the split assigner, which has no effect: there is only one.

        Args:
            split_assigner: `FileSplitAssignerProvider.locality_aware_split_assigner()`.
        """
        require(split_assigner, FileSplitAssignerProvider, "set_split_assigner()")
        self._settings = replace(self._settings, split_assigner=split_assigner)
        return self

    def build(self) -> FileSource[T]:
        """Return the source."""
        return FileSource(self._settings)
