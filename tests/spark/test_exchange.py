"""The exchange hands rows to Spark in chunks per lane."""

from __future__ import annotations

import pickle
import struct

import pytest

from firesteel.spark import exchange
from firesteel.task.protocol import Row


def rows_by_lane(chunks: list[bytes]) -> dict[int, list[list[tuple[int, Row]]]]:
    found: dict[int, list[list[tuple[int, Row]]]] = {}
    for lane, data in zip(chunks[::2], chunks[1::2], strict=True):
        found.setdefault(struct.unpack("!q", lane)[0], []).append(pickle.loads(data))
    return found


@pytest.mark.parametrize(("chunk_bytes", "chunks_per_lane"), [(1000, 4), (1_000_000, 1)])
def test_rows_of_a_lane_stay_in_order(chunk_bytes: int, chunks_per_lane: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_CHUNK_BYTES", chunk_bytes)
    rows = [(number % 3, (number % 3, 0, 1, b"%100d" % number)) for number in range(105)]
    found = rows_by_lane(list(exchange._chunks(0, iter(rows))))
    assert {lane: [row for chunk in chunks for row in chunk] for lane, chunks in found.items()} == {
        lane: [row for row in rows if row[0] == lane] for lane in range(3)
    }
    assert {len(chunks) for chunks in found.values()} == {chunks_per_lane}


def test_no_rows_make_no_chunks() -> None:
    assert list(exchange._chunks(0, iter(()))) == []
