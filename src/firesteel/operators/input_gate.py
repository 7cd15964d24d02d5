"""The inputs of a subtask: channels from all producing subtasks, their watermarks, idleness and ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from firesteel.operators.buffers import Item
from firesteel.operators.operator import MAX_WATERMARK, MIN_TIMESTAMP, Operator, OperatorInput, with_operator_named
from firesteel.operators.record_count import record_count

Channel = tuple[int, int]
"""(gate, producing subtask)."""


class _Valve:
    """The watermark and idleness of one input, out of those of its channels (Flink: `StatusWatermarkValve`).

    The watermark is the smallest of the channels that are neither idle nor behind it: a channel that was idle joins
    again when it has caught up. Once all channels are idle, the largest of their watermarks counts.
    """

    def __init__(self, channels: Iterable[Channel]) -> None:
        self.watermark = MIN_TIMESTAMP
        self.is_idle = False
        self._watermarks = dict.fromkeys(channels, MIN_TIMESTAMP)
        self._idle: set[Channel] = set()

    def set_watermark(self, channel: Channel, timestamp: int) -> bool:
        """Take a channel's watermark; True if that of the input advanced. The final one ends idleness."""
        before = self._watermarks[channel]
        if timestamp == MAX_WATERMARK and channel in self._idle:
            self._idle.discard(channel)
            self.is_idle = False
        if channel in self._idle or timestamp <= before:
            return False
        self._watermarks[channel] = timestamp
        return before <= self.watermark and self._advance()

    def set_idle(self, channel: Channel, is_idle: bool) -> bool:
        """Take a channel's change of idleness; True if the watermark of the input advanced."""
        (self._idle.add if is_idle else self._idle.discard)(channel)
        self.is_idle = len(self._idle) == len(self._watermarks)
        held_back = self._watermarks[channel] == self.watermark
        return is_idle and held_back and self._advance()

    def _advance(self) -> bool:
        if self.is_idle:
            found = max(self._watermarks.values())
        else:
            active = (w for c, w in self._watermarks.items() if w >= self.watermark and c not in self._idle)
            found = min(active, default=self.watermark)
        if found <= self.watermark:
            return False
        self.watermark = found
        return True


class InputGate:
    """Feeds the head of a chain from all its channels.

    The head's watermark is the smallest of its inputs that are not idle; an input ends when all its channels did, and
    the head's output when all inputs did.

    Attributes:
        records_in: Elements received.
        bytes_in: Bytes of the buffers that were received; what the same slot hands over is in none.
        bytes_in_remote: Those of them that came to the slot from another host.
    """

    def __init__(self, head: Operator, channels: dict[Channel, int]) -> None:
        self._head = head
        self._input_of = channels
        indexes = sorted(set(channels.values()))
        self._inputs = {index: OperatorInput(head, index) for index in indexes}
        self._valves = {i: _Valve(c for c, index in channels.items() if index == i) for i in indexes}
        self._open = set(channels)
        self._open_channels = Counter(channels.values())
        self._emitted = MIN_TIMESTAMP
        self._is_idle = False
        self.records_in = 0
        self.bytes_in = 0
        self.bytes_in_remote = 0

    @property
    def watermark(self) -> int:
        """The watermark of all inputs together."""
        return self._emitted

    @property
    def has_ended(self) -> bool:
        """True when every channel ended."""
        return not self._open

    def receive(self, gate: int, subtask: int, items: list[Item]) -> None:
        """Take the items of one buffer in order."""
        channel = (gate, subtask)
        index = self._input_of[channel]
        process, valve = self._inputs[index].process, self._valves[index]
        for item in items:
            if type(item) is tuple:
                self.records_in += record_count(item[0])
                process(item[0], item[1])
            elif item is None:
                self._end(channel, index)
            elif isinstance(item, bool):
                advanced = valve.set_idle(channel, item)
                self._combine(advanced)
            else:
                assert isinstance(item, int)
                if valve.set_watermark(channel, item):
                    self._combine(True)

    def _combine(self, advanced: bool) -> None:
        """Tell the head what watermark and idleness of all inputs together are (Flink: `CombinedWatermarkStatus`)."""
        valves = self._valves.values()
        is_idle = all(valve.is_idle for valve in valves)
        if is_idle and advanced:
            self._emit(max(valve.watermark for valve in valves))
        if is_idle != self._is_idle:
            self._is_idle = is_idle
            self._head.process_idle(is_idle)
        if not is_idle:
            self._emit(min(valve.watermark for valve in valves if not valve.is_idle))

    def _emit(self, watermark: int) -> None:
        if watermark > self._emitted:
            self._emitted = watermark
            with_operator_named(self._head, self._head.process_watermark, watermark)

    def _end(self, channel: Channel, index: int) -> None:
        self._open.discard(channel)
        self._open_channels[index] -= 1
        if not self._open_channels[index]:
            with_operator_named(self._head, self._head.end_input, index)
        if not self._open:
            self._head.output.end()

    def snapshot(self) -> Any:
        """Where all channels are."""
        return self._valves, self._open, self._open_channels, self._emitted, self._is_idle

    def restore(self, snapshot: Any) -> None:
        """Go on from there."""
        self._valves, self._open, self._open_channels, self._emitted, self._is_idle = snapshot
