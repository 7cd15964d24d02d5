"""Readings by the CSV format of the DataStream API, with a schema of its own."""

import argparse

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSource
from pyflink.datastream.formats.csv import CsvReaderFormat, CsvSchema
from pyflink.table import DataTypes

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--input")
    parser.add_argument("--output")
    args = parser.parse_args()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    schema = (
        CsvSchema.builder()
        .add_string_column("sensor")
        .add_string_column("at")
        .add_number_column("value", number_type=DataTypes.DOUBLE())
        .build()
    )
    source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), f"{args.input}/sensors").build()
    readings = env.from_source(source, WatermarkStrategy.no_watermarks(), "csv")
    pairs = readings.map(lambda row: (row["sensor"], row["value"]), Types.TUPLE([Types.STRING(), Types.DOUBLE()]))
    pairs.filter(lambda pair: pair[1] < 0).print()
    env.execute("csv")
