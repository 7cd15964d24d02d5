"""Running counts of the words of a Kafka topic, into another topic."""

import argparse

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.serialization import SimpleStringSchema
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers", default="localhost:9092")
    args = parser.parse_args()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.add_jars("file:///opt/flink/lib/flink-sql-connector-kafka.jar")
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(args.servers)
        .set_topics("lines")
        .set_group_id("word-count")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(args.servers)
        .set_record_serializer(
            KafkaRecordSerializationSchema.builder()
            .set_topic("counts")
            .set_value_serialization_schema(SimpleStringSchema())
            .build()
        )
        .build()
    )
    (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
        .flat_map(lambda line: line.split(), Types.STRING())
        .map(lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.INT()]))
        .key_by(lambda pair: pair[0], Types.STRING())
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .map(lambda pair: f"{pair[0]} {pair[1]}", Types.STRING())
        .sink_to(sink)
    )
    env.execute("kafka word count")
