"""Warmest and mean reading of each sensor per minute, in event time, printed."""

import sys
from datetime import UTC, datetime

from pyflink.common import Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat
from pyflink.datastream.functions import AggregateFunction, ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows


class ReadingTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return int(value[1])


class MaxAndMean(AggregateFunction):
    def create_accumulator(self):
        return None, 0.0, 0

    def add(self, value, accumulator):
        most, total, count = accumulator
        return value[2] if most is None else max(most, value[2]), total + value[2], count + 1

    def get_result(self, accumulator):
        return accumulator[0], accumulator[1] / accumulator[2]

    def merge(self, a, b):
        return max(a[0], b[0]), a[1] + b[1], a[2] + b[2]


class WithWindow(ProcessWindowFunction):
    def process(self, key, context, elements):
        most, mean = next(iter(elements))
        yield f"{key} {context.window().start} {context.window().end} {most:.1f} {mean:.3f}"


def parse(line):
    sensor, time, value = line.split(",")
    at = datetime.strptime(time, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    return sensor, int(at.timestamp()) * 1000, float(value)


def main(input_path):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), input_path + "/sensors").build()
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "readings")
    readings = lines.map(parse, Types.TUPLE([Types.STRING(), Types.LONG(), Types.DOUBLE()]))
    readings = readings.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(ReadingTime()))
    (
        readings.key_by(lambda reading: reading[0], Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.minutes(1)))
        .aggregate(
            MaxAndMean(),
            WithWindow(),
            accumulator_type=Types.PICKLED_BYTE_ARRAY(),
            output_type=Types.STRING(),
        )
        .print()
    )
    env.execute("sensors")


if __name__ == "__main__":
    main(sys.argv[2])
