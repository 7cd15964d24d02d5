"""The jobs of the fault runs, as a user's program: `firesteel run job.py <job> <sink> <where> <records>`.

Watermark alignment keeps the batches small, so that a job is long enough for faults at many times. What a job writes
does not depend on the order in which its sources are read, so there is one truth (see `truth`).
"""

from __future__ import annotations

import os
import sys

from firesteel.common import Duration, Encoder, Row, RowKind, Time, Types, WatermarkStrategy
from firesteel.common.serialization import SimpleStringSchema
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.base import DeliveryGuarantee
from firesteel.datastream.connectors.file_system import FileSink, FileSource, RollingPolicy, StreamFormat
from firesteel.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from firesteel.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.functions import KeyedProcessFunction, ProcessJoinFunction, ProcessWindowFunction
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.table import StreamTableEnvironment

PARALLELISM = "FIRESTEEL_FAULT_PARALLELISM"
KEYS = 100
WINDOW_MS = 500
JOIN_WINDOW_MS = 200
BOUND_MS = 150
DRIFT = Duration.of_millis(600)
IDLE = Duration.of_millis(300)
"""Less than most batches and pauses take: a source with a backlog is not idle."""
ROW = Types.ROW_NAMED(["k", "a", "b"], [Types.LONG(), Types.LONG(), Types.LONG()])
TRIPLE = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
INSERT = "INSERT INTO results (k, a, b) VALUES (?, ?, ?)"


class EventTime(TimestampAssigner):
    """Both halves of a number sequence, each read by one subtask, begin at time 0."""

    def __init__(self, records):
        self.half = records // 2

    def extract_timestamp(self, value, record_timestamp):
        return int(value) % self.half


def strategy(records):
    aligned = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime(records))
    return aligned.with_watermark_alignment("all", DRIFT, Duration.of_millis(100)).with_idleness(IDLE)


def numbers(env, records, name="numbers"):
    return env.from_source(NumberSequenceSource(0, records - 1), strategy(records), name, Types.LONG())


