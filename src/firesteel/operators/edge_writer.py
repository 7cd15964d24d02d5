"""What writes the elements of one producing subtask to the subtasks that consume them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from firesteel.common.key_groups import key_group_assigner, operator_index
from firesteel.operators.buffers import Item, encode
from firesteel.operators.operator import Timestamps
from firesteel.operators.record_count import record_count
from firesteel.operators.spill import size_of

BUFFER_ELEMENTS = 4096
"""A channel's elements are sent when there are so many, and at the end of the batch."""

BUFFER_BYTES = 1 << 20
"""They are also sent when they have about so many bytes, by a sample of them."""

_LARGEST_PAYLOAD = 8 << 20
"""A payload that has more after all is sent in parts: Spark takes no row of 2 GB."""

_PENDING_BYTES = 32 << 20
"""All channels together keep about so many bytes."""

_SMALL_BYTES = 768
"""Elements of up to so many bytes in memory are bounded by their number alone."""

_SAMPLE_EVERY = 64
"""Two elements are measured whenever so many were written since."""

_REMEMBERED_KEYS = 1_000_000

Parts = list[tuple[int, list[Any], Timestamps]]
"""(channel, values, timestamps) for each channel that gets some."""


class Split(Protocol):
    """Splits elements by channel."""

    def __call__(self, values: list[Any], timestamps: Timestamps) -> Parts:
        """The elements by channel."""

    def snapshot(self) -> Any:
        """What decides about the next elements apart from themselves; part of the version of a batch."""

    def restore(self, snapshot: Any) -> None:
        """Go on from there."""


class _StatelessSplit:
    """Decides by the elements alone."""

    def snapshot(self) -> Any:
        return None

    def restore(self, snapshot: Any) -> None:
        pass


def _slices(start: int, channels: Sequence[int], values: list[Any], timestamps: Timestamps) -> list[Any]:
    n = len(channels)
    return [
        (
            channels[(start + i) % n],
            values[i::n],
            None if timestamps is None else timestamps[i::n],
        )
        for i in range(min(n, len(values)))
    ]


class RoundRobin:
    """REBALANCE and RESCALE: one element to each channel in turn, from the channel at position `first` on."""

    def __init__(self, channels: Sequence[int], first: int) -> None:
        self._channels = channels
        self._position = first % len(channels)

    def __call__(self, values: list[Any], timestamps: Timestamps) -> Parts:
        """The elements by channel."""
        parts = _slices(self._position, self._channels, values, timestamps)
        self._position = (self._position + len(values)) % len(self._channels)
        return parts

    def snapshot(self) -> int:
        """The channel whose turn it is."""
        return self._position

    def restore(self, snapshot: int) -> None:
        """Go on from that channel."""
        self._position = snapshot


class SplitBy(_StatelessSplit):
    """HASH and CUSTOM: the channels that `select` gives for a list of elements."""

    def __init__(self, select: Callable[[list[Any]], list[int]], channels: int) -> None:
        self._select = select
        self._channels = channels

    def __call__(self, values: list[Any], timestamps: Timestamps) -> Parts:
        """The elements by channel."""
        chosen = self._select(values)
        buckets: list[list[Any]] = [[] for _ in range(self._channels)]
        if timestamps is None:
            for value, channel in zip(values, chosen, strict=True):
                buckets[channel].append(value)
            return [(channel, bucket, None) for channel, bucket in enumerate(buckets) if bucket]
        times: list[list[int | None]] = [[] for _ in range(self._channels)]
        for value, timestamp, channel in zip(values, timestamps, chosen, strict=True):
            buckets[channel].append(value)
            times[channel].append(timestamp)
        return [(channel, bucket, times[channel]) for channel, bucket in enumerate(buckets) if bucket]


class Shuffle(SplitBy):
    """SHUFFLE: any channel; a batch that is fed again makes the same choices."""

    def __init__(self, channels: int, seed: int) -> None:
        self._random = random.Random(seed)
        choose = self._random.randrange
        super().__init__(lambda values: [choose(channels) for _ in values], channels)

    def snapshot(self) -> int:
        """The seed of the next batch's choices."""
        seed = self._random.getrandbits(64)
        self._random.seed(seed)
        return seed

    def restore(self, snapshot: int) -> None:
        """Choose from that seed on."""
        self._random.seed(snapshot)


class SplitToAll(_StatelessSplit):
    """BROADCAST, and FORWARD and GLOBAL with their one channel: all elements to each of the channels."""

    def __init__(self, channels: Sequence[int]) -> None:
        self.channels = channels

    def __call__(self, values: list[Any], timestamps: Timestamps) -> Parts:
        """The elements by channel."""
        return [(channel, values, timestamps) for channel in self.channels]


def select_by_key(key_type: Any, max_parallelism: int, channels: int) -> Callable[[list[Any]], list[int]]:
    """HASH: the channels of `(key, value)` elements' key groups, remembered by key."""
    key_group = key_group_assigner(key_type, max_parallelism)
    remembered: dict[Any, int] = {}

    def select(key: Any) -> int:
        if len(remembered) >= _REMEMBERED_KEYS:
            remembered.clear()
        channel = remembered[key] = operator_index(key_group(key), channels, max_parallelism)
        return channel

    def select_all(values: list[Any]) -> list[int]:
        get = remembered.get
        chosen = [get(element[0]) for element in values]
        if None not in chosen:
            return chosen  # type: ignore[return-value]
        pairs = zip(values, chosen, strict=True)
        return [select(element[0]) if channel is None else channel for element, channel in pairs]

    return select_all


