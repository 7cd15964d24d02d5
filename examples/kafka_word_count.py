"""Counts the words of the lines in a Kafka topic.

    firesteel run examples/kafka_word_count.py --bootstrap-servers localhost:9092 --topic lines

Without `--bounded` the job runs until it is cancelled and prints a new count for each word that arrives.
`make demo-kafka` runs the example with its own broker.
"""

import argparse
import re

from firesteel.common import Types, WatermarkStrategy
from firesteel.common.serialization import SimpleStringSchema
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource

WORD = re.compile(r"[a-z]+")


def words(line):
    for word in WORD.findall(line.lower()):
        yield word, 1


def main():
    parser = argparse.ArgumentParser(description="Count the words of the lines in a Kafka topic.")
    parser.add_argument("--bootstrap-servers", required=True, help="host:port of some brokers, separated by commas")
    parser.add_argument("--topic", required=True, help="the topic with the lines")
    parser.add_argument("--bounded", action="store_true", help="stop at the end that the topic has when the job starts")
    options = parser.parse_args()

    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(options.bootstrap_servers)
        .set_topics(options.topic)
        .set_group_id("kafka-word-count")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(SimpleStringSchema())
    )
    if options.bounded:
        source.set_bounded(KafkaOffsetsInitializer.latest())

    env = StreamExecutionEnvironment.get_execution_environment()
    lines = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "lines")
    (
        lines.flat_map(words, output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
        .key_by(lambda pair: pair[0], key_type=Types.STRING())
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .print()
    )
    env.execute("kafka word count")


if __name__ == "__main__":
    main()
