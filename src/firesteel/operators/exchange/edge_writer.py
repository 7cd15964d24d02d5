"""Writers that partition the elements of one producing subtask among its consuming subtasks."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from firesteel.common.keys.key_groups import key_group_assigner, operator_index
from firesteel.common.values.size_estimate import size_of
from firesteel.operators.chain.operator import Timestamps
from firesteel.operators.chain.record_count import record_count
from firesteel.operators.exchange.buffers import Item, encode

if TYPE_CHECKING:
    from firesteel.common.snapshots import Snapshot
    from firesteel.common.typeinfo import TypeInformation

BUFFER_ELEMENTS = 4096
"""Maximum number of elements in a channel's buffer before it is sent; buffers are also sent at the end of the batch."""

BUFFER_BYTES = 1 << 20
"""Approximate size at which a channel's buffer is sent, estimated from sampled elements."""

_LARGEST_PAYLOAD = 8 << 20
"""Larger payloads are sent in parts, as Spark rejects rows of 2 GB."""

_PENDING_BYTES = 32 << 20
"""Approximate total size of the pending buffers of all channels."""

_SMALL_BYTES = 768
"""Elements up to this size in memory are bounded by their number only."""

_SAMPLE_EVERY = 64
"""Number of written elements after which two elements are measured again."""

_REMEMBERED_KEYS = 1_000_000

Parts = list[tuple[int, list[Any], Timestamps]]
"""(channel, values, timestamps) for each channel that receives elements."""


class Split(Protocol):
    """A partitioner of elements by channel."""

    def __call__(self, values: list[Any], timestamps: Timestamps) -> Parts:
        """Return the elements grouped by channel."""

    def snapshot(self) -> Snapshot:
        """Return the partitioner's state, which is part of the version of a batch."""

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the partitioner's state."""


class _StatelessSplit:
    """A partitioner whose decisions depend on the elements only."""

    def snapshot(self) -> Snapshot:
        return None

    def restore(self, snapshot: Snapshot) -> None:
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
    """REBALANCE and RESCALE: one element to each channel in turn, starting with the channel at position `first`."""

    def __init__(self, channels: Sequence[int], first: int) -> None:
        self._channels = channels
        # By subtask, or all would begin with the same channel and short batches would fill that one only.
        self._position = first % len(channels)

    def __call__(self, values: list[Any], timestamps: Timestamps) -> Parts:
        """Return the elements grouped by channel."""
        parts = _slices(self._position, self._channels, values, timestamps)
        self._position = (self._position + len(values)) % len(self._channels)
        return parts

    def snapshot(self) -> int:
        """Return the position of the next channel."""
        return self._position

    def restore(self, snapshot: int) -> None:
        """Restore the position of the next channel."""
        self._position = snapshot


class SplitBy(_StatelessSplit):
    """HASH and CUSTOM: the channels that `select` returns for a list of elements."""

    def __init__(self, select: Callable[[list[Any]], list[int]], channels: int) -> None:
        self._select = select
        self._channels = channels

    def __call__(self, values: list[Any], timestamps: Timestamps) -> Parts:
        """Return the elements grouped by channel."""
        chosen = self._select(values)
        buckets: list[list[object]] = [[] for _ in range(self._channels)]
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
    """SHUFFLE: a random channel; a replayed batch makes the same choices."""

    def __init__(self, channels: int, seed: int) -> None:
        self._random = random.Random(seed)
        choose = self._random.randrange
        super().__init__(lambda values: [choose(channels) for _ in values], channels)

    def snapshot(self) -> int:
        """Return the seed for the choices of the next batch."""
        # A new seed, as the state of the generator itself has 2.5 kB, once per subtask and version.
        seed = self._random.getrandbits(64)
        self._random.seed(seed)
        return seed

    def restore(self, snapshot: int) -> None:
        """Restore the seed."""
        self._random.seed(snapshot)


class SplitToAll(_StatelessSplit):
    """BROADCAST, and FORWARD and GLOBAL with their single channel: all elements to every channel."""

    def __init__(self, channels: Sequence[int]) -> None:
        self.channels = channels

    def __call__(self, values: list[Any], timestamps: Timestamps) -> Parts:
        """Return all elements for every channel."""
        return [(channel, values, timestamps) for channel in self.channels]


