"""Options of both sinks of tables, `kinesis` and `firehose`. Flink: `AsyncSinkConnectorOptions`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, Self

from firesteel.connectors.kinesis.properties import AWS_PROPERTIES
from firesteel.connectors.table_options import Options

SINK_OPTIONS = ("sink.batch.max-size", "sink.flush-buffer.size", "sink.fail-on-error")
UNUSED_SINK_OPTIONS = {
    "sink.flush-buffer.timeout": "records are sent at the end of each batch",
    "sink.requests.max-inflight": "a writer sends one request at a time",
    "sink.requests.max-buffered": "a writer buffers no more records than a request contains",
    "sink.http-client.max-concurrency": "a writer sends one request at a time",
    "sink.http-client.read-timeout": "boto3 has its own timeout",
    "sink.http-client.protocol.version": "boto3 decides",
}


class _Builder(Protocol):
    def set_max_batch_size(self, max_batch_size: int) -> Self: ...

    def set_max_batch_size_in_bytes(self, max_batch_size_in_bytes: int) -> Self: ...

    def set_max_record_size_in_bytes(self, max_record_size_in_bytes: int) -> Self: ...

    def set_fail_on_error(self, fail_on_error: bool) -> Self: ...


def set_limits(builder: _Builder, options: Options) -> None:
    """Give a builder the limits of requests, and what happens to rejected records."""
    if "sink.batch.max-size" in options.values:
        builder.set_max_batch_size(options.positive("sink.batch.max-size", 500))
    if "sink.flush-buffer.size" in options.values:
        size = options.positive("sink.flush-buffer.size", 1)
        builder.set_max_batch_size_in_bytes(size).set_max_record_size_in_bytes(min(size, 1000 * 1024))
    builder.set_fail_on_error(options.flag("sink.fail-on-error"))


def aws_properties(options: Options) -> Mapping[str, str]:
    """Return the properties of the client."""
    return {key: options.values[key] for key in AWS_PROPERTIES if key in options.values}
