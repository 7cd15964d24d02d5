"""Counts the words of text files, as Flink's WordCount example does.

    firesteel run examples/word_count.py --input examples/data/alice.txt
"""

import argparse
import re

from firesteel.common import Encoder, Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import FileSink, FileSource, OutputFileConfig, StreamFormat

WORD = re.compile(r"[a-z]+")


def words(line):
    for word in WORD.findall(line.lower()):
        yield word, 1


def main():
    parser = argparse.ArgumentParser(description="Count the words of text files.")
    parser.add_argument("--input", required=True, help="a text file, or a directory of them")
    parser.add_argument("--output", help="a directory for the counts; printed when left out")
    options = parser.parse_args()

    env = StreamExecutionEnvironment.get_execution_environment()
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), options.input).build()
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines", Types.STRING())
    counts = (
        lines.flat_map(words, output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
        .name("words")
        .key_by(lambda pair: pair[0], key_type=Types.STRING())
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .name("count")
    )
    if options.output:
        sink = (
            FileSink.for_row_format(options.output, Encoder.simple_string_encoder())
            .with_output_file_config(OutputFileConfig.builder().with_part_prefix("words").with_part_suffix(".txt").build())
            .build()
        )
        counts.sink_to(sink).name("counts")
    else:
        counts.print()
    env.execute("word count")


if __name__ == "__main__":
    main()
