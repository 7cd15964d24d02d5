"""Kinesis consumer: re-exported by `firesteel.datastream.connectors.kinesis`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firesteel.common.serialization import DeserializationSchema
from firesteel.common.typeinfo import TypeInformation
from firesteel.common.watermark_strategy import AssignerWithPeriodicWatermarksWrapper
from firesteel.connectors.kinesis.properties import (
    DISCOVERY_INTERVAL,
    MOST_RECORDS,
    POLLING_INTERVAL,
    checked,
    initial_time_ms,
)
from firesteel.functions.connector_base import Source
from firesteel.functions.source_reading import ReadingHints, SourceEnumerator, SourceReader, SourceReaderContext
from firesteel.functions.user_functions import SourceFunction

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class KinesisSourceSettings:
    """Settings of a `KinesisSource`.

    Attributes:
        streams: Names or ARNs.
        deserializer: Deserializes the data of records.
        properties: Flink's properties of the consumer.
    """

    streams: tuple[str, ...]
    deserializer: DeserializationSchema[Any]
    properties: Mapping[str, str]

    @property
    def most_records(self) -> int:
        """Maximum number of records per request."""
        return min(10_000, int(self.properties.get(MOST_RECORDS, 10_000)))

    @property
    def polling_ms(self) -> int:
        """Interval in milliseconds at which the ends of shards are polled."""
        return int(self.properties.get(POLLING_INTERVAL, 400))

    @property
    def discovery_ms(self) -> int:
        """Interval in milliseconds at which new shards are discovered."""
        return int(self.properties.get(DISCOVERY_INTERVAL, 10_000))

    def __repr__(self) -> str:
        return f"KinesisSourceSettings({', '.join(self.streams)})"


class KinesisSource(Source[Any]):
    """Reads Kinesis streams, with the arrival times of records as timestamps; made from a `FlinkKinesisConsumer`.

    A split is a shard, and a position is the number after the sequence number of the last record read.

    Attributes:
        settings: Settings of the source.
    """

    def __init__(self, settings: KinesisSourceSettings) -> None:
        super().__init__()
        self.settings = settings

    reading_hints = ReadingHints(unit="Records")

    def create_enumerator(self, configuration: Mapping[str, str]) -> SourceEnumerator:
        """Return the enumerator of shards."""
        from firesteel.connectors.kinesis.splits import KinesisEnumerator  # late: it needs boto3

        return KinesisEnumerator(self.settings)

    def create_reader(self, context: SourceReaderContext) -> SourceReader:
        """Return the reader of a subtask."""
        from firesteel.connectors.kinesis.splits import KinesisReader  # late: it needs boto3

        return KinesisReader(self.settings)

    def is_bounded(self) -> bool:
        """Return False: streams are unbounded."""
        return False

    @property
    def produced_type(self) -> TypeInformation[Any]:
        """Type of the elements, as declared by the deserializer."""
        return self.settings.deserializer.get_produced_type()


class KinesisShardAssigner:
    """Assigns shards to subtasks. It has no effect: shards are assigned in round-robin order.

    Args:
        j_kinesis_shard_assigner: Only None is supported.

    Raises:
        NotImplementedError: the argument is not None.

    Example:
        >>> consumer = FlinkKinesisConsumer("orders", SimpleStringSchema(), {"aws.region": "us-east-1"})
        >>> _ = consumer.set_shard_assigner(KinesisShardAssigner.uniform_shard_assigner())
    """

    def __init__(self, j_kinesis_shard_assigner: object = None) -> None:
        if j_kinesis_shard_assigner is not None:
            raise NotImplementedError("KinesisShardAssigner wraps a Java object; shards are assigned round-robin")

    @staticmethod
    def default_shard_assigner() -> KinesisShardAssigner:
        """Return an assigner, which has no effect."""
        return KinesisShardAssigner()

    @staticmethod
    def uniform_shard_assigner() -> KinesisShardAssigner:
        """Return an assigner, which has no effect."""
        return KinesisShardAssigner()


class KinesisDeserializationSchema:
    """A wrapper of a Java object in PyFlink, not supported here: use a `DeserializationSchema`.

    Args:
        j_kinesis_deserialization_schema: Not used.

    Raises:
        NotImplementedError: always.

    Example:
        >>> KinesisDeserializationSchema(None)
        Traceback (most recent call last):
            ...
        NotImplementedError: KinesisDeserializationSchema wraps a Java object; use a DeserializationSchema
    """

    def __init__(self, j_kinesis_deserialization_schema: object) -> None:
        raise NotImplementedError("KinesisDeserializationSchema wraps a Java object; use a DeserializationSchema")


class WatermarkTracker:
    """Aligns the shards of a consumer. It has no effect: use `with_watermark_alignment`.

    Args:
        j_watermark_tracker: Only None is supported.

    Raises:
        NotImplementedError: the argument is not None.

    Example:
        >>> consumer = FlinkKinesisConsumer("orders", SimpleStringSchema(), {"aws.region": "us-east-1"})
        >>> _ = consumer.set_watermark_tracker(WatermarkTracker.job_manager_watermark_tracker("orders"))
    """

    def __init__(self, j_watermark_tracker: object = None) -> None:
        if j_watermark_tracker is not None:
            raise NotImplementedError("WatermarkTracker wraps a Java object; use with_watermark_alignment()")

    @staticmethod
    def job_manager_watermark_tracker(
        aggregate_name: str, log_accumulator_interval_millis: int = -1
    ) -> WatermarkTracker:
        """Return a tracker, which has no effect.

        Args:
            aggregate_name: Ignored.
            log_accumulator_interval_millis: Ignored.
        """
        return WatermarkTracker()


class FlinkKinesisConsumer(SourceFunction[Any]):
    """Reads Kinesis streams, for `add_source` (Flink: `streaming.connectors.kinesis.FlinkKinesisConsumer`).

    It is exactly-once: checkpoints contain the sequence number up to which each shard was read. The timestamps of
    elements are the arrival times of their records. A new shard is read after all records of its parent shards. Needs
    `pip install 'firesteel[kinesis]'`.

    Args:
        streams: One name, or a list of names.
        deserializer: Deserializes the data of records.
        config_props: Flink's properties of the consumer.

    Example:
        >>> properties = {"aws.region": "us-east-1", "flink.stream.initpos": "TRIM_HORIZON"}
        >>> orders = env.add_source(FlinkKinesisConsumer("orders", SimpleStringSchema(), properties))
    """

    def __init__(
        self,
        streams: str | list[str],
        deserializer: DeserializationSchema[Any] | KinesisDeserializationSchema,
        config_props: Mapping[str, Any],
    ) -> None:
        super().__init__()
        if not isinstance(deserializer, DeserializationSchema):
            raise TypeError(
                f"FlinkKinesisConsumer: deserializer must be a DeserializationSchema, found {deserializer!r}"
            )
        names = (streams,) if isinstance(streams, str) else tuple(streams)
        if not names:
            raise ValueError("FlinkKinesisConsumer: streams must not be empty")
        properties = checked(config_props, "FlinkKinesisConsumer")
        initial_time_ms(properties, 0)
        self._settings = KinesisSourceSettings(names, deserializer, properties)

    def as_source(self) -> KinesisSource:
        """Return the equivalent `KinesisSource`."""
        return KinesisSource(self._settings)

    def set_shard_assigner(self, shard_assigner: KinesisShardAssigner) -> FlinkKinesisConsumer:
        """Log a warning: shards are assigned to the subtasks in round-robin order.

        Args:
            shard_assigner: Ignored.
        """
        logger.warning("set_shard_assigner() has no effect: shards are assigned to the subtasks in round-robin order")
        return self

    def set_periodic_watermark_assigner(
        self, periodic_watermark_assigner: AssignerWithPeriodicWatermarksWrapper
    ) -> FlinkKinesisConsumer:
        """Raise an error: such an assigner is a Java object.

        Args:
            periodic_watermark_assigner: Only named for compatibility; use `assign_timestamps_and_watermarks`.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("set_periodic_watermark_assigner(): use assign_timestamps_and_watermarks()")

    def set_watermark_tracker(self, watermark_tracker: WatermarkTracker) -> FlinkKinesisConsumer:
        """Log a warning: `with_watermark_alignment` aligns splits.

        Args:
            watermark_tracker: Ignored.
        """
        logger.warning("set_watermark_tracker() has no effect: use with_watermark_alignment()")
        return self
