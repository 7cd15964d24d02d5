"""What writes the elements of one producing subtask to the subtasks that consume them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from firesteel.common.key_groups import key_group_assigner, operator_index
from firesteel.operators.buffers import Item, encode
from firesteel.operators.operator import Timestamps
from firesteel.operators.spill import size_of

BUFFER_ELEMENTS = 4096
"""A channel's elements are sent when there are so many, and at the end of the batch."""

BUFFER_BYTES = 1 << 20
"""They are also sent when they have about so many bytes, those of small elements not counted."""

_PENDING_BYTES = 32 << 20
"""All channels are sent when together they have about so many bytes."""

_SMALL_BYTES = 256
"""Elements of up to so many bytes, with the overhead of their objects, are bounded by their number alone."""

_SAMPLED_ELEMENTS = 16
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
        self._bytes = dict.fromkeys(self._targets, 0)
        self._split_once: Split = SplitToAll(channels[:1]) if is_broadcast else split
        self._unmeasured = _SAMPLED_ELEMENTS
        self._has_large = False
        self.records_out = 0
        self.bytes_out = 0

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Take elements."""
        count = len(values)
        self.records_out += count
        self._unmeasured += count
        if self._unmeasured >= _SAMPLED_ELEMENTS:
            self._unmeasured = 0
            self._has_large = max(size_of(values[0]), size_of(values[count // 2])) > _SMALL_BYTES
        if self._has_large:
            self._process_large(values, timestamps)
            return
        sizes = self._sizes
        for channel, part, part_timestamps in self._split_once(values, timestamps):
            self._pending[channel].append((part, part_timestamps))
            sizes[channel] += len(part)
            if sizes[channel] >= BUFFER_ELEMENTS:
                self._flush(channel)

    def _process_large(self, values: list[Any], timestamps: Timestamps) -> None:
        """Take elements each of which is measured, in parts that fit into a buffer."""
        for channel, part, part_timestamps in self._split_once(values, timestamps):
            start = 0
            for end, value in enumerate(part):
                size = max(0, size_of(value) - _SMALL_BYTES)
                if self._bytes[channel] + size > BUFFER_BYTES and (self._sizes[channel] or end > start):
                    self._add(channel, part, part_timestamps, start, end)
                    self._flush(channel)
                    start = end
                self._bytes[channel] += size
            self._add(channel, part, part_timestamps, start, len(part))
            if self._sizes[channel] >= BUFFER_ELEMENTS:
                self._flush(channel)
        if sum(self._bytes.values()) > _PENDING_BYTES:
            self.flush()

    def _add(self, channel: int, part: list[Any], timestamps: Timestamps, start: int, end: int) -> None:
        if start < end:
            self._pending[channel].append((part[start:end], None if timestamps is None else timestamps[start:end]))
            self._sizes[channel] += end - start

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
            self._sizes[channel] = self._bytes[channel] = 0
            payload = encode(items)
            for target in self._targets[channel]:
                self.bytes_out += len(payload)
                self._send(target, payload)
