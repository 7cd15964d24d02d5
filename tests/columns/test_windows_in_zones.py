"""Windows around the switches of clocks: each kernel gives what a loop over the rows gives."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernel import MAX_WATERMARK, KernelContext
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.times.time_windows import WindowPlan
from firesteel.columns.kernels.windows.sessions import SessionAggregate
from firesteel.columns.kernels.windows.sliced_windows import LocalWindowFactory, SlicedWindowFactory, SlicedWindowPlan
from firesteel.columns.kernels.windows.window_aggregate import WindowAggregate, WindowAggregateFactory
from firesteel.columns.kernels.windows.window_tables import WindowTableFactory
from firesteel.columns.rows import rows_of
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import to_arrow
from firesteel.columns.window_clock import WindowClock, WindowSource
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend

TEXT, TIME, BIGINT, INSTANT = map(parse_type, ("STRING", "TIMESTAMP(3)", "BIGINT", "TIMESTAMP_LTZ(3)"))
COUNT = CallPlan("COUNT", (), BIGINT)
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
SWITCHES = {
    "UTC": ["2024-03-31T01:00", "2024-10-27T01:00"],
    "Asia/Shanghai": ["2024-03-31T01:00", "2024-10-27T01:00"],
    "Europe/Berlin": ["2024-03-31T01:00", "2024-10-27T01:00"],
    "America/Los_Angeles": ["2024-03-10T10:00", "2024-11-03T09:00"],
}
CASES = [(zone, switch) for zone, switches in SWITCHES.items() for switch in switches]
WINDOWS = {
    "days": ("TUMBLE", DAY, 0, 0),
    "hours": ("TUMBLE", HOUR, 0, 0),
    "days from six": ("TUMBLE", DAY, 0, 6 * HOUR),
    "overlapping": ("HOP", 3 * HOUR, HOUR, 0),
    "hours of the day": ("CUMULATE", DAY, HOUR, 0),
    "sessions": ("SESSION", 40 * MINUTE, 0, 0),
}


class Subtask:
    """A kernel and what it emits."""

    def __init__(self, factory: Any, is_streaming: bool = True, before: Subtask | None = None) -> None:
        """`before` is the subtask of a job whose savepoint this one starts from."""
        self.backend = backend = KeyedStateBackend(None, 8)
        backend.key_group = lambda key: key[0]
        if before is not None:
            before.kernel.flush()
            for part in before.backend.full():
                backend.load(part)
        self.kernel = factory.make()
        self.batches: list[ColumnBatch] = []
        self.kernel.open(KernelContext(is_streaming, 8, backend.table, self.batches.append, None, lambda: 0))
        if before is not None and self.kernel.carries_state:
            self.kernel.take_over([before.kernel.snapshot()])

    def take(self) -> list[ColumnBatch]:
        taken, self.batches[:] = list(self.batches), []
        return taken


def instants(switch: str, seed: int) -> list[int]:
    """Instants in ms within a day and a half around a switch, out of order, many of them near it."""
    chance, middle = random.Random(seed), int(datetime.datetime.fromisoformat(switch + "+00:00").timestamp()) * 1000
    near = [middle + chance.randrange(-120, 120) * MINUTE for _ in range(60)]
    far = [middle + chance.randrange(-36 * 60, 36 * 60) * MINUTE for _ in range(40)]
    return sorted(near + far, key=lambda time: time + chance.randrange(90) * MINUTE)


def batch_of(times: list[int]) -> ColumnBatch:
    moments = [datetime.datetime.fromtimestamp(time / 1000, datetime.UTC) for time in times]
    keys = ["ab"[time // MINUTE % 2] for time in times]
    return ColumnBatch((to_arrow(keys, TEXT), to_arrow(moments, INSTANT)), len(times))


def local(time: int, zone: str) -> int:
    moment = datetime.datetime.fromtimestamp(time / 1000, ZoneInfo(zone)).replace(tzinfo=datetime.UTC)
    return round(moment.timestamp() * 1000)


def expected(times: list[int], zone: str, window: WindowPlan) -> Counter[tuple[str, int, int]]:
    """How many rows there are of each key and window, by a loop over the rows; none is late."""
    found: Counter[tuple[str, int, int]] = Counter()
    by_key: dict[str, list[int]] = {}
    for time in times:
        key = "ab"[time // MINUTE % 2]
        by_key.setdefault(key, []).append(local(time, zone))
        if window.kind != "SESSION":
            found.update((key, start, end) for start, end in window.windows(local(time, zone)))
    if window.kind == "SESSION":
        for key, members in by_key.items():
            found.update(sessions(key, sorted(members), window.size))
    return found


def sessions(key: str, times: list[int], gap: int) -> Counter[tuple[str, int, int]]:
    found: Counter[tuple[str, int, int]] = Counter()
    group = [times[0]]
    for time in [*times[1:], times[-1] + 10 * DAY]:
        if time > group[-1] + gap:
            found[key, group[0], group[-1] + gap] = len(group)
            group = []
        group.append(time)
    return found


def counted(batches: list[ColumnBatch], columns: tuple[int, ...]) -> Counter[tuple[str, int, int]]:
    """The results of windows: key, start, end and number."""
    found: Counter[tuple[str, int, int]] = Counter()
    for row in (row for batch in batches for row in rows_of(batch)):
        key, count, start, end = (row[column] for column in columns)
        found[key, _ms(start), _ms(end)] += count
    return found


def _ms(moment: datetime.datetime) -> int:
    return round(moment.replace(tzinfo=datetime.UTC).timestamp() * 1000)


def aggregate(window: WindowPlan) -> WindowAggregateFactory:
    types = (TEXT, BIGINT, TIME, TIME)
    return WindowAggregateFactory((0,), (COUNT,), window, None, ("start", "end"), (TEXT, INSTANT), types)


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize(("zone", "switch"), CASES)
def test_group_windows(zone: str, switch: str, name: str, by_rows: bool) -> None:
    window = plan(name, zone)
    run, times = Subtask(aggregate(window)), instants(switch, 1)
    assert isinstance(run.kernel, WindowAggregate | SessionAggregate)
    if by_rows:
        run.kernel.go_by_rows()
    found = driven(run, times)
    assert counted(found, (0, 1, 2, 3)) == expected(times, zone, window)


def driven(run: Subtask, times: list[int], last: Subtask | None = None, until: int = 2**63 - 1) -> list[ColumnBatch]:
    """Feed rows and watermarks behind them; no window ends before the watermark, and none later than it may."""
    found: list[ColumnBatch] = []
    for start in range(0, len(times), 10):
        run.kernel.process(0, batch_of(times[start : start + 10]))
        mark = min(*times[start + 10 :], until, 2**63 - 1) - 1
        for partial in run.take() if last is not None else []:
            last.kernel.process(0, partial)  # type: ignore[union-attr]
        (last or run).kernel.watermark(mark)
        found += (last or run).take()
    return found


@pytest.mark.parametrize("name", [name for name in WINDOWS if name != "sessions"])
@pytest.mark.parametrize(("zone", "switch"), CASES)
def test_windows_by_slices(zone: str, switch: str, name: str) -> None:
    window, times = plan(name, zone), instants(switch, 2)
    outputs = ((0, TEXT), ("start", TIME), ("end", TIME), ("time", INSTANT))
    sliced = SlicedWindowPlan(window, (0,), (COUNT,), (TEXT, INSTANT), outputs)
    found = driven(Subtask(LocalWindowFactory(sliced)), times, Subtask(SlicedWindowFactory(sliced)))
    assert counted(found, (0, 4, 1, 2)) == expected(times, zone, window)
    for start, end, last in (row[1:4] for batch in found for row in rows_of(batch)):
        assert _ms(end) - _ms(start) <= window.size
        local_last = (end - datetime.timedelta(milliseconds=1)).replace(tzinfo=ZoneInfo(zone))
        assert last == local_last.astimezone(datetime.UTC)


@pytest.mark.parametrize("name", [name for name in WINDOWS if name != "sessions"])
@pytest.mark.parametrize("cut", range(10, 100, 10))
def test_each_window_by_slices_is_emitted_once_over_savepoints(cut: int, name: str) -> None:
    window, times = plan(name, "Europe/Berlin"), instants("2024-10-27T01:00", 4)
    outputs = ((0, TEXT), ("start", TIME), ("end", TIME), ("time", INSTANT))
    sliced = SlicedWindowPlan(window, (0,), (COUNT,), (TEXT, INSTANT), outputs)
    local, first = Subtask(LocalWindowFactory(sliced)), Subtask(SlicedWindowFactory(sliced))
    found = driven(local, times[:cut], first, until=min(times[cut:]) - 1)
    again = Subtask(SlicedWindowFactory(sliced), before=first)
    second = Subtask(SlicedWindowFactory(sliced), before=again)  # another savepoint before any watermark
    found += driven(local, times[cut:], second)
    assert counted(found, (0, 4, 1, 2)) == expected(times, "Europe/Berlin", window)
    assert len(windows := [row[:3] for batch in found for row in rows_of(batch)]) == len(set(windows))


def test_windows_begin_anew_after_a_savepoint_at_the_end_of_input() -> None:
    window, times = plan("overlapping", "UTC"), instants("2024-10-27T01:00", 5)
    outputs = ((0, TEXT), ("start", TIME), ("end", TIME), ("time", INSTANT))
    sliced = SlicedWindowPlan(window, (0,), (COUNT,), (TEXT, INSTANT), outputs)
    local, first = Subtask(LocalWindowFactory(sliced)), Subtask(SlicedWindowFactory(sliced))
    driven(local, times, first)
    first.kernel.watermark(MAX_WATERMARK)
    again = Subtask(SlicedWindowFactory(sliced), before=first)
    assert counted(driven(local, times, again), (0, 4, 1, 2)) == expected(times, "UTC", window)


def test_a_savepoint_may_have_one_watermark_or_two() -> None:
    kernel = SlicedWindowFactory(SlicedWindowPlan(plan("hours", "UTC"), (0,), (COUNT,), (TEXT, INSTANT), ())).make()
    kernel.restore((6, 7))
    assert kernel.snapshot() == 7
    kernel.take_over([5, (6, 8), MAX_WATERMARK])
    assert kernel.snapshot() == 8


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize(("zone", "switch"), CASES)
def test_window_table_functions_and_aggregates_over_their_columns(zone: str, switch: str, name: str) -> None:
    window, times = plan(name, zone), instants(switch, 3)
    table = Subtask(WindowTableFactory(window, (TEXT, INSTANT), INSTANT))
    types = (TEXT, INSTANT, TIME, TIME, INSTANT)
    source = WindowSource(window.clock)
    factory = WindowAggregateFactory(
        (0, 2, 3), (COUNT,), None, (2, 3), (), types, (TEXT, TIME, TIME, BIGINT), source=source
    )
    last = Subtask(factory)
    found: list[ColumnBatch] = []
    for start in range(0, len(times), 10):
        table.kernel.process(0, batch_of(times[start : start + 10]))
        mark = min(times[start + 10 :], default=2**63 - 1) - 1
        table.kernel.watermark(mark)
        for rows in table.take():
            last.kernel.process(0, rows)
        last.kernel.watermark(mark)
        found += last.take()
    assert counted(found, (0, 3, 1, 2)) == expected(times, zone, window)


@pytest.mark.parametrize(
    ("zone", "row", "mark"),
    [
        ("UTC", "2024-10-27T00:30", "2024-10-27T00:59:59.999"),
        ("Europe/Berlin", "2024-10-27T00:30", "2024-10-27T01:59:59.999"),  # 02:30, which comes again an hour later
        ("Europe/Berlin", "2024-03-31T00:30", "2024-03-31T00:59:59.999"),
        ("America/Los_Angeles", "2024-11-03T08:30", "2024-11-03T09:59:59.999"),
        ("Asia/Shanghai", "2024-10-27T00:30", "2024-10-27T00:59:59.999"),
    ],
)
def test_an_hour_ends_when_its_last_row_may_have_come(zone: str, row: str, mark: str) -> None:
    time, end = (round(datetime.datetime.fromisoformat(text + "+00:00").timestamp() * 1000) for text in (row, mark))
    run = Subtask(aggregate(plan("hours", zone)))
    run.kernel.process(0, batch_of([time]))
    run.kernel.watermark(end - 1)
    assert run.take() == []
    run.kernel.process(0, batch_of([time]))
    run.kernel.watermark(end)
    assert [row[1] for batch in run.take() for row in rows_of(batch)] == [2]
    run.kernel.process(0, batch_of([time]))
    assert run.kernel.late.count == 1


def plan(name: str, zone: str) -> WindowPlan:
    kind, size, step, offset = WINDOWS[name]
    return WindowPlan(kind, 1, size, step, offset, partition=(0,), clock=WindowClock(zone))
