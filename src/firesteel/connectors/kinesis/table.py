"""The connectors `kinesis` and `kinesis-legacy`. Flink: `KinesisDynamicTableFactory`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.columns.batch import Kind
from firesteel.common.table_errors import ValidationException
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.key_texts import KeyTexts
from firesteel.connectors.kinesis import properties as p
from firesteel.connectors.kinesis.columns import METADATA, DataOfPair, KinesisColumns, RecordSink, key_of_pair
from firesteel.connectors.kinesis.sink import KinesisStreamsSink, PartitionKeyGenerator
from firesteel.connectors.kinesis.sink_options import SINK_OPTIONS, UNUSED_SINK_OPTIONS, aws_properties, set_limits
from firesteel.connectors.kinesis.source import KinesisSource, KinesisSourceSettings
from firesteel.connectors.option_table import OptionTable, message_format
from firesteel.connectors.table_connector import Ability, ResolvedTable, ScanRequest, SinkRequest
from firesteel.connectors.table_options import Options
from firesteel.connectors.table_registry import ConnectorContext
from firesteel.errors import InvalidProgramError

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
    from firesteel.datastream.streams.stream_base import DataStreamSink

_PARTITIONER, _DELIMITER = "sink.partitioner", "sink.partitioner-field-delimiter"
_SOURCE = {
    "source.init.position": p.INITIAL_POSITION,
    "source.init.timestamp": p.INITIAL_TIMESTAMP,
    "source.shard.get-records.max-record-count": p.MOST_RECORDS,
    "source.reader.empty-records-fetch-interval": p.POLLING_INTERVAL,
    "source.shard.discovery.interval": p.DISCOVERY_INTERVAL,
}
"""Properties of the consumer by option, as of Flink's connector 5."""

_LEGACY_SOURCE = {
    "scan.stream.initpos": p.INITIAL_POSITION,
    "scan.stream.initpos-timestamp": p.INITIAL_TIMESTAMP,
    "scan.shard.getrecords.maxrecordcount": p.MOST_RECORDS,
    "scan.shard.getrecords.intervalmillis": p.POLLING_INTERVAL,
    "scan.shard.discovery.intervalmillis": p.DISCOVERY_INTERVAL,
}
"""Properties of the consumer by option, up to Flink's connector 4."""

_DURATIONS = ("source.reader.empty-records-fetch-interval", "source.shard.discovery.interval")
_FORMAT = "times are seconds since 1970, or written as in ISO 8601"
_UNUSED = {**UNUSED_SINK_OPTIONS, "source.reader.nonempty-records-fetch-interval": "shards are read in batches"}
_NO_FAN_OUT = "there is no enhanced fan-out"
_REFUSED = {
    **p.REFUSED_PROPERTIES,
    "source.init.timestamp.format": _FORMAT,
    "scan.stream.initpos-timestamp-format": _FORMAT,
    **dict.fromkeys(
        (f"source.efo.{name}" for name in ("consumer.name", "lifecycle", "subscription.timeout",
         *(f"describe.retry-strategy.{part}" for part in ("attempts.max", "delay.max", "delay.min")))),
        _NO_FAN_OUT,
    ),
    **dict.fromkeys(("scan.stream.recordpublisher", "scan.stream.efo.consumername"), _NO_FAN_OUT),
}  # fmt: skip
_READER = "source.reader.type"
_BOTH = OptionTable(
    required=(),
    optional=("stream", "stream.arn", *p.AWS_PROPERTIES, *_SOURCE, *_LEGACY_SOURCE, _READER, _PARTITIONER, _DELIMITER,
              *SINK_OPTIONS),
    unused=_UNUSED,
    refused=_REFUSED,
    formats=("format",),
)  # fmt: skip

OPTIONS = {"kinesis": _BOTH, "kinesis-legacy": _BOTH}


def source(table: ResolvedTable, context: ConnectorContext) -> KinesisTable:
    """Return the source that reads a stream."""
    return KinesisTable(table)


def sink(table: ResolvedTable, request: SinkRequest, context: ConnectorContext) -> KinesisTable:
    """Return the sink that writes a stream."""
    found = KinesisTable(table)
    found.check_sink()
    return found


