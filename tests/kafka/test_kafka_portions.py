"""What arrives of a range in portions is decoded together, unless it is much; without a broker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.connectors.kafka import consumer
from firesteel.connectors.kafka.consumer import PartitionConsumer
from firesteel.connectors.kafka.source_settings import KafkaSourceSettings, KafkaTopicPartition

ENOUGH_BYTES = 4 << 20


@dataclass(frozen=True)
class Message:
    """A message of some bytes, of which there need be none."""

    at: int
    size: int

    def __len__(self) -> int:
        return self.size

    def offset(self) -> int:
        return self.at

    def value(self) -> bytes:
        return b"x"

    def error(self) -> None:
        return None

    def timestamp(self) -> tuple[int, int]:
        return 1, 0


class Library:
    """The part of `confluent_kafka` that reads, with messages in given portions."""

    KafkaError = SimpleNamespace(_PARTITION_EOF=-191)

    def __init__(self, portions: Sequence[Sequence[int]]) -> None:
        offset = count()
        self._portions = [[Message(next(offset), size) for size in sizes] for sizes in portions]

    def Consumer(self, settings: Any) -> Library:
        return self

    def TopicPartition(self, topic: str, partition: int, offset: int) -> int:
        return offset

    def assign(self, partitions: Any) -> None:
        pass

    def consume(self, most: int, timeout_s: float) -> list[Message]:
        return self._portions.pop(0)


class Offsets:
    """A decoder into columns: the offsets, and how many bytes were decoded at once."""

    takes_tombstones = False

    def decode_records(self, records: list[Message]) -> list[list[int]]:
        return [[record.at for record in records], [sum(map(len, records))]]


def decoded(portions: Sequence[Sequence[int]], monkeypatch: pytest.MonkeyPatch) -> list[list[list[int]]]:
    with monkeypatch.context() as patched:
        patched.setattr(consumer, "kafka_library", lambda: Library(portions))
        settings = replace(
            KafkaSourceSettings(), properties={"bootstrap.servers": "localhost:9"}, deserializer=Offsets()
        )
        reader = PartitionConsumer(settings, KafkaTopicPartition("topic", 0), "test")
        return [elements for elements, _ in reader.read(0, sum(map(len, portions)))]


PORTIONS = st.lists(
    st.lists(st.sampled_from([0, 100, 1 << 20, 3 << 20]), min_size=1, max_size=5), min_size=1, max_size=8
)


@given(PORTIONS)
def test_all_records_are_decoded_in_order_and_no_more_at_once_than_needed(portions: list[list[int]]) -> None:
    found = decoded(portions, pytest.MonkeyPatch())
    assert [offset for offsets, _ in found for offset in offsets] == list(range(sum(map(len, portions))))
    largest = max(sum(sizes) for sizes in portions)
    assert all(size < ENOUGH_BYTES + largest for _, (size,) in found)
    assert all(size >= ENOUGH_BYTES for _, (size,) in found[:-1])


def test_small_records_are_decoded_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [offsets for offsets, _ in decoded([[10], [10, 10], [0]], monkeypatch)] == [[0, 1, 2, 3]]
