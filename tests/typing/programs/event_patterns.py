"""Event patterns, and functions of batches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_type

from firesteel.cep import (
    CEP,
    AfterMatchSkipStrategy,
    ConditionContext,
    IterativeCondition,
    Pattern,
    PatternProcessFunction,
    PatternSelectFunction,
    ProcessContext,
)
from firesteel.common import Time, Types
from firesteel.datastream import (
    AsyncBatchFunction,
    AsyncDataStream,
    DataStream,
    MapBatchFunction,
    StreamExecutionEnvironment,
)


@dataclass
class Order:
    number: int
    price: float


class Rising(IterativeCondition[Order]):
    def filter(self, value: Order, context: ConditionContext) -> bool:
        return len(context.get_events_for_pattern("rise")) < 3 and value.price > 1


class Describe(PatternProcessFunction[Order, str]):
    def process_match(self, match: dict[str, list[Order]], ctx: ProcessContext) -> Iterable[str]:
        yield f"{match['rise'][0].number} at {ctx.timestamp()}"


class Total(PatternSelectFunction[Order, float]):
    def select(self, pattern: dict[str, list[Order]]) -> float:
        return sum(order.price for order in pattern["rise"])


def match(orders: DataStream[Order]) -> None:
    strategy = AfterMatchSkipStrategy.skip_past_last_event()
    rise = Pattern[Order].begin("rise", strategy).where(Rising()).one_or_more().within(Time.minutes(5))
    pattern = rise.next("end").where(lambda order: order.price < 1)
    by_number = CEP.pattern(orders.key_by(lambda order: order.number), pattern)
    assert_type(by_number.process(Describe(), Types.STRING()), DataStream[str])
    assert_type(by_number.select(Total()), DataStream[float])
    assert_type(CEP.pattern(orders, pattern).select(lambda found: found["end"][0].number, Types.INT()), DataStream[int])


def match_untyped(numbers: DataStream[int]) -> None:
    low = Pattern.begin("low").where(lambda n: n < 10)
    assert_type(CEP.pattern(numbers, low).select(lambda found: len(found["low"]), Types.INT()), DataStream[int])


class Ranks(MapBatchFunction[list[int], list[str]]):
    def map_batch(self, batch: list[int]) -> list[str]:
        return [str(number) for number in batch]


class Scores(AsyncBatchFunction[list[int], list[float]]):
    async def async_invoke_batch(self, batch: list[int]) -> list[float]:
        return [number / 2 for number in batch]


def batches(numbers: DataStream[int]) -> None:
    assert_type(numbers.map_batches(Ranks(), 10, output_type=Types.STRING()), DataStream[str])
    assert_type(numbers.map_batches(lambda frame: frame["value"] * 2, 10, None, Types.INT(), "pandas"), DataStream[int])
    scores = AsyncDataStream.ordered_wait_batch(numbers, Scores(), Time.seconds(1), 10, output_type=Types.DOUBLE())
    assert_type(scores, DataStream[float])


def main(env: StreamExecutionEnvironment) -> None:
    match(env.from_collection([Order(1, 2.0)]))
    match_untyped(env.from_collection([1, 2], Types.INT()))
    batches(env.from_collection([1, 2], Types.INT()))
