"""Counts the words of the files of a bucket into files of the bucket, in BATCH mode."""

import argparse

from pyflink.common import Encoder, Types, WatermarkStrategy
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import BucketAssigner, FileSink, FileSource, StreamFormat

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bucket")
    args = parser.parse_args()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(2)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), f"s3://{args.bucket}/lines").build()
    words = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").flat_map(str.split, Types.STRING())
    counts = (
        words.map(lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.INT()]))
        .key_by(lambda pair: pair[0], Types.STRING())
        .sum(1)
        .map(lambda pair: f"{pair[0]}={pair[1]}", Types.STRING())
    )
    sink = FileSink.for_row_format(f"s3://{args.bucket}/counts", Encoder.simple_string_encoder())
    counts.sink_to(sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
    env.execute("s3")
