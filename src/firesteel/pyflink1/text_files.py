"""Methods of the environment and of streams for text files."""

from __future__ import annotations

from typing import Any

from firesteel.common.serialization import Encoder
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.files.sink import FileSink
from firesteel.connectors.files.sink_settings import BucketAssigner
from firesteel.connectors.files.source import FileSource
from firesteel.connectors.formats.stream_format import StreamFormat
from firesteel.datastream.data_stream import DataStream
from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
from firesteel.datastream.streams.stream_base import DataStreamSink
from firesteel.pyflink1.removed import Removed, note

_SOURCE = "from_source() with FileSource.for_record_stream_format(StreamFormat.text_line_format(), path).build()"
_SINK = "sink_to() with FileSink.for_row_format(path, Encoder.simple_string_encoder()).build()"


def read_text_file(self: StreamExecutionEnvironment, file_path: str, charset_name: str = "UTF-8") -> DataStream[Any]:
    """Return a stream of the lines of a file, or of the files of a directory."""
    note("read_text_file()", _SOURCE)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(charset_name), file_path).build()
    return self.from_source(source, WatermarkStrategy.no_watermarks(), "Custom File source")


def write_as_text(self: DataStream[Any], path: str) -> DataStreamSink:
    """Write each element as a line of text.

    Differences to Flink 1: `path` is always a directory, and each line is written exactly once.
    """
    note("write_as_text()", _SINK)
    builder = FileSink.for_row_format(path, Encoder.simple_string_encoder())
    return self.sink_to(builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())


REMOVED = (
    Removed(("datastream.StreamExecutionEnvironment",), "read_text_file", read_text_file, _SOURCE),
    Removed(("datastream.DataStream",), "write_as_text", write_as_text, _SINK),
)
