"""The jobs of the soak, as a user's program: `soak_job.py <kind> <brokers> <directory> <name>`."""

from __future__ import annotations

import sys

from firesteel.common import Configuration, Duration, Encoder, Time, Types, WatermarkStrategy
from firesteel.common.serialization import SimpleStringSchema
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.base import DeliveryGuarantee
from firesteel.datastream.connectors.file_system import FileSink, FileSource, RollingPolicy, StreamFormat
from firesteel.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from firesteel.datastream.functions import KeyedProcessFunction, ProcessWindowFunction
from firesteel.datastream.state import StateTtlConfig, ValueStateDescriptor
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.table import StreamTableEnvironment

INPUT = "events"
KEYS = 100
_PAIR = Types.TUPLE([Types.LONG(), Types.LONG()])


class Counts(KeyedProcessFunction):
    """Counts the numbers of a key one by one."""

    def __init__(self, ttl_s=None):
        self.ttl_s = ttl_s

    def open(self, runtime_context):
        descriptor = ValueStateDescriptor("count", Types.LONG())
        if self.ttl_s is not None:
            descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(self.ttl_s)).build())
        self.count = runtime_context.get_state(descriptor)

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count


class Sizes(ProcessWindowFunction):
    """Key and number of elements of a window."""

    def process(self, key, context, elements):
        yield key, len(list(elements))


class Number(TimestampAssigner):
    """A hundred numbers are a second."""

    def extract_timestamp(self, value, record_timestamp):
        return int(value) * 10


def numbers(env, brokers, name, strategy=None):
    source = KafkaSource.builder().set_bootstrap_servers(brokers).set_topics(INPUT).set_group_id(name)
    source.set_starting_offsets(KafkaOffsetsInitializer.latest()).set_value_only_deserializer(SimpleStringSchema())
    strategy = strategy or WatermarkStrategy.no_watermarks()
    return env.from_source(source.build(), strategy, "numbers", Types.STRING()).map(int, Types.LONG())


def text(pair):
    return f"{pair[0]} {pair[1]}"


def to_files(stream, directory):
    sink = FileSink.for_row_format(f"{directory}/out", Encoder.simple_string_encoder())
    rolling = RollingPolicy.on_checkpoint_rolling_policy()
    stream.map(text, Types.STRING()).sink_to(sink.with_rolling_policy(rolling).build())


def kafka(env, brokers, directory, name):
    """Counts from Kafka to Kafka, by two subtasks."""
    env.set_parallelism(2)
    counts = numbers(env, brokers, name).key_by(lambda n: n % KEYS, Types.LONG()).process(Counts(), _PAIR)
    records = KafkaRecordSerializationSchema.builder().set_topic(name)
    records.set_value_serialization_schema(SimpleStringSchema())
    sink = KafkaSink.builder().set_bootstrap_servers(brokers).set_record_serializer(records.build())
    sink.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix(name)
    counts.map(text, Types.STRING()).sink_to(sink.build())


def files(env, brokers, directory, name):
    """Counts from files that arrive to files."""
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), f"{directory}/in")
    arriving = source.monitor_continuously(Duration.of_seconds(2)).build()
    lines = env.from_source(arriving, WatermarkStrategy.no_watermarks(), "lines", Types.STRING())
    keyed = lines.map(int, Types.LONG()).key_by(lambda n: n % KEYS, Types.LONG())
    to_files(keyed.process(Counts(), _PAIR), directory)


def sql(env, brokers, directory, name):
    """A changelog with a time to live, by SQL."""
    tables = StreamTableEnvironment.create(env)
    tables.get_config().set("table.exec.state.ttl", "1 min")
    tables.execute_sql(
        "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '100', "
        "'fields.n.min' = '0', 'fields.n.max' = '1000000')"
    )
    counts = tables.sql_query("SELECT n, COUNT(*) FROM numbers GROUP BY n")
    tables.to_changelog_stream(counts).filter(lambda row: False).print()


def disk(env, brokers, directory, name):
    """State on disk that expires."""
    env.configure(Configuration().set_string("state.backend.type", "rocksdb"))
    counts = numbers(env, brokers, name).key_by(lambda n: n, Types.LONG()).process(Counts(60), _PAIR)
    counts.filter(lambda pair: False).print()


def windows(env, brokers, directory, name):
    """Windows by event time to files."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Number())
    keyed = numbers(env, brokers, name, strategy).key_by(lambda n: n % KEYS, Types.LONG())
    to_files(keyed.window(TumblingEventTimeWindows.of(Time.seconds(5))).process(Sizes(), _PAIR), directory)


KINDS = {job.__name__: job for job in (kafka, files, sql, disk, windows)}

if __name__ == "__main__":
    kind, brokers, directory, name = sys.argv[1:]
    env = StreamExecutionEnvironment.get_execution_environment()
    KINDS[kind](env, brokers, directory, name)
    env.execute(name)
