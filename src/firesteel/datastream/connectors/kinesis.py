"""Amazon Kinesis connectors (module as `pyflink.datastream.connectors.kinesis`)."""

from firesteel.datastream.connectors.kinesis_consumer import (
    FlinkKinesisConsumer,
    KinesisDeserializationSchema,
    KinesisShardAssigner,
    WatermarkTracker,
)
from firesteel.datastream.connectors.kinesis_sink import (
    KinesisFirehoseSink,
    KinesisFirehoseSinkBuilder,
    KinesisStreamsSink,
    KinesisStreamsSinkBuilder,
    PartitionKeyGenerator,
)

__all__ = [
    "FlinkKinesisConsumer",
    "KinesisDeserializationSchema",
    "KinesisFirehoseSink",
    "KinesisFirehoseSinkBuilder",
    "KinesisShardAssigner",
    "KinesisStreamsSink",
    "KinesisStreamsSinkBuilder",
    "PartitionKeyGenerator",
    "WatermarkTracker",
]
