"""Sources, sinks and asynchronous functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_type

from firesteel.common import SimpleStringSchema, Time, Types, WatermarkStrategy
from firesteel.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    SinkFunction,
    SourceFunction,
    StreamExecutionEnvironment,
)
from firesteel.datastream.connectors.base import Sink, SinkWriter, Source, SourceSplit, WriterInitContext
from firesteel.datastream.connectors.file_system import FileSource, StreamFormat
from firesteel.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from firesteel.datastream.connectors.number_seq import NumberSequenceSource


class LookUp(AsyncFunction[str, int]):
    async def async_invoke(self, value: str) -> list[int]:
        return [len(value)]

    def timeout(self, value: str) -> list[int]:
        return []


class Squares(Source[int]):
    def discover_splits(self) -> list[SourceSplit]:
        return [SourceSplit("all", 10)]

    def read_split(self, split_id: str, start: int, end: int) -> Iterable[int]:
        return [number * number for number in range(start, end)]


class PrintWriter(SinkWriter[object]):
    def write(self, element: object, timestamp: int | None) -> None:
        print(element, timestamp)


class PrintSink(Sink[object]):
    def create_writer(self, context: WriterInitContext) -> SinkWriter[object]:
        return PrintWriter()


def main(env: StreamExecutionEnvironment) -> None:
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers("localhost:9092")
        .set_topics("words")
        .set_group_id("group")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    assert_type(source, KafkaSource[str])
    words = env.from_source(source, WatermarkStrategy.no_watermarks(), "words")
    assert_type(words, DataStream[str])

    lengths = AsyncDataStream.unordered_wait(words, LookUp(), Time.seconds(5), 10, Types.INT())
    assert_type(lengths, DataStream[int])

    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic("lengths")
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    sink = KafkaSink.builder().set_bootstrap_servers("localhost:9092").set_record_serializer(serializer).build()
    lengths.sink_to(sink)
    lengths.sink_to(PrintSink())
    lengths.add_sink(SinkFunction[int](print))

    numbers = env.from_source(NumberSequenceSource(1, 9), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    assert_type(numbers, DataStream[int])
    assert_type(env.from_source(Squares(), WatermarkStrategy.no_watermarks(), "squares"), DataStream[int])
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/data").build()
    assert_type(env.from_source(lines, WatermarkStrategy.no_watermarks(), "lines"), DataStream[str])
    assert_type(env.add_source(SourceFunction(lambda: range(10)), type_info=Types.INT()), DataStream[int])
