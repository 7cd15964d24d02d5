"""Rows of later stages pass a stage, in memory or on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from firesteel.common.files.spill_file import SpillFile
from firesteel.spark import shim
from firesteel.spark.lanes import Lanes
from firesteel.task.protocol import Row, StageRequest
from firesteel.task.versions import BatchTry


def silent_until_the_end(requests: Mapping[int, StageRequest], rows: Iterable[Row]) -> Iterator[Row]:
    (slot,) = requests
    count = sum(1 for _ in rows)
    yield slot, slot, 0, f"{count}".encode()


@pytest.mark.parametrize("kept_bytes", [1000, 1_000_000])
def test_rows_for_later_stages_are_passed_on_in_order(kept_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shim, "_PASSING_BYTES", kept_bytes)
    spilled: list[Any] = []
    write = SpillFile.write

    def note(file: SpillFile, chunk: Any) -> tuple[int, int]:
        spilled.append(chunk)
        return write(file, chunk)

    monkeypatch.setattr(SpillFile, "write", note)
    request = StageRequest(1, BatchTry(1, 0), "", b"")
    stage = shim.Stage(
        silent_until_the_end, request, {}, dict.fromkeys(range(4), ()), Lanes.one_per_slot(4), level_of_gate=(1, 2)
    )
    rows = [(3, (3, source, gate, b"x" * 100)) for source in range(100) for gate in (0, 1, -1)]
    found = list(stage(3, iter(rows)))
    assert found == [(3, (3, 3, 0, b"100")), *(row for row in rows if row[1][2] != 0)]
    assert bool(spilled) == (kept_bytes == 1000)
