"""Apache Kafka connectors (module as `pyflink.datastream.connectors.kafka`), which use `confluent-kafka`."""

from firesteel.connectors.kafka.functions import (
    FlinkKafkaConsumer,
    FlinkKafkaConsumerBase,
    FlinkKafkaProducer,
    FlinkKafkaProducerBase,
    Semantic,
)
from firesteel.connectors.kafka.record_schema import KafkaRecord, KafkaRecordDeserializationSchema
from firesteel.connectors.kafka.records import (
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaTopicSelector,
)
from firesteel.connectors.kafka.sink import KafkaSink, KafkaSinkBuilder
from firesteel.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from firesteel.connectors.kafka.source_settings import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)

__all__ = [
    "FlinkKafkaConsumer",
    "FlinkKafkaConsumerBase",
    "FlinkKafkaProducer",
    "FlinkKafkaProducerBase",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaRecord",
    "KafkaRecordDeserializationSchema",
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