class Totals(KeyedProcessFunction):
    """Counts the numbers of a key one by one."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        key = ctx.get_current_key()
        yield key, count, count * key


class Sums(ProcessWindowFunction):
    """Key, begin and sum of a window."""

    def process(self, key, context, elements):
        yield key, context.window().start, sum(elements)


class Pairs(ProcessJoinFunction):
    """Key and both numbers."""

    def process_element(self, left, right, context):
        yield left % KEYS, left, right


def key_of(number):
    return number % KEYS


def totals(env, records, where):
    return numbers(env, records).key_by(key_of, Types.LONG()).process(Totals(), TRIPLE)


def windows(env, records, where):
    """Sums over numbers that come out of files."""
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), f"{where}/input").build()
    lines = env.from_source(source, strategy(records), "lines", Types.STRING())
    keyed = lines.map(int, Types.LONG()).key_by(key_of, Types.LONG())
    return keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS))).process(Sums(), TRIPLE)


def window_join(env, records, where):
    left, right = numbers(env, records, "left"), numbers(env, records, "right").filter(lambda n: n % 3 == 0)
    joined = left.join(right).where(key_of, Types.LONG()).equal_to(key_of, Types.LONG())
    windowed = joined.window(TumblingEventTimeWindows.of(Time.milliseconds(JOIN_WINDOW_MS)))
    return windowed.apply(lambda left, right: (left % KEYS, left, right), TRIPLE)


def interval_join(env, records, where):
    left = numbers(env, records, "left").key_by(key_of, Types.LONG())
    right = numbers(env, records, "right").filter(lambda n: n % 3 == 0).key_by(key_of, Types.LONG())
    joined = left.interval_join(right).between(Time.milliseconds(-BOUND_MS), Time.milliseconds(BOUND_MS))
    return joined.process(Pairs(), TRIPLE)


def tables_of(env, **streams):
    """Tables of numbers, and their environment; state of queries expires, but not before the end of the job."""
    tables = StreamTableEnvironment.create(env)
    tables.get_config().set("table.exec.state.ttl", "1 h")
    for name, stream in streams.items():
        rows = stream.map(lambda n: Row(n % KEYS, n), Types.ROW_NAMED(["k", "n"], [Types.LONG(), Types.LONG()]))
        tables.create_temporary_view(name, tables.from_data_stream(rows))
    return tables


def results(tables, query):
    """The rows that a query shows, also those that it shows for a while."""
    changes = tables.to_changelog_stream(tables.sql_query(query))
    shown = changes.filter(lambda row: row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER))
    return shown.map(tuple, TRIPLE)


def sql_totals(env, records, where):
    tables = tables_of(env, found=numbers(env, records))
    return results(tables, "SELECT k, COUNT(*), COUNT(*) * k FROM found GROUP BY k")


def sql_join(env, records, where):
    """Of few numbers, as it keeps them all: the disk of checkpoints is small."""
    left, right = (numbers(env, records, name).filter(lambda n: n % 10 == 0) for name in ("left", "right"))
    tables = tables_of(env, l=left, r=right)
    return results(tables, "SELECT l.k, l.n, r.n FROM l JOIN r ON l.n = r.n")


JOBS = {
    "totals": totals,
    "windows": windows,
    "window join": window_join,
    "interval join": interval_join,
    "SQL totals": sql_totals,
    "SQL join": sql_join,
}


def kafka_numbers(env, records, where):
    """Numbers in a topic: those of each half in a partition."""
    with open(f"{where}/input") as file:
        servers, topic = file.read().split()
    source = KafkaSource.builder().set_bootstrap_servers(servers).set_topics(topic).set_group_id(f"of-{topic}")
    source.set_bounded(KafkaOffsetsInitializer.latest()).set_value_only_deserializer(SimpleStringSchema())
    lines = env.from_source(source.build(), strategy(records), "kafka", Types.STRING())
    return lines.map(int, Types.LONG()).key_by(key_of, Types.LONG())


def kafka_totals(env, records, where):
    return kafka_numbers(env, records, where).process(Totals(), TRIPLE)


def kafka_windows(env, records, where):
    keyed = kafka_numbers(env, records, where)
    return keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS))).process(Sums(), TRIPLE)


KAFKA_JOBS = {"kafka totals": kafka_totals, "kafka windows": kafka_windows}

ROLLING = {
    "files": RollingPolicy.on_checkpoint_rolling_policy(),
    "rolling files": RollingPolicy.default_rolling_policy(3_000, 60_000, 60_000),
}
"""Part files that are finished with each checkpoint, and those that grow over several."""


def write(stream, sink, where):
    """To files below `where`, or to the topic or the database at the address `sink`."""
    if sink in ROLLING:
        encoder, rolling = Encoder.simple_string_encoder(), ROLLING[sink]
        files = FileSink.for_row_format(f"{where}/output", encoder).with_rolling_policy(rolling).build()
        stream.map(lambda t: " ".join(map(str, t)), Types.STRING()).sink_to(files)
    elif sink.startswith("kafka://"):
        servers, topic = sink.removeprefix("kafka://").split("/")
        records = KafkaRecordSerializationSchema.builder().set_topic(topic)
        records.set_value_serialization_schema(SimpleStringSchema())
        kafka = KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(records.build())
        kafka.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix(topic)
        stream.map(lambda t: " ".join(map(str, t)), Types.STRING()).sink_to(kafka.build())
    else:
        options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(sink).build()
        stream.map(lambda t: Row(*t), ROW).add_sink(JdbcSink.sink(INSERT, ROW, options))


if __name__ == "__main__":
    job, sink, where, records = sys.argv[1:]
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(int(os.environ.get(PARALLELISM, "2")))
    write({**JOBS, **KAFKA_JOBS}[job](env, int(records), where), sink, where)
    env.execute(job)
