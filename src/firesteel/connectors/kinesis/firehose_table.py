"""The connector `firehose`. Flink: `KinesisFirehoseDynamicTableFactory`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.columns.batch import Kind
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.kinesis.columns import DataOfPair, RecordSink
from firesteel.connectors.kinesis.properties import AWS_PROPERTIES, REFUSED_PROPERTIES, REGION
from firesteel.connectors.kinesis.sink import KinesisFirehoseSink
from firesteel.connectors.kinesis.sink_options import SINK_OPTIONS, UNUSED_SINK_OPTIONS, aws_properties, set_limits
from firesteel.connectors.option_table import OptionTable, message_format
from firesteel.connectors.table_connector import ResolvedTable, SinkRequest
from firesteel.connectors.table_registry import ConnectorContext
from firesteel.errors import InvalidProgramError

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.streams.stream_base import DataStreamSink

OPTIONS = {
    "firehose": OptionTable(
        required=("delivery-stream", REGION),
        optional=(*AWS_PROPERTIES, *SINK_OPTIONS),
        unused=UNUSED_SINK_OPTIONS,
        refused=REFUSED_PROPERTIES,
        formats=("format",),
    )
}


def sink(table: ResolvedTable, request: SinkRequest, context: ConnectorContext) -> FirehoseTable:
    """Return the sink that writes a delivery stream."""
    return FirehoseTable(table)


class FirehoseTable:
    """A delivery stream of Firehose: a record per row."""

    def __init__(self, table: ResolvedTable) -> None:
        options = OPTIONS["firehose"].read(table.options, "firehose")
        self._value = message_format(options, table.physical_columns)
        self._value.check_sink()
        builder = KinesisFirehoseSink.builder().set_delivery_stream_name(options.text("delivery-stream"))
        set_limits(builder, options)
        try:
            builder.set_firehose_client_properties(aws_properties(options)).set_serialization_schema(DataOfPair())
            self._sink = builder.build()
        except InvalidProgramError as error:
            raise ValidationException(str(error)) from error

    def accepts(self, kinds: frozenset[Kind]) -> frozenset[Kind]:
        """Return the kinds that the format writes."""
        return self._value.kinds

    def consume(self, stream: Batches, name: str) -> DataStreamSink:
        """Write the column batches."""
        return stream.sink_to(RecordSink(self._sink, self._value)).name(name)
