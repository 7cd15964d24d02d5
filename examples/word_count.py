"""Counts the words of text files, as Flink's WordCount example does.

    firesteel run examples/word_count.py --input examples/data/alice.txt

In STREAMING mode each word emits a new count, in BATCH mode only the last count of each word is emitted. `--top N`
prints the N most frequent words only.
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


def count_words(env, path):
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), path).build()
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines", Types.STRING())
    return (
        lines.flat_map(words, output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
        .name("words")
        .key_by(lambda pair: pair[0], key_type=Types.STRING())
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .name("count")
    )


def print_top(counts, number):
    """Print the most frequent words; the latest count of a word is its largest."""
    newest = {}
    with counts.execute_and_collect("word count") as results:
        for word, count in results:
            newest[word] = max(count, newest.get(word, 0))
    for word, count in sorted(newest.items(), key=lambda pair: (-pair[1], pair[0]))[:number]:
        print(f"{count:6}  {word}")


def main():
    parser = argparse.ArgumentParser(description="Count the words of text files.")
    parser.add_argument("--input", required=True, help="a text file, or a directory of them")
    parser.add_argument("--output", help="a directory for the counts; without it they are printed")
    parser.add_argument("--top", type=int, help="print only this number of words, the most frequent ones")
    options = parser.parse_args()

    env = StreamExecutionEnvironment.get_execution_environment()
    counts = count_words(env, options.input)
    if options.top:
        print_top(counts, options.top)
        return
    if options.output:
        sink = (
            FileSink.for_row_format(options.output, Encoder.simple_string_encoder())
            .with_output_file_config(
                OutputFileConfig.builder().with_part_prefix("words").with_part_suffix(".txt").build()
            )
            .build()
        )
        counts.sink_to(sink).name("counts")
    else:
        counts.print()
    env.execute("word count")


if __name__ == "__main__":
    main()
