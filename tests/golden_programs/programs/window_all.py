"""Windows over all elements meet in one subtask."""

from firesteel.common import Time, Types, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream.functions import AllWindowFunction, ProcessAllWindowFunction
from firesteel.datastream.window import CountTumblingWindowAssigner, TumblingEventTimeWindows

ELEMENTS = [1, 2, 3, 11, 12, 25]
BOTH = [
    "process> 0: 1,2,3", "process> 10: 11,12", "process> 20: 25",
    "apply> 6", "apply> 23", "apply> 25", "count> 3", "count> 23",
]  # fmt: skip


class Itself(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value


class Show(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield f"{context.window().start}: {','.join(map(str, sorted(elements)))}"


class Sum(AllWindowFunction):
    def apply(self, window, inputs):
        yield sum(inputs)


def build(env):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Itself())
    stream = env.from_collection(ELEMENTS, Types.LONG()).assign_timestamps_and_watermarks(strategy)
    ten = TumblingEventTimeWindows.of(Time.milliseconds(10))
    stream.window_all(ten).process(Show(), Types.STRING()).print("process").set_parallelism(1)
    stream.window_all(ten).apply(Sum(), Types.LONG()).print("apply").set_parallelism(1)
    five = env.from_collection([1, 2, 11, 12, 25], Types.LONG())
    five.window_all(CountTumblingWindowAssigner.of(2)).reduce(lambda a, b: a + b).print("count").set_parallelism(1)
