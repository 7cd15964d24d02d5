"""The inputs of a subtask: channels from all producing subtasks, with their watermarks, idleness and end of input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from firesteel.operators.chain.operator import (
    MAX_WATERMARK,
    MIN_TIMESTAMP,
    Operator,
    OperatorInput,
    with_operator_named,
)
from firesteel.operators.chain.record_count import record_count
from firesteel.operators.exchange.buffers import Item
from firesteel.operators.exchange.gathered_batches import GatheredBatches

if TYPE_CHECKING:
    from firesteel.common.snapshots import Snapshot

Channel = tuple[int, int]
"""(gate, producing subtask)."""


class _Valve:
    """The combined watermark and idleness of one input's channels (Flink: `StatusWatermarkValve`).

    The watermark is the minimum over the channels that are neither idle nor lagging. A channel that was idle counts
    again once it has caught up. If all channels are idle, the maximum of their watermarks counts. Channels with the
    final watermark do not count before all have it. In Flink they do, so that idle channels lose their later elements.
    """

    def __init__(self, channels: Iterable[Channel]) -> None:
        self.watermark = MIN_TIMESTAMP
        self.is_idle = False
        self._watermarks = dict.fromkeys(channels, MIN_TIMESTAMP)
        self._idle: set[Channel] = set()

    def set_watermark(self, channel: Channel, timestamp: int) -> bool:
        """Set a channel's watermark and return whether the input's watermark or idleness has changed."""
        before, was_idle = self._watermarks[channel], self.is_idle
        if timestamp == MAX_WATERMARK:
            self._idle.discard(channel)
        if channel in self._idle or timestamp <= before:
            return False
        self._watermarks[channel] = timestamp
        if timestamp == MAX_WATERMARK:
            self._settle_idleness()
        # A channel that was ahead of the input did not hold it back.
        return (before <= self.watermark and self._advance()) or self.is_idle != was_idle

    def _settle_idleness(self) -> None:
        """Update whether all channels are idle that have not got the final watermark."""
        waiting = sum(watermark != MAX_WATERMARK for watermark in self._watermarks.values())
        self.is_idle = len(self._idle) == waiting > 0

    def set_idle(self, channel: Channel, is_idle: bool) -> bool:
        """Set a channel's idleness and return whether the input's watermark advanced."""
        (self._idle.add if is_idle else self._idle.discard)(channel)
        self._settle_idleness()
        # Only the slowest channel holds the others back, so one that was ahead changes nothing by becoming idle.
        held_back = self._watermarks[channel] == self.watermark
        return is_idle and held_back and self._advance()

    def _advance(self) -> bool:
        if self.is_idle:
            found = max(watermark for watermark in self._watermarks.values() if watermark != MAX_WATERMARK)
        else:
            # A channel that was idle may be behind the input's watermark, which never goes back.
            active = (w for c, w in self._watermarks.items() if w >= self.watermark and c not in self._idle)
            found = min(active, default=self.watermark)
        if found <= self.watermark:
            return False
        self.watermark = found
        return True


class InputGate:
    """The input of a chain's head: it merges all channels.

    The head's watermark is the minimum over its inputs that are not idle. An input ends when all its channels have
    ended, and the head's output ends when all inputs have. Small column batches wait for each other, see `flush`.

    Attributes:
        records_in: Number of elements received.
        bytes_in: Bytes of the buffers received; elements passed within the slot are not encoded and not counted.
        bytes_in_remote: Bytes of the buffers received from other hosts.
    """

    def __init__(self, head: Operator, channels: dict[Channel, int]) -> None:
        self._head = head
        self._input_of = channels
        indexes = sorted(set(channels.values()))
        self._inputs = {index: OperatorInput(head, index) for index in indexes}
        self._valves = {i: _Valve(c for c, index in channels.items() if index == i) for i in indexes}
        self._gathered = GatheredBatches(lambda index, batch: self._inputs[index].process([batch], None))
        self._open = set(channels)
        self._open_channels = Counter(channels.values())
        self._emitted = MIN_TIMESTAMP
        self._is_idle = False
        self.records_in = 0
        self.bytes_in = 0
        self.bytes_in_remote = 0

    @property
    def watermark(self) -> int:
        """The combined watermark of all inputs."""
        return self._emitted

    @property
    def has_ended(self) -> bool:
        """Whether all channels have ended."""
        return not self._open

    def receive(self, gate: int, subtask: int, items: list[Item]) -> None:
        """Process the items of one buffer in order; small column batches may wait for `flush`."""
        channel = (gate, subtask)
        index = self._input_of[channel]
        process, valve = self._inputs[index].process, self._valves[index]
        for item in items:
            if type(item) is tuple:
                self.records_in += record_count(item[0])
                if not self._gathered.add(index, *item):
                    process(item[0], item[1])
            elif item is None:
                self._end(channel, index)
            elif isinstance(item, bool):
                # Before int, of which bool is a subclass.
                advanced = valve.set_idle(channel, item)
                self._combine(advanced)
            else:
                assert isinstance(item, int)
                if valve.set_watermark(channel, item):
                    self._combine(True)

    def flush(self) -> None:
        """Process the column batches that wait: at the end of a batch, and before anything that comes after them."""
        self._gathered.flush()

    def _combine(self, advanced: bool) -> None:
        """Pass the combined watermark and idleness of all inputs to the head (Flink: `CombinedWatermarkStatus`)."""
        valves = [valve for valve in self._valves.values() if valve.watermark != MAX_WATERMARK]
        is_idle = bool(valves) and all(valve.is_idle for valve in valves)
        if is_idle and advanced:
            self._emit(max(valve.watermark for valve in valves))
        if is_idle != self._is_idle:
            self._is_idle = is_idle
            self.flush()
            self._head.process_idle(is_idle)
        if not is_idle:
            self._emit(min((valve.watermark for valve in valves if not valve.is_idle), default=MAX_WATERMARK))

    def _emit(self, watermark: int) -> None:
        if watermark > self._emitted:
            self._emitted = watermark
            self.flush()
            with_operator_named(self._head, self._head.process_watermark, watermark)

    def _end(self, channel: Channel, index: int) -> None:
        self._open.discard(channel)
        self._open_channels[index] -= 1
        if not self._open_channels[index]:
            self.flush()
            with_operator_named(self._head, self._head.end_input, index)
        if not self._open:
            self._head.output.end()

    def snapshot(self) -> Snapshot:
        """Return the watermarks, idleness and ends of all channels."""
        return self._valves, self._open, self._open_channels, self._emitted, self._is_idle

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the state of all channels."""
        self._valves, self._open, self._open_channels, self._emitted, self._is_idle = snapshot
