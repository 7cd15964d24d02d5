"""Windows that merge: fixed and dynamic gaps, reduced or aggregated before a window function sees the result."""

from firesteel.common import Types, WatermarkStrategy
from firesteel.common.time import Time
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream.functions import AggregateFunction, ProcessWindowFunction
from firesteel.datastream.window import EventTimeSessionWindows, SessionWindowTimeGapExtractor

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
ELEMENTS = [("a", 1), ("a", 2), ("b", 3), ("a", 6), ("b", 8), ("b", 9), ("a", 15)]
SUMS = [("a", 3, 1), ("a", 6, 6), ("a", 15, 15), ("b", 3, 3), ("b", 17, 8)]
BOTH = [f"{kind}> ({key},{number},{start})" for kind in ("reduced", "aggregated") for key, number, start in SUMS] + [
    "dynamic> (a,3,1,4)",
    "dynamic> (a,6,6,12)",
    "dynamic> (a,15,15,30)",
    "dynamic> (b,3,3,6)",
    "dynamic> (b,17,8,18)",
]


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class WithStart(ProcessWindowFunction):
    def process(self, key, context, elements):
        for _, number in elements:
            yield key, number, context.window().start


class SumWithBounds(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        return [(key, sum(number for _, number in elements), window.start, window.end)]


class Sum(AggregateFunction):
    def create_accumulator(self):
        return "", 0

    def add(self, value, accumulator):
        return value[0], accumulator[1] + value[1]

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a[0] or b[0], a[1] + b[1]


class OwnNumber(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return element[1]


def build(env):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    keyed = (
        env.from_collection(ELEMENTS, type_info=PAIR).assign_timestamps_and_watermarks(strategy).key_by(lambda e: e[0])
    )
    fixed = keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(2)))
    result = Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()])
    fixed.reduce(lambda a, b: (a[0], a[1] + b[1]), WithStart(), result).print("reduced").set_parallelism(1)
    fixed.aggregate(Sum(), WithStart(), accumulator_type=PAIR, output_type=result).print("aggregated").set_parallelism(
        1
    )
    dynamic = keyed.window(EventTimeSessionWindows.with_dynamic_gap(OwnNumber()))
    bounds = Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG(), Types.LONG()])
    dynamic.process(SumWithBounds(), bounds).print("dynamic").set_parallelism(1)
