"""Windows in a job that goes on from a savepoint while its sources begin anew, compared with Flink's operators."""

from __future__ import annotations

import datetime
from collections import Counter
from typing import Any

import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.ranks.rank import RankFactory, RankStrategy
from firesteel.columns.kernels.times.time_windows import WindowPlan
from firesteel.columns.kernels.windows.sliced_windows import LocalWindowFactory, SlicedWindowFactory, SlicedWindowPlan
from firesteel.columns.kernels.windows.window_aggregate import WindowAggregateFactory
from firesteel.columns.kernels.windows.window_tables import WindowTableFactory
from firesteel.columns.rows import rows_of
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import to_arrow
from firesteel.columns.window_clock import IN_UTC
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend

TEXT, TIME, BIGINT = map(parse_type, ("STRING", "TIMESTAMP(3)", "BIGINT"))
COUNT = CallPlan("COUNT", (), BIGINT)
TEN = WindowPlan("TUMBLE", 1, 10_000, 10_000, 0)
GAP = WindowPlan("SESSION", 1, 10_000, 10_000, 0, partition=(0,))
SLICES = SlicedWindowPlan(TEN, (0,), (COUNT,), (TEXT, TIME), ((0, TEXT), ("start", TIME), ("end", TIME)))
WINDOWED = (TEXT, TIME, TIME, TIME)  # a key and a time, with the bounds of the window


def sessions(is_of_table: bool) -> WindowAggregateFactory:
    types = (TEXT, BIGINT, TIME, TIME)
    properties = ("start", "end")
    return WindowAggregateFactory((0,), (COUNT,), GAP, None, properties, (TEXT, TIME), types, is_of_table=is_of_table)


def by_columns(is_of_table: bool) -> WindowAggregateFactory:
    types = (TEXT, TIME, TIME, BIGINT)
    return WindowAggregateFactory(
        (0, 2, 3), (COUNT,), None, (2, 3), (), WINDOWED, types, source=IN_UTC, is_of_table=is_of_table
    )


FACTORIES: dict[str, Any] = {
    "slices": SlicedWindowFactory(SLICES),
    "rows": by_columns(is_of_table=True),
    "sessions": sessions(is_of_table=True),
    "rank": RankFactory(
        "ROW_NUMBER", (0, 2, 3), ((1, True, False),), 1, 1, False, WINDOWED, RankStrategy.APPEND_FAST, window_end=3
    ),
    "group windows": by_columns(is_of_table=False),
    "group sessions": sessions(is_of_table=False),
    "table of sessions": WindowTableFactory(GAP, (TEXT, TIME), TIME),
}
BEGIN_ANEW = ("group windows", "group sessions", "table of sessions")


class Subtask:
    def __init__(self, name: str, before: Subtask | None = None) -> None:
        """`before` is the subtask of a job whose savepoint this one starts from."""
        self.name, self.backend = name, KeyedStateBackend(None, 8)
        self.backend.key_group = lambda key: key[0]
        if before is not None:
            before.kernel.flush()
            for part in before.backend.full():
                self.backend.load(part)
        self.batches: list[ColumnBatch] = []
        self.counts: Counter[str] = Counter()
        self.kernel = FACTORIES[name].make()
        self.kernel.open(self.context(self.batches))
        if before is not None and self.kernel.carries_state:
            self.kernel.take_over([before.kernel.snapshot()])

    def context(self, batches: list[ColumnBatch]) -> KernelContext:
        def counter(name: str) -> Any:
            return lambda count: self.counts.update({name: count})

        context = KernelContext(True, 8, self.backend.table, batches.append, lambda time: None, lambda: 0)
        context.counter = counter
        return context

    def process(self, *seconds: int) -> None:
        batch = ColumnBatch((to_arrow(["a"] * len(seconds), TEXT), times(seconds)), len(seconds))
        if self.name == "slices":
            local, parts = LocalWindowFactory(SLICES).make(), []
            local.open(self.context(parts))
            local.process(0, batch)
            [batch] = parts
        elif self.name in ("rows", "rank", "group windows"):
            starts = [second - second % 10 for second in seconds]
            bounds = [times(starts), times([start + 10 for start in starts])]
            batch = batch.with_columns([*batch.columns, *bounds])
        self.kernel.process(0, batch)

    def watermark(self, second: int) -> tuple[int, int]:
        """Return the watermark that goes on, in seconds, and the number of rows that were emitted."""
        self.batches.clear()
        passed = self.kernel.watermark(1000 * second)
        return passed // 1000, sum(len(list(rows_of(batch))) for batch in self.batches)


def times(seconds: Any) -> Any:
    start = datetime.datetime(1970, 1, 1)
    return to_arrow([start + datetime.timedelta(seconds=second) for second in seconds], TIME)


@pytest.mark.parametrize("name", FACTORIES)
def test_windows_that_were_emitted_are_late_in_the_next_job(name: str) -> None:
    first = Subtask(name)
    first.process(1, 41)
    assert first.watermark(30) == (30, 1)
    second = Subtask(name, before=first)
    second.process(2)
    assert second.watermark(25) == ((25, 1) if name in BEGIN_ANEW else (30, 0))
    assert second.counts["numLateRecordsDropped"] == (0 if name in BEGIN_ANEW else 1)
    second.process(42)
    rows = 2 if name == "table of sessions" else 1
    assert second.watermark(60) == (60, rows)
    third = Subtask(name, before=second)
    third.process(3)
    assert third.watermark(59)[1] == (1 if name in BEGIN_ANEW else 0)
