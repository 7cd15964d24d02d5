"""OVER on arrays gives what the kernel that goes row by row gives."""

from __future__ import annotations

import pickle
import random

import pyarrow as pa
import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.hashing import key_groups
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.over import partition_ends
from firesteel.columns.kernels.over.over import Over, OverFactory
from firesteel.columns.kernels.over.over_calls import FramePlan
from firesteel.columns.kernels.over.over_columns import OverColumns
from firesteel.columns.kernels.rows import past_rows, saved_rows
from firesteel.columns.rows import rows_of
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import arrow_type
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from tests.columns.counting import calls_made
from tests.seeds import seeds, steps

TYPES = tuple(
    map(parse_type, ("STRING", "BIGINT", "TIMESTAMP(3)", "BOOLEAN", "DOUBLE", "FLOAT", "STRING", "INT", "BIGINT"))
)
KEY, NUMBER, TIME, FLAG, DOUBLE, FLOAT, TEXT, TWO, DEFAULT = range(9)
ARROW = [arrow_type(kind) for kind in TYPES]
BIGINT, LAST = TYPES[NUMBER], 2**63 - 1
CALLS = (
    CallPlan("SUM", (NUMBER,), BIGINT),
    CallPlan("COUNT", (NUMBER,), BIGINT, condition=FLAG),
    CallPlan("MIN", (NUMBER,), BIGINT),
    CallPlan("MAX", (NUMBER,), BIGINT),
    CallPlan("AVG", (NUMBER,), BIGINT),
    *(CallPlan(name, (column,), TYPES[column]) for name in ("MIN", "MAX") for column in (DOUBLE, FLOAT)),
)
LAGS = (
    CallPlan("LAG", (TEXT,), TYPES[TEXT]),
    CallPlan("LAG", (NUMBER, TWO), BIGINT),
    CallPlan("LAG", (NUMBER, TWO, DEFAULT), BIGINT),
)
RANKS = tuple(CallPlan(name, (), BIGINT) for name in ("ROW_NUMBER", "RANK", "DENSE_RANK"))
FRAMES = {
    "rows": (FramePlan(True, -3, 0), CALLS),
    "no rows before": (FramePlan(True, 0, 0), CALLS),
    "a range": (FramePlan(False, -8, 0), CALLS),
    "a long range": (FramePlan(False, -30, 0), CALLS),
    "the same time": (FramePlan(False, 0, 0), CALLS),
    "all rows": (FramePlan(True, None, 0), (*CALLS, *RANKS)),
    "all times": (FramePlan(False, None, 0), (*CALLS, *RANKS)),
    "rows before": (FramePlan(True, None, 0), LAGS),
    "rows before, by times": (FramePlan(False, None, 0), (*LAGS, *CALLS, *RANKS)),
}


FLOATS = [None, float("nan"), float("inf"), float("-inf"), 0.0, 1.5, -2.0]


def plan(frame, calls, partition=(KEY,), time=TIME):
    outputs = (*TYPES, *(call.type for call in calls))
    return OverFactory(partition, ((TIME, False, True),), frame, calls, TYPES, outputs, time)


class Run:
    """Subtasks of a kernel; `restore` continues in others."""

    def __init__(self, make, ttl_ms=0):
        self.make, self.ttl_ms, self.emitted, self.now = make, ttl_ms, [], 1_000
        self.start(1, [], None)

    def start(self, parallelism, deltas, snapshot):
        self.subtasks = []
        for number in range(parallelism):
            backend, kernel = KeyedStateBackend(None, 8), self.make()
            backend.key_group = lambda key: key[0]
            for delta in deltas:
                backend.load(pickle.loads(pickle.dumps(delta)), range(number, 8, parallelism))
            clock = lambda: self.now  # noqa: E731
            kernel.open(
                KernelContext(True, 8, backend.table, self.emitted.append, None, clock, state_ttl_ms=self.ttl_ms)
            )
            if snapshot is not None:
                kernel.restore(snapshot)
            self.subtasks.append((kernel, backend))

    def restore(self, parallelism):
        for kernel, _ in self.subtasks:
            kernel.flush()
        deltas = [delta for _, backend in self.subtasks for delta in backend.full()]
        self.start(parallelism, deltas, self.subtasks[0][0].snapshot())

    def add(self, batch):
        groups = key_groups(batch, (KEY,), 8) % len(self.subtasks)
        for number, (kernel, _) in enumerate(self.subtasks):
            if (groups == number).any():
                kernel.process(0, batch.filter(groups == number))

    def watermark(self, timestamp):
        for kernel, _ in self.subtasks:
            kernel.watermark(timestamp)
        rows = [row for batch in self.emitted for row in rows_of(batch)]
        self.emitted.clear()
        return {key: [plain(row) for row in rows if row[KEY] == key] for key in {row[KEY] for row in rows}}