class KinesisTable:
    """A stream of Kinesis with data in a format; a source and a sink.

    Attributes:
        kinds: The kinds of rows that are read.
        has_watermarks_per_split: Whether each shard has its own watermark.
    """

    abilities = frozenset({Ability.PARTITIONING})

    metadata = METADATA

    is_bounded = False
    has_watermarks_per_split = True

    def __init__(self, table: ResolvedTable) -> None:
        self._table = table
        name = table.options["connector"]
        self._options = OPTIONS[name].read(table.options, name)
        self._stream = _stream(self._options)
        self._value = message_format(self._options, table.physical_columns)
        self.kinds: frozenset[Kind] = self._value.kinds

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> Batches:
        """Return the stream of column batches."""
        names = [column.name for column in self._table.physical_columns]
        places = tuple(names.index(column.name) for column in request.columns)
        schema = KinesisColumns(self._value, places, request.metadata)
        source = KinesisSource(KinesisSourceSettings((self._stream,), schema, self._properties()))
        return environment.from_source(source, request.watermarks or WatermarkStrategy.no_watermarks(), name)

    def _properties(self) -> dict[str, str]:
        options = self._options
        options.choice(_READER, ("polling",), "polling")
        found = dict(aws_properties(options))
        for option, key in {**_SOURCE, **_LEGACY_SOURCE}.items():
            if option in options.values:
                found[key] = _value(options, option)
        try:
            checked = p.checked(found, self._options.owner)
            p.initial_time_ms(checked, 0)
        except InvalidProgramError as error:
            raise ValidationException(str(error)) from error
        return checked

    # --- writing -----------------------------------------------------------------------------------------------------

    def check_sink(self) -> None:
        """Check the options that matter to sinks only.

        Raises:
            ValidationException: an option is invalid, or contradicts PARTITIONED BY.
        """
        self._value.check_sink()
        self._sink()

    def accepts(self, kinds: frozenset[Kind]) -> frozenset[Kind]:
        """Return the kinds that the format writes."""
        return self._value.kinds

    def consume(self, stream: Batches, name: str) -> DataStreamSink:
        """Write the column batches."""
        return stream.sink_to(self._sink()).name(name)

    def _sink(self) -> RecordSink:
        options, keys = self._options, self._keys()
        builder = KinesisStreamsSink.builder().set_stream_name(self._stream).set_serialization_schema(DataOfPair())
        builder.set_partition_key_generator(key_of_pair if keys is not None else self._generator())
        set_limits(builder, options)
        try:
            made = builder.set_kinesis_client_properties(aws_properties(options)).build()
        except InvalidProgramError as error:
            raise ValidationException(str(error)) from error
        return RecordSink(made, self._value, keys)

    def _keys(self) -> KeyTexts | None:
        by = self._table.partition_keys
        if not by:
            if _DELIMITER in self._options.values:
                raise ValidationException(f"'{_DELIMITER}' needs a table with PARTITIONED BY")
            return None
        if _PARTITIONER in self._options.values:
            raise ValidationException(f"Cannot set '{_PARTITIONER}' for a table with PARTITIONED BY ({', '.join(by)})")
        return KeyTexts.of(self._table.physical_columns, by, self._options.text(_DELIMITER, "|"))

    def _generator(self) -> PartitionKeyGenerator:
        name = self._options.choice(_PARTITIONER, ("random", "fixed"), "random")
        return PartitionKeyGenerator.fixed() if name == "fixed" else PartitionKeyGenerator.random()


def _stream(options: Options) -> str:
    given = [key for key in ("stream", "stream.arn") if key in options.values]
    if len(given) != 1:
        raise ValidationException(f"Either 'stream' or 'stream.arn' must be set, found {given or 'none of them'}")
    return options.text(given[0])


def _value(options: Options, option: str) -> str:
    if option in _DURATIONS:
        return str(options.duration_ms(option))
    if {**_SOURCE, **_LEGACY_SOURCE}[option] in (p.MOST_RECORDS, p.POLLING_INTERVAL, p.DISCOVERY_INTERVAL):
        return str(options.positive(option, 1))
    return options.text(option)
