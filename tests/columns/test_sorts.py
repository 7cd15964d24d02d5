"""Sorts give what Python's `sorted` gives, also if most rows are in a file."""

from __future__ import annotations

import datetime
import math

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import IntType, TimestampKind, TimestampType
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels import bounded_sort
from firesteel.columns.kernels.sort import LimitFactory, SortFactory
from firesteel.columns.rows import rows_of
from tests.columns.counting import calls_made
from tests.columns.kernel_runs import KernelRun
from tests.seeds import examples

pytestmark = pytest.mark.libraries

ROWS = st.lists(
    st.lists(
        st.tuples(
            st.none() | st.integers(-3, 3),
            st.none() | st.sampled_from(["", "a", "b", "aa"]),
            st.none() | st.sampled_from([0.0, -1.5, math.inf, -math.inf]),
        ),
        max_size=9,
    ),
    max_size=8,
)
ORDERS = st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.booleans()), max_size=3, unique_by=lambda by: by[0])


def batch_of(rows, first):
    numbers = pa.array(range(first, first + len(rows)), pa.int64())
    columns = (
        pa.array([row[at] for row in rows], kind) for at, kind in enumerate((pa.int32(), pa.string(), pa.float64()))
    )
    return ColumnBatch((*columns, numbers), len(rows))


def by_hand(rows, order):
    """Sort by the least significant column first, as `sorted` is stable."""
    for column, descending, nulls_first in reversed(order):
        known = sorted(
            (row for row in rows if row[column] is not None), key=lambda row: row[column], reverse=descending
        )
        nulls = [row for row in rows if row[column] is None]
        rows = nulls + known if nulls_first else known + nulls
    return rows


def emitted_by(factory, batches, memory="128 mb"):
    emitted = []
    kernel = factory.make()
    configuration = {"execution.sorted-inputs.memory": memory}
    kernel.open(KernelContext(False, 8, None, emitted.append, None, None, configuration))
    for batch in batches:
        kernel.process(0, batch)
    kernel.end()
    kernel.close()
    return emitted


@given(ROWS, ORDERS, st.integers(0, 20), st.none() | st.integers(0, 20), st.booleans())
@example([[(1, None, None)] * 9] * 3, [], 0, 0, True)
@settings(max_examples=examples(300), deadline=None)
def test_rows_come_in_order_from_memory_and_from_files(parts, order, offset, fetch, is_small):
    batches, rows = [], []
    for part in parts:
        batches.append(batch_of(part, len(rows)))
        rows += [(*row, len(rows) + place) for place, row in enumerate(part)]
    found = emitted_by(LimitFactory(tuple(order), offset, fetch), batches, "300 b" if is_small else "128 mb")
    expected = by_hand(rows, order)[offset : None if fetch is None else offset + fetch]
    assert [row for batch in found for row in rows_of(batch)] == expected


def test_a_limit_drops_rows_before_the_end(monkeypatch):
    monkeypatch.setattr(bounded_sort, "_AT_ONCE", 10)
    kernel = LimitFactory(((0, True, False),), 1, 2).make()
    kernel.open(KernelContext(False, 8, None, None, None, None, {}))
    for number in range(1000):
        kernel.process(0, ColumnBatch((pa.array([number * 7919 % 1000]),), 1))
        assert sum(batch.length for batch in kernel._waiting) < 14


def test_the_work_does_not_grow_with_the_rows():
    def work(count):
        batch = ColumnBatch((pa.array([number * 7919 % count for number in range(count)]),), count)
        return calls_made(lambda: emitted_by(LimitFactory(((0, True, False),)), [batch]))

    work(10)
    assert work(20_000) < 2 * work(200)


# --- by time ----------------------------------------------------------------------------------------------------------

TIMED = SortFactory(((1, False, True), (0, True, False)), (IntType(), TimestampType(3, kind=TimestampKind.ROWTIME)), 1)


def at(ms):
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=ms)


def timed(*rows):
    values, times = zip(*rows, strict=True)
    return ColumnBatch(
        (
            pa.array(values, pa.int32()),
            pa.array([None if ms is None else ms * 1000 for ms in times], pa.timestamp("us")),
        ),
        len(rows),
    )


def test_rows_wait_for_the_watermark_and_are_restored():
    run = KernelRun(TIMED.make)
    assert run.give(timed((1, 5), (2, 3), (None, 3), (3, 9))) == []
    run.restore()
    run.kernel.watermark(5)
    assert [row for _, row in run.give(timed((7, 5), (8, 6)))] == [(2, at(3)), (None, at(3)), (1, at(5))]  # 7 is late
    run.kernel.flush()
    run.restore()
    run.kernel.watermark(9)
    assert [row for _, row in run.give(timed((0, 9)))] == [(8, at(6)), (3, at(9))]


def test_rows_without_a_time_are_late():
    run = KernelRun(TIMED.make)
    run.give(timed((1, None), (2, 3)))
    assert run.kernel._late.count == 1
    run.kernel.watermark(10)
    assert [row for _, row in run.give(timed((0, 9)))] == [(2, at(3))]


def test_rows_that_were_emitted_stay_away_if_the_watermark_of_another_job_is_behind_them():
    run = KernelRun(TIMED.make)
    run.give(timed((1, 50), (2, 60), (3, 200)))
    run.restore()
    run.kernel.watermark(100)
    assert [row for _, row in run.give(timed((0, 9)))] == [(1, at(50)), (2, at(60))]
    for mark in (100, 55):
        run.restore()
        run.kernel.watermark(mark)
    run.give(timed((4, 58)))
    run.restore()
    run.kernel.watermark(300)
    assert [row for _, row in run.give(timed((0, 9)))] == [(4, at(58)), (3, at(200))]


def test_rows_that_earlier_releases_kept_one_by_one_are_taken_over():
    run = KernelRun(TIMED.make)
    table = run.backend.table("rows")
    for number, (value, ms) in enumerate([(1, 4), (2, 3), (3, 4)]):
        table.put((0, number), (ms, (value, at(ms))))
    run.restore()
    assert not run.backend.table("rows").data
    run.kernel.watermark(10)
    assert [row for _, row in run.give(timed((0, 9)))] == [(2, at(3)), (3, at(4)), (1, at(4))]
