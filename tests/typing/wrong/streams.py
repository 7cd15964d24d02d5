"""Windows, joins, connected streams and connectors with mismatched types."""

from __future__ import annotations

from collections.abc import Iterable

from firesteel.common import SimpleStringSchema, Time, WatermarkStrategy
from firesteel.datastream import (
    AsyncDataStream,
    AsyncFunction,
    CoMapFunction,
    DataStream,
    SinkFunction,
    StreamExecutionEnvironment,
    TimeWindow,
    WindowFunction,
)
from firesteel.datastream.connectors.base import Sink
from firesteel.datastream.connectors.kafka import KafkaSource
from firesteel.datastream.window import TumblingEventTimeWindows


class Count(WindowFunction[str, int, str, TimeWindow]):
    def apply(self, key: str, window: TimeWindow, inputs: Iterable[str]) -> Iterable[int]:
        return [len(list(inputs))]


class Both(CoMapFunction[str, int, str]):
    def map1(self, value: str) -> str:
        return value

    def map2(self, value: int) -> str:
        return str(value)


class LookUp(AsyncFunction[str, int]):
    async def async_invoke(self, value: str) -> list[int]:
        return [len(value)]


def main(
    env: StreamExecutionEnvironment, words: DataStream[str], numbers: DataStream[int], word_sink: Sink[str]
) -> None:
    minutes = TumblingEventTimeWindows.of(Time.minutes(1))
    numbers.key_by(str).window(minutes).apply(Count())  # error: numbers come in
    words.key_by(len).window(minutes).apply(Count())  # error: the key is a number
    words.key_by(str).count_window(3).apply(Count())  # error: windows of another kind
    words.key_by(str).window(minutes).apply(Count()).map(str.upper)  # error: numbers come out

    words.connect(numbers).map(Both()).map(str.upper)
    numbers.connect(words).map(Both())  # error: the wrong way round
    words.join(numbers).where(len).equal_to(lambda number: str(number))  # error: keys of two types
    pairs = words.join(numbers).where(len).equal_to(lambda number: number).window(minutes)
    pairs.apply(lambda word, number: number.upper())  # error: a number has none

    numbers.sink_to(word_sink)  # error: the sink takes words
    numbers.add_sink(SinkFunction[str](print))  # error: the sink takes words
    AsyncDataStream.ordered_wait(numbers, LookUp(), Time.seconds(1))  # error: takes words
    source = KafkaSource.builder().set_value_only_deserializer(SimpleStringSchema()).build()
    texts = env.from_source(source, WatermarkStrategy.no_watermarks(), "texts")
    texts.map(lambda text: text + 1)  # error: text
