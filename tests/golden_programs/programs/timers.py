"""Timers of a key: registered twice they fire once, deleted they don't, those left fire at the end of input."""

from firesteel.common import Types, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream.functions import KeyedProcessFunction
from firesteel.datastream.state import ReducingStateDescriptor

ELEMENTS = [("a", 1), ("a", 2), ("b", 3), ("drop", 4), ("drop", 5), ("a", 100)]
BOTH = ["a at 50: 3", "a at 150: 3", "b at 50: 1"]


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class CountUntil(KeyedProcessFunction):
    def open(self, runtime_context):
        descriptor = ReducingStateDescriptor("count", lambda a, b: a + b, Types.LONG())
        self.count = runtime_context.get_reducing_state(descriptor)

    def process_element(self, value, ctx):
        self.count.add(1)
        due = 50 if ctx.timestamp() < 50 else 150
        ctx.timer_service().register_event_time_timer(due)
        if ctx.get_current_key() == "drop" and self.count.get() == 2:
            ctx.timer_service().delete_event_time_timer(due)

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()} at {timestamp}: {self.count.get()}"


def build(env):
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    stream = env.from_collection(ELEMENTS, pair).assign_timestamps_and_watermarks(strategy)
    stream.key_by(lambda t: t[0], Types.STRING()).process(CountUntil(), Types.STRING()).print()
