"""Sessions of users: the pages that they saw with no pause of more than a minute, as lines of JSON."""

import argparse
import json
from datetime import UTC, datetime

from pyflink.common import Duration, Encoder, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import BucketAssigner, FileSink, FileSource, RollingPolicy, StreamFormat
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import EventTimeSessionWindows


class ClickTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        at = datetime.strptime(value["ts"], "%Y-%m-%d %H:%M:%S")
        return int(at.replace(tzinfo=UTC).timestamp() * 1000)


class Session(ProcessWindowFunction):
    def process(self, key, context, elements):
        clicks = sorted(elements, key=lambda click: (click["ts"], click["page"]))
        window = context.window()
        yield json.dumps(
            {
                "user": key,
                "seconds": (window.end - window.start) // 1000,
                "pages": [click["page"] for click in clicks],
                "has_paid": any(click["page"] == "/pay" for click in clicks),
            }
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--input")
    parser.add_argument("--output")
    args = parser.parse_args()

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), f"{args.input}/clicks").build()
    clicks = env.from_source(source, WatermarkStrategy.no_watermarks(), "clicks").map(json.loads)
    watermarks = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_hours(1))
    sessions = (
        clicks.assign_timestamps_and_watermarks(watermarks.with_timestamp_assigner(ClickTime()))
        .key_by(lambda click: click["user"])
        .window(EventTimeSessionWindows.with_gap(Time.seconds(60)))
        .process(Session(), Types.STRING())
    )
    sink = (
        FileSink.for_row_format(args.output, Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(RollingPolicy.default_rolling_policy(1024 * 1024, 60 * 1000, 30 * 1000))
        .build()
    )
    sessions.sink_to(sink)
    env.execute("sessions")
