"""Kafka as a source: partitions are splits, offsets are positions.

The enumerator queries the brokers for the end offsets of partitions, so a batch reads a range of offsets. A reader in
the slot keeps one consumer per partition across batches. Offsets have gaps where a transaction ended or compaction
removed records, so a range ends at a position whether or not a record precedes it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from firesteel.connectors.kafka.client import KafkaAdmin, KafkaError, Offsets, kafka_library
from firesteel.connectors.kafka.consumer import PartitionConsumer
from firesteel.connectors.kafka.source_settings import (
    CLIENT_ID_PREFIX,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSourceSettings,
    KafkaTopicPartition,
    OffsetKind,
)
from firesteel.functions.source_reading import SourceEnumerator, SourceReader
from firesteel.functions.splits import Discovered, Known, Split, SplitRange, StampedElements

_POLLING_MS = 20
"""Interval in ms at which brokers are queried for end offsets while there is nothing to read."""

_NO_END = 2**63 - 1


class KafkaEnumerator(SourceEnumerator):
    """The enumerator of partitions and their end offsets (Flink: `KafkaSourceEnumerator`).

    Args:
        settings: The settings of the source. Brokers are first contacted by `discover`.
        is_bounded: Whether the source is bounded: its end offsets are queried once, unless they may be ahead.
    """

    def __init__(self, settings: KafkaSourceSettings, is_bounded: bool) -> None:
        self._settings = settings
        stopping = settings.stopping_offsets
        may_wait = stopping is None or stopping.kind is OffsetKind.OFFSETS or not is_bounded
        self.rediscover_ms = _POLLING_MS if may_wait else None
        self._connected: KafkaAdmin | None = None
        self._is_committed = self._settings.properties.get("isolation.level") == "read_committed"
        self._listed_s = float("-inf")

    @property
    def _admin(self) -> KafkaAdmin:
        if self._connected is None:
            self._connected = KafkaAdmin(self._settings.properties)
        return self._connected

    def close(self) -> None:
        """Close the client, which has threads and connections."""
        self._connected = None

    def discover(self, parallelism: int, known: Known) -> Discovered:
        """Return the partitions that are new or may have grown, and the finished ones.

        Raises:
            KafkaError: a topic does not exist, or brokers do not answer.
        """
        growing = {_partition_of(split.split_id): split for split in known.splits.values() if split.grows}
        new = self._new(known)
        starts = self._starts(new, known.is_first)
        stops = self._stops(new, growing)
        ends = self._admin.offsets([*new, *growing], self._spec.latest(), self._is_committed)
        splits = []
        # Counted on from those that are known, or partitions that appear one by one would all go to subtask 0.
        for number, partition in enumerate([*growing, *new]):
            stop, end = stops.get(partition, _NO_END), ends[partition]
            start = growing[partition].start if partition in growing else min(starts[partition], stop)
            subtask = growing[partition].subtask_index if partition in growing else number % parallelism
            split_id = _split_id(partition)
            splits.append(Split(split_id, subtask, start, max(start, min(end, stop)), grows=end < stop))
        return splits, set(known.keys)

    def discover_all(self, parallelism: int) -> list[Split]:
        """Return all partitions up to their stopping offsets, also where that is beyond the present end.

        Raises:
            KafkaError: a topic does not exist, or brokers do not answer.
        """
        stopping = self._settings.stopping_offsets
        stops = {} if stopping is None else stopping.specified
        splits, _ = self.discover(parallelism, Known())
        return [replace(s, end=stops.get(_partition_of(s.split_id), s.end)) if s.grows else s for s in splits]

    def _new(self, known: Known) -> list[KafkaTopicPartition]:
        """Return the partitions not yet known; after the first call they are listed at the discovery interval."""
        interval_ms = self._settings.discovery_interval_ms
        if not known.is_first and interval_ms <= 0:
            return []
        now = time.monotonic()
        if not known.is_first and (now - self._listed_s) * 1000 < interval_ms:
            return []
        self._listed_s = now
        ids = known.keys | known.splits.keys()
        return sorted(partition for partition in self._subscribed() if _split_id(partition) not in ids)

    def _subscribed(self) -> Collection[KafkaTopicPartition]:
        settings = self._settings
        found = self._admin.partitions()
        if settings.topic_pattern is not None:
            pattern = re.compile(settings.topic_pattern)
            names: Collection[str] = [name for name in found if pattern.fullmatch(name)]
        else:
            names = settings.topics or {partition.topic for partition in settings.partitions}
        missing = sorted(set(names) - found.keys())
        if missing:
            raise KafkaError(f"Kafka at {settings.bootstrap_servers} has no topic {', '.join(map(repr, missing))}")
        all_of_them = {KafkaTopicPartition(name, number) for name in names for number in found[name]}
        absent = settings.partitions - all_of_them
        if absent:
            raise KafkaError(f"Kafka at {settings.bootstrap_servers} has no partition {_split_id(min(absent))}")
        return settings.partitions or all_of_them

    # --- offsets -----------------------------------------------------------------------------------------------------

    def _starts(self, partitions: Sequence[KafkaTopicPartition], is_first: bool) -> Offsets:
        # Partitions discovered later are read from the beginning, as in Flink, so that no record is missed.
        return self._find(
            self._settings.starting_offsets if is_first else KafkaOffsetsInitializer.earliest(), partitions
        )

    def _stops(self, new: Sequence[KafkaTopicPartition], growing: Iterable[KafkaTopicPartition]) -> Offsets:
        stopping = self._settings.stopping_offsets
        if stopping is None:
            return {}
        # Only explicit offsets can be ahead of the partition's end, so such a partition is still growing.
        return {**{p: stopping.specified.get(p, _NO_END) for p in growing}, **self._find(stopping, new)}

    def _find(self, offsets: KafkaOffsetsInitializer, partitions: Sequence[KafkaTopicPartition]) -> Offsets:
        """Return the offset of each partition.

        Raises:
            KafkaError: a partition has no such offset and there is no reset strategy.
        """
        found = self._finders[offsets.kind](self, offsets, partitions)
        found = {partition: offset for partition, offset in found.items() if offset >= 0}
        rest = [partition for partition in partitions if partition not in found]
        if rest and offsets.reset_strategy is KafkaOffsetResetStrategy.NONE:
            raise KafkaError(f"Undefined offset with no reset policy for partition {_split_id(rest[0])}")
        is_earliest = offsets.reset_strategy is KafkaOffsetResetStrategy.EARLIEST
        spec = self._spec.earliest() if is_earliest else self._spec.latest()
        return {**found, **self._admin.offsets(rest, spec, self._is_committed)}

    @property
    def _spec(self) -> Any:
        return kafka_library().admin.OffsetSpec

    def _committed(self, offsets: KafkaOffsetsInitializer, partitions: Sequence[KafkaTopicPartition]) -> Offsets:
        group = self._settings.properties.get("group.id")
        return {} if group is None else self._admin.committed(group, partitions)

    def _specified(self, offsets: KafkaOffsetsInitializer, partitions: Sequence[KafkaTopicPartition]) -> Offsets:
        named = {partition: offsets.specified[partition] for partition in partitions if partition in offsets.specified}
        return {**self._committed(offsets, [p for p in partitions if p not in named]), **named}

    def _at_time(self, offsets: KafkaOffsetsInitializer, partitions: Sequence[KafkaTopicPartition]) -> Offsets:
        return self._admin.offsets(partitions, self._spec.for_timestamp(offsets.time))

    def _by_strategy(self, offsets: KafkaOffsetsInitializer, partitions: Sequence[KafkaTopicPartition]) -> Offsets:
        return {}

    _finders: ClassVar[
        dict[OffsetKind, Callable[[KafkaEnumerator, KafkaOffsetsInitializer, Sequence[KafkaTopicPartition]], Offsets]]
    ] = {
        OffsetKind.EARLIEST: _by_strategy,
        OffsetKind.LATEST: _by_strategy,
        OffsetKind.COMMITTED: _committed,
        OffsetKind.OFFSETS: _specified,
        OffsetKind.TIMESTAMP: _at_time,
    }


class KafkaReader(SourceReader):
    """A reader of partition ranges with one long-lived consumer per partition (Flink: `KafkaPartitionSplitReader`)."""

    def __init__(self, settings: KafkaSourceSettings, subtask_index: int) -> None:
        self._settings = settings
        self._client_id = f"{settings.properties[CLIENT_ID_PREFIX]}-{subtask_index}"
        self._consumers: dict[str, PartitionConsumer] = {}

    def read(self, part: SplitRange) -> Iterator[StampedElements]:
        """Yield the elements of a range with the timestamps of their records.

        Raises:
            KafkaError: a record could not be read; the message names topic, partition and offset.
        """
        split_id = part.split.split_id
        consumer = self._consumers.get(split_id)
        if consumer is None:
            partition = _partition_of(split_id)
            consumer = self._consumers[split_id] = PartitionConsumer(self._settings, partition, self._client_id)
        # Only BATCH mode has a last range of a split that still grows: the records up to its end may yet be written.
        waits = part.is_last and part.split.grows
        for elements, timestamps in consumer.read(part.start, part.end, waits=waits):
            yield StampedElements(elements, timestamps)
        if part.is_last:
            self._consumers.pop(split_id).close()

    def close(self) -> None:
        """Close all consumers."""
        consumers, self._consumers = self._consumers, {}
        for consumer in consumers.values():
            consumer.close()


def _split_id(partition: KafkaTopicPartition) -> str:
    return f"{partition.topic}-{partition.partition}"


def _partition_of(split_id: str) -> KafkaTopicPartition:
    topic, _, number = split_id.rpartition("-")
    return KafkaTopicPartition(topic, int(number))
