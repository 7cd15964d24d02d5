"""OVER in event time: frames that reach behind the last watermark, late rows, and the end of partitions."""

from __future__ import annotations

import pickle
import random

import pyarrow as pa
import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.over.over import OverFactory
from firesteel.columns.kernels.over.over_calls import FramePlan
from firesteel.columns.rows import rows_of
from firesteel.columns.type_text import parse_type
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from tests.columns.counting import calls_made
from tests.seeds import seeds

TYPES = tuple(map(parse_type, ("STRING", "BIGINT", "TIMESTAMP(3)")))
KEY, NUMBER, TIME = range(3)
LAST = 2**63 - 1


BIGINT = TYPES[NUMBER]
SUM = CallPlan("SUM", (NUMBER,), BIGINT)


class Run:
    """A kernel in the place of a subtask; `restore` continues in a new one."""

    def __init__(self, frame, total=SUM):
        outputs = (*TYPES, total.type)
        self.factory = OverFactory((KEY,), ((TIME, False, True),), frame, (total,), TYPES, outputs, TIME)
        self.emitted = []
        self.open(KeyedStateBackend(None, 128))

    def open(self, backend):
        self.backend, self.kernel = backend, self.factory.make()
        self.kernel.open(KernelContext(True, 128, backend.table, self.emitted.append, lambda _: None, lambda: 0))

    def restore(self):
        backend = KeyedStateBackend(None, 128)
        self.kernel.flush()
        for delta in self.backend.full():
            backend.load(pickle.loads(pickle.dumps(delta)))
        snapshot = self.kernel.snapshot()
        self.open(backend)
        self.kernel.restore(snapshot)

    def add(self, *rows):
        keys, numbers, times = zip(*rows, strict=True)
        columns = (
            pa.array(keys),
            pa.array(numbers),
            pa.array([ms and ms * 1000 for ms in times], pa.int64()).cast(pa.timestamp("us")),
        )
        self.kernel.process(0, ColumnBatch(columns, len(rows)))

    def results(self, watermark):
        self.kernel.watermark(watermark)
        found = [(row[NUMBER], row[3]) for batch in self.emitted for row in rows_of(batch)]
        self.emitted.clear()
        return found


@pytest.mark.parametrize("seed", seeds(5, 20))
@pytest.mark.parametrize("frame", [FramePlan(True, -3, 0), FramePlan(False, -50, 0)])
def test_frames_reach_behind_the_last_watermark(frame, seed):
    choose = random.Random(seed)
    run, rows, found, clock = Run(frame), [], {}, 0
    for number in range(40):
        clock += choose.randrange(1, 40)
        rows.append((choose.choice("ab"), number, clock))
        run.add(rows[-1])
        if choose.random() < 0.4:
            found |= run.results(clock)
        if choose.random() < 0.1:
            run.restore()
    found |= run.results(LAST)
    for key, number, time in rows:
        before = [row for row in rows if row[0] == key and row[2] <= time]
        inside = before[-4:] if frame.is_rows else [row for row in before if row[2] >= time - 50]
        assert found[number] == sum(row[1] for row in inside)


def test_a_row_behind_the_watermark_is_late_by_its_partition_or_by_the_watermark():
    for frame, late in ((FramePlan(True, -3, 0), []), (FramePlan(True, None, 0), [(3, 3)])):
        run = Run(frame)
        run.add(("a", 1, 10), ("b", 2, 90))
        assert run.results(100) == [(1, 1), (2, 2)]
        run.add(("a", 3, 50), ("b", 4, 90), ("b", 5, 80))
        assert run.results(110) == ([(3, 4)] if not late else []), "rows of b are not newer than its last one"


@pytest.mark.parametrize("total", [SUM, CallPlan("SUM", (NUMBER,), BIGINT, distinct=True)])
def test_rows_without_a_time_are_left_out(total):
    run = Run(FramePlan(True, -3, 0), total)
    run.add(("a", 1, None), ("a", 2, 10), ("b", 3, None))
    assert run.results(100) == [(2, 2)]


