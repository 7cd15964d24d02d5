"""Reading from Kinesis: re-exported by `firesteel.datastream.connectors.kinesis`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firesteel.common.serialization import DeserializationSchema
from firesteel.common.typeinfo import TypeInformation
from firesteel.common.watermark_strategy import AssignerWithPeriodicWatermarksWrapper
from firesteel.datastream.connectors.base import Source
from firesteel.datastream.connectors.kinesis_properties import (
    DISCOVERY_INTERVAL,
    MOST_RECORDS,
    POLLING_INTERVAL,
    checked,
    initial_time_ms,
)
from firesteel.datastream.functions import SourceFunction

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class KinesisSourceSettings:
    """What a `KinesisSource` reads, and how.

    Attributes:
        streams: Names or ARNs.
        deserializer: Makes elements of the bytes of records.
        properties: Flink's.
    """

    streams: tuple[str, ...]
    deserializer: DeserializationSchema[Any]
    properties: Mapping[str, str]

    @property
    def most_records(self) -> int:
        """How many records a request asks for."""
        return min(10_000, int(self.properties.get(MOST_RECORDS, 10_000)))

    @property
    def polling_ms(self) -> int:
        """How often the ends of shards are looked for (milliseconds)."""
        return int(self.properties.get(POLLING_INTERVAL, 400))

    @property
    def discovery_ms(self) -> int:
        """How often new shards are looked for (milliseconds)."""
        return int(self.properties.get(DISCOVERY_INTERVAL, 10_000))

    def __repr__(self) -> str:
        return f"KinesisSourceSettings({', '.join(self.streams)})"


class KinesisSource(Source[Any]):
    """The records of Kinesis streams, with their arrival times; `FlinkKinesisConsumer` becomes one.

    A split is a shard, and a position is the sequence number after the last record that was read.

    Attributes:
        settings: What it reads, and how.
    """

    def __init__(self, settings: KinesisSourceSettings) -> None:
        super().__init__()
        self.settings = settings

    def is_bounded(self) -> bool:
        """Return False: streams have no end."""
        return False

    @property
    def produced_type(self) -> TypeInformation[Any]:
        """Type of the elements, as the deserializer says."""
        return self.settings.deserializer.get_produced_type()


class KinesisShardAssigner:
    """Says which subtask reads a shard. Without effect: shards are dealt in turn."""

    def __init__(self, j_kinesis_shard_assigner: Any = None) -> None:
        if j_kinesis_shard_assigner is not None:
            raise NotImplementedError("KinesisShardAssigner wraps a Java object; shards are dealt in turn")

    @staticmethod
    def default_shard_assigner() -> KinesisShardAssigner:
        """Return an assigner; as all of them it deals shards in turn."""
        return KinesisShardAssigner()

    @staticmethod
    def uniform_shard_assigner() -> KinesisShardAssigner:
        """Return an assigner; as all of them it deals shards in turn."""
        return KinesisShardAssigner()


class KinesisDeserializationSchema:
    """Wraps a Java object in PyFlink, so there is none here: use a `DeserializationSchema`."""

    def __init__(self, j_kinesis_deserialization_schema: Any) -> None:
        raise NotImplementedError("KinesisDeserializationSchema wraps a Java object; use a DeserializationSchema")


class WatermarkTracker:
    """Keeps the shards of a consumer together. Without effect: `with_watermark_alignment` does it."""

    def __init__(self, j_watermark_tracker: Any = None) -> None:
        if j_watermark_tracker is not None:
            raise NotImplementedError("WatermarkTracker wraps a Java object; use with_watermark_alignment()")

    @staticmethod
    def job_manager_watermark_tracker(
        aggregate_name: str, log_accumulator_interval_millis: int = -1
    ) -> WatermarkTracker:
        """Return a tracker, which changes nothing."""
        return WatermarkTracker()


class FlinkKinesisConsumer(SourceFunction[Any]):
    """Reads Kinesis streams, for `add_source` (Flink: `streaming.connectors.kinesis.FlinkKinesisConsumer`).

    Exactly once: checkpoints have the sequence number that each shard was read up to. Elements have the arrival times
    of their records. New shards are read when all records of the shards were read that they were made of. Needs
    `pip install 'firesteel[kinesis]'`.

    Args:
        streams: One name, or a list of them.
        deserializer: Makes elements of the bytes of records.
        config_props: Flink's properties.

    Example:
        >>> properties = {"aws.region": "us-east-1", "flink.stream.initpos": "TRIM_HORIZON"}
        >>> env.add_source(FlinkKinesisConsumer("orders", SimpleStringSchema(), properties))
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
            raise ValueError("FlinkKinesisConsumer: streams can't be empty")
        properties = checked(config_props, "FlinkKinesisConsumer")
        initial_time_ms(properties, 0)
        self._settings = KinesisSourceSettings(names, deserializer, properties)

    def as_source(self) -> KinesisSource:
        """Return the source that takes its place."""
        return KinesisSource(self._settings)

    def set_shard_assigner(self, shard_assigner: KinesisShardAssigner) -> FlinkKinesisConsumer:
        """Change nothing: shards are dealt to the subtasks in turn."""
        logger.warning("set_shard_assigner() has no effect: shards are dealt to the subtasks in turn")
        return self

    def set_periodic_watermark_assigner(
        self, periodic_watermark_assigner: AssignerWithPeriodicWatermarksWrapper
    ) -> FlinkKinesisConsumer:
        """Raise an error: such an assigner is a Java object.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("set_periodic_watermark_assigner(): use assign_timestamps_and_watermarks()")

    def set_watermark_tracker(self, watermark_tracker: WatermarkTracker) -> FlinkKinesisConsumer:
        """Change nothing: `with_watermark_alignment` keeps splits together."""
        logger.warning("set_watermark_tracker() has no effect: use with_watermark_alignment()")
        return self
