"""Functions with state and timers, side outputs, and every kind of state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_type

from firesteel.common import Types
from firesteel.datastream import (
    AggregateFunction,
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    ValueState,
    ValueStateDescriptor,
)

LATE = OutputTag("late", Types.STRING())
PLAIN = OutputTag[float]("plain")


class Mean(AggregateFunction[int, tuple[int, int], float]):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Totals(KeyedProcessFunction[str, tuple[str, int], int]):
    total: ValueState[int]
    pair: ValueState[tuple[str, int]]

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.pair = runtime_context.get_state(ValueStateDescriptor("pair", Types.TUPLE([Types.STRING(), Types.LONG()])))
        assert_type(runtime_context.get_state(ValueStateDescriptor("n", Types.LONG())), ValueState[int])
        texts = runtime_context.get_list_state(ListStateDescriptor("texts", Types.STRING()))
        assert_type(texts, ListState[str])
        assert_type(list(texts), list[str])
        seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.STRING(), Types.BOOLEAN()))
        assert_type(seen, MapState[str, bool])
        assert_type(seen["a"], bool | None)
        largest = runtime_context.get_reducing_state(ReducingStateDescriptor("max", max, Types.LONG()))
        assert_type(largest, ReducingState[int])
        mean = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("mean", Mean(), Types.TUPLE([Types.LONG(), Types.LONG()]))
        )
        assert_type(mean, AggregatingState[int, float])
        assert_type(mean.get(), float | None)

    def process_element(
        self, value: tuple[str, int], ctx: KeyedProcessFunction.Context
    ) -> Iterator[int | tuple[OutputTag[str], str]]:
        total = (self.total.value() or 0) + value[1]
        self.total.update(total)
        yield total
        if total < 0:
            yield LATE, value[0]

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[int]:
        return [timestamp]


class Halves(ProcessFunction[int, float]):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterable[float]:
        return [value / 2]


def main(env: StreamExecutionEnvironment) -> None:
    pairs = env.from_collection([("a", 1), ("b", 2)])
    totals = pairs.key_by(lambda pair: pair[0]).process(Totals(), Types.LONG())
    assert_type(totals, DataStream[int])
    late = totals.get_side_output(LATE)
    assert_type(late, DataStream[str])
    assert_type(totals.get_side_output(PLAIN), DataStream[float])
    assert_type(totals.process(Halves()), DataStream[float])
    late.map(str.upper).print()
    totals.print()
