"""Counts the words of the lines in one topic of Kafka, and writes the counts to another, exactly once."""

import argparse
import json

from firesteel.common import Types, WatermarkStrategy
from firesteel.common.serialization import SimpleStringSchema
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.base import DeliveryGuarantee
from firesteel.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)


def words(line):
    for word in line.lower().split():
        yield word, 1


def as_json(pair):
    return json.dumps({"word": pair[0], "count": pair[1]})


def source(servers):
    return (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics("lines")
        .set_group_id("word-count")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )


def sink(servers):
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic("counts")
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    return (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_record_serializer(serializer)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix("word-count")
        .build()
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap-servers", default="localhost:9092", help="host:port of some brokers")
    options = parser.parse_args()

    env = StreamExecutionEnvironment.get_execution_environment()
    env.enable_checkpointing(2000)
    lines = env.from_source(source(options.bootstrap_servers), WatermarkStrategy.no_watermarks(), "lines")
    (
        lines.flat_map(words, output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
        .key_by(lambda pair: pair[0], key_type=Types.STRING())
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .map(as_json, Types.STRING())
        .sink_to(sink(options.bootstrap_servers))
        .name("counts")
    )
    env.execute("word count")


if __name__ == "__main__":
    main()
