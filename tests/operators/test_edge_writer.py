from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.common.keys.key_groups import key_group_assigner, operator_index
from firesteel.operators.exchange import edge_writer
from firesteel.operators.exchange.buffers import decode


def test_round_robin_continues_with_the_next_channel() -> None:
    split = edge_writer.RoundRobin([4, 5, 6], 1)
    assert split([1, 2], None) == [(5, [1], None), (6, [2], None)]
    assert split([3, 4, 5, 6], [30, 40, 50, 60]) == [(4, [3, 6], [30, 60]), (5, [4], [40]), (6, [5], [50])]


@pytest.mark.parametrize("make", [lambda: edge_writer.RoundRobin([0, 1, 2], 0), lambda: edge_writer.Shuffle(3, 7)])
def test_a_replayed_batch_goes_to_the_same_channels(make: Any) -> None:
    split = make()
    split([1, 2, 3, 4], None)
    version = split.snapshot()
    first = split(list(range(20)), None)
    again = make()
    again.restore(version)
    assert again(list(range(20)), None) == first


def test_hash_sends_a_key_to_the_subtask_of_its_key_group() -> None:
    select = edge_writer.select_by_key(Types.STRING(), 128, 3)
    group = key_group_assigner(Types.STRING(), 128)
    keys = [f"key {i}" for i in range(50)]
    assert select([(key, 1) for key in keys]) == [operator_index(group(key), 3, 128) for key in keys]


def test_custom_partitioner_gets_key_and_number_of_channels() -> None:
    assert edge_writer.select_by_partitioner(lambda key, n: key % n, 4)([(6, "value")]) == [2]


def test_custom_partitioner_that_names_no_channel_is_refused() -> None:
    with pytest.raises(ValueError, match="returned 4 for key 1, allowed are 0 to 3"):
        edge_writer.select_by_partitioner(lambda key, n: n, 4)([(1, "value")])


def test_shuffle_uses_all_channels() -> None:
    parts = edge_writer.Shuffle(3, seed=1)(list(range(300)), None)
    counts = Counter({channel: len(values) for channel, values, _ in parts})
    assert sum(counts.values()) == 300
    assert min(counts[channel] for channel in range(3)) > 50


def test_full_buffers_are_sent_at_once_and_marks_stay_in_order() -> None:
    sent: list[tuple[int, Any]] = []
    split = edge_writer.SplitToAll([0, 1])
    writer = edge_writer.EdgeWriter(split, [0, 1], lambda channel, payload: sent.append((channel, decode(payload))))
    writer.process(list(range(edge_writer.BUFFER_ELEMENTS)), None)
    assert [channel for channel, _ in sent] == [0, 1]
    sent.clear()
    writer.process(["x"], [1])
    writer.watermark(5)
    writer.idle(True)
    writer.end()
    assert sent == []
    writer.flush()
    assert sent == [(0, [(["x"], [1]), 5, True, None]), (1, [(["x"], [1]), 5, True, None])]
    assert writer.records_out == edge_writer.BUFFER_ELEMENTS + 1


def writer_of(split: Any, channels: list[int]) -> tuple[edge_writer.EdgeWriter, list[tuple[int, bytes]]]:
    sent: list[tuple[int, bytes]] = []
    return edge_writer.EdgeWriter(split, channels, lambda channel, payload: sent.append((channel, payload))), sent


def received(sent: list[tuple[int, bytes]], channel: int) -> list[tuple[Any, int | None]]:
    items = [item for target, payload in sent if target == channel for item in decode(payload)]
    return [pair for values, times in items for pair in zip(values, times or [None] * len(values), strict=True)]  # type: ignore[misc]


@pytest.mark.parametrize("call", [1, 7, 2000])
@pytest.mark.parametrize("size", [1_000, 100_000, 3_000_000])
def test_buffers_are_bounded_by_bytes(size: int, call: int) -> None:
    writer, sent = writer_of(edge_writer.RoundRobin([0, 1], 0), [0, 1])
    count = 20_000_000 // size
    values = [f"{n:07}".ljust(size) for n in range(count)]
    for start in range(0, count, call):
        writer.process(values[start : start + call], list(range(start, min(start + call, count))))
    writer.flush()
    small = edge_writer.BUFFER_ELEMENTS * edge_writer._SMALL_BYTES
    assert max(len(payload) for _, payload in sent) <= max(edge_writer.BUFFER_BYTES, size) + small
    for channel in (0, 1):
        assert received(sent, channel) == [(values[n], n) for n in range(channel, count, 2)]


def test_large_elements_after_small_ones_are_noticed() -> None:
    writer, sent = writer_of(edge_writer.SplitToAll([0]), [0])
    writer.process(["x"] * 100, None)
    writer.process(["y" * 1_000_000 for _ in range(50)], None)
    assert len(sent) > 40
    writer.process(["z"] * 100, None)
    writer.process(["z"] * 100, None)
    writer.flush()
    assert [value[0] for value, _ in received(sent, 0)] == ["x"] * 100 + ["y"] * 50 + ["z"] * 200


def test_all_channels_together_are_bounded() -> None:
    channels = list(range(1000))
    writer, sent = writer_of(edge_writer.RoundRobin(channels, 0), channels)
    for _ in range(40):
        writer.process(["x" * 10_000] * 100, None)
    pending = 4_000 - sum(len(received(sent, channel)) for channel in channels)
    assert pending * 10_000 < 33_000_000


def test_unexpectedly_large_payloads_are_sent_in_parts() -> None:
    writer, sent = writer_of(edge_writer.SplitToAll([0]), [0])
    values = [str(n).ljust(1 if n in (0, 10) else 1_000_000) for n in range(21)]
    writer.process(values, list(range(len(values))))
    writer.watermark(3)
    writer.flush()
    assert len(sent) > 2
    assert max(len(payload) for _, payload in sent) <= edge_writer._LARGEST_PAYLOAD
    items = [item for _, payload in sent for item in decode(payload)]
    assert items.pop() == 3
    assert [v for found, _ in items for v in found] == values  # type: ignore[misc]
    assert [t for _, times in items for t in times] == list(range(len(values)))  # type: ignore[misc]


def test_broadcast_is_encoded_once_and_counts_for_each_channel() -> None:
    writer, sent = writer_of(edge_writer.SplitToAll([0, 1, 2]), [0, 1, 2])
    writer.process(["x"], None)
    writer.watermark(5)
    writer.flush()
    assert [channel for channel, _ in sent] == [0, 1, 2]
    assert sent[0][1] is sent[1][1] is sent[2][1]
    assert decode(sent[0][1]) == [(["x"], None), 5]
    assert writer.bytes_out == 3 * len(sent[0][1])


def test_global_gives_elements_to_one_channel_and_marks_to_all() -> None:
    writer, sent = writer_of(edge_writer.SplitToAll([0]), [0, 1])
    writer.process(["x"], None)
    writer.end()
    writer.flush()
    assert [(channel, decode(payload)) for channel, payload in sent] == [(0, [(["x"], None), None]), (1, [None])]
