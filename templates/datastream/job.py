"""Counts clicks per page in windows of ten seconds of event time."""

from firesteel.common import Duration, Types, WatermarkStrategy
from firesteel.common.time import Time
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from firesteel.datastream.window import TumblingEventTimeWindows

CLICKS = [  # (page, second)
    ("/", 1),
    ("/shop", 3),
    ("/", 4),
    ("/", 12),
    ("/shop", 9),  # late, but not too late
    ("/", 31),
]


class ClickTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1000


class Count(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield f"{key}: {len(list(elements))} clicks from second {context.window().start // 1000}"


def counts(env, clicks):
    stream = env.from_collection(clicks, Types.TUPLE([Types.STRING(), Types.LONG()]))
    watermarks = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
    return (
        stream.assign_timestamps_and_watermarks(watermarks.with_timestamp_assigner(ClickTime()))
        .key_by(lambda click: click[0], key_type=Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .process(Count(), Types.STRING())
    )


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    counts(env, CLICKS).print()
    env.execute("clicks")


if __name__ == "__main__":
    main()
