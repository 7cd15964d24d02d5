"""Orders by size, and those that are not to be read, into three directories by side outputs."""

import argparse

from pyflink.common import Encoder, Types, WatermarkStrategy
from pyflink.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import (
    BucketAssigner,
    FileSink,
    FileSource,
    OutputFileConfig,
    StreamFormat,
)

LARGE = OutputTag("large", Types.STRING())
STRANGE = OutputTag("strange", Types.STRING())


class Split(ProcessFunction):
    def process_element(self, value, ctx: "ProcessFunction.Context"):
        number, customer, _, amount, _ = value.split(",")
        if customer in ("c11", "c12"):
            yield STRANGE, f"customer {customer} of order {number}"
        elif float(amount) > 50:
            yield LARGE, f"{number} {amount}"
        else:
            yield f"{number} {amount}"


def sink(path):
    return (
        FileSink.for_row_format(path, Encoder.simple_string_encoder("UTF-8"))
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_output_file_config(OutputFileConfig.builder().with_part_prefix("orders").with_part_suffix(".txt").build())
        .build()
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--input")
    parser.add_argument("--output")
    args = parser.parse_args()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), f"{args.input}/orders").build()
    small = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders").process(Split(), Types.STRING())
    small.sink_to(sink(f"{args.output}/small"))
    small.get_side_output(LARGE).sink_to(sink(f"{args.output}/large"))
    small.get_side_output(STRANGE).sink_to(sink(f"{args.output}/strange"))
    env.execute("split")
