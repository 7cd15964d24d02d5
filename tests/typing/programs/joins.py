"""Two streams: joins by window and by time, connected and broadcast streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import assert_type

from firesteel.common import Time, Types
from firesteel.datastream import (
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
    DataStream,
    StreamExecutionEnvironment,
)
from firesteel.datastream.functions import (
    BroadcastProcessFunction,
    CoMapFunction,
    FlatJoinFunction,
    KeyedCoProcessFunction,
    ProcessJoinFunction,
)
from firesteel.datastream.state import BroadcastState, MapStateDescriptor, ReadOnlyBroadcastState
from firesteel.datastream.window import TumblingEventTimeWindows


@dataclass
class Order:
    number: int
    item: str


@dataclass
class Payment:
    order: int
    amount: float


class Paid(KeyedCoProcessFunction[int, Order, Payment, str]):
    def process_element1(self, value: Order, ctx: KeyedCoProcessFunction.Context) -> Iterable[str]:
        return [value.item]

    def process_element2(self, value: Payment, ctx: KeyedCoProcessFunction.Context) -> None:
        return None


class Text(CoMapFunction[Order, Payment, str]):
    def map1(self, value: Order) -> str:
        return value.item

    def map2(self, value: Payment) -> str:
        return str(value.amount)


class Pairs(FlatJoinFunction[Order, Payment, float]):
    def join(self, first: Order, second: Payment) -> Iterator[float]:
        yield second.amount


class Near(ProcessJoinFunction[Order, Payment, tuple[str, float]]):
    def process_element(
        self, left: Order, right: Payment, ctx: ProcessJoinFunction.Context
    ) -> Iterable[tuple[str, float]]:
        return [(left.item, right.amount)]


PRICES = MapStateDescriptor("prices", Types.STRING(), Types.DOUBLE())


class Priced(BroadcastProcessFunction[Order, tuple[str, float], float]):
    def process_element(self, value: Order, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[float]:
        prices = ctx.get_broadcast_state(PRICES)
        assert_type(prices, ReadOnlyBroadcastState[str, float])
        return [prices.get(value.item) or 0.0]

    def process_broadcast_element(self, value: tuple[str, float], ctx: BroadcastProcessFunction.Context) -> None:
        prices = ctx.get_broadcast_state(PRICES)
        assert_type(prices, BroadcastState[str, float])
        prices.put(*value)


def main(env: StreamExecutionEnvironment) -> None:
    orders = env.from_collection([Order(1, "tea")])
    payments = env.from_collection([Payment(1, 2.5)])
    assert_type(orders, DataStream[Order])

    keys = orders.join(payments).where(lambda order: order.number).equal_to(lambda payment: payment.order)
    windows = keys.window(TumblingEventTimeWindows.of(Time.minutes(5)))
    joined = windows.apply(lambda order, payment: (order.item, payment.amount))
    assert_type(joined, DataStream[tuple[str, float]])
    assert_type(windows.apply(Pairs()), DataStream[float])

    sides = orders.co_group(payments).where(lambda order: order.number).equal_to(lambda payment: payment.order)
    unpaid = sides.window(TumblingEventTimeWindows.of(Time.minutes(5))).apply(
        lambda order_list, payment_list: order_list if not payment_list else []
    )
    assert_type(unpaid, DataStream[Order])

    by_order = orders.key_by(lambda order: order.number)
    by_payment = payments.key_by(lambda payment: payment.order)
    near = by_order.interval_join(by_payment).between(Time.seconds(-5), Time.seconds(5)).process(Near())
    assert_type(near, DataStream[tuple[str, float]])

    connected = by_order.connect(by_payment)
    assert_type(connected, ConnectedStreams[Order, Payment])
    assert_type(connected.process(Paid(), Types.STRING()), DataStream[str])
    assert_type(orders.connect(payments).map(Text()), DataStream[str])
    assert_type(
        orders.connect(payments).key_by(lambda order: order.number, lambda payment: payment.order),
        ConnectedStreams[Order, Payment],
    )

    prices = env.from_collection([("tea", 2.5)]).broadcast(PRICES)
    assert_type(prices, BroadcastStream[tuple[str, float]])
    assert_type(orders.connect(prices), BroadcastConnectedStream[Order, tuple[str, float]])
    assert_type(orders.connect(prices).process(Priced()), DataStream[float])
    assert_type(orders.broadcast(), DataStream[Order])
    near.print()
