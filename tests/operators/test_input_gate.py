from __future__ import annotations

from typing import Any

import pytest

from firesteel.operators.chain.operator import MAX_WATERMARK, MIN_TIMESTAMP, Operator, Output, TaskInfo
from firesteel.operators.exchange.input_gate import InputGate

A, B = (0, 0), (0, 1)
OTHER_INPUT = (1, 0)


class Head(Operator):
    """Records its input."""

    def __init__(self) -> None:
        super().__init__("head", TaskInfo("j", "v", "v", 0, 1, 128, 0, False, {}), Output())
        self.seen: list[Any] = []

    def process(self, values: Any, timestamps: Any) -> None:
        self.seen.append(values)

    def process2(self, values: Any, timestamps: Any) -> None:
        self.seen.append(("second", values))

    def process_watermark(self, timestamp: int) -> None:
        self.seen.append(timestamp)

    def process_idle(self, is_idle: bool) -> None:
        self.seen.append("idle" if is_idle else "active")

    def end_input(self, index: int) -> None:
        self.seen.append(f"end {index}")


def gate_of(*channels: tuple[int, int]) -> tuple[InputGate, list[Any]]:
    head = Head()
    return InputGate(head, {channel: channel[0] for channel in channels}), head.seen


def feed(gate: InputGate, *steps: tuple[tuple[int, int], Any]) -> None:
    for channel, item in steps:
        gate.receive(*channel, [item])


CASES: dict[str, tuple[list[Any], list[Any]]] = {
    "the smallest watermark of the channels counts": ([(A, 5), (B, 3), (B, 9)], [3, 5]),
    "a watermark never goes back": ([(A, 5), (B, 5), (A, 4), (B, 6)], [5]),
    "an idle channel holds nobody back": ([(A, 5), (B, True), (A, 7)], [5, 7]),
    "a watermark of an idle channel does not count": ([(B, True), (B, 3), (A, 5)], [5]),
    "a channel that was idle holds nobody back until it has caught up": (
        [(A, 5), (B, True), (B, False), (A, 7), (B, 6), (A, 8), (B, 9), (A, 10)],
        [5, 7, 8, 9],
    ),
    "when the last channel turns idle, the largest watermark counts": (
        [(A, 5), (B, 3), (A, True), (B, True)],
        [3, 5, "idle"],
    ),
    "one active channel is enough": ([(A, True), (B, True), (A, False)], ["idle", "active"]),
    "the final watermark ends idleness": (
        [(A, True), (B, True), (A, MAX_WATERMARK), (B, MAX_WATERMARK)],
        ["idle", "active", MAX_WATERMARK],
    ),
    "a channel that has ended does not stand for an idle one": (
        [(A, 5), (B, 3), (A, MAX_WATERMARK), (B, True), (B, False), (B, 9), (B, MAX_WATERMARK)],
        [3, "idle", "active", 9, MAX_WATERMARK],
    ),
    "the end of the last active channel leaves the idle ones": (
        [(A, 5), (B, 3), (B, True), (A, MAX_WATERMARK), (B, False), (B, 9), (B, MAX_WATERMARK)],
        [3, 5, "idle", "active", 9, MAX_WATERMARK],
    ),
    "an input ends with its last channel": ([(A, None), (B, None)], ["end 0"]),
}


@pytest.mark.parametrize("claim", CASES)
def test_two_channels_are_combined(claim: str) -> None:
    steps, expected = CASES[claim]
    gate, seen = gate_of(A, B)
    feed(gate, *steps)
    assert seen == expected


def test_two_inputs_have_watermarks_of_their_own() -> None:
    gate, seen = gate_of(A, B, OTHER_INPUT)
    feed(gate, (A, 5), (B, 6), (OTHER_INPUT, 3), (OTHER_INPUT, True), (A, 7))
    assert seen == [3, 5, 6]


def test_elements_go_to_the_input_of_their_channel() -> None:
    gate, seen = gate_of(A, OTHER_INPUT)
    feed(gate, (A, (["x", "y"], None)), (OTHER_INPUT, (["z"], None)))
    assert seen == [["x", "y"], ("second", ["z"])]
    assert gate.records_in == 3


def test_gate_ends_when_all_inputs_did() -> None:
    gate, seen = gate_of(A, OTHER_INPUT)
    feed(gate, (A, None))
    assert not gate.has_ended
    feed(gate, (OTHER_INPUT, None))
    assert gate.has_ended
    assert seen == ["end 0", "end 1"]


def test_restored_gate_continues_from_its_position() -> None:
    import pickle

    gate, _ = gate_of(A, B)
    feed(gate, (A, 5), (B, 3), (A, None))
    other, seen = gate_of(A, B)
    other.restore(pickle.loads(pickle.dumps(gate.snapshot())))
    feed(other, (B, 4), (B, None))
    assert seen == [4, "end 0"]
    assert other.has_ended


def test_nothing_is_emitted_before_every_channel_had_a_watermark() -> None:
    gate, seen = gate_of(A, B)
    feed(gate, (A, 5), (B, MIN_TIMESTAMP))
    assert seen == []
