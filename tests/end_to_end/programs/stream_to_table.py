"""Lines of JSON that a DataStream parses, counted in windows by SQL with a schema that declares event time."""

import argparse
import json
from datetime import UTC, datetime

from pyflink.common import Instant, Row, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat
from pyflink.table import DataTypes, Schema, StreamTableEnvironment


def parse(line):
    click = json.loads(line)
    at = datetime.strptime(click["ts"], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    return Row(click["user"], click["page"], Instant.of_epoch_milli(int(at.timestamp() * 1000)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--input")
    parser.add_argument("--output")
    args = parser.parse_args()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    t_env = StreamTableEnvironment.create(env)
    t_env.get_config().set("table.local-time-zone", "UTC")
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), f"{args.input}/clicks").build()
    types = Types.ROW_NAMED(["user", "page", "at"], [Types.STRING(), Types.STRING(), Types.INSTANT()])
    clicks = env.from_source(source, WatermarkStrategy.no_watermarks(), "clicks").map(parse, types)
    schema = (
        Schema.new_builder()
        .column("user", DataTypes.STRING())
        .column("page", DataTypes.STRING())
        .column("at", DataTypes.TIMESTAMP_LTZ(3))
        .watermark("at", "`at` - INTERVAL '2' HOUR")
        .build()
    )
    t_env.create_temporary_view("clicks", t_env.from_data_stream(clicks, schema))
    counts = t_env.sql_query("""
        SELECT CAST(window_start AS STRING), page, COUNT(*) FROM TABLE(
            HOP(TABLE clicks, DESCRIPTOR(`at`), INTERVAL '10' MINUTE, INTERVAL '20' MINUTE))
        GROUP BY window_start, window_end, page
    """)
    t_env.to_data_stream(counts).map(lambda row: " ".join(map(str, row)), Types.STRING()).print()
    env.execute("clicks")
