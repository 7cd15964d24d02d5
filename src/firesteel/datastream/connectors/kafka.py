"""Apache Kafka connectors (module as `pyflink.datastream.connectors.kafka`), which use `confluent-kafka`."""

from firesteel.datastream.connectors.flink_kafka import (
    FlinkKafkaConsumer,
    FlinkKafkaConsumerBase,
    FlinkKafkaProducer,
    FlinkKafkaProducerBase,
    Semantic,
)
from firesteel.datastream.connectors.kafka_records import (
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaTopicSelector,
)
from firesteel.datastream.connectors.kafka_sink import KafkaSink, KafkaSinkBuilder
from firesteel.datastream.connectors.kafka_source import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)

__all__ = [
    "FlinkKafkaConsumer",
    "FlinkKafkaConsumerBase",
    "FlinkKafkaProducer",
    "FlinkKafkaProducerBase",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
    "Semantic",
]