def plain(row):
    """The row with a NaN that equals itself."""
    return tuple("NaN" if value != value else value for value in row)


def batch_of(rows):
    """Rows of key, number, time and flag; what is behind has default values."""
    rest = (None, None, "", 2, -1)
    columns = list(zip(*((*row, *rest[len(row) - 4 :]) for row in rows), strict=True))
    columns[TIME] = [ms * 1000 for ms in columns[TIME]]
    arrays = [pa.array(values, kind) for values, kind in zip(columns, ARROW, strict=True) if kind != ARROW[TIME]]
    arrays.insert(TIME, pa.array(columns[TIME]).cast(ARROW[TIME]))
    return ColumnBatch(tuple(arrays), len(rows))


@pytest.mark.parametrize(
    ("attribute", "least", "ttl_ms"), [(TIME, 10_000, 40), (TIME, 3, 0), (TIME, 3, 40), (None, 3, 0), (None, 3, 40)]
)
@pytest.mark.parametrize("seed", seeds(1, 2))
@pytest.mark.parametrize("name", FRAMES)
def test_rows_and_columns_give_the_same(name, seed, ttl_ms, attribute, least, monkeypatch):
    monkeypatch.setattr(saved_rows, "LEAST", least)
    chance, clock, mark = random.Random(seed), 0, 0
    factory = plan(*FRAMES[name], time=attribute)
    columns, rows = Run(factory.make, ttl_ms), Run(lambda: Over(factory), ttl_ms)
    assert isinstance(columns.subtasks[0][0]._algorithm, OverColumns)
    for _ in range(steps(15, 40)):
        found = []
        columns.now = rows.now = columns.now + chance.choice([0, 10, 30])
        for _ in range(chance.randrange(1, 15)):
            clock += chance.choice([0, 0, 1, 3])
            number = chance.choice([None, *range(-9, 9), 2**62])
            key = chance.choice(["a", "b", "c", None, *"defgh"[: chance.randrange(6)]])
            flag = chance.choice([True, False, None])
            time = columns.now if attribute is None else max(0, clock - chance.choice([0, 0, 5, 30]))
            double, single = chance.choice(FLOATS), chance.choice(FLOATS)
            found.append((key, number, time, flag, double, single, chance.choice("xyz"), 2, chance.choice([None, 7])))
        for run in (columns, rows):
            run.add(batch_of(found))
        if chance.random() < 0.6:
            mark = max(mark, clock - chance.randrange(12))
            assert columns.watermark(mark) == rows.watermark(mark)
        if chance.random() < 0.3:
            parallelism = chance.choice([1, 2, 3])
            columns.restore(parallelism)
            rows.restore(parallelism)
    assert columns.watermark(LAST) == rows.watermark(LAST)


def test_rows_that_no_frame_reaches_leave_no_state(monkeypatch):
    monkeypatch.setattr(saved_rows, "LEAST", 10)
    run = Run(plan(*FRAMES["rows"]).make)
    for number in range(200):
        run.add(batch_of([(key, number, number * 10 + place, True) for place in range(5) for key in "ab"]))
        run.watermark(number * 10 + 3)
        run.subtasks[0][0].flush()
    kernel, backend = run.subtasks[0][0]._algorithm, run.subtasks[0][1]
    tables = [backend.table(name).data.values() for name in ("waiting rows", "past rows")]
    saved = [sum(rows.length for rows in table) for table in tables]
    assert max(saved) < 60, saved
    assert sum(part.rows.length for part in kernel._past._runs) < 60