def select_by_key(
    key_type: TypeInformation[Any] | None, max_parallelism: int, channels: int
) -> Callable[[list[Any]], list[int]]:
    """Return the HASH selector: the channel of each `(key, value)` element's key group, cached by key."""
    key_group = key_group_assigner(key_type, max_parallelism)
    remembered: dict[object, int] = {}

    def select(key: object) -> int:
        # All at once: an order of use would cost more for each element than computing these again.
        if len(remembered) >= _REMEMBERED_KEYS:
            remembered.clear()
        channel = remembered[key] = operator_index(key_group(key), channels, max_parallelism)
        return channel

    def select_all(values: list[Any]) -> list[int]:
        get = remembered.get
        chosen = [get(element[0]) for element in values]
        # Almost always, after the first batch: then no key group is computed at all.
        if None not in chosen:
            return chosen  # type: ignore[return-value]
        pairs = zip(values, chosen, strict=True)
        return [select(element[0]) if channel is None else channel for element, channel in pairs]

    return select_all


def select_by_partitioner(function: Any, channels: int) -> Callable[[list[Any]], list[int]]:
    """Return the CUSTOM selector: the channel that the user's partitioner returns for each element's key."""
    partition = getattr(function, "partition", function)

    def select(key: Any) -> int:
        channel = partition(key, channels)
        if not 0 <= channel < channels:
            raise ValueError(f"the partitioner returned {channel!r} for key {key!r}, allowed are 0 to {channels - 1}")
        return int(channel)

    def select_all(values: list[Any]) -> list[int]:
        # Errors find the element that failed by this name (`operator_errors.in_hand`).
        remaining = iter(values)
        return [select(element[0]) for element in remaining]

    return select_all


class EdgeWriter:
    """The writer of one edge, which partitions elements into buffers and broadcasts watermarks and the end.

    `send(channel, payload)` receives each finished buffer; `channels` are the consuming subtasks that this one reaches.
    Buffers are bounded in elements and in bytes, so payloads stay within a few megabytes unless a single element is
    larger. Data for all channels is encoded once.
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
        """Partition elements and add them to the buffers."""
        if self.records_out >= self._next_sample:
            self._measure(values)
        self.records_out += record_count(values)
        if self._limit == BUFFER_ELEMENTS:
            self._write(values, timestamps)
            return
        for start in range(0, len(values), self._limit):
            end = start + self._limit
            self._write(values[start:end], None if timestamps is None else timestamps[start:end])

    def _measure(self, values: list[object]) -> None:
        """Estimate how many elements a buffer may hold; the limit decreases with the number of channels."""
        self._next_sample = self.records_out + _SAMPLE_EVERY
        # Two of them, as the elements of one call may differ.
        size = max(size_of(values[0]), size_of(values[len(values) // 2])) - _SMALL_BYTES
        if size <= 0:
            self._limit = BUFFER_ELEMENTS
        else:
            room = min(BUFFER_BYTES, _PENDING_BYTES // len(self._targets))
            # Below the largest limit, by which `process` knows that elements are small and need not be cut.
            self._limit = max(1, min(BUFFER_ELEMENTS - 1, room // size))

    def _write(self, values: list[object], timestamps: Timestamps) -> None:
        sizes, limit = self._sizes, self._limit
        for channel, part, part_timestamps in self._split_once(values, timestamps):
            self._pending[channel].append((part, part_timestamps))
            sizes[channel] += len(part)
            if sizes[channel] >= limit:
                self._flush(channel)

    def watermark(self, timestamp: int) -> None:
        """Send a watermark after the elements written so far."""
        self._mark(timestamp)

    def idle(self, is_idle: bool) -> None:
        """Send a change of idleness."""
        self._mark(is_idle)

    def end(self) -> None:
        """Send the end of input."""
        self._mark(None)

    def _mark(self, item: Item) -> None:
        # A mark alone sends no buffer: it goes with the next elements, or at the end of the batch.
        for items in self._pending.values():
            items.append(item)

    def flush(self) -> None:
        """Send all pending buffers."""
        for channel in self._targets:
            self._flush(channel)

    def snapshot(self) -> Snapshot:
        """Return the state of the partitioner."""
        return self._split.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the state of the partitioner."""
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
            # Before the halves are encoded: all three at once may be more than the memory.
            del payload
            for part in parts:
                self._encode_and_send(targets, part)
            return
        for target in targets:
            self.bytes_out += len(payload)
            self._send(target, payload)


def _halves(items: list[Item]) -> list[list[Item]]:
    """Cut a buffer in two; a buffer with a single element or mark stays whole."""
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
