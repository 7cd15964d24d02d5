"""Watermarks between the rows of a batch."""

import datetime
import pickle
import random
from collections import Counter

import pyarrow as pa
import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.calc import WatermarkFactory
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.times.time_windows import WindowPlan
from firesteel.columns.kernels.windows.window_aggregate import WindowAggregateFactory
from firesteel.columns.kernels.windows.window_tables import WindowTableFactory
from firesteel.columns.rows import rows_of
from firesteel.columns.settings import QuerySettings
from firesteel.columns.values import to_arrow
from firesteel.common.options.pipeline_options import AUTO_WATERMARK_INTERVAL
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from firesteel.table.planner.rules.split_watermarks import BatchTimestamps
from tests.columns.rexes import column

TIMESTAMP = "TIMESTAMP(3)"
BEGIN = datetime.datetime(2026, 1, 1)


def late_rows(times, interval_ms):
    """The rows that are late if each row is followed by its watermark, once that exceeds the last by the interval."""
    last = highest = -1
    for row, time in enumerate(times):
        if time <= last:
            yield row
        highest = max(highest, time)
        if last < 0 or highest - last > interval_ms:
            last = highest


@pytest.mark.parametrize("interval_ms", [None, 0, 1, 450])
@pytest.mark.parametrize("seed", range(50))
def test_rows_behind_the_watermark_are_late_within_a_batch(seed, interval_ms):
    choose = random.Random(seed)
    times, clock = [], 1000
    for _ in range(choose.randrange(1, 60)):
        clock += choose.choice([0, 1, 50, 400])
        times.append(clock - choose.choice([0, 0, 0, 150, 500]))
    events = []
    kernel = WatermarkFactory(0, column(0, TIMESTAMP), QuerySettings()).make()
    context = KernelContext(True, 128, None, events.append, events.append, lambda: 0)
    if interval_ms is not None:
        context.configuration = {AUTO_WATERMARK_INTERVAL.key: f"{interval_ms} ms"}
    kernel.open(context)
    stamps = to_arrow([BEGIN + datetime.timedelta(milliseconds=time) for time in times], column(0, TIMESTAMP).type)
    kernel.process(0, ColumnBatch((stamps,), len(times)))
    found, watermark, row = [], 0, 0
    for event in events:
        if not isinstance(event, ColumnBatch):
            watermark = event
            continue
        for (stamp,) in zip(event.columns[0].to_pylist(), strict=True):
            since = (stamp - datetime.datetime(1970, 1, 1)) // datetime.timedelta(milliseconds=1)
            found += [row] if since <= watermark else []
            row += 1
    assert row == len(times)
    assert found == list(late_rows(times, 200 if interval_ms is None else interval_ms))


def test_a_batch_stays_whole_if_nobody_asks_which_rows_are_late():
    events = []
    kernel = WatermarkFactory(0, column(0, TIMESTAMP), QuerySettings(), marks_late=False).make()
    kernel.open(KernelContext(True, 128, None, events.append, events.append, lambda: 0))
    stamps = to_arrow([BEGIN + datetime.timedelta(seconds=time) for time in (1, 9, 2, 8)], column(0, TIMESTAMP).type)
    batch = ColumnBatch((stamps,), 4)
    kernel.process(0, batch)
    rows, watermark = events
    assert rows.columns[0] == stamps
    assert watermark == (BEGIN - datetime.datetime(1970, 1, 1)) // datetime.timedelta(milliseconds=1) + 9000


def test_a_subtask_without_rows_becomes_idle_until_rows_come():
    events, now = [], 0.0
    kernel = WatermarkFactory(0, column(0, TIMESTAMP), QuerySettings(), idle_timeout_ms=100).make()
    context = KernelContext(True, 128, None, events.append, events.append, lambda: 5_000)
    context.emit_idle, context.input_ms = events.append, lambda: (now, now + 10)
    kernel.open(context)
    assert kernel.next_processing_time() == 5_110, "the first batch is expected to take 10 ms"
    now = 109
    kernel.end_batch()
    assert events == []
    assert kernel.next_processing_time() == 5_001
    now = 110
    kernel.end_batch()
    assert events == [True]
    assert kernel.next_processing_time() is None
    restored = WatermarkFactory(0, column(0, TIMESTAMP), QuerySettings(), idle_timeout_ms=100).make()
    restored.open(context)
    restored.restore(kernel.snapshot())
    now = 250
    restored.process(0, ColumnBatch((to_arrow([BEGIN], column(0, TIMESTAMP).type),), 1))
    assert [event for event in events if isinstance(event, bool)] == [True, False]
    assert restored.next_processing_time() == 5_110


def test_the_timestamp_of_a_batch_is_behind_its_last_watermark():
    kind = column(0, TIMESTAMP).type
    assigner = pickle.loads(pickle.dumps(BatchTimestamps(column(0, TIMESTAMP), QuerySettings())))
    moments = [BEGIN, None, BEGIN + datetime.timedelta(milliseconds=7), BEGIN]
    since = (BEGIN - datetime.datetime(1970, 1, 1)) // datetime.timedelta(milliseconds=1)
    assert assigner.extract_timestamp(ColumnBatch((to_arrow(moments, kind),), 4), -1) == since + 8
    assert assigner.extract_timestamp(ColumnBatch((to_arrow([None], kind),), 1), -1) == -(2**63)


SESSIONS = WindowPlan("SESSION", 1, 10, partition=(0,))
KEYED = (column(0, "STRING").type, column(0, TIMESTAMP).type)


@pytest.mark.parametrize(
    "factory",
    [
        WindowTableFactory(SESSIONS, KEYED, KEYED[1]),
        WindowAggregateFactory(
            (0,),
            (CallPlan("COUNT", (), column(0, "BIGINT").type),),
            SESSIONS,
            None,
            (),
            KEYED,
            (KEYED[0], column(0, "BIGINT").type),
        ),
    ],
)
def test_a_late_row_counts_if_it_extends_a_session(factory):
    emitted, kernel = [], factory.make()
    kernel.open(KernelContext(True, 128, KeyedStateBackend(None, 128).table, emitted.append, emitted.append, lambda: 0))

    def add(*rows):
        keys, times = zip(*rows, strict=True)
        stamps = to_arrow([BEGIN + datetime.timedelta(milliseconds=time) for time in times], KEYED[1])
        kernel.process(0, ColumnBatch((pa.array(keys), stamps), len(rows)))

    begin = (BEGIN - datetime.datetime(1970, 1, 1)) // datetime.timedelta(milliseconds=1)
    add(("a", 25), ("b", 40))
    kernel.watermark(begin + 30)
    add(("a", 17), ("b", 5))  # both are behind the watermark; a has a session until 35
    kernel.watermark(begin + 1000)
    rows = [row for batch in emitted if isinstance(batch, ColumnBatch) for row in rows_of(batch)]
    counted = {row[0]: row[1] for row in rows} if len(rows[0]) == 2 else Counter(row[0] for row in rows)
    assert counted == {"a": 2, "b": 1}
