"""The clock of windows: the figures are those of Flink's `TimeWindowUtilTest`."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import DataType
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.times.time_windows import WindowPlan
from firesteel.columns.kernels.windows.window_aggregate import WindowAggregateFactory
from firesteel.columns.kernels.windows.window_tables import WindowTableFactory
from firesteel.columns.rows import rows_of
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import to_arrow
from firesteel.columns.window_clock import UTC_CLOCK, WindowClock, WindowSource
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend

SHANGHAI, LOS_ANGELES = WindowClock("Asia/Shanghai"), WindowClock("America/Los_Angeles")
MAX = 2**63 - 1

TIMERS = [
    (SHANGHAI, "1970-01-01T00:00:01", -28799000),
    (SHANGHAI, "1970-01-01T07:59:59.999", -1),
    (SHANGHAI, "1970-01-01T08:00:01", 1000),
    (LOS_ANGELES, "2021-03-14T00:00:00", 1615708800000),
    (LOS_ANGELES, "2021-03-14T01:00:00", 1615712400000),
    (LOS_ANGELES, "2021-03-14T02:00:00", 1615716000000),
    (LOS_ANGELES, "2021-03-14T02:30:00", 1615716000000),
    (LOS_ANGELES, "2021-03-14T02:59:59", 1615716000000),
    (LOS_ANGELES, "2021-03-14T03:00:00", 1615716000000),
    (LOS_ANGELES, "2021-03-14T03:30:00", 1615717800000),
    (LOS_ANGELES, "2021-03-14T03:59:59", 1615719599000),
    (LOS_ANGELES, "2021-11-07T00:00:00", 1636268400000),
    (LOS_ANGELES, "2021-11-07T01:00:00", 1636275600000),
    (LOS_ANGELES, "2021-11-07T02:00:00", 1636279200000),
    (LOS_ANGELES, "2021-11-07T00:00:01", 1636268401000),
    (LOS_ANGELES, "2021-11-07T01:59:59", 1636279199000),
    (LOS_ANGELES, "2021-11-07T02:00:01", 1636279201000),
]
INSTANTS = [
    (SHANGHAI, "1970-01-01T07:59:59.999", -1),
    (LOS_ANGELES, "2021-03-14T02:00:00", 1615716000000),
    (LOS_ANGELES, "2021-03-14T02:30:00", 1615717800000),
    (LOS_ANGELES, "2021-03-14T02:59:59", 1615719599000),
    (LOS_ANGELES, "2021-03-14T03:30:00", 1615717800000),
    (LOS_ANGELES, "2021-11-07T01:00:00", 1636272000000),
    (LOS_ANGELES, "2021-11-07T01:59:59", 1636275599000),
    (LOS_ANGELES, "2021-11-07T02:00:01", 1636279201000),
]
LOCAL = [
    (LOS_ANGELES, 1636272000000, "2021-11-07T01:00:00"),
    (LOS_ANGELES, 1636275600000, "2021-11-07T01:00:00"),
    (LOS_ANGELES, 1636275599000, "2021-11-07T01:59:59"),
    (SHANGHAI, 0, "1970-01-01T08:00:00"),
]


def millis(text: str) -> int:
    return round(datetime.datetime.fromisoformat(text + "+00:00").timestamp() * 1000)


@pytest.mark.parametrize(("clock", "local", "expected"), TIMERS)
def test_timers_are_at_the_end_of_gaps_and_overlaps(clock: WindowClock, local: str, expected: int) -> None:
    assert clock.timer(millis(local)) == expected
    assert clock.timers(np.array([millis(local)] * 2)).tolist() == [expected] * 2


@pytest.mark.parametrize(("clock", "local", "expected"), INSTANTS)
def test_instants_are_those_of_javas_zoned_date_time(clock: WindowClock, local: str, expected: int) -> None:
    assert clock.instants(np.array([millis(local)])).tolist() == [expected]


@pytest.mark.parametrize(("clock", "instant", "expected"), LOCAL)
def test_local_times(clock: WindowClock, instant: int, expected: str) -> None:
    assert clock.local(np.array([instant])).tolist() == [millis(expected)]
    assert clock.local_times([None, instant]) == [None, millis(expected)]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "GMT-03:30", "Europe/Berlin", "America/Los_Angeles"])
def test_timers_never_go_back(zone: str) -> None:
    clock = WindowClock(zone)
    for start in (millis("2024-03-30T00:00:00"), millis("2024-10-26T00:00:00")):
        timers = [clock.timer(start + minute * 60_000) for minute in range(0, 3 * 1440, 7)]
        assert timers == sorted(timers)
    assert clock.timer(MAX) == MAX


def test_a_switch_of_half_an_hour_is_computed_as_flink_does() -> None:
    clock = WindowClock("Australia/Lord_Howe")  # from 02:00 back to 01:30 on 7 April 2024
    first = int(clock.instants(np.array([millis("2024-04-07T01:45:00")]))[0])
    assert clock.timer(millis("2024-04-07T01:45:00")) == first + 3_600_000


# --- windows in processing time --------------------------------------------------------------------------------------

TIME, BIGINT, INSTANT = parse_type("TIMESTAMP(3)"), parse_type("BIGINT"), parse_type("TIMESTAMP_LTZ(3)")
DAY = 86_400_000


class Clocked:
    """A kernel at a processing time that the test sets."""

    def __init__(self, factory: WindowAggregateFactory | WindowTableFactory) -> None:
        backend = KeyedStateBackend(None, 8)
        backend.key_group = lambda key: key[0]
        self.now = 0
        self.batches: list[ColumnBatch] = []
        self.kernel = factory.make()
        self.kernel.open(KernelContext(True, 8, backend.table, self.batches.append, None, lambda: self.now))

    def add(self, now: str, *values: int) -> None:
        self.now = millis(now)
        self.kernel.process(
            0, ColumnBatch((to_arrow(list(values), BIGINT), to_arrow([None] * len(values), INSTANT)), len(values))
        )

    def rows(self, now: int) -> list[tuple[object, ...]]:
        self.batches.clear()
        self.now = now
        self.kernel.advance_processing_time(now)
        self.kernel.end_batch()
        return [row for batch in self.batches for row in rows_of(batch)]


def local(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("clock", "first", "ends"),
    [
        (UTC_CLOCK, "2021-11-07T00:00", "2021-11-08T00:00:00"),
        (SHANGHAI, "2021-11-08T00:00", "2021-11-08T16:00:00"),
        (LOS_ANGELES, "2021-11-07T00:00", "2021-11-08T08:00:00"),  # a day of 25 hours
    ],
)
def test_days_in_processing_time_end_at_local_midnight(clock: WindowClock, first: str, ends: str) -> None:
    window = WindowPlan("TUMBLE", 1, DAY, is_rowtime=False, clock=clock)
    types: tuple[DataType, ...] = (BIGINT, INSTANT)
    calls = (CallPlan("COUNT", (), BIGINT),)
    run = Clocked(WindowAggregateFactory((), calls, window, None, ("start",), types, (BIGINT, TIME)))
    run.add("2021-11-07T20:00:00", 1, 2)
    assert run.kernel.next_processing_time() == millis(ends) - 1
    assert run.rows(millis(ends) - 2) == []
    assert run.rows(millis(ends) - 1) == [(2, local(first))]


def test_sessions_in_processing_time_end_by_the_clock() -> None:
    window = WindowPlan("SESSION", 1, 60_000, is_rowtime=False, partition=(0,), clock=SHANGHAI)
    run = Clocked(WindowTableFactory(window, (BIGINT, INSTANT), INSTANT))
    run.add("2021-11-07T20:00:00", 1)
    run.add("2021-11-07T20:00:30", 1)
    assert run.kernel.next_processing_time() == millis("2021-11-07T20:01:30") - 1
    start, end = local("2021-11-08T04:00"), local("2021-11-08T04:01:30")
    assert [row[2:4] for row in run.rows(millis("2021-11-07T20:01:30"))] == [(start, end)] * 2
    assert run.kernel.next_processing_time() is None


def test_aggregates_over_window_columns_end_in_processing_time_if_the_windows_do() -> None:
    types = (BIGINT, INSTANT, TIME, TIME)
    source = WindowSource(LOS_ANGELES, False)
    calls = (CallPlan("COUNT", (), BIGINT),)
    run = Clocked(WindowAggregateFactory((2,), calls, None, (2, 3), (), types, (TIME, BIGINT), source=source))
    start, end = local("2021-11-07T00:00"), local("2021-11-08T00:00")
    columns = ([1], BIGINT), ([None], INSTANT), ([start], TIME), ([end], TIME)
    run.kernel.process(0, ColumnBatch(tuple(to_arrow(values, kind) for values, kind in columns), 1))
    assert run.kernel.next_processing_time() == millis("2021-11-08T08:00:00") - 1
    assert run.rows(millis("2021-11-08T08:00:00") - 1) == [(start, 1)]


def test_a_window_of_an_earlier_operator_ends_once_with_all_rows_of_the_batch() -> None:
    """That operator has assigned rows before the window ended; they come after this one's batch has begun."""
    types = (BIGINT, INSTANT, TIME, TIME)
    calls = (CallPlan("COUNT", (), BIGINT),)
    source = WindowSource(UTC_CLOCK, False)
    start, end = local("2021-11-07T00:00"), local("2021-11-07T00:01")
    columns = ([1], BIGINT), ([None], INSTANT), ([start], TIME), ([end], TIME)
    batch = ColumnBatch(tuple(to_arrow(values, kind) for values, kind in columns), 1)
    for has_ended in (False, True):
        run = Clocked(WindowAggregateFactory((2,), calls, None, (2, 3), (), types, (TIME, BIGINT), source=source))
        run.kernel.process(0, batch)
        run.now = millis("2021-11-07T00:01:01")
        run.kernel.advance_processing_time(run.now)
        run.kernel.process(0, batch)
        if has_ended:
            run.kernel.end()
        run.kernel.end_batch()
        assert [row for batch in run.batches for row in rows_of(batch)] == [(start, 2)]