def select_by_partitioner(function: Any, channels: int) -> Callable[[list[Any]], list[int]]:
    """CUSTOM: what the user's partitioner gives for the keys of `(key, value)` elements."""
    partition = getattr(function, "partition", function)

    def select(key: Any) -> int:
        channel = partition(key, channels)
        if not 0 <= channel < channels:
            raise ValueError(f"the partitioner gave {channel!r} for key {key!r}, allowed are 0 to {channels - 1}")
        return int(channel)

    def select_all(values: list[Any]) -> list[int]:
        remaining = iter(values)
        return [select(element[0]) for element in remaining]

    return select_all


class EdgeWriter:
    """Writes one edge: splits elements by channel, gathers them into buffers, sends watermarks and the end to all.

    `send(channel, payload)` takes each finished buffer; `channels` are the consuming subtasks that this one reaches.
    Buffers are bounded in number and in bytes, so a payload has few megabytes unless one element has more. What goes
    to all channels is encoded once.
    """

    def __init__(self, split: Split, channels: Sequence[int], send: Callable[[int, bytes], None]) -> None:
        self._split = split
        self._send = send
        is_broadcast = isinstance(split, SplitToAll) and list(split.channels) == list(channels)
        self._targets = {channels[0]: channels} if is_broadcast else {channel: (channel,) for channel in channels}
        self._pending: dict[int, list[Item]] = {channel: [] for channel in self._targets}
        self._sizes = dict.fromkeys(self._targets, 0)
        self._split_once: Split = SplitToAll(channels[:1]) if is_broadcast else split
        self._limit = BUFFER_ELEMENTS
        self._next_sample = 0
        self.records_out = 0
        self.bytes_out = 0

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Take elements."""
        if self.records_out >= self._next_sample:
            self._measure(values)
        self.records_out += record_count(values)
        if self._limit == BUFFER_ELEMENTS:
            self._write(values, timestamps)
            return
        for start in range(0, len(values), self._limit):
            end = start + self._limit
            self._write(values[start:end], None if timestamps is None else timestamps[start:end])

    def _measure(self, values: list[Any]) -> None:
        """Find out how many elements a buffer may have; where there are many channels, all have fewer."""
        self._next_sample = self.records_out + _SAMPLE_EVERY
        size = max(size_of(values[0]), size_of(values[len(values) // 2])) - _SMALL_BYTES
        if size <= 0:
            self._limit = BUFFER_ELEMENTS
        else:
            room = min(BUFFER_BYTES, _PENDING_BYTES // len(self._targets))
            self._limit = max(1, min(BUFFER_ELEMENTS - 1, room // size))

    def _write(self, values: list[Any], timestamps: Timestamps) -> None:
        sizes, limit = self._sizes, self._limit
        for channel, part, part_timestamps in self._split_once(values, timestamps):
            self._pending[channel].append((part, part_timestamps))
            sizes[channel] += len(part)
            if sizes[channel] >= limit:
                self._flush(channel)

    def watermark(self, timestamp: int) -> None:
        """Send a watermark behind what was written so far."""
        self._mark(timestamp)

    def idle(self, is_idle: bool) -> None:
        """Send a change of idleness."""
        self._mark(is_idle)

    def end(self) -> None:
        """Send the end of input."""
        self._mark(None)

    def _mark(self, item: Item) -> None:
        for items in self._pending.values():
            items.append(item)

    def flush(self) -> None:
        """Send what is pending."""
        for channel in self._targets:
            self._flush(channel)

    def snapshot(self) -> Any:
        """Where the splitting is."""
        return self._split.snapshot()

    def restore(self, snapshot: Any) -> None:
        """Go on from there."""
        self._split.restore(snapshot)

    def _flush(self, channel: int) -> None:
        items = self._pending[channel]
        if items:
            self._pending[channel] = []
            self._sizes[channel] = 0
            self._encode_and_send(self._targets[channel], items)

    def _encode_and_send(self, targets: Sequence[int], items: list[Item]) -> None:
        payload = encode(items)
        if len(payload) > _LARGEST_PAYLOAD and len(parts := _halves(items)) > 1:
            del payload
            for part in parts:
                self._encode_and_send(targets, part)
            return
        for target in targets:
            self.bytes_out += len(payload)
            self._send(target, payload)


def _halves(items: list[Item]) -> list[list[Item]]:
    """Cut a buffer in two; one that is a single element or mark stays whole."""
    if len(items) > 1:
        middle = len(items) // 2
        return [items[:middle], items[middle:]]
    item = items[0]
    if not isinstance(item, tuple) or len(item[0]) < 2:
        return [items]
    values, timestamps = item
    middle = len(values) // 2
    if timestamps is None:
        return [[(values[:middle], None)], [(values[middle:], None)]]
    return [[(values[:middle], timestamps[:middle])], [(values[middle:], timestamps[middle:])]]
