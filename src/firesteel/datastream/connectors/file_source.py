"""Reading files: re-exported by `firesteel.datastream.connectors.file_system`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from firesteel.common.time import Duration
from firesteel.common.typeinfo import PickledBytesTypeInfo, TypeInformation, Types
from firesteel.datastream.connectors.base import Source

T = TypeVar("T")
T_out = TypeVar("T_out", covariant=True)


class StreamFormat(Generic[T_out]):
    """Reads one file record by record.

    Attributes:
        format_name: `text_line`, or what a subclass reads.
        charset_name: Of the text.
    """

    def __init__(self, format_name: str, charset_name: str = "UTF-8") -> None:
        "".encode(charset_name)  # an unknown charset fails here, not in the job
        self.format_name = format_name
        self.charset_name = charset_name

    @property
    def produced_type(self) -> TypeInformation[Any]:
        """Type of the records."""
        return Types.STRING()

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat[str]:
        """A record is a line of text, without its end."""
        return StreamFormat("text_line", charset_name)


class BulkFormat(Generic[T_out]):
    """Reads one file batch by batch.

    Attributes:
        format_name: What it reads.
    """

    def __init__(self, format_name: str) -> None:
        self.format_name = format_name

    @property
    def produced_type(self) -> TypeInformation[Any]:
        """Type of the records."""
        return PickledBytesTypeInfo()


class FileEnumeratorProvider:
    """How files become splits.

    Attributes:
        splittable: True if one file may become several splits.
    """

    def __init__(self, splittable: bool) -> None:
        self.splittable = splittable

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """All files below the paths; large ones in several splits."""
        return FileEnumeratorProvider(True)

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """All files below the paths; each is one split."""
        return FileEnumeratorProvider(False)


class FileSplitAssignerProvider:
    """Which subtask gets which split."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """Splits on the subtask's own host first, then any."""
        return FileSplitAssignerProvider()


@dataclass(frozen=True)
class FileSourceSettings:
    """What a `FileSource` reads and how.

    Attributes:
        discovery_interval: New files are looked for so often; None reads what is there and ends.
        path_filter: Returns whether to read the file at a path; None reads all files.
    """

    format: StreamFormat[Any] | BulkFormat[Any]
    paths: tuple[str, ...]
    discovery_interval: Duration | None = None
    file_enumerator: FileEnumeratorProvider | None = None
    split_assigner: FileSplitAssignerProvider | None = None
    path_filter: Callable[[str], bool] | None = None


class FileSource(Source[T_out]):
    """The records of files below some paths.

    Attributes:
        settings: What it reads and how.

    Example:
        >>> lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/data/in").build()
    """

    def __init__(self, settings: FileSourceSettings) -> None:
        super().__init__()
        self.settings = settings

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat[T], *paths: str) -> FileSourceBuilder[T]:
        """A builder for files that are read record by record."""
        return FileSourceBuilder(FileSourceSettings(stream_format, _checked(paths)))

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat[T], *paths: str) -> FileSourceBuilder[T]:
        """A builder for files that are read batch by batch."""
        return FileSourceBuilder(FileSourceSettings(bulk_format, _checked(paths)))

    @property
    def produced_type(self) -> TypeInformation[Any]:
        """Type of the elements, as the format says."""
        return self.settings.format.produced_type

    def is_bounded(self) -> bool:
        """True unless it looks for new files."""
        return self.settings.discovery_interval is None


def _checked(paths: tuple[str, ...]) -> tuple[str, ...]:
    if not paths:
        raise ValueError("FileSource needs at least one path")
    return tuple(str(path) for path in paths)


class FileSourceBuilder(Generic[T]):
    """Builds a `FileSource`."""

    def __init__(self, settings: FileSourceSettings) -> None:
        self._settings = settings

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder[T]:
        """Looks for new files so often, without end."""
        if discovery_interval.to_nanos() <= 0:
            raise ValueError(f"discovery_interval must be greater than 0, found {discovery_interval}")
        self._settings = replace(self._settings, discovery_interval=discovery_interval)
        return self

    def process_static_file_set(self) -> FileSourceBuilder[T]:
        """Reads the files that are there, then ends."""
        self._settings = replace(self._settings, discovery_interval=None)
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder[T]:
        """Sets how files become splits."""
        self._settings = replace(self._settings, file_enumerator=file_enumerator)
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder[T]:
        """Sets which subtask gets which split."""
        self._settings = replace(self._settings, split_assigner=split_assigner)
        return self

    def build(self) -> FileSource[T]:
        """The source."""
        return FileSource(self._settings)
