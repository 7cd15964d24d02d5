"""Events out of order, for the programs of this directory."""

from pyflink.common import Duration, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream.connectors.number_seq import NumberSequenceSource

COUNT = 8_000
EVENT = Types.TUPLE([Types.INT(), Types.STRING(), Types.INT(), Types.LONG()])


def event(number):
    """A number, one of 97 keys, a value from -500 to 499, and a time, a third of them up to 4 s late."""
    late_ms = number * 131 % 4000 if number * 7907 % 3 == 0 else 0
    return number, f"k{number * 7919 % 97}", number * 37 % 1000 - 500, number * 50 - late_ms + 10_000


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[3]


def timed(stream):
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(6))
    return stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(EventTime()))


def ordered(env, first=0, count=COUNT):
    """Events from one subtask: those of a key stay in order."""
    parallelism = env.get_parallelism()
    env.set_parallelism(1)
    stream = timed(env.from_collection([event(number) for number in range(first, first + count)], EVENT))
    env.set_parallelism(parallelism)
    return stream


def split(env, first=0, count=COUNT):
    """Events from two splits."""
    source = NumberSequenceSource(first, first + count - 1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    return timed(numbers.map(event, EVENT))
