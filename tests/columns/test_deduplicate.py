"""The first or last row of each key."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernels.ranks.deduplicate import DeduplicateFactory
from firesteel.columns.kernels.rows import saved_rows
from firesteel.columns.rows import INSERT, UPDATE_AFTER, UPDATE_BEFORE, keys_of, rows_of
from firesteel.columns.runs import room
from firesteel.columns.type_text import parse_type
from tests.columns.counting import calls_made
from tests.columns.kernel_runs import KernelRun
from tests.seeds import seeds, steps

TYPES = tuple(map(parse_type, ("BIGINT", "STRING", "TIMESTAMP(3)")))
PLANS = [DeduplicateFactory((1,), keeps_last, time, TYPES) for keeps_last in (True, False) for time in (None, 2)]


class Run(KernelRun):
    def __init__(self, plan, is_on_disk=False, ttl_ms=0):
        super().__init__(plan.make, ttl_ms, is_on_disk)


def batch_of(rows):
    numbers, keys, times = zip(*rows, strict=True)
    column = pa.array([None if ms is None else ms * 1000 for ms in times], pa.int64()).cast(pa.timestamp("us"))
    return ColumnBatch((pa.array(numbers), pa.array(keys, pa.string()), column), len(rows))


class Model:
    """The row of each key, and when it was written."""

    def __init__(self, plan, ttl_ms, kept=()):
        self.plan, self.ttl_ms, self.kept, self.now = plan, ttl_ms, dict(kept), 0

    def give(self, rows):
        return [change for row in rows_of(batch_of(rows)) for change in self.changes(row)]

    def changes(self, row):
        before, written = self.kept.get(row[1], (None, 0))
        if before is None or (self.ttl_ms and written + self.ttl_ms <= self.now):
            changes = [(INSERT, row)]
        elif self.plan.time is None and not self.ttl_ms and row == before:
            return []
        elif self.replaces(row[2], before[2]):
            changes = [(UPDATE_BEFORE, before), (UPDATE_AFTER, row)]
        else:
            return []
        self.kept[row[1]] = row, self.now
        return changes

    def replaces(self, time, before):
        if self.plan.time is None:
            return self.plan.keeps_last
        return time >= before if self.plan.keeps_last else time < before


@pytest.mark.parametrize("least", [10_000, 3])
@pytest.mark.parametrize("ttl_ms", [0, 40])
@pytest.mark.parametrize("seed", seeds(1, 4))
@pytest.mark.parametrize("plan", PLANS)
def test_one_row_of_each_key_is_kept(plan, seed, ttl_ms, least, monkeypatch):
    monkeypatch.setattr(saved_rows, "LEAST", least)
    monkeypatch.setattr(room, "_LEAST_BYTES", 1)
    chance, number = random.Random(seed), 0
    run, model = Run(plan, least == 3, ttl_ms), Model(plan, ttl_ms)
    for step in range(steps(20, 40)):
        found = []
        for _ in range(chance.randrange(1, 12)):
            number += chance.choice([0, 1])
            found.append((number, chance.choice(["a", "b", None, *"cdefg"]), step + chance.choice([0, 0, *range(6)])))
        run.now = model.now = run.now + chance.choice([0, 10, 30])
        assert run.give(batch_of(found)) == model.give(found)
        if chance.random() < 0.3:
            run.is_on_disk = chance.random() < 0.5
            run.restore()


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("ttl_ms", [0, 40])
def test_a_job_goes_on_from_rows_of_a_former_release(plan, ttl_ms):
    """There was a row for each key if state was on disk."""
    rows = rows_of(batch_of([(1, "a", 10), (2, "b", 20)]))
    model = Model(plan, ttl_ms, {row[1]: (row, 15 * place) for place, row in enumerate(rows)})
    keys = keys_of(batch_of([(1, "a", 10), (2, "b", 20)]), (1,), 8)
    times = [("row times", {key: 15 * place for place, key in enumerate(keys)})] if ttl_ms else []
    run = Run(plan, False, ttl_ms)
    run.now = model.now = 30
    run.start([("row", dict(zip(keys, rows, strict=True))), *times])
    for number in range(4):
        found = [(number, "a", 15), (number, "b", 15), (number, "c", 15)]
        assert run.give(batch_of(found)) == model.give(found)
        run.restore()
        assert not run.backend.table("row").data
        run.now = model.now = run.now + 12


def test_a_row_without_a_time_is_one_of_the_beginning():
    run = Run(DeduplicateFactory((1,), True, 2, TYPES))
    assert [kind for kind, _ in run.give(batch_of([(1, "a", None), (2, "b", 5), (3, "b", None)]))] == [INSERT, INSERT]
    run.restore()
    replaced = [(UPDATE_BEFORE, (1, "a", None)), (UPDATE_AFTER, rows_of(batch_of([(4, "a", 3)]))[0])]
    assert run.give(batch_of([(4, "a", 3), (5, "a", None)])) == replaced


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("keys", [1, 1_000])
def test_the_work_does_not_grow_with_the_rows(plan, keys):
    def work(length):
        run = Run(plan)
        batch = batch_of([(number, f"key {number % keys}", number) for number in range(length)])
        run.kernel.process(0, batch)
        return calls_made(lambda: run.kernel.process(0, batch))

    assert work(20_000) < 1.3 * work(2_000)
