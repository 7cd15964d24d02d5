"""The inputs of a subtask: channels from all producing subtasks, their watermarks, idleness and ends."""

from __future__ import annotations

from typing import Any

from firesteel.operators.buffers import Item
from firesteel.operators.operator import MAX_WATERMARK, MIN_TIMESTAMP, Operator, OperatorInput, with_operator_named

Channel = tuple[int, int]
"""(gate, producing subtask)."""


class InputGate:
    """Feeds the head of a chain from all its channels.

    The head's watermark is the smallest of the channels that are neither idle nor ended (Flink:
    `StatusWatermarkValve`); an input ends when all its channels did, and the head's output when all inputs did.
    """

    def __init__(self, head: Operator, channels: dict[Channel, int]) -> None:
        self._head = head
        self._input_of = channels
        self._inputs = {index: OperatorInput(head, index) for index in set(channels.values())}
        self._watermarks = dict.fromkeys(channels, MIN_TIMESTAMP)
        self._idle: set[Channel] = set()
        self._open = set(channels)
        self._emitted = MIN_TIMESTAMP
        self._all_idle = False
        self.records_in = 0

    @property
    def has_ended(self) -> bool:
        """True when every channel ended."""
        return not self._open

    def receive(self, gate: int, subtask: int, items: list[Item]) -> None:
        """Take the items of one buffer in order."""
        channel = (gate, subtask)
        process = self._inputs[self._input_of[channel]].process
        for item in items:
            if type(item) is tuple:
                self.records_in += len(item[0])
                process(item[0], item[1])
            elif item is None:
                self._end(channel)
            elif isinstance(item, bool):
                self._set_idle(channel, item)
            else:
                assert isinstance(item, int)
                self._watermarks[channel] = item
                self._advance()

    def _set_idle(self, channel: Channel, is_idle: bool) -> None:
        (self._idle.add if is_idle else self._idle.discard)(channel)
        all_idle = bool(self._open) and self._open <= self._idle
        if all_idle != self._all_idle:
            self._all_idle = all_idle
            self._head.process_idle(all_idle)
        self._advance()

    def _advance(self) -> None:
        active = self._open - self._idle
        if not active:
            return
        watermark = min(self._watermarks[channel] for channel in active)
        if watermark > self._emitted:
            self._emitted = watermark
            with_operator_named(self._head, self._head.process_watermark, watermark)

    def _end(self, channel: Channel) -> None:
        if self._watermarks[channel] == MAX_WATERMARK:
            # The final watermark came before the end and counts on: an ended channel holds nobody back.
            self._advance()
        self._open.discard(channel)
        index = self._input_of[channel]
        if not any(self._input_of[other] == index for other in self._open):
            with_operator_named(self._head, self._head.end_input, index)
        if self._open:
            self._advance()
        else:
            self._head.output.end()

    def snapshot(self) -> Any:
        """Where all channels are."""
        return self._watermarks, self._idle, self._open, self._emitted, self._all_idle

    def restore(self, snapshot: Any) -> None:
        """Go on from there."""
        self._watermarks, self._idle, self._open, self._emitted, self._all_idle = snapshot
