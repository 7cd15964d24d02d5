"""Computes the lowest, mean and highest temperature of two cities in event-time windows of four weeks.

    firesteel run examples/temperature_windows.py

The readings of `examples/data/temperatures.csv` are up to six hours late. So the watermarks lag behind by six hours,
and each reading is added to the window of its own timestamp.
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path

from firesteel.common import Duration, Time, Types, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream import AggregateFunction, ProcessWindowFunction, StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import FileSource, StreamFormat
from firesteel.datastream.window import TumblingEventTimeWindows

DATA = Path(__file__).parent / "data" / "temperatures.csv"


def parse(line):
    time, city, temperature = line.split(",")
    moment = datetime.fromisoformat(time).replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000), city, float(temperature)


class ReadingTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[0]


class Summary(AggregateFunction):
    """Aggregates the readings of a window to (readings, lowest, sum, highest)."""

    def create_accumulator(self):
        return 0, float("inf"), 0.0, float("-inf")

    def add(self, value, accumulator):
        readings, lowest, total, highest = accumulator
        temperature = value[2]
        return readings + 1, min(lowest, temperature), total + temperature, max(highest, temperature)

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a[0] + b[0], min(a[1], b[1]), a[2] + b[2], max(a[3], b[3])


class Report(ProcessWindowFunction):
    """Adds the city and the dates of the window to its summary."""

    def process(self, key, context, elements):
        window = context.window()
        for readings, lowest, total, highest in elements:
            yield (
                f"{day(window.start)} to {day(window.end - 1)}  {key:13}  {readings:3} readings  "
                f"min {lowest:4.1f}  mean {total / readings:4.1f}  max {highest:4.1f}"
            )


def day(milliseconds):
    return datetime.fromtimestamp(milliseconds / 1000, UTC).date().isoformat()


def main():
    parser = argparse.ArgumentParser(description="Summarise temperatures in windows of event time.")
    parser.add_argument("--input", default=str(DATA), help="lines of time,city,temperature")
    parser.add_argument("--days", type=int, default=28, help="length of a window [28]")
    options = parser.parse_args()

    env = StreamExecutionEnvironment.get_execution_environment()
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), options.input).build()
    reading = Types.TUPLE([Types.LONG(), Types.STRING(), Types.DOUBLE()])
    summary = Types.TUPLE([Types.LONG(), Types.DOUBLE(), Types.DOUBLE(), Types.DOUBLE()])
    watermarks = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_hours(6))

    (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "lines", Types.STRING())
        .map(parse, output_type=reading)
        .assign_timestamps_and_watermarks(watermarks.with_timestamp_assigner(ReadingTime()))
        .key_by(lambda value: value[1], key_type=Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.days(options.days)))
        .aggregate(Summary(), Report(), accumulator_type=summary, output_type=Types.STRING())
        .print()
        .set_parallelism(1)
    )
    env.execute("temperature windows")


if __name__ == "__main__":
    main()
