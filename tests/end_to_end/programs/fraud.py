"""Alerts where a large order follows a small one of the same customer within ten minutes: state and timers."""

import sys
from datetime import UTC, datetime

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat
from pyflink.datastream.state import ValueStateDescriptor

SMALL, LARGE, MINUTES = 20.0, 60.0, 10


class OrderTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[3]


class Detector(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.small = runtime_context.get_state(ValueStateDescriptor("small", Types.INT()))
        self.timer = runtime_context.get_state(ValueStateDescriptor("timer", Types.LONG()))

    def process_element(self, order, ctx: "KeyedProcessFunction.Context"):
        number, customer, amount, at = order
        small = self.small.value()
        if small is not None:
            if amount > LARGE:
                yield f"alert {customer}: {number} after {small}"
            ctx.timer_service().delete_event_time_timer(self.timer.value())
            self.small.clear()
        if amount < SMALL:
            self.small.update(number)
            self.timer.update(at + MINUTES * 60_000)
            ctx.timer_service().register_event_time_timer(at + MINUTES * 60_000)

    def on_timer(self, timestamp, ctx: "KeyedProcessFunction.OnTimerContext"):
        yield f"nothing follows {self.small.value()} until {timestamp}"
        self.small.clear()


def parse(line):
    number, customer, _, amount, time = line.split(",")
    at = datetime.strptime(time, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    return int(number), customer, float(amount), int(at.timestamp()) * 1000


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), sys.argv[2] + "/orders").build()
orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders").map(
    parse, Types.TUPLE([Types.INT(), Types.STRING(), Types.DOUBLE(), Types.LONG()])
)
orders = orders.assign_timestamps_and_watermarks(
    WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(OrderTime())
)
orders.key_by(lambda order: order[1]).process(Detector(), Types.STRING()).print()
env.execute("fraud")
