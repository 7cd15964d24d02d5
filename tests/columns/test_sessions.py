"""Sessions on arrays are those of a loop over the rows, with late rows, versions and other parallelisms."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pyarrow as pa
import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.rows import saved_rows
from firesteel.columns.kernels.times.time_windows import WindowPlan
from firesteel.columns.kernels.windows import session_rows
from firesteel.columns.kernels.windows.window_aggregate import WindowAggregateFactory
from firesteel.columns.kernels.windows.window_tables import WindowTableFactory
from firesteel.columns.rows import kinds_list, rows_of
from firesteel.columns.type_text import parse_type
from firesteel.common.table_errors import TableException
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from tests.columns.counting import calls_made
from tests.seeds import seeds

KEY, NUMBER, TIME, DOUBLE = map(parse_type, ("STRING", "BIGINT", "TIMESTAMP(3)", "DOUBLE"))
GAP = 10
WINDOW = WindowPlan("SESSION", 2, GAP, partition=(0,))
TABLE = WindowTableFactory(WINDOW, (KEY, NUMBER, TIME), TIME)
LAST = 2**63 - 1


def aggregate(*calls):
    types = (KEY, *(call.type for call in calls), TIME, TIME)
    return WindowAggregateFactory((0,), calls, WINDOW, None, ("start", "end"), (KEY, NUMBER, TIME), types)


SUM, COUNT = CallPlan("SUM", (1,), NUMBER), CallPlan("COUNT", (), NUMBER)
VECTORS, ROWS = aggregate(SUM, COUNT), aggregate(SUM, CallPlan("COUNT", (1,), NUMBER, distinct=True))


def batch_of(rows):
    keys, numbers, times = zip(*rows, strict=True)
    column = pa.array([time * 1000 for time in times]).cast(pa.timestamp("us"))
    return ColumnBatch((pa.array(keys), pa.array(numbers, pa.int64()), column), len(rows))


class Run:
    """Subtasks of a kernel, which `restore` replaces by others."""

    def __init__(self, factory, parallelism=1):
        self.factory, self.emitted, self.mark = factory, [], -(2**63)
        self.start(parallelism, [], None)

    def start(self, parallelism, deltas, snapshot):
        self.subtasks = []
        for number in range(parallelism):
            backend = KeyedStateBackend(None, 8)
            backend.key_group = lambda key: key[0]
            for delta in deltas:
                backend.load(pickle.loads(pickle.dumps(delta)), range(number, 8, parallelism))
            kernel = self.factory.make()
            kernel.open(KernelContext(True, 8, backend.table, self.emitted.append, None, lambda: 0))
            if snapshot is not None:
                kernel.restore(snapshot)
            self.subtasks.append((kernel, backend))

    def add(self, rows):
        groups = session_rows.key_groups(batch_of(rows), (0,), 8)
        for number, (kernel, _) in enumerate(self.subtasks):
            mine = [row for row, group in zip(rows, groups, strict=True) if group % len(self.subtasks) == number]
            if mine:
                kernel.process(0, batch_of(mine))

    def take(self, mark):
        for kernel, _ in self.subtasks:
            kernel.watermark(mark)
        return self.rows()

    def rows(self):
        found = [row for batch in self.emitted for row in rows_of(batch)]
        self.emitted.clear()
        return found

    def version(self):
        for kernel, _ in self.subtasks:
            kernel.flush()

    def restore(self, parallelism):
        self.version()
        deltas = [delta for _, backend in self.subtasks for delta in backend.full()]
        self.start(parallelism, deltas, self.subtasks[0][0].snapshot())


class Model:
    """What Flink does, row by row."""

    def __init__(self):
        self.sessions, self.mark = {}, -(2**63)

    def add(self, rows):
        for key, number, time in rows:
            known = self.sessions.setdefault(key, [])
            near = [one for one in known if one[0] <= time + GAP and time <= one[1]]
            if time + GAP - 1 <= self.mark and not near:
                continue
            whole = [time, time + GAP, [number]]
            for one in near:
                known.remove(one)
                whole = [min(whole[0], one[0]), max(whole[1], one[1]), one[2] + whole[2]]
            known.append(whole)

    def take(self, mark):
        self.mark = mark
        found = []
        for key, known in self.sessions.items():
            found += [(key, tuple(sorted(one[2])), one[0], one[1]) for one in known if one[1] - 1 <= mark]
            self.sessions[key] = [one for one in known if one[1] - 1 > mark]
        return sorted(found)


def ms(moment):
    return round(
        (moment - moment.replace(year=1970, month=1, day=1, hour=0, minute=0, second=0, microsecond=0)).total_seconds()
        * 1000
    )


def of_table(rows):
    found = {}
    for key, number, _, start, end, _ in rows:
        found.setdefault((key, ms(start), ms(end)), []).append(number)
    return sorted((key, tuple(sorted(numbers)), start, end) for (key, start, end), numbers in found.items())


@pytest.fixture(params=[10_000, 3])
def _least(request, monkeypatch):
    monkeypatch.setattr(session_rows, "LEAST", request.param)
    monkeypatch.setattr(saved_rows, "LEAST", request.param)


@pytest.mark.usefixtures("_least")
@pytest.mark.parametrize("seed", seeds(1, 8))
@pytest.mark.parametrize("factory", [TABLE, VECTORS, ROWS], ids=["table", "vectors", "rows"])
def test_sessions_are_those_of_a_loop_over_the_rows(factory, seed):
    chance, clock, number = random.Random(seed), 0, 0
    spread = chance.choice([5, 30, 80])
    run, model = Run(factory, chance.choice([1, 2])), Model()
    for _ in range(30):
        rows = []
        for _ in range(chance.randrange(1, 25)):
            clock, number = clock + chance.randrange(4), number + 1
            rows.append((chance.choice("abcde"), number, max(0, clock - chance.randrange(spread))))
        run.add(rows)
        model.add(rows)
        if chance.random() < 0.2:
            run.version()
        if chance.random() < 0.2:
            run.restore(chance.choice([1, 2, 3]))
        if chance.random() < 0.6:
            mark = clock - chance.randrange(30)
            if mark > model.mark:
                check(factory, run.take(mark), model.take(mark))
    check(factory, run.take(LAST), model.take(LAST))


def check(factory, rows, expected):
    if factory is TABLE:
        assert of_table(rows) == expected
        return
    found = sorted((key, total, count, ms(start), ms(end)) for key, total, count, start, end in rows)
    assert found == sorted((key, sum(numbers), len(numbers), start, end) for key, numbers, start, end in expected)


def test_retractions_extend_sessions_and_leave_those_without_rows_out():
    plan = WindowAggregateFactory(
        (0,), (COUNT,), WINDOW, None, ("start", "end"), (KEY, NUMBER, TIME), (KEY, NUMBER, TIME, TIME), retracts=True
    )
    run = Run(plan)
    batch = batch_of([("a", 1, 0), ("a", 1, 5), ("b", 1, 0), ("b", 1, 0), ("a", 2, 14)])
    run.subtasks[0][0].process(0, ColumnBatch(batch.columns, 5, np.array([0, 1, 0, 3, 0], np.int8)))
    assert [(key, count, ms(start), ms(end)) for key, count, start, end in run.take(LAST)] == [("a", 1, 0, 24)]


@pytest.mark.parametrize("factory", [TABLE, VECTORS, ROWS])
def test_sessions_begin_anew_with_the_watermark_of_another_job(factory):
    run = Run(factory)
    run.add([("a", 1, 100), ("b", 2, 200)])
    run.version()
    assert len(run.take(150)) == 1
    run.version()
    run.start(1, [delta for _, backend in run.subtasks for delta in backend.full()], None)
    run.add([("a", 3, 50)])
    run.restore(1)
    assert [row[:2] for row in run.take(LAST)] == [("a", 3), ("b", 2)]


def test_the_rows_of_a_session_keep_their_order_and_kinds():
    run = Run(TABLE)
    batch = batch_of([("a", 1, 9), ("b", 2, 3), ("a", 3, 1), ("a", 4, 5)])
    run.subtasks[0][0].process(0, ColumnBatch(batch.columns, 4, np.array([0, 0, 2, 1], np.int8)))
    run.subtasks[0][0].watermark(LAST)
    (found,) = run.emitted
    assert list(zip(kinds_list(found), found.columns[1].to_pylist(), strict=True)) == [(0, 2), (0, 1), (2, 3), (1, 4)]


def test_rows_and_keys_that_are_gone_leave_no_state(monkeypatch):
    monkeypatch.setattr(session_rows, "LEAST", 10)
    monkeypatch.setattr(saved_rows, "LEAST", 10)
    run = Run(TABLE)
    for number in range(50):
        run.add([(f"key {number} {place}", place, number * 100) for place in range(20)])
        run.take(number * 100 + 50)
        run.version()
    kernel, backend = run.subtasks[0]
    sizes = {name: sum(rows.length for rows in table.data.values()) for name, table in list(backend.tables.items())}
    assert sum(sizes.values()) < 200, sizes
    assert len(kernel._rows._numbers) < 200


@pytest.mark.parametrize("factory", [TABLE, VECTORS], ids=["table", "vectors"])
@pytest.mark.parametrize("keys", [1, 1_000])
def test_the_work_does_not_grow_with_the_rows(factory, keys):
    few, lots = (work(factory, keys, length) for length in (2_000, 20_000))
    # Rows that are gone are forgotten once they are many, and searches by halves take a few steps more.
    assert lots < 1.3 * few + 250


def work(factory, keys, length):
    """The calls that a batch and its watermark make, after another one."""
    run = Run(factory)
    batch = batch_of([(f"key {number % keys}", number, number * 30) for number in range(length)])
    kernel = run.subtasks[0][0]
    kernel.process(0, batch)

    def act():
        kernel.watermark(length * 15)
        kernel.watermark(LAST)

    return calls_made(act)


def test_a_watermark_costs_what_is_due():
    few, lots = (waiting_work(length) for length in (200, 20_000))
    assert lots < few + 50


def waiting_work(length):
    """The calls that a watermark makes with which three rows are due, and others wait."""
    run = Run(TABLE)
    run.add([(f"key {number}", number, number) for number in range(length)])
    calls = calls_made(lambda: run.take(GAP + 1))
    return calls


@pytest.mark.parametrize("name", ["sessions", "windows"])
def test_state_of_earlier_releases_is_refused(name):
    backend = KeyedStateBackend(None, 8)
    backend.load((name, {(0, "a"): [[0, 10, []]]}))
    with pytest.raises(TableException, match=f"the state '{name}' of a query was written by an earlier release"):
        TABLE.make().open(KernelContext(True, 8, backend.table, None, None, lambda: 0))
