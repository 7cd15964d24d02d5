"""DynamicKafkaSource against a real broker."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common import WatermarkStrategy
from firesteel.common.serialization import SimpleStringSchema
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.dynamic_kafka import (
    DynamicKafkaSource,
    KafkaMetadataService,
    KafkaRecordDeserializationSchema,
    KafkaStreamSetSubscriber,
    KafkaStreamSubscriber,
    SingleClusterTopicMetadataService,
    StreamPatternSubscriber,
)
from firesteel.datastream.connectors.kafka import KafkaOffsetsInitializer
from firesteel.errors import InvalidProgramError
from firesteel.testing import run_local
from tests.kafka.broker import Broker

pytestmark = pytest.mark.slow


def builder(broker: Broker) -> Any:
    service = SingleClusterTopicMetadataService("one", {"bootstrap.servers": broker.servers})
    made = DynamicKafkaSource.builder().set_kafka_metadata_service(service)
    made.set_starting_offsets(KafkaOffsetsInitializer.earliest())
    return made.set_bounded(KafkaOffsetsInitializer.latest())


def read(source: DynamicKafkaSource) -> list[str]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka").collect_async()
    return sorted(run_local(env).elements)


def test_streams_are_the_topics_of_a_cluster(broker: Broker) -> None:
    first, second = broker.topic(2), broker.topic()
    broker.write(first, ["a", "b"])
    broker.write(second, ["c"])
    by_names = builder(broker).set_stream_ids({first, second}).set_value_only_deserializer(SimpleStringSchema())
    assert read(by_names.build()) == ["a", "b", "c"]
    schema = KafkaRecordDeserializationSchema.value_only(SimpleStringSchema())
    assert read(builder(broker).set_stream_pattern(second).set_deserializer(schema).build()) == ["c"]


def test_properties_of_cluster_and_source_come_together(broker: Broker) -> None:
    made = builder(broker).set_kafka_stream_subscriber(KafkaStreamSetSubscriber({"t"})).set_group_id("g")
    made.set_client_id_prefix("me").set_property("stream-metadata-discovery-interval-ms", "7")
    settings = made.set_value_only_deserializer(SimpleStringSchema()).build().settings
    assert settings.properties["partition.discovery.interval.ms"] == "7"
    assert (settings.properties["group.id"], settings.properties["client.id.prefix"]) == ("g", "me")
    assert settings.topics == ("t",)


def test_missing_settings_are_named(broker: Broker) -> None:
    with pytest.raises(InvalidProgramError, match=r"call set_stream_ids\(\)"):
        DynamicKafkaSource.builder().build()
    made = DynamicKafkaSource.builder().set_stream_pattern(".*")
    with pytest.raises(InvalidProgramError, match=r"call set_kafka_metadata_service\(\)"):
        made.build()
    with pytest.raises(InvalidProgramError, match="the streams to read are set already"):
        made.set_kafka_stream_subscriber(StreamPatternSubscriber(".*"))
    with pytest.raises(TypeError, match="must be a SingleClusterTopicMetadataService, found None"):
        made.set_kafka_metadata_service(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="stream_ids must not be empty"):
        KafkaStreamSetSubscriber(set())
    for kind in (KafkaMetadataService, KafkaStreamSubscriber, KafkaRecordDeserializationSchema):
        with pytest.raises(NotImplementedError, match="wraps a Java object"):
            kind(object())