def kept(run):
    """The number of past rows."""
    return sum(run.kernel._algorithm._past._left(part).rows.length for part in run.kernel._algorithm._past._runs)


def test_partitions_of_range_frames_end():
    run = Run(FramePlan(False, -100, 0))
    run.add(("a", 1, 10), ("a", 2, 60))
    run.results(160)
    assert kept(run) == 2
    run.restore()
    run.add(("a", 3, 155))
    assert run.results(161) == [(3, 5)], "moves the end from 161 to 306"
    run.add(("a", 4, 160))
    assert run.results(162) == [], "the timer at 161 makes earlier rows late"
    assert run.results(306) == []
    assert kept(run) == 0
    run.restore()
    assert kept(run) == 0
    run.add(("a", 5, 200))
    assert run.results(307) == [(5, 5)], "a partition that has ended begins anew"


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("ROW_NUMBER", (), [1, 2, 3, 4, 5, 6]),
        ("RANK", (), [1, 3, 3, 5, 5, 6]),
        ("DENSE_RANK", (), [1, 3, 3, 5, 5, 6]),
        ("LAG", (NUMBER,), [None, 20, 20, 40, 40, 50]),
        ("SUM", (NUMBER,), [10, 60, 60, 150, 150, 210]),
    ],
)
def test_rows_of_the_same_time_have_the_results_of_the_last_one(name, arguments, expected):
    run = Run(FramePlan(name == "ROW_NUMBER", None, 0), CallPlan(name, arguments, BIGINT))
    run.add(("a", 10, 1), ("a", 20, 2), ("a", 30, 2))
    found = run.results(2)
    run.add(("a", 40, 3), ("a", 50, 3), ("a", 60, 4))
    assert [result for _, result in found + run.results(LAST)] == expected


@pytest.mark.parametrize(
    ("descending", "nulls_first", "expected"),
    [(False, True, {None: [3, 3], 1: [1], 9: [9], 12: [21]}), (True, False, {None: [3, 3], 1: [1], 9: [21], 12: [12]})],
)
def test_null_is_in_the_range_of_nulls_only(descending, nulls_first, expected):
    emitted, types = [], (*TYPES[:2], BIGINT, BIGINT)
    total = CallPlan("SUM", (2,), BIGINT)
    order = ((NUMBER, descending, nulls_first),)
    kernel = OverFactory((KEY,), order, FramePlan(False, -5, 0), (total,), types[:3], types, None).make()
    table = KeyedStateBackend(None, 128).table
    kernel.open(KernelContext(False, 128, table, emitted.append, lambda _: None, lambda: 0))
    numbers, values = [9, None, 12, 1, None], [9, 1, 12, 1, 2]
    columns = (pa.array(["a"] * 5), pa.array(numbers, pa.int64()), pa.array(values, pa.int64()))
    kernel.process(0, ColumnBatch(columns, 5))
    kernel.end()
    found = {}
    for row in (row for batch in emitted for row in rows_of(batch)):
        found.setdefault(row[NUMBER], []).append(row[3])
    assert found == expected


def test_the_work_of_frames_of_peers_does_not_grow_with_them():
    def work(length):
        outputs = (*TYPES, BIGINT)
        plan = OverFactory((KEY,), ((NUMBER, False, True),), FramePlan(False, 0, 0), (SUM,), TYPES, outputs, None)
        kernel, emitted = plan.make(), []
        context = KernelContext(False, 128, KeyedStateBackend(None, 128).table, emitted.append, None, lambda: 0)
        kernel.open(context)
        times = pa.array([0] * length).cast(pa.timestamp("us"))
        kernel.process(0, ColumnBatch((pa.array(["a"] * length), pa.array([1] * length), times), length))
        calls = calls_made(kernel.end)
        assert {row[3] for batch in emitted for row in rows_of(batch)} == {length}
        return calls / length

    assert work(400) < 1.3 * work(100)
