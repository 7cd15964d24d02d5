"""Tumbling, sliding and session windows over the same elements, in order of event time."""

from firesteel.common import Time, Types, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream.functions import AggregateFunction, ProcessWindowFunction
from firesteel.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows

ELEMENTS = [("a", 1), ("b", 2), ("a", 4), ("a", 11), ("b", 12), ("b", 14), ("a", 25)]
BOTH = [
    "tumbling> a 0..10: 1,4", "tumbling> b 0..10: 2", "tumbling> a 10..20: 11", "tumbling> b 10..20: 12,14",
    "tumbling> a 20..30: 25",
    "sliding> (a,-5,5)", "sliding> (a,0,5)", "sliding> (a,5,11)", "sliding> (a,10,11)", "sliding> (a,20,25)",
    "sliding> (a,25,25)",
    "sliding> (b,-5,2)", "sliding> (b,0,2)", "sliding> (b,5,26)", "sliding> (b,10,26)",
    "session> (a,1,9,2)", "session> (a,11,16,1)", "session> (a,25,30,1)", "session> (b,2,7,1)", "session> (b,12,19,2)",
]  # fmt: skip


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Show(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield f"{key} {window.start}..{window.end}: {','.join(str(e[1]) for e in elements)}"


class Start(ProcessWindowFunction):
    def process(self, key, context, elements):
        for element in elements:
            yield key, context.window().start, element[1]


class Bounds(ProcessWindowFunction):
    def process(self, key, context, elements):
        for count in elements:
            yield key, context.window().start, context.window().end, count


class Count(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a + b


def build(env):
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    stream = env.from_collection(ELEMENTS, pair).assign_timestamps_and_watermarks(strategy)
    keyed = stream.key_by(lambda t: t[0], Types.STRING())
    tumbling = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    tumbling.process(Show(), Types.STRING()).print("tumbling").set_parallelism(1)
    sliding = keyed.window(SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5)))
    sums = sliding.reduce(
        lambda a, b: (a[0], a[1] + b[1]), Start(), Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
    )
    sums.print("sliding").set_parallelism(1)
    sessions = keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(5)))
    four = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG(), Types.LONG()])
    sessions.aggregate(Count(), Bounds(), Types.LONG(), four).print("session").set_parallelism(1)
