"""File source and file sinks (module as `pyflink.datastream.connectors.file_system`)."""

from __future__ import annotations

from firesteel.connectors.files.sink import FileSink, StreamingFileSink
from firesteel.connectors.files.sink_settings import (
    BucketAssigner,
    DefaultRollingPolicy,
    FileCompactor,
    FileCompactStrategy,
    FileSinkSettings,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)
from firesteel.connectors.files.source import (
    FileEnumeratorProvider,
    FileSource,
    FileSourceBuilder,
    FileSourceSettings,
    FileSplitAssignerProvider,
)
from firesteel.connectors.formats.stream_format import BulkFormat, StreamFormat

__all__ = [
    "BucketAssigner",
    "BulkFormat",
    "DefaultRollingPolicy",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSinkSettings",
    "FileSource",
    "FileSourceBuilder",
    "FileSourceSettings",
    "FileSplitAssignerProvider",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "RollingPolicy",
    "StreamFormat",
    "StreamingFileSink",
]