def test_ranges_of_all_rows():
    run = Run(plan(*FRAMES["a range"], partition=()).make)
    found = []
    for number in range(0, 40, 4):
        run.add(batch_of([("a", 1, number, True)]))
        found += run.watermark(number).get("a", [])
        run.restore(1)
    assert [row[len(TYPES)] for row in found] == [1, 2, *[3] * 8]


@pytest.mark.parametrize("attribute", [TIME, None])
def test_partitions_of_ranges_that_have_ended_leave_no_state(attribute, monkeypatch):
    monkeypatch.setattr(saved_rows, "LEAST", 10)
    monkeypatch.setattr(past_rows, "LEAST", 10)
    monkeypatch.setattr(partition_ends, "_LEAST", 10)
    run = Run(plan(*FRAMES["a range"], time=attribute).make)
    for number in range(200):
        run.now += 10
        run.add(batch_of([(f"key {number}", number, number * 10 + place, True) for place in range(5)]))
        run.watermark(number * 10 + 3)
        run.subtasks[0][0].flush()
    kernel, backend = run.subtasks[0][0]._algorithm, run.subtasks[0][1]
    names = ("waiting rows", "past rows", "ended keys", "partition ends")
    saved = [sum(rows.length for rows in backend.table(name).data.values()) for name in names]
    assert max(saved) < 60, saved
    assert max(len(kernel._ends._numbers), len(kernel._past._numbers)) < 60


def test_expired_keys_are_forgotten():
    run = Run(plan(*FRAMES["all rows"]).make, ttl_ms=100)
    for number in range(100):
        run.now += 50
        run.add(batch_of([(f"key {number}", 1, number, True)]))
        run.watermark(number)
        run.subtasks[0][0].flush()
    assert len(run.subtasks[0][0]._algorithm._past._numbers) < 6


def test_a_forgotten_key_begins_anew():
    run = Run(plan(*FRAMES["rows"]).make, ttl_ms=100)
    found = []
    for number in range(10):
        if number == 6:
            run.now += 120
            run.restore(1)
            run.now += 120
            run.subtasks[0][0].flush()
        run.add(batch_of([("a", 1, number, True)]))
        found += run.watermark(number).get("a", [])
    run.restore(1)
    run.add(batch_of([("a", 1, 20, True)]))
    found += run.watermark(20)["a"]
    assert [row[len(TYPES)] for row in found] == [1, 2, 3, 4, 4, 4, 1, 2, 3, 4, 4]


@pytest.mark.parametrize("name", ["rows", "a range", "all times"])
@pytest.mark.parametrize("keys", [1, 1_000])
def test_the_work_does_not_grow_with_the_rows(name, keys):
    few, lots = (work(name, keys, length) for length in (2_000, 20_000))
    assert lots < 1.3 * few + 100


def work(name, keys, length):
    """The calls that a batch and its watermarks make, after other rows."""
    run = Run(plan(*FRAMES[name]).make)
    batch = batch_of([(f"key {number % keys}", number, number, True) for number in range(length)])
    kernel = run.subtasks[0][0]
    kernel.process(0, batch)
    kernel.watermark(length // 2)

    following = batch_with_times_behind(batch, length)

    def act():
        kernel.process(0, following)
        kernel.watermark(LAST)

    return calls_made(act)


def batch_with_times_behind(batch, length):
    times = pa.array([(length + number) * 1000 for number in range(length)]).cast(pa.timestamp("us"))
    return batch.with_columns([*batch.columns[:TIME], times, *batch.columns[FLAG:]])


def test_a_window_goes_on_with_the_rows_of_former_releases():
    factory = plan(*FRAMES["rows before"])
    former, following = Run(lambda: Over(factory)), Run(factory.make)
    for number in range(3):
        former.add(batch_of([("a", number, number, True)]))
    former.watermark(1)
    former.subtasks[0][0].flush()
    following.start(1, list(former.subtasks[0][1].full()), former.subtasks[0][0].snapshot())
    assert isinstance(following.subtasks[0][0]._algorithm, Over)
    for run in (former, following):
        run.add(batch_of([("a", 3, 3, True)]))
    assert following.watermark(5) == former.watermark(5)
