"""Kafka connectors for `add_source` and `add_sink`, which were in `pyflink.datastream.connectors` itself."""

from __future__ import annotations

from firesteel.connectors.kafka.functions import FlinkKafkaConsumer, FlinkKafkaProducer, Semantic
from firesteel.pyflink1.removed import Removed

_PLACES = ("datastream.connectors",)
REMOVED = (
    Removed(_PLACES, "FlinkKafkaConsumer", FlinkKafkaConsumer, "from_source() with KafkaSource.builder()"),
    Removed(_PLACES, "FlinkKafkaProducer", FlinkKafkaProducer, "sink_to() with KafkaSink.builder()"),
    Removed(_PLACES, "Semantic", Semantic, "DeliveryGuarantee"),
)
