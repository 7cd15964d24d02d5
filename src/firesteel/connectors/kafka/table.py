"""The connector `kafka`. Flink: `KafkaDynamicTableFactory`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from firesteel.columns.batch import Kind
from firesteel.columns.column_types import DataType
from firesteel.common.table_errors import ValidationException
from firesteel.common.time import Duration
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.formats.table_format import Columns, Format, make_format
from firesteel.connectors.kafka.columns import METADATA, WRITABLE, ColumnsToKafka, KafkaColumns, RecordTarget
from firesteel.connectors.kafka.sink import KafkaSink
from firesteel.connectors.kafka.source import KafkaSource
from firesteel.connectors.kafka.source_settings import KafkaOffsetResetStrategy as Reset
from firesteel.connectors.kafka.source_settings import KafkaOffsetsInitializer, KafkaTopicPartition
from firesteel.connectors.option_table import OptionTable
from firesteel.connectors.table_connector import INSERT_ONLY, UPSERT, Column, ResolvedTable, ScanRequest, SinkRequest
from firesteel.connectors.table_registry import ConnectorContext
from firesteel.functions.connector_base import DeliveryGuarantee

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
    from firesteel.datastream.streams.stream_base import DataStreamSink

_SERVERS = ("properties.bootstrap.servers",)
_OPTIONS = (
    "topic",
    "topic-pattern",
    "value.format",
    "key.format",
    "key.fields-prefix",
    "value.fields-include",
    "scan.bounded.mode",
    "scan.bounded.specific-offsets",
    "scan.bounded.timestamp-millis",
    "scan.topic-partition-discovery.interval",
    "scan.watermark.alignment.group",
    "scan.watermark.alignment.max-drift",
    "scan.watermark.alignment.update-interval",
    "scan.watermark.emit.strategy",
    "scan.watermark.idle-timeout",
    "sink.delivery-guarantee",
    "sink.transactional-id-prefix",
)
_OF_KAFKA = (
    "format",
    "key.fields",
    "scan.startup.mode",
    "scan.startup.specific-offsets",
    "scan.startup.timestamp-millis",
    "sink.partitioner",
)
_UNUSED = {"sink.transaction-naming-strategy": "a writer has one transactional id"}
_MAX_ROWS, _INTERVAL = "sink.buffer-flush.max-rows", "sink.buffer-flush.interval"
OPTIONS = {
    "kafka": OptionTable(
        _SERVERS,
        (*_OPTIONS, *_OF_KAFKA),
        ("properties.",),
        _UNUSED,
        {"sink.semantic": "use 'sink.delivery-guarantee'"},
    ),
    "upsert-kafka": OptionTable(_SERVERS, (*_OPTIONS, _MAX_ROWS, _INTERVAL), ("properties.",), _UNUSED),
}
_WITH_SUBJECTS = ("avro-confluent", "debezium-avro-confluent", "json-confluent", "protobuf-confluent")
"""Formats with an option `subject`, whose default depends on the topic."""

_OF_VALUE = "value."
"""Prefix of metadata of the format of values."""

_MAX_DRIFT = "scan.watermark.alignment.max-drift"
_STARTS = ("earliest-offset", "latest-offset", "group-offsets", "timestamp", "specific-offsets")
_ENDS = ("latest-offset", "group-offsets", "timestamp", "specific-offsets")
_GUARANTEES = {
    "none": DeliveryGuarantee.NONE,
    "at-least-once": DeliveryGuarantee.AT_LEAST_ONCE,
    "exactly-once": DeliveryGuarantee.EXACTLY_ONCE,
}


def source(table: ResolvedTable, context: ConnectorContext) -> KafkaTable:
    """Return the source that reads a topic."""
    return KafkaTable(table, False)


def sink(table: ResolvedTable, request: SinkRequest, context: ConnectorContext) -> KafkaTableSink:
    """Return the sink that writes a topic."""
    return KafkaTableSink(table, False)


class KafkaTable:
    """A topic with keys and values in formats; a source and a sink.

    Args:
        table: The table.
        is_upsert: Each record replaces the row of its key, which is the table's primary key.

    Attributes:
        kinds: The kinds of rows that are read.
        is_bounded: Whether it ends.
        reads_fields: Whether it needs only the columns, and fields of rows, that are read.
        has_watermarks_per_split: Whether each partition has its own watermark.
    """

    has_watermarks_per_split = True

    def __init__(self, table: ResolvedTable, is_upsert: bool) -> None:
        self._table = table
        self._is_upsert = is_upsert
        name = "upsert-kafka" if is_upsert else "kafka"
        names = [table.options.get(key, "-") for key in ("format", "value.format", "key.format")]
        below = (f"{names[0]}.", f"value.{names[1]}.", f"key.{names[2]}.", f"value.{names[0]}.")
        self._options = options = OPTIONS[name].read(table.options, name, below)
        self._keys = self._key_columns()
        excludes = options.choice("value.fields-include", ("all", "except_key"), "all") == "except_key"
        self._stored = [c for c in table.physical_columns if not (excludes and c.name in self._keys)]
        self._value = self._value_format(self._stored)
        self._key = self._key_format({column.name: column for column in table.physical_columns})
        self._check_kinds()
        self.kinds: frozenset[Kind] = UPSERT if is_upsert else self._value.kinds
        self.reads_fields = self._value.reads_fields and (self._key is None or self._key.reads_fields)
        self.is_bounded = options.text("scan.bounded.mode", "unbounded") != "unbounded"

    def _key_columns(self) -> list[str]:
        if self._is_upsert:
            if not self._table.primary_key:
                raise ValidationException(
                    "'upsert-kafka' tables require to define a PRIMARY KEY constraint. The PRIMARY KEY specifies which "
                    "columns should be read from or write to the Kafka message key. The PRIMARY KEY also "
                    "defines records "
                    "in the 'upsert-kafka' table should update or delete on which keys."
                )
            return list(self._table.primary_key)
        names = [name for name in self._options.text("key.fields").split(";") if name]
        if names and "key.format" not in self._options.values:
            raise ValidationException(
                "The option 'key.fields' can only be declared if a key format is defined using 'key.format'."
            )
        if not names and "key.format" in self._options.values:
            raise ValidationException(
                "A key format 'key.format' requires the declaration of one or more of key fields using 'key.fields'."
            )
        known = [column.name for column in self._table.physical_columns]
        for name in names:
            if name not in known:
                raise ValidationException(
                    f"Could not find the field '{name}' in the table schema for usage in the key format."
                )
        return names

    def _check_kinds(self) -> None:
        """Check that nothing but the value of a record can say what happened to its row.

        Raises:
            ValidationException: a format of changelogs stands where none can, or a primary key where none is kept.
        """
        for side, each in (("key", self._key), ("value", self._value)):
            if each is not None and each.kinds != INSERT_ONLY and (self._is_upsert or side == "key"):
                name = self._options.values[f"{side}.format"]
                raise ValidationException(
                    f"'{self._options.owner}' connector doesn't support '{name}' as {side} format, because '{name}' is "
                    "not in insert-only mode."
                )
        if self._table.primary_key and not self._is_upsert and self._value.kinds == INSERT_ONLY:
            name = self._options.values.get("value.format") or self._options.text("format")
            raise ValidationException(
                f"The Kafka table '{'.'.join(self._table.path)}' with '{name}' format doesn't support defining PRIMARY "
                "KEY constraint on the table, because it can't guarantee the semantic of primary key."
            )

    def _value_format(self, columns: list[Column]) -> Format:
        return self._format("value.format" if "value.format" in self._table.options else "format", columns)

    def _key_format(self, columns: Mapping[str, Column]) -> Format | None:
        return self._format("key.format", [columns[name] for name in self._keys]) if self._keys else None

    def _format(self, option: str, columns: list[Column]) -> Format:
        name = self._options.values.get(option)
        if name is None:
            raise ValidationException(
                f"One or more required options are missing.\n\nMissing required options are:\n\n{option}"
            )
        prefix = option[: -len("format")] + name + "."
        side = self._options.text("key.fields-prefix") if option == "key.format" else ""
        names = tuple(column.name.removeprefix(side) for column in columns)
        options = self._options.below(prefix, name)
        if name in _WITH_SUBJECTS and len(self._topics) == 1:
            # The older name of the option, which `subject` overrides.
            subject = f"{self._topics[0]}-{'key' if option == 'key.format' else 'value'}"
            options.values = {"schema-registry.subject": subject, **options.values}
        return make_format(name, Columns(names, tuple(column.type for column in columns)), options, "messages")

    @property
    def _topics(self) -> list[str]:
        return [topic for topic in self._options.text("topic").split(";") if topic]

    @property
    def metadata(self) -> Mapping[str, DataType]:
        """The types of metadata columns by key; those that the format of values has begin with `value.`."""
        return {**{f"{_OF_VALUE}{key}": kind for key, kind in self._value.metadata.items()}, **METADATA}

    def check_topic(self) -> str:
        """Return the only topic, to write to.

        Raises:
            ValidationException: there is none, or there are several.
        """
        if len(self._topics) != 1:
            raise ValidationException(
                "Flink Kafka sink currently only supports a single topic, set by the option 'topic'"
            )
        return self._topics[0]

    # --- reading -----------------------------------------------------------------------------------------------------

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> Batches:
        """Return the stream of column batches."""
        key_format, value_format, stored = self._key, self._value, self._stored
        if self.reads_fields:
            stored = [column for column in request.columns if column.name not in self._keys] or stored[:1]
            value_format = self._value_format(stored)
            columns = (*self._table.physical_columns, *request.columns)
            key_format = self._key_format({column.name: column for column in columns})
        values = [column.name for column in stored]
        places = tuple(
            ("key", self._keys.index(column.name))
            if column.name in self._keys
            else ("value", values.index(column.name))
            for column in request.columns
        )
        keys = key_format if self._is_upsert or any(side == "key" for side, _ in places) else None
        metadata = [key for key, _ in request.metadata]
        of_value = [key for key in metadata if key.startswith(_OF_VALUE)]
        if of_value:
            value_format = value_format.with_metadata(tuple(key.removeprefix(_OF_VALUE) for key in of_value))
        sources = (
            ("value", len(stored) + of_value.index(key)) if key in of_value else ("record", key) for key in metadata
        )
        decoder = KafkaColumns(keys, value_format, (*places, *sources), self._is_upsert)
        source = self._source(decoder)
        return environment.from_source(source, self._watermarks(request.watermarks), name)

    def _watermarks(self, strategy: WatermarkStrategy | None) -> WatermarkStrategy:
        """Return the strategy of each partition, with the options of the table."""
        options = self._options
        options.choice("scan.watermark.emit.strategy", ("on-periodic",), "on-periodic")
        group, drift_ms = options.text("scan.watermark.alignment.group"), options.duration_ms(_MAX_DRIFT)
        interval_ms = options.duration_ms("scan.watermark.alignment.update-interval")
        if bool(group) != (drift_ms is not None):
            raise ValidationException(
                "'scan.watermark.alignment.group' and 'scan.watermark.alignment.max-drift' must be set together."
            )
        if strategy is None:
            return WatermarkStrategy.no_watermarks()
        idle_ms = options.duration_ms("scan.watermark.idle-timeout")
        if idle_ms:
            strategy = strategy.with_idleness(Duration.of_millis(idle_ms))
        if drift_ms is not None:
            interval = Duration.of_millis(1000 if interval_ms is None else interval_ms)
            strategy = strategy.with_watermark_alignment(group, Duration.of_millis(drift_ms), interval)
        return strategy

    def _source(self, decoder: KafkaColumns) -> KafkaSource[Any]:
        options = self._options
        builder = KafkaSource.builder().set_properties(options.below("properties.", "kafka").values)
        if "topic-pattern" in options.values:
            builder.set_topic_pattern(options.text("topic-pattern"))
        elif "topic" in options.values:
            builder.set_topics(*self._topics)
        else:
            raise ValidationException("Either 'topic' or 'topic-pattern' must be set.")
        every = options.duration_ms("scan.topic-partition-discovery.interval")
        if every is not None:
            builder.set_property("partition.discovery.interval.ms", str(every))
        builder.set_starting_offsets(self._start())
        if self.is_bounded:
            builder.set_bounded(self._end())
        return builder.set_value_only_deserializer(decoder).build()

    def _start(self) -> KafkaOffsetsInitializer:
        options = self._options
        if self._is_upsert:
            return KafkaOffsetsInitializer.earliest()
        mode = options.choice("scan.startup.mode", _STARTS, "group-offsets")
        if mode == "timestamp":
            return KafkaOffsetsInitializer.timestamp(options.number("scan.startup.timestamp-millis", 0))
        if mode == "specific-offsets":
            return KafkaOffsetsInitializer.offsets(self._specific_offsets("scan.startup.specific-offsets"))
        if mode == "group-offsets":
            if "properties.group.id" not in options.values:
                raise ValidationException(
                    "'scan.startup.mode' is 'group-offsets', as it is by default, and needs 'properties.group.id'. Set "
                    f"it, or another mode: {', '.join(one for one in _STARTS if one != mode)}."
                )
            reset = options.text("properties.auto.offset.reset", "none").upper()
            return KafkaOffsetsInitializer.committed_offsets(Reset[reset] if reset in Reset.__members__ else Reset.NONE)
        return KafkaOffsetsInitializer.earliest() if mode[0] == "e" else KafkaOffsetsInitializer.latest()

    def _specific_offsets(self, option: str) -> dict[KafkaTopicPartition, int]:
        """Return the offsets of `partition:0,offset:42;partition:1,offset:300`."""
        offsets = {}
        for part in self._options.text(option).split(";"):
            fields = dict(pair.split(":", 1) for pair in part.split(",") if ":" in pair)
            if set(fields) != {"partition", "offset"}:
                raise self._options.invalid(option, "partition:0,offset:42;partition:1,offset:300")
            offsets[KafkaTopicPartition(self.check_topic(), int(fields["partition"]))] = int(fields["offset"])
        return offsets

    def _end(self) -> KafkaOffsetsInitializer:
        mode = self._options.choice("scan.bounded.mode", _ENDS, "latest-offset")
        if mode == "specific-offsets":
            return KafkaOffsetsInitializer.offsets(self._specific_offsets("scan.bounded.specific-offsets"))
        if mode == "timestamp":
            return KafkaOffsetsInitializer.timestamp(self._options.number("scan.bounded.timestamp-millis", 0))
        return KafkaOffsetsInitializer.latest() if mode[0] == "l" else KafkaOffsetsInitializer.committed_offsets()


class KafkaTableSink(KafkaTable):
    """A topic that is written.

    Raises:
        ValidationException: there is no topic or several, or an option of a format is missing or invalid.
    """

    metadata = WRITABLE

    def __init__(self, table: ResolvedTable, is_upsert: bool) -> None:
        super().__init__(table, is_upsert)
        self._target()
        self._buffered_rows()
        for each in (self._value, self._key):
            if each is not None:
                each.check_sink()

    def _target(self) -> RecordTarget:
        """Return where records go: to the only topic, or to those that rows name in a metadata column `topic`.

        Raises:
            ValidationException: there is no topic.
        """
        metadata = {
            c.metadata_key or c.name: n for n, c in enumerate(self._table.persisted_columns) if c.kind == "METADATA"
        }
        if "topic" not in metadata:
            return RecordTarget((self.check_topic(),), None, metadata)
        return RecordTarget(tuple(self._topics), self._options.values.get("topic-pattern"), metadata)

    def _buffered_rows(self) -> int:
        """Return how many rows of an upsert table are buffered; they are sent at the end of a batch at the latest.

        Raises:
            ValidationException: only one of the two options that switch the buffer on is set.
        """
        rows, interval_ms = self._options.number(_MAX_ROWS, 0), self._options.duration_ms(_INTERVAL, 0)
        if rows < 0 or (rows > 0) != bool(interval_ms):
            raise ValidationException(
                f"'{_MAX_ROWS}' and '{_INTERVAL}' must be set to be greater than zero together to enable sink buffer "
                "flushing."
            )
        return int(rows)

    def accepts(self, kinds: frozenset[Kind]) -> frozenset[Kind]:
        """Return the kinds of rows that can be written; for upsert tables those of a changelog by key."""
        return UPSERT if self._is_upsert else self._value.kinds

    def consume(self, stream: Batches, name: str) -> DataStreamSink:
        """Write the column batches."""
        names = [column.name for column in self._table.persisted_columns]
        serializer = ColumnsToKafka(
            self._target(),
            self._key,
            tuple(names.index(key) for key in self._keys),
            self._value,
            tuple(names.index(column.name) for column in self._stored),
            self._is_upsert,
            self._buffered_rows(),
        )
        properties = self._options.below("properties.", "kafka").values
        if not self._is_upsert:
            self._options.choice("sink.partitioner", ("default",), "default")
        guarantee = self._options.choice("sink.delivery-guarantee", tuple(_GUARANTEES), "at-least-once")
        builder = KafkaSink.builder().set_bootstrap_servers(properties["bootstrap.servers"])
        builder.set_record_serializer(serializer).set_delivery_guarantee(_GUARANTEES[guarantee])
        if "sink.transactional-id-prefix" in self._options.values:
            builder.set_transactional_id_prefix(self._options.text("sink.transactional-id-prefix"))
        for key, value in properties.items():
            if key != "bootstrap.servers":
                builder.set_property(key, value)
        return stream.sink_to(builder.build()).name(name)
