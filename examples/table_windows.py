"""Computes the highest temperature of each sensor in windows of ten minutes, with the Table API.

firesteel run examples/table_windows.py
"""

from firesteel.common import Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import DataTypes, EnvironmentSettings, Schema, StreamTableEnvironment
from firesteel.table.expressions import col, lit
from firesteel.table.window import Tumble

READINGS = [
    ("kitchen", 20.5, 0),
    ("attic", 17.0, 60_000),
    ("kitchen", 22.0, 540_000),
    ("kitchen", 21.0, 660_000),
    ("attic", 18.5, 1_260_000),
]


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    table_env = StreamTableEnvironment.create(env, EnvironmentSettings.in_streaming_mode())
    table_env.get_config().set("table.local-time-zone", "UTC")
    columns = ["sensor", "celsius", "ms"]
    kind = Types.ROW_NAMED(columns, [Types.STRING(), Types.DOUBLE(), Types.LONG()])
    readings = table_env.from_data_stream(
        env.from_collection(READINGS, kind),
        Schema.new_builder()
        .column("sensor", DataTypes.STRING())
        .column("celsius", DataTypes.DOUBLE())
        .column("ms", DataTypes.BIGINT())
        .column_by_expression("ts", "TO_TIMESTAMP_LTZ(ms, 3)")
        .watermark("ts", "ts - INTERVAL '5' SECOND")
        .build(),
    )
    highest = (
        readings.window(Tumble.over(lit(10).minutes).on(col("ts")).alias("w"))
        .group_by(col("w"), col("sensor"))
        .select(col("w").start.alias("begins"), col("sensor"), col("celsius").max.alias("highest"))
    )
    highest.execute().print()


if __name__ == "__main__":
    main()
